//! Entries of a catalog that cannot be read: what they stated before is neither stated again nor gone.

use std::collections::BTreeSet;

use super::{Numbers, Prices, in_force, litellm, mirror, models_dev};
use crate::support::TestDatabase;

/// Snapshots at a catalog in which an entry is readable, unreadable, another one, and gone, in eight orders.
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_cannot_be_read_leaves_its_offer_as_it_was_in_any_order() {
    const SEEN: &str = "
        SELECT model || ' ' || starts_at || ' ' || coalesce(ends_at, '') || ' ' || coalesce(ending, '')
               || ' ' || CASE WHEN has_ended THEN last_seen_at ELSE '' END || ' ' || coalesce(not_before, '')
        FROM price_periods ORDER BY 1";
    let snapshot = |input: Option<u32>| {
        let priced = input.map(|input| ("m-1", input));
        priced.into_iter().chain([("m-2", 5)]).collect::<Prices>()
    };
    let day = |day: usize| format!("2026-05-{day:02}T00:00:00Z");
    // Day by day: 1, unparsed twice, 1, unparsed, 2, unparsed, gone.
    let snapshots = [
        Some(1),
        Some(0),
        Some(0),
        Some(1),
        Some(0),
        Some(2),
        Some(0),
        None,
    ];
    let mut states = BTreeSet::new();
    let mut last_seen = BTreeSet::new();
    let mut numbers = Numbers(15);
    for round in 0..8 {
        let write = if round % 2 == 0 { litellm } else { models_dev };
        let database = TestDatabase::sqlite();
        let api = database.api().await;
        let mut left: Vec<usize> = (0..snapshots.len()).collect();
        while !left.is_empty() {
            let next = numbers.below(u32::try_from(left.len()).unwrap()) as usize;
            let next = left.remove(if round < 2 { 0 } else { next });
            let query = format!("?observed_at={}", day(next + 1));
            let body = write(&snapshot(snapshots[next])).to_string();
            let reply = api.post(&format!("/catalogs{query}"), body).await;
            let is_refused = reply.text().contains("\"refused\":1");
            assert_eq!(is_refused, snapshots[next] == Some(0), "{}", reply.text());
            assert_eq!(mirror(&api).await, in_force(&api).await, "{round} {left:?}");
        }
        let mut seen = Vec::new();
        for number in 1..=snapshots.len() {
            let path = format!("/price-sheets?as_of={}&model=m-1", day(number));
            let rows = api.get(&path).await.rows();
            seen.extend(rows.iter().map(|row| row["input_per_mtok"].as_f64()));
        }
        assert_eq!(
            seen,
            [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0].map(Some),
            "{round}"
        );
        states.insert(database.texts(SEEN).await);
        let history = api.get("/offers/acme/m-2/history").await.rows();
        last_seen.insert(history[0]["last_seen_at"].to_string());
    }
    assert_eq!(states.len(), 1, "{states:#?}");
    assert_eq!(last_seen.len(), 1, "{last_seen:?}");
}
