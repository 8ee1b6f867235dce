//! The committed inputs of the fuzz targets, checked as the targets check them, without a fuzzer.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use crate::support::repository;

#[expect(unreachable_pub, reason = "the fuzz targets, another package, call it")]
#[path = "../../fuzz/src/lib.rs"]
mod invariants;

use invariants::CHECKS;

/// Paths in a folder, in their order.
fn paths(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Names without endings in a folder of `fuzz/`.
fn names(folder: &str) -> BTreeSet<String> {
    let paths = paths(&repository().join("fuzz").join(folder));
    let names = paths
        .iter()
        .filter_map(|path| path.file_stem().and_then(OsStr::to_str));
    names.map(str::to_owned).collect()
}

#[test]
fn every_fuzz_target_has_a_check_and_a_corpus() {
    let checked: BTreeSet<_> = CHECKS
        .iter()
        .map(|(target, _)| (*target).to_owned())
        .collect();
    assert_eq!(names("fuzz_targets"), checked);
    assert_eq!(names("corpus"), checked);
}

#[test]
fn every_input_of_the_corpus_passes_the_check_of_its_target() {
    let mut failed = Vec::new();
    for (target, check) in CHECKS {
        let files = paths(&repository().join("fuzz/corpus").join(target));
        assert!(!files.is_empty(), "{target} has no inputs");
        for file in files {
            let input = fs::read(&file).unwrap();
            if catch_unwind(|| check(&input)).is_err() {
                failed.push(file);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
