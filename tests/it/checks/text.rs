//! Texts: what cannot be read is refused on every route, what can comes back byte for byte.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::bodies::{NAMES, TEXTS, full_sheet, with_texts};
use super::{paged_rows, paths_taking_a_body, routes, stored_sheet, with_query};
use crate::support::{TestDatabase, faults, on_each_database, sheet, sheet_of, with};

#[tokio::test]
async fn what_is_no_json_text_is_400_on_every_route_that_takes_a_body() {
    let api = TestDatabase::sqlite().api().await;
    let bodies: [(&str, &[u8]); 17] = [
        ("a byte order mark", b"\xef\xbb\xbf{}"),
        ("a byte order mark at the end", b"{}\xef\xbb\xbf"),
        ("a key twice", br#"{"model": {}, "model": {}}"#),
        (
            "a key twice below",
            br#"{"model": {"experts": 1, "experts": 1}}"#,
        ),
        (
            "a key twice, once escaped",
            br#"{"model": {}, "\u006dodel": {}}"#,
        ),
        (
            "a key twice where it is kept unparsed",
            br#"{"unmapped": {"a": [{"b": 1, "b": 1}]}}"#,
        ),
        ("garbage after the end", b"{} x"),
        ("another document after the end", b"{}{}"),
        ("invalid UTF-8", b"{\"a\": \"\xff\"}"),
        ("an overlong form", b"{\"a\": \"\xc0\xaf\"}"),
        ("a surrogate in UTF-8", b"{\"a\": \"\xed\xa0\x80\"}"),
        ("half a surrogate pair", br#"{"a": "\ud83d"}"#),
        ("the second half alone", br#"{"a": "\ude00"}"#),
        (
            "the halves the wrong way round",
            br#"{"a": "\ude00\ud83d"}"#,
        ),
        ("half a surrogate pair in a key", br#"{"\ud83d": 1}"#),
        ("NUL", br#"{"a": "\u0000"}"#),
        ("NUL in a key", br#"{"unmapped": {"\u0000": 1}}"#),
    ];
    for path in paths_taking_a_body(&api).await {
        for (name, body) in bodies {
            let problem = api.post(&path, body).await.problem(400);
            assert_eq!(problem["type"], "/problems/unreadable", "{path}: {name}");
            assert!(
                problem["detail"]
                    .as_str()
                    .unwrap()
                    .starts_with("line 1, column "),
                "{path}: {name}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nul_is_refused_in_every_query_and_names_nothing_in_a_path() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for list in ["/estimates", "/estimates/latest", "/price-sheets"] {
            for name in [
                "provider",
                "model",
                "canonical_model",
                "region",
                "currency",
                "limit",
                "cursor",
            ] {
                for value in ["\0", "a\0b"] {
                    api.get(&with_query(list, name, value)).await.problem(400);
                }
            }
        }
        for path in [
            "/estimates/%00",
            "/price-sheets/%00",
            "/problems/%00",
            "/%00",
        ] {
            api.get(path).await.problem(404);
        }
        let entry = json!({"litellm_provider": "acme\0", "input_cost_per_token": 1e-6}).to_string();
        api.post("/infer?format=litellm&model=m", entry)
            .await
            .problem(400);
        api.post("/catalogs?provider=a%00", "{}".to_owned())
            .await
            .problem(400);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_limits_foreign_cursors_and_nul_are_no_fault_of_the_service_in_any_query() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let mut limits = 0;
        for route in routes(&api).await {
            for name in &route.query {
                let wrong = match name.as_str() {
                    "limit" => &["0", "-1", "1000000000", "abc"][..],
                    "cursor" => &["x", "WyJhY21lIl0", "\0"],
                    _ => &[],
                };
                for value in wrong {
                    let path = with_query(&route.path, name, value);
                    api.get(&path).await.problem(400);
                }
                limits += usize::from(name == "limit");
                let path = with_query(&route.path, name, "a\0b");
                let reply = api.get(&path).await;
                assert!(
                    reply.status.as_u16() < 500,
                    "{}, {path}: {}",
                    database.name,
                    reply.text()
                );
            }
        }
        assert!(limits >= 12, "{limits}");
    })
    .await;
}

/// Texts of so many characters, each of one kind of character.
fn of_length(length: usize) -> Vec<(&'static str, String)> {
    let cycle = |characters: &str| characters.chars().cycle().take(length).collect();
    vec![
        ("one byte", cycle("abc.-_/:")),
        ("four bytes", cycle("😀🇨🇭🧮𝔘")),
        ("right to left", cycle("שלום\u{a0}مرحبا")),
        ("combining", cycle("e\u{301}o\u{308}\u{323}")),
        ("of no width", cycle("a\u{200d}\u{feff}\u{200b}")),
        (
            "not composed as others would",
            cycle("\u{212b}\u{fb01}\u{1e9b}\u{323}"),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_as_long_as_they_may_be_are_stored_listed_found_and_paged_byte_for_byte() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for ((kind, name), (_, text)) in of_length(255).into_iter().zip(of_length(4_000)) {
            let sheet = with_texts(&name, &text);
            let reply = api.infer(&sheet).await;
            let stored = stored_sheet(&api, &reply).await;
            assert_eq!(reply.json()["price_sheets"][0]["model"], name, "{kind}");
            for pointer in NAMES.iter().chain(&TEXTS) {
                assert_eq!(
                    stored.pointer(pointer),
                    sheet.pointer(pointer),
                    "{}: {kind}: {pointer}",
                    database.name
                );
            }
            for filter in ["provider", "model", "canonical_model", "region"] {
                for list in ["/estimates", "/estimates/latest", "/price-sheets"] {
                    let rows = api.get(&with_query(list, filter, &name)).await.rows();
                    assert_eq!(
                        (rows.len(), &rows[0][filter]),
                        (1, &json!(name)),
                        "{}: {kind}",
                        database.name
                    );
                }
            }
        }
        // Such names are in the cursors of this list.
        let whole = api.get("/estimates/latest").await.rows();
        let paged = paged_rows(&api, "/estimates/latest").await;
        assert_eq!(paged, whole, "{}", database.name);
    })
    .await;
}

#[tokio::test]
async fn one_character_more_than_a_text_may_have_is_refused_at_its_place() {
    let api = TestDatabase::sqlite().api().await;
    // What is kept unparsed may be longer.
    let names = NAMES
        .iter()
        .filter(|pointer| pointer.matches('/').count() < 4 || pointer.contains("fast/"));
    let names =
        names.filter(|pointer| !pointer.contains("/request/") && !pointer.contains("/unmapped/"));
    let places = names
        .map(|pointer| (*pointer, 256))
        .chain(TEXTS.map(|pointer| (pointer, 4_001)));
    for (pointer, length) in places {
        for (kind, text) in of_length(length) {
            let problem = api
                .infer(&with(full_sheet(), pointer, json!(text)))
                .await
                .problem(422);
            let expected = format!(
                "{pointer}: a text of {length} characters (write 1 to {} characters)\n",
                length - 1
            );
            assert_eq!(faults(&problem), expected, "{kind}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_only_look_alike_are_different_names() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let names = [
            "é", "e\u{301}", "E\u{301}", "É", "\u{212b}", "\u{c5}", "ﬁ", "fi", "a", "а", "a ", "ß",
            "ss", "I", "ı", "i",
        ];
        for name in names {
            api.store(&sheet_of(name)).await;
        }
        for name in names {
            let rows = api
                .get(&with_query("/estimates/latest", "model", name))
                .await
                .rows();
            let found: Vec<&Value> = rows.iter().map(|row| &row["model"]).collect();
            assert_eq!(found, [&json!(name)], "{}", database.name);
        }
    })
    .await;
}

/// Characters of four bytes in an order that no compression makes shorter.
fn without_a_pattern(length: u32, seed: u32) -> String {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from_u32(0x2_0000 + (state >> 8) % 0xa000).unwrap()
    };
    (0..length).map(|_| next()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_whose_names_are_all_as_long_as_they_may_be_is_stored_on_both_databases() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let mut sheet = sheet();
        for (seed, name) in [
            (1, "/provider"),
            (2, "/model"),
            (3, "/region"),
            (4, "/canonical_model"),
        ] {
            sheet = with(sheet, name, json!(without_a_pattern(255, seed)));
        }
        let reply = api.infer(&sheet).await;
        assert_eq!(
            reply.status,
            StatusCode::CREATED,
            "{}: {}",
            database.name,
            reply.text()
        );
        assert_eq!(
            api.get("/estimates").await.rows()[0]["model"],
            sheet["model"]
        );
    })
    .await;
}
