//! The models of `OpenRouter`.

use unroof_base::input::cursor::{Cursor, Faults};
use unroof_base::input::json;
use unroof_base::input::json::Json;

use super::survey::{folder, overlaps, survey};
use crate::support::say;

#[test]
fn every_model_of_openrouter_gives_a_sheet_or_one_reason() {
    let Some(folder) = folder() else {
        return;
    };
    let survey = survey("openrouter", &folder.join("openrouter-models.json"));
    assert_eq!(overlaps(&survey), [""; 0]);
    assert!(survey.entries >= 360, "{}", survey.entries);
    assert!(survey.sheets.len() >= 355, "{}", survey.sheets.len());
    let routers = "`prompt` is -1: the price depends on the model to which the request is routed";
    assert!(survey.refusals[routers] >= 3, "{:?}", survey.refusals);
    // Gemini's storage fee: an even price once it is taken for an hour.
    let fees: Vec<_> = survey
        .sheets
        .values()
        .filter_map(|sheets| sheets[0].rates[0].cache_storage_per_hour.as_ref())
        .map(ToString::to_string)
        .collect();
    assert!(
        fees.len() >= 14 && fees.iter().all(|fee| ["1", "4.5"].contains(&fee.as_str())),
        "{fees:?}"
    );
}

#[test]
fn the_canonical_models_are_those_of_models_dev() {
    let Some(folder) = folder() else {
        return;
    };
    let ours = survey("openrouter", &folder.join("openrouter-models.json"));
    let theirs = json::parse(&std::fs::read(folder.join("models.dev.json")).unwrap()).unwrap();
    let faults = Faults::default();
    let theirs = Cursor::root(&theirs, &faults)
        .at("openrouter")
        .unwrap()
        .at("models")
        .unwrap();
    let (mut same, mut others) = (0, Vec::new());
    for sheet in ours.sheets.values().flatten() {
        let theirs = theirs
            .at(&sheet.model)
            .and_then(|model| model.at("canonical_model_id"));
        let Some((ours, Json::Text(theirs))) = sheet
            .canonical_model
            .as_ref()
            .zip(theirs.map(|name| name.json))
        else {
            continue;
        };
        if **ours == **theirs {
            same += 1;
        } else {
            others.push(format!("{ours} for {theirs}"));
        }
    }
    say(&format!("{same} names agree; {others:?}"));
    assert!(
        same >= 60 && others.len() * 20 <= same,
        "{same}; {others:?}"
    );
}
