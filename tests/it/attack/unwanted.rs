//! Work that clients no longer wait for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::catalog_client::{Sender, of_one_model, serve, wait_for_place};
use crate::support::TestDatabase;

/// For what takes a second or two, on a machine that is busy with something else.
const SOON: Duration = Duration::from_secs(12);

#[test]
fn the_place_is_free_soon_after_the_client_of_a_large_catalog_of_one_model_has_left() {
    let database = TestDatabase::sqlite();
    let server = serve(&database, &[]);
    // Each is compared with all that lead: by looking at all of them that is a matter of minutes.
    let catalog = of_one_model(10_000);
    let mut sender = Sender::whole(&server, "", &catalog);
    let said = sender.read_until("\"type\":\"unmatched_names\"");
    assert!(said.contains("\"sheets\":10000"), "{said}");
    drop(sender);
    let freed_after = wait_for_place(&server);
    assert!(freed_after < SOON, "{freed_after:?}");
}

#[test]
fn many_offers_of_one_model_are_sorted_in_less_time_than_they_are_read() {
    let database = TestDatabase::sqlite();
    let server = serve(&database, &[]);
    let catalog = of_one_model(10_000);
    let began = std::time::Instant::now();
    let mut sender = Sender::whole(&server, "?dry_run=true", &catalog);
    sender.read_until("\"type\":\"unmatched_names\"");
    let read_after = began.elapsed();
    sender.read_until("\"outcome\"");
    let sorted_after = began.elapsed().saturating_sub(read_after);
    // The first estimates come with it, and the machine may be busy with something else.
    let most = 3 * read_after + SOON;
    assert!(
        sorted_after < most,
        "read in {read_after:?}, sorted in {sorted_after:?}"
    );
}

/// A catalog of entries that are refused at once, each with a key of so many bytes, which the line about it repeats.
fn refused(entries: usize, key_bytes: usize) -> String {
    let entry = |number: usize| {
        let key = format!("{number}{}", "k".repeat(key_bytes));
        format!(
            "\"{key}\":{{\"litellm_provider\":\"acme\",\"mode\":\"embedding\",\"input_cost_per_token\":1e-6}}"
        )
    };
    let entries: Vec<String> = (0..entries).map(entry).collect();
    format!("{{{}}}", entries.join(","))
}

/// Sends a catalog, reads 160 kB/s of what is said until the place is free again, then the rest. How long that took
/// others, and the last line.
fn read_slowly(limits: &[&str], catalog: &str) -> (Duration, String) {
    let database = TestDatabase::sqlite();
    let server = serve(&database, limits);
    let mut sender = Sender::whole(&server, "", catalog);
    let mut text = sender.read_until("\"type\":\"started\"").into_bytes();
    let is_free = AtomicBool::new(false);
    let freed_after = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut text = Vec::new();
            while !is_free.load(Ordering::Relaxed) {
                text.extend(sender.read(16 * 1024));
                std::thread::sleep(Duration::from_millis(100));
            }
            text.extend(sender.read_rest());
            text
        });
        let freed_after = wait_for_place(&server);
        is_free.store(true, Ordering::Relaxed);
        text.extend(reading.join().unwrap());
        freed_after
    });
    let text = String::from_utf8_lossy(&text).into_owned();
    let last = text.lines().rfind(|line| line.starts_with('{'));
    (freed_after, last.unwrap_or_default().to_owned())
}

#[test]
fn a_slow_reader_of_many_lines_does_not_hold_the_place_and_still_gets_them_all() {
    // Beyond what the system takes off the server's hands, and below what may be unread.
    let (freed_after, last) = read_slowly(&[], &refused(14, 1_000_000));
    assert!(freed_after < SOON, "{freed_after:?}");
    assert!(last.contains("\"type\":\"done\""), "{last}");
    let (freed_after, last) = read_slowly(&[], &refused(30_000, 300));
    assert!(freed_after < SOON, "{freed_after:?}");
    assert!(last.contains("\"type\":\"done\""), "{last}");
}

#[test]
fn an_import_whose_reader_is_too_slow_ends_and_says_so() {
    let limits = ["--write-timeout", "2s"];
    let (freed_after, last) = read_slowly(&limits, &refused(40, 1_000_000));
    assert!(freed_after < SOON, "{freed_after:?}");
    assert!(last.contains("\"type\":\"failed\""), "{last}");
    assert!(last.contains("the client reads too slowly"), "{last}");
}
