//! The catalog of Portkey.

use super::survey::{folder, overlaps, survey};

#[test]
fn every_entry_of_portkey_gives_sheets_or_one_reason() {
    let Some(folder) = folder() else {
        return;
    };
    let survey = survey("portkey", &folder.join("portkey.json"));
    assert_eq!(overlaps(&survey), [""; 0]);
    assert!(survey.entries >= 3_100, "{}", survey.entries);
    assert!(survey.sheets.len() >= 2_900, "{}", survey.sheets.len());
    assert!(survey.count() >= 3_500, "{}", survey.count());
    // Facts of public price pages, where the shapes of the format show: tiers as such and as names, regions, modes.
    assert_eq!(
        survey.prices("openai/gpt-5.4"),
        [
            "standard 0: 2.5 15",
            "standard 272000: 5 22.5",
            "batch 0: 1.25 7.5",
            "batch 272000: 2.5 11.25",
            "flex 0: 1.25 7.5",
            "flex 272000: 2.5 11.25",
            "priority 0: 5 30",
        ]
    );
    assert_eq!(
        survey.prices("google/gemini-2.5-pro"),
        [
            "standard 0: 1.25 10",
            "standard 128000: 2.5 15",
            "batch 0: 0.625 5",
            "batch 128000: 1.25 7.5",
        ]
    );
    let regions: Vec<_> = survey.sheets["openai/gpt-5.4"]
        .iter()
        .map(|sheet| sheet.region.as_str())
        .collect();
    assert_eq!(regions[0], "global");
    assert!(
        regions.contains(&"eu") && regions.contains(&"jp"),
        "{regions:?}"
    );
    let fee = |key: &str| {
        let cell = &survey.sheets[key][0].rates[0];
        cell.cache_storage_per_hour
            .as_ref()
            .map(ToString::to_string)
    };
    assert_eq!(fee("google/gemini-3.1-pro-preview").as_deref(), Some("4.5"));
    assert_eq!(
        fee("openrouter/google/gemini-2.5-flash").as_deref(),
        Some("1")
    );
    assert_eq!(fee("byteplus/seed-1-6").as_deref(), Some("0.0083"));
    let names_of_tiers = survey
        .sheets
        .values()
        .flatten()
        .filter(|sheet| sheet.model.contains("-gt-"));
    assert_eq!(names_of_tiers.count(), 0);
}
