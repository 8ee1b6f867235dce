//! The catalog of Portkey.

use super::{folder, overlaps, survey};

#[test]
fn every_entry_of_portkey_gives_sheets_or_one_reason() {
    let Some(folder) = folder() else {
        return;
    };
    let survey = survey("portkey", &folder.join("portkey.json"));
    assert_eq!(overlaps(&survey), [""; 0]);
    assert!(survey.entries >= 3_100, "{}", survey.entries);
    assert!(survey.sheets.len() >= 2_900, "{}", survey.sheets.len());
    assert!(survey.count() >= 3_700, "{}", survey.count());
}
