//! Every catalog of the folder, whole and in parts, proves to be of its own format and of no other.

use std::path::Path;

use unroof_base::input::cancel::CancelToken;
use unroof_base::input::json;
use unroof_base::input::json::Json;
use unroof_price_sheet::catalog::{CATALOGS, Catalog, recognize};

use super::survey::folder;
use crate::support::say;

/// The catalogs in a folder, and in the folders of it.
fn catalogs(folder: &Path) -> Vec<(String, Json)> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(catalogs(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
            && !name.ends_with(".schema.json")
        {
            let text = std::fs::read(&path).unwrap();
            let (tree, _) = json::parse_catalog(&text, &CancelToken::default()).unwrap();
            found.push((name, tree));
        }
    }
    found.sort_by(|left, right| left.0.cmp(&right.0));
    found
}

#[test]
fn every_published_catalog_of_whatever_date_is_of_one_format_and_refused_under_all_others() {
    let Some(folder) = folder() else {
        return;
    };
    for (file, tree) in catalogs(&folder) {
        let found = recognize(&tree).map(Catalog::name);
        say(&format!("{file}: {found:?}"));
        let found = found.unwrap_or_else(|| panic!("{file} is not recognised"));
        let start: String = found.chars().filter(|letter| *letter != '-').collect();
        let plain: String = file.chars().filter(|letter| *letter != '-').collect();
        let start = start.trim_end_matches("prices");
        assert!(plain.starts_with(start), "{file} is taken for {found}");
        for other in CATALOGS.iter().filter(|catalog| catalog.name() != found) {
            let reason = other.why_not(&tree).unwrap_or_default();
            assert!(
                reason.ends_with(&format!("it is a catalog of {found}")),
                "{file} as {}: {reason}",
                other.name()
            );
        }
    }
}
