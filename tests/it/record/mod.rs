//! The record of what sources state: whatever the order in which it arrives, the same facts give the same state, and the
//! feed reports it.

mod cells;
mod interrupted;
mod news;
mod replicas;
mod snapshots;
mod unparsed;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Api, TestDatabase, clock, on_each_database, sheet, with};

/// Input price by model, as two catalogs write it. An entry with the price 0 cannot be read.
type Prices = BTreeMap<&'static str, u32>;

fn litellm(prices: &Prices) -> Value {
    let entry = |input: &u32| {
        json!({
            "litellm_provider": "acme", "mode": "chat", "output_cost_per_token": "1e-5",
            "input_cost_per_token": if *input == 0 { json!({}) } else { json!(format!("{input}e-6")) },
        })
    };
    let entries = prices
        .iter()
        .map(|(model, input)| ((*model).to_owned(), entry(input)));
    Value::Object(entries.collect())
}

fn models_dev(prices: &Prices) -> Value {
    let model = |model: &str, input: &u32| {
        json!({
            "id": model, "name": model, "release_date": "2026-01-01", "last_updated": "2026-01-01",
            "attachment": false, "reasoning": false, "tool_call": true, "open_weights": false,
            "modalities": {"input": ["text"], "output": ["text"]},
            "limit": {"context": 128_000, "output": 8_000},
            "cost": {"input": if *input == 0 { json!({}) } else { json!(input) }, "output": 10},
        })
    };
    let models = prices
        .iter()
        .map(|(name, input)| ((*name).to_owned(), model(name, input)));
    let models = Value::Object(models.collect());
    json!({"acme": {"id": "acme", "name": "Acme", "env": ["ACME_KEY"], "npm": "acme", "models": models}})
}

async fn import(api: &Api, query: &str, catalog: &Value) {
    let reply = api
        .post(&format!("/catalogs{query}"), catalog.to_string())
        .await;
    let last = reply.text().lines().last().unwrap().to_owned();
    let last: Value = serde_json::from_str(&last).unwrap();
    if last["type"] == "held" {
        let accept = format!("/imports/{}/accept", last["id"].as_str().unwrap());
        let accepted = api.post(&accept, String::new()).await;
        assert_eq!(accepted.status, 200, "{}", accepted.text());
    } else {
        assert_eq!(last["type"], "done", "{last}");
    }
}

/// One thing that happens.
#[derive(Debug, Clone)]
enum Event {
    /// A whole catalog is read: which, when (hours; none for now), and what it lists.
    Import(bool, Option<u32>, Prices),
    /// A sheet is posted: its model, price and time.
    Post(&'static str, u32, Option<u32>),
    /// A price is withdrawn.
    Withdraw(&'static str, u32),
}

impl Event {
    fn hour(&self) -> Option<u32> {
        match self {
            Self::Import(_, hour, _) | Self::Post(_, _, hour) => *hour,
            Self::Withdraw(..) => None,
        }
    }
}

fn at(hour: Option<u32>) -> String {
    hour.map_or_else(String::new, |hour| {
        format!(
            "?observed_at=2026-05-{:02}T{:02}:00:00Z",
            1 + hour / 24,
            hour % 24
        )
    })
}

fn priced(model: &str, input: u32) -> Value {
    let sheet = with(sheet(), "/model", json!(model));
    with(sheet, "/rates/0/input", json!(input.to_string()))
}

async fn apply(api: &Api, event: &Event) {
    match event {
        Event::Import(true, hour, prices) => import(api, &at(*hour), &litellm(prices)).await,
        Event::Import(false, hour, prices) => import(api, &at(*hour), &models_dev(prices)).await,
        Event::Post(model, input, hour) => {
            let path = format!("/infer{}", at(*hour));
            let reply = api.post(&path, priced(model, *input).to_string()).await;
            assert!(reply.status.is_success(), "{}", reply.text());
        }
        Event::Withdraw(model, input) => {
            let sheets = api
                .get(&format!("/price-sheets?model={model}&limit=2000"))
                .await
                .rows();
            let wanted = f64::from(*input);
            for sheet in sheets
                .iter()
                .filter(|sheet| sheet["input_per_mtok"] == wanted)
            {
                let path = format!("/price-sheets/{}/withdraw", sheet["id"].as_str().unwrap());
                api.post(&path, json!({"reason": "a mistake"}).to_string())
                    .await;
            }
        }
    }
}

/// Numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).unwrap() % limit
    }
}

const MODELS: [&str; 2] = ["m-1", "m-2"];

fn events(numbers: &mut Numbers, count: u32) -> Vec<Event> {
    let mut hours: Vec<u32> = (0..count).map(|number| number * 17).collect();
    let mut events = Vec::new();
    for _ in 0..count {
        let hour = hours.swap_remove(numbers.below(u32::try_from(hours.len()).unwrap()) as usize);
        let hour = (numbers.below(5) > 0).then_some(hour);
        let model = MODELS[numbers.below(2) as usize];
        events.push(match numbers.below(8) {
            0 => Event::Withdraw(model, 1 + numbers.below(2)),
            1 | 2 => Event::Post(model, 1 + numbers.below(2), hour),
            _ => {
                let mut prices: Prices = MODELS
                    .iter()
                    .map(|model| (*model, 1 + numbers.below(2)))
                    .collect();
                match numbers.below(6) {
                    0 | 1 => drop(prices.remove(model)),
                    2 => drop(prices.insert(model, 0)),
                    _ => {}
                }
                Event::Import(numbers.below(2) == 0, hour, prices)
            }
        });
    }
    events
}

/// Periods of an offer, with the reasons for their ends and the sources of their starts.
const PERIODS: &str = "
    SELECT provider || ' ' || model || ' ' || input_price || ' ' || starts_at || ' ' || coalesce(CAST(ends_at AS text), '') || ' '
           || coalesce(ending, '') || ' ' || start_basis || ' ' || coalesce(CAST(not_before AS text), '')
    FROM price_periods AS period
    JOIN (SELECT id, input_price FROM price_sheets) AS sheet ON sheet.id = period.sheet_id
    ORDER BY 1";

/// The sheets in force by offer, from rows of the feed alone.
fn replayed(rows: &[Value]) -> BTreeMap<String, String> {
    let mut mirror = BTreeMap::new();
    for row in rows {
        let offer = offer_of(row);
        let sheet = row["sheet_id"].as_str().unwrap_or_default().to_owned();
        let ends = ["offer.delisted", "price.expired", "sheet.withdrawn"];
        if row["in_force"] == true {
            mirror.insert(offer, sheet);
        } else if ends.contains(&row["kind"].as_str().unwrap())
            && mirror.get(&offer) == Some(&sheet)
        {
            mirror.remove(&offer);
        }
    }
    mirror
}

fn offer_of(row: &Value) -> String {
    let name = |field: &str| row[field].as_str().unwrap();
    format!("{} {} {}", name("provider"), name("model"), name("region"))
}

/// The address of the page after this one.
fn next_page(path: &str, page: &Value) -> Option<String> {
    if let Some(cursor) = page["next_cursor"].as_str() {
        let first = path.split("&cursor=").next().unwrap();
        return Some(format!("{first}&cursor={cursor}"));
    }
    let first = path.split("&since=").next().unwrap();
    let is_last = page["has_more"] != true;
    (!is_last).then(|| format!("{first}&since={}", page["next_since"]))
}

/// Rows of all pages of a list.
async fn all_rows(api: &Api, path: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut next = Some(path.to_owned());
    while let Some(path) = next {
        let reply = api.get(&path).await;
        rows.extend(reply.rows());
        next = next_page(&path, &reply.json());
    }
    rows
}

async fn mirror(api: &Api) -> BTreeMap<String, String> {
    replayed(&all_rows(api, "/changes?limit=2000").await)
}

async fn in_force(api: &Api) -> BTreeMap<String, String> {
    let path = "/price-sheets?as_of=2026-11-22T00:00:00Z&limit=2000";
    let rows = all_rows(api, path).await;
    let offer = |row: &Value| (offer_of(row), row["id"].as_str().unwrap().to_owned());
    let found: BTreeMap<String, String> = rows.iter().map(offer).collect();
    assert_eq!(found.len(), rows.len(), "one price per offer");
    found
}

/// The first twelve seeds, or as many as `UNROOF_TEST_SEEDS` says.
fn seeds() -> impl Iterator<Item = u64> {
    let count = std::env::var("UNROOF_TEST_SEEDS");
    0..count.map_or(12, |count| count.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn random_events_in_any_order_of_arrival_give_the_state_of_a_replay_in_order() {
    for seed in seeds() {
        let mut numbers = Numbers(seed * 7919 + 1);
        let events = events(&mut numbers, 10);
        // What happens now stays in its order, after all that was observed before.
        let mut in_order = events.clone();
        in_order.sort_by_key(|event| event.hour().unwrap_or(u32::MAX));
        let mut states: Vec<Vec<String>> = Vec::new();
        let mut was_refused = BTreeSet::new();
        for events in [&events, &in_order] {
            let database = TestDatabase::sqlite();
            let api = database.api().await;
            for (number, event) in events.iter().enumerate() {
                apply(&api, event).await;
                assert_eq!(
                    mirror(&api).await,
                    in_force(&api).await,
                    "seed {seed}, event {number} of {events:#?}"
                );
            }
            let withdrawals = "SELECT hex(sheet_id) || ' ' || at FROM withdrawals ORDER BY 1";
            was_refused.insert(database.texts(withdrawals).await);
            states.push(database.texts(PERIODS).await);
            let store = database.store().await;
            let compared = store.check_histories(Uuid::nil(), 100, clock().now()).await;
            assert_eq!(compared.unwrap().faults, [], "seed {seed}: {events:#?}");
        }
        // A withdrawal is refused where its price is not known yet, or no longer known; of copies, those that are known are withdrawn. The clock
        // of a test is fixed, so that their times differ.
        if was_refused.len() == 1 {
            assert_eq!(states[0], states[1], "seed {seed}: {events:#?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stated_start_beats_what_another_catalog_showed_before_in_either_order() {
    let seen = models_dev(&Prices::from([("gpt-5.6-luna", 1)]));
    let stated = json!([{
        "id": "acme", "name": "Acme", "api_pattern": "acme", "pricing_urls": [],
        "models": [{"id": "gpt-5.6-luna", "match": {"equals": "gpt-5.6-luna"}, "prices": [
            {"prices": {"input_mtok": 1, "output_mtok": 6}},
            {"constraint": {"start_date": "2026-07-30"}, "prices": {"input_mtok": 0.2, "output_mtok": 1.2}},
        ]}],
    }]);
    let imports = [
        ("?observed_at=2026-07-17T00:00:00Z", seen),
        ("?observed_at=2026-08-20T00:00:00Z", stated),
    ];
    for order in [[0, 1], [1, 0]] {
        on_each_database(async |database: &TestDatabase| {
            let api = database.api().await;
            for index in order {
                let (query, catalog) = &imports[index];
                import(&api, query, catalog).await;
            }
            for (at, price) in [
                ("2026-07-20", 1.0),
                ("2026-07-29", 1.0),
                ("2026-07-30", 0.2),
                ("2026-08-25", 0.2),
            ] {
                let rows = api
                    .get(&format!("/price-sheets?as_of={at}T12:00:00Z"))
                    .await
                    .rows();
                let prices: Vec<&Value> = rows.iter().map(|row| &row["input_per_mtok"]).collect();
                assert_eq!(prices, [price], "{at} {order:?}");
            }
            // The price before models.dev was read became known only later: it was never seen while it held.
            let history = api.get("/history?provider=acme&model=gpt-5.6-luna").await;
            let first = &history.rows()[0];
            let unknown = ["valid_from", "start_basis", "not_before", "last_seen_at"];
            assert_eq!(unknown.map(|field| &first[field]), [&Value::Null; 4]);
            assert!(!history.text().contains("0001-01-01"), "{}", history.text());
            assert_eq!(mirror(&api).await, in_force(&api).await);
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_its_catalog_no_longer_states_has_ended_in_either_order() {
    let before = litellm(&Prices::from([("m-1", 1), ("m-2", 2)]));
    let after = with(before.clone(), "/m-1/mode", json!("embedding"));
    let imports = [
        ("?observed_at=2026-05-01T00:00:00Z", before),
        ("?observed_at=2026-05-03T00:00:00Z", after),
    ];
    let mut states = BTreeSet::new();
    for order in [[0, 1], [1, 0]] {
        let database = TestDatabase::sqlite();
        let api = database.api().await;
        for index in order {
            let (query, catalog) = &imports[index];
            import(&api, query, catalog).await;
        }
        let listed: Vec<String> = in_force(&api).await.into_keys().collect();
        assert_eq!(listed, ["acme m-2 global"]);
        assert_eq!(mirror(&api).await, in_force(&api).await);
        states.insert(database.texts(PERIODS).await);
    }
    assert_eq!(states.len(), 1, "{states:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_cut_of_a_cache_price_to_a_fortieth_is_in_force_at_once() {
    // As in `history/price_changes.csv`; the other catalog follows later.
    let by_models_dev = |prices: [f64; 3]| {
        let mut catalog = models_dev(&Prices::from([("deepseek-v4-pro", 1)]));
        let [input, output, cache_read] = prices;
        catalog["acme"]["models"]["deepseek-v4-pro"]["cost"] =
            json!({"input": input, "output": output, "cache_read": cache_read});
        catalog
    };
    let by_litellm = json!({"acme/deepseek-v4-pro": {
        "litellm_provider": "acme", "mode": "chat", "input_cost_per_token": "1.74e-6",
        "output_cost_per_token": "3.48e-6", "cache_read_input_token_cost": "1.45e-7",
    }});
    let (before, after) = ([1.74, 3.48, 0.145], [0.435, 0.87, 0.003_625]);
    let api = TestDatabase::sqlite().api().await;
    import(&api, &at(Some(0)), &by_models_dev(before)).await;
    import(&api, &at(Some(1)), &by_litellm).await;
    import(&api, &at(Some(24)), &by_models_dev(after)).await;
    import(&api, &at(Some(25)), &by_litellm).await;
    let rows = api
        .get("/price-sheets?as_of=2026-05-02T02:00:00Z")
        .await
        .rows();
    let prices: Vec<&Value> = rows.iter().map(|row| &row["cache_read_per_mtok"]).collect();
    assert_eq!(prices, [after[2]]);
    let history = api.get("/offers/acme/deepseek-v4-pro/history").await.rows();
    let flagged: Vec<&Value> = history.iter().map(|row| &row["flagged"]).collect();
    assert_eq!(flagged, [false, false], "{history:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_far_from_another_source_is_flagged_until_a_second_source_confirms_it() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let flags = async |path: &str, price: &str| -> Vec<Value> {
            let rows = api.get(path).await.rows();
            let flag = |row: &Value| json!([row[price], row["flagged"]]);
            rows.iter().map(flag).collect()
        };
        import(
            &api,
            "?observed_at=2026-11-01T00:00:00Z",
            &litellm(&Prices::from([("m", 1)])),
        )
        .await;
        import(
            &api,
            "?observed_at=2026-11-02T00:00:00Z",
            &models_dev(&Prices::from([("m", 50)])),
        )
        .await;
        let sheets = flags(
            "/price-sheets?sort=input_per_mtok&order=asc",
            "input_per_mtok",
        )
        .await;
        assert_eq!(sheets, [json!([1.0, false]), json!([50.0, true])]);
        assert_eq!(
            flags("/disagreements", "other_catalog").await,
            [json!(["models.dev", true])]
        );
        let now = flags("/price-sheets?as_of=2026-11-21T00:00:00Z", "input_per_mtok").await;
        assert_eq!(now, [json!([1.0, false])]);
        let posted = api.infer(&priced("m", 90)).await.json();
        assert_eq!(
            posted["observe"]["sheets"][0]["effect"], "quarantined",
            "{}",
            posted["observe"]
        );
        assert_eq!(posted["observe"]["sheets"][0]["source"], "litellm");
        import(
            &api,
            "?observed_at=2026-11-03T00:00:00Z",
            &litellm(&Prices::from([("m", 50)])),
        )
        .await;
        let now = flags("/price-sheets?as_of=2026-11-21T00:00:00Z", "input_per_mtok").await;
        assert_eq!(now, [json!([50.0, false])]);
    })
    .await;
}

/// A catalog in which sellers have a model at equal prices, also where a cached prompt token costs more than a fresh one.
fn copies(sellers: &[(&str, Option<u32>)]) -> Value {
    let mut catalog = json!({});
    for (seller, cache_read) in sellers {
        let mut own = models_dev(&Prices::from([("m", 2)]))["acme"].take();
        own["id"] = json!(seller);
        if let Some(cache_read) = cache_read {
            own["models"]["m"]["cost"]["cache_read"] = json!(cache_read);
        }
        catalog[*seller] = own;
    }
    catalog
}

#[tokio::test(flavor = "multi_thread")]
async fn whether_a_price_fits_no_machine_does_not_depend_on_which_of_its_copies_came_first() {
    let whole = copies(&[("plain", None), ("odd", Some(9))]);
    for first in [copies(&[("plain", None)]), copies(&[("odd", Some(9))])] {
        on_each_database(async |database: &TestDatabase| {
            let api = database.api().await;
            import(&api, "?observed_at=2026-11-01T00:00:00Z", &first).await;
            import(&api, "?observed_at=2026-11-02T00:00:00Z", &whole).await;
            let rows = api.get("/price-sheets?as_of=2026-11-03T00:00:00Z").await;
            let flags: BTreeMap<String, Value> = rows
                .rows()
                .iter()
                .map(|row| (row["provider"].to_string(), row["flagged"].clone()))
                .collect();
            let expected = [("\"odd\"", json!(true)), ("\"plain\"", json!(false))];
            assert_eq!(
                flags,
                expected.map(|(name, flag)| (name.to_owned(), flag)).into()
            );
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_was_asked_about_before_it_was_seen_is_flagged_all_the_same() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let sheet = with(priced("m", 2), "/rates/0/cache_read", json!("9"));
        let question = json!({"price_sheet": sheet, "assumptions": {"chips": 8}});
        assert!(api.infer(&question).await.status.is_success());
        assert!(api.infer(&sheet).await.status.is_success());
        let rows = api.get("/price-sheets").await.rows();
        let flags: Vec<&Value> = rows.iter().map(|row| &row["flagged"]).collect();
        assert_eq!(flags, [true]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_announced_retirement_is_news_once_and_the_price_stays_in_force() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let plain = litellm(&Prices::from([("kept", 1), ("leaving", 2), ("past", 3)]));
        let with_date = |date: &str| {
            let leaving = with(plain.clone(), "/leaving/deprecation_date", json!(date));
            with(leaving, "/past/deprecation_date", json!("2026-01-31"))
        };
        import(&api, "?observed_at=2026-11-01T00:00:00Z", &plain).await;
        for (at, date) in [
            ("02", "2027-03-30"),
            ("03", "2027-03-30"),
            ("04", "2027-06-30"),
        ] {
            import(
                &api,
                &format!("?observed_at=2026-11-{at}T00:00:00Z"),
                &with_date(date),
            )
            .await;
        }
        let rows = api.get("/changes?kind=offer.retiring").await.rows();
        let reported: Vec<String> = rows
            .iter()
            .map(|row| format!("{} {}", row["model"], row["summary"]))
            .collect();
        assert_eq!(
            reported,
            [
                "\"leaving\" \"is no longer sold from 2027-03-30\"",
                "\"leaving\" \"is no longer sold from 2027-06-30\"",
            ]
        );
        assert_eq!(in_force(&api).await.len(), 3);
        assert_eq!(mirror(&api).await, in_force(&api).await);
        let changed = api
            .get("/changes?kind=price.changed,price.scheduled")
            .await
            .rows();
        assert_eq!(changed, Vec::<Value>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_says_what_its_request_did_to_the_record() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        let effect = async |query: &str, body: &Value| {
            let reply = api
                .post(&format!("/infer{query}"), body.to_string())
                .await
                .json();
            let effect = reply["observe"]["sheets"][0]["effect"].as_str();
            (
                reply["observe"]["observed"].clone(),
                effect.map(str::to_owned),
            )
        };
        let seen = |effect: &str| (json!(true), Some(effect.to_owned()));
        let question = json!({"price_sheet": priced("m", 1), "assumptions": {"chips": 8}});
        let later = with(priced("m", 4), "/valid_from", json!("2027-06-01T00:00:00Z"));
        assert_eq!(effect("", &question).await, (json!(false), None));
        assert_eq!(
            effect("?observe=false", &priced("m", 7)).await,
            (json!(false), None)
        );
        assert_eq!(
            effect("?store=false", &priced("m", 7)).await,
            (Value::Null, None)
        );
        assert!(api.get("/estimates/latest").await.rows().is_empty());
        assert_eq!(effect("", &priced("m", 1)).await, seen("in_force"));
        assert_eq!(effect("", &priced("m", 2)).await, seen("in_force"));
        assert_eq!(effect("", &priced("m", 2)).await, seen("in_force"));
        assert_eq!(effect("", &priced("m", 1)).await, seen("past"));
        assert_eq!(effect("?observe=true", &later).await, seen("scheduled"));
        import(&api, "", &litellm(&Prices::from([("m", 3)]))).await;
        assert_eq!(effect("", &priced("m", 5)).await, seen("outranked"));
        let wrong = api.post("/infer?observe=true", question.to_string()).await;
        wrong.problem(422);
        let unstored = format!("{}", priced("m", 5));
        let wrong = api.post("/infer?observe=true&store=false", unstored).await;
        wrong.problem(400);
        let rows = api.get("/estimates").await.rows();
        let observed = rows.iter().filter(|row| row["observed"] == true).count();
        assert_eq!((rows.len(), observed), (7, 5), "{rows:#?}");
    })
    .await;
}
