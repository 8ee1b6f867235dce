//! Numbers of answers: finite, in order, and there where one must be; prices in the digits in which they were sent.

use std::collections::BTreeSet;
use std::fmt;

use axum::http::{Method, StatusCode};
use proptest::prelude::*;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use unroof_infer::estimate::{Format, infer, read_request};

use super::bodies::{bodies, full_sheet, replaced, values};
use super::{paths_taking, routes, stored_sheet};
use crate::openapi::{assert_valid, committed, validator_of};
use crate::support::{TestDatabase, examples, on_each_database, sheet, with};

/// Reads JSON as RFC 8259 recommends it and keeps nothing: every key once, every number finite.
struct Strict;

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Strict, E> {
        if number.is_finite() {
            Ok(Strict)
        } else {
            Err(E::custom("a number that is not finite"))
        }
    }

    fn visit_str<E>(self, _: &str) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Strict, A::Error> {
        while items.next_element::<Strict>()?.is_some() {}
        Ok(Strict)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Strict, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some((key, _)) = entries.next_entry::<String, Strict>()? {
            if let Some(twice) = keys.replace(key) {
                return Err(A::Error::custom(format!("the key `{twice}` twice")));
            }
        }
        Ok(Strict)
    }
}

fn assert_strict(what: &str, text: &str) {
    if let Err(error) = serde_json::from_str::<Strict>(text) {
        panic!("{what}: {error}: {text}");
    }
}

#[test]
fn the_strict_reader_refuses_what_is_ambiguous() {
    assert_strict(
        "right",
        r#"[{"a": 1, "b": [1e308, -2.5, null, true, "x"]}, {"a": 2}]"#,
    );
    for text in [
        "NaN",
        "1e309",
        "-1e309",
        "Infinity",
        r#"[{"a": 1, "a": 1}]"#,
        "[1,]",
        "1 2",
        "",
    ] {
        assert!(serde_json::from_str::<Strict>(text).is_err(), "{text}");
    }
}

/// The ends and the middle of a quantity or of its prior, from the lowest to the highest.
fn quantiles(estimate: &Value) -> [f64; 5] {
    let number = |pointer: &str| {
        let number = estimate.pointer(pointer).and_then(Value::as_f64);
        number.unwrap_or_else(|| panic!("no number at {pointer}: {estimate}"))
    };
    [
        "/interval_90/low",
        "/interval_50/low",
        "/median",
        "/interval_50/high",
        "/interval_90/high",
    ]
    .map(number)
}

/// Everything that holds of the numbers of every answer.
fn assert_sound(what: &str, answer: &Value) {
    let quantities = answer["quantities"].as_object().unwrap();
    assert_eq!(quantities.len(), 11, "{what}");
    for (name, estimate) in quantities {
        for quantiles in [quantiles(estimate), quantiles(&estimate["prior"])] {
            assert!(quantiles.is_sorted(), "{what}: {name}: {quantiles:?}");
            assert!(
                quantiles[0] > 0.0 && quantiles[4].is_finite(),
                "{what}: {name}: {quantiles:?}"
            );
        }
    }
    for offer in answer["storage_tiers"].as_array().unwrap() {
        let probabilities = offer["probabilities"].as_object().unwrap().values();
        let probabilities: Vec<f64> = probabilities
            .map(|number| number.as_f64().unwrap())
            .collect();
        assert!(
            probabilities
                .iter()
                .all(|probability| (0.0..=1.0).contains(probability)),
            "{what}: {offer}"
        );
        let sum: f64 = probabilities.iter().sum();
        assert!((sum - 1.0).abs() < 1e-6, "{what}: {sum}: {offer}");
    }
}

#[tokio::test]
async fn every_answer_is_read_by_a_strict_reader() {
    let api = TestDatabase::sqlite().api().await;
    for (name, sheet) in examples() {
        let reply = api.infer(&sheet).await;
        assert_strict(&name, reply.text());
        assert_sound(&name, &reply.json());
    }
    for (path, body) in bodies() {
        let reply = api.post(path, body.to_string()).await;
        assert_strict(path, reply.text());
        assert_strict(path, api.post(path, "[]").await.text());
    }
    for path in paths_taking(&api, "GET").await {
        let reply = api.get(&path).await;
        if reply.header("content-type") == Some("application/json") {
            assert_strict(&path, reply.text());
        }
    }
    for route in routes(&api).await {
        let refused = api.ask(Method::PATCH, &route.path, &[]).await;
        assert_strict(&route.path, refused.text());
    }
}

const LARGEST: &str = "999999999999.999999999999999999";
const SMALLEST: &str = "0.000000000000000001";

/// The full sheet with every price as it is given.
fn at_these_prices(price: impl Fn(&str) -> Option<&'static str>) -> Value {
    let mut sheet = full_sheet();
    for (pointer, _) in values(&full_sheet()) {
        let name = pointer.rsplit('/').next().unwrap_or_default();
        if let Some(price) = price(name).filter(|_| pointer.starts_with("/rates/")) {
            let is_price = sheet.pointer(&pointer).is_some_and(Value::is_string);
            if is_price && name != "service_tier" && name != "schedule" && name != "basis" {
                sheet = replaced(&sheet, &pointer, json!(price));
            }
        }
    }
    sheet
}

#[tokio::test]
async fn the_largest_the_smallest_and_free_prices_have_answers_with_a_number_wherever_one_must_be()
{
    let api = TestDatabase::sqlite().api().await;
    let document = committed();
    let answers = validator_of(&document, "/infer", "post", "201");
    let one = |name: &'static str, price: &'static str, other: &'static str| {
        move |field: &str| Some(if field == name { price } else { other })
    };
    let sheets = [
        ("all the largest", at_these_prices(|_| Some(LARGEST))),
        ("all the smallest", at_these_prices(|_| Some(SMALLEST))),
        ("all free", at_these_prices(|_| Some("0"))),
        (
            "free but for input",
            at_these_prices(one("input", "1", "0.00")),
        ),
        (
            "free but for output",
            at_these_prices(one("output", "1", "0")),
        ),
        (
            "input the largest",
            at_these_prices(one("input", LARGEST, SMALLEST)),
        ),
        (
            "input the smallest",
            at_these_prices(one("input", SMALLEST, LARGEST)),
        ),
        (
            "reads the largest",
            at_these_prices(one("cache_read", LARGEST, SMALLEST)),
        ),
        (
            "writes the largest",
            at_these_prices(one("price", LARGEST, SMALLEST)),
        ),
        (
            "writes the smallest",
            at_these_prices(one("price", SMALLEST, LARGEST)),
        ),
        (
            "storage the largest",
            at_these_prices(one("cache_storage_per_hour", LARGEST, SMALLEST)),
        ),
    ];
    for (name, sheet) in sheets {
        let sheet = with(sheet, "/model", json!(name));
        let reply = api.infer(&sheet).await;
        assert_eq!(
            reply.status,
            StatusCode::CREATED,
            "{name}: {}",
            reply.text()
        );
        assert_strict(name, reply.text());
        assert_valid(&answers, &reply.json(), name);
        assert_sound(name, &reply.json());
    }
    for list in ["/estimates", "/estimates/latest", "/price-sheets"] {
        let reply = api.get(list).await;
        assert_strict(list, reply.text());
        assert_valid(
            &validator_of(&document, list, "get", "200"),
            &reply.json(),
            list,
        );
    }
    for row in api.get("/estimates").await.rows() {
        let ends = ["low_90", "median", "high_90"]
            .map(|end| row[format!("active_parameters_{end}")].as_f64().unwrap());
        assert!(ends.is_sorted(), "{row}");
    }
}

#[tokio::test]
async fn no_ratio_is_formed_with_a_free_price() {
    let api = TestDatabase::sqlite().api().await;
    for free in ["input", "output"] {
        let sheet = with(sheet(), &format!("/rates/0/{free}"), json!("0.000"));
        let answer = api.infer(&sheet).await.json();
        let readings = answer["readings"].as_array().unwrap();
        let ratio = readings
            .iter()
            .find(|reading| reading["id"] == "output_ratio_memory_boundness");
        let ratio = ratio.unwrap();
        assert_eq!(ratio["value"], Value::Null, "{ratio}");
        assert!(
            ratio["not_defined"]["detail"]
                .as_str()
                .unwrap()
                .contains("free"),
            "{ratio}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_decimal_of_a_sheet_comes_back_in_the_digits_in_which_it_was_sent() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for (model, price) in [
            ("noise", "0.30000000000000004"),
            ("tenth", "0.1"),
            ("zeros", "0.10"),
            ("finest", SMALLEST),
            ("largest", LARGEST),
            ("whole", "123456789012"),
        ] {
            let sheet = with(at_these_prices(|_| Some(price)), "/model", json!(model));
            let stored = stored_sheet(&api, &api.infer(&sheet).await).await;
            for (pointer, sent) in values(&sheet) {
                assert!(
                    stored.pointer(&pointer).is_some(),
                    "{}: no {pointer} in {stored}",
                    database.name
                );
                if sent.is_string() {
                    assert_eq!(
                        stored.pointer(&pointer),
                        Some(sent),
                        "{}: {pointer}",
                        database.name
                    );
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn prices_in_a_currency_without_a_rate_change_nothing_for_the_other_hosts_of_a_pool() {
    let api = TestDatabase::sqlite().api().await;
    let host = |provider: &str, currency: &str| {
        let sheet = with(sheet(), "/canonical_model", json!("maker/m-1"));
        with(
            with(sheet, "/provider", json!(provider)),
            "/currency",
            json!(currency),
        )
    };
    let ask = async |sheets: Value| api.infer(&json!({"price_sheets": sheets})).await.json();
    let estimated = |answer: &Value| {
        let quantities = answer["quantities"].as_object().unwrap().values();
        quantities.map(quantiles).collect::<Vec<_>>()
    };
    let alone = ask(json!([host("bolt", "USD")])).await;
    for other in ["acme", "cord"] {
        // The same digits, so that one might be taken for a copy of the other.
        let both = ask(json!([host("bolt", "USD"), host(other, "CNY")])).await;
        assert_eq!(estimated(&both), estimated(&alone), "{other}");
        let reported = both["quantities"].to_string();
        assert!(
            reported.contains("its prices are in CNY: state `usd_per_currency_unit`"),
            "{reported}"
        );
    }
}

/// A decimal with any digits that a sheet may hold.
fn decimal() -> impl Strategy<Value = String> {
    prop_oneof![
        "(0|[1-9][0-9]{0,2})(\\.[0-9]{1,4})?",
        "(0|[1-9][0-9]{0,11})(\\.[0-9]{1,18})?"
    ]
}

prop_compose! {
    fn rate()(prices in proptest::collection::vec(proptest::option::of(decimal()), 6),
              write in proptest::option::of(decimal()), ttl in 1_u32..=2_147_483_647) -> Value {
        let names = ["input", "output", "reasoning", "cache_read", "cache_read_explicit", "cache_storage_per_hour"];
        let stated = names.iter().zip(prices).filter_map(|(name, price)| Some(((*name).to_owned(), json!(price?))));
        let mut rate: Value = stated.collect();
        if let Some(price) = write {
            rate["cache_write"] = json!([{"ttl_seconds": ttl, "price": price}]);
        }
        rate
    }
}

prop_compose! {
    fn any_sheet()(base in rate(), long in rate(), fast in rate(), threshold in 1_u32..=2_147_483_647,
                   context in 1_u32..=2_147_483_647, parts in 0_u8..8) -> Value {
        let mut sheet = sheet();
        let mut rates = vec![base];
        if parts & 1 != 0 {
            rates.push(with(long, "/context_tier", json!({"min_prompt_tokens": threshold})));
        }
        if parts & 2 != 0 {
            rates.push(with(fast, "/service_tier", json!("fast")));
        }
        if parts & 4 != 0 {
            sheet["limits"] = json!({"context": context});
        }
        sheet["rates"] = json!(rates);
        sheet
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_sheet_says_its_answer_is_strict_json_with_quantiles_in_order(sheet in any_sheet()) {
        let request = read_request(sheet.to_string().as_bytes(), &Format::Canonical).unwrap();
        let text = serde_json::to_string(&infer(&request)).unwrap();
        let what = sheet.to_string();
        assert_strict(&what, &text);
        assert_sound(&what, &serde_json::from_str(&text).unwrap());
    }
}
