//! Keys that end, and keys that are limited to providers and networks.

use axum::body::Body;
use axum::http::{Method, Request};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use unroof_edge::Peer;
use unroof_store::access::{Actor, NewKey, Only, Scope};
use unroof_store::{NewKeyRow, Store};
use uuid::Uuid;

use super::pages::form;
use super::refusals::from;
use super::{get, key, post, send, service};
use crate::support::{Api, NOW, clock, on_each_database, sheet, with};

/// A key with the scope `observe` for the provider `acme` alone.
async fn of_acme(store: &Store) -> String {
    let key = NewKey::random().unwrap();
    let new = NewKeyRow {
        id: Uuid::new_v4(),
        name: "acme",
        scope: Scope::Observe,
        hash: key.hash,
        created_at: clock().now(),
        expires_at: None,
        networks: &Only::ANY,
        providers: &Only::from(vec!["acme".to_owned()]),
    };
    assert!(store.add_key(new, 100, &Actor::COMMAND_LINE).await.unwrap());
    key.text
}

fn sheet_by(provider: &str) -> Value {
    with(sheet(), "/provider", json!(provider))
}

/// A catalog of LiteLLM with one offer of each provider.
fn catalog(providers: &[&str]) -> Value {
    let entries = providers.iter().map(|provider| {
        let entry = json!({"litellm_provider": provider, "mode": "chat",
            "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6});
        (format!("{provider}/m-1"), entry)
    });
    Value::Object(entries.collect())
}

/// Asserts that a request is refused for a provider, which is named.
async fn assert_refused(api: &Api, path: &str, key: &str, body: &Value, says: &str) {
    let problem = post(api, path, key, body).await.problem(403);
    assert_eq!(problem["type"], "/problems/scope", "{path}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(says), "{path}: {detail}");
    assert!(
        problem["hint"].as_str().unwrap().contains("acme"),
        "{problem}"
    );
}

/// The prices in force.
async fn in_force(api: &Api, key: &str) -> Vec<Value> {
    get(
        api,
        "/estimates/latest?fields=id,provider,model,region",
        key,
    )
    .await
    .rows()
}

#[tokio::test]
async fn a_key_that_is_limited_to_providers_writes_no_price_of_another() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let admin = key(&store, "admin", Scope::Admin).await;
        let acme = of_acme(&store).await;
        let whole = catalog(&["acme", "globex"]);
        let imported = post(&api, "/catalogs", &admin, &whole).await;
        assert_eq!(imported.status, 200, "{}", imported.text());
        assert_eq!(
            post(&api, "/infer", &admin, &sheet_by("globex"))
                .await
                .status,
            201
        );
        let sheets = get(&api, "/price-sheets?fields=id,provider", &admin)
            .await
            .rows();
        let id_of = |provider: &str| {
            let row = sheets
                .iter()
                .find(|row| row["provider"] == provider)
                .unwrap();
            row["id"].as_str().unwrap().to_owned()
        };
        let before = in_force(&api, &admin).await;
        let reason = json!({"reason": "a mistake"});
        let withdraw = |provider: &str| format!("/price-sheets/{}/withdraw", id_of(provider));
        let by_globex = sheet_by("globex");
        let named = |sheet: Value| with(sheet, "/canonical_model", json!("acme/m-1"));
        let pool = json!({"price_sheets": [named(sheet()), named(by_globex.clone())]});
        for (path, body, says) in [
            ("/infer", &by_globex, "`globex`"),
            ("/infer?observe=true", &by_globex, "`globex`"),
            ("/infer", &sheet_by("Acme"), "`Acme`"),
            ("/infer", &pool, "`globex`"),
            (
                "/infer?format=litellm&model=globex/m-1",
                &whole["globex/m-1"],
                "`globex`",
            ),
            ("/catalogs", &whole, "`globex`"),
            ("/catalogs?provider=globex", &whole, "`globex`"),
            // Its offers would end.
            ("/catalogs", &catalog(&["acme"]), "a whole catalog"),
            (
                "/catalogs?dry_run=true",
                &catalog(&["acme"]),
                "a whole catalog",
            ),
            ("/catalogs", &json!([sheet(), by_globex]), "`globex`"),
            (&withdraw("globex"), &reason, "`globex`"),
        ] {
            assert_refused(&api, path, &acme, body, says).await;
        }
        let undo = format!("/price-sheets/{}/withdrawal", id_of("globex"));
        send(&api, Method::DELETE, &undo, &acme, &Value::Null)
            .await
            .problem(403);
        let mut page = url::form_urlencoded::Serializer::new(String::new());
        page.append_pair("sheet", &by_globex.to_string())
            .append_pair("store", "yes");
        let request = Request::post("/ui/try")
            .header("authorization", format!("Bearer {acme}"))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin");
        let tried = api
            .send(request.body(Body::from(page.finish())).unwrap())
            .await;
        assert_eq!(tried.status, 403, "{}", tried.text());
        assert_eq!(in_force(&api, &admin).await, before);

        // Its own prices it writes, of others it asks.
        let asked = post(&api, "/infer?observe=false", &acme, &by_globex).await;
        assert_eq!(
            asked.json()["observe"]["observed"],
            false,
            "{}",
            asked.text()
        );
        let other_model = with(sheet(), "/model", json!("m-2"));
        let own = post(&api, "/infer", &acme, &other_model).await;
        assert_eq!(own.json()["observe"]["observed"], true, "{}", own.text());
        let own = own.json()["observe"]["sheets"][0]["price_sheet_id"].clone();
        let withdraw = format!("/price-sheets/{}/withdraw", own.as_str().unwrap());
        assert_eq!(post(&api, &withdraw, &acme, &reason).await.status, 200);
        let part = post(&api, "/catalogs?provider=acme", &acme, &whole).await;
        assert_eq!(part.status, 200, "{}", part.text());
        assert_eq!(
            post(&api, "/catalogs", &acme, &json!([sheet()]))
                .await
                .status,
            200
        );
        let others = |rows: Vec<Value>| -> Vec<Value> {
            rows.into_iter()
                .filter(|row| row["provider"] != "acme")
                .collect()
        };
        assert_eq!(others(in_force(&api, &admin).await), others(before));
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_another_key_was_given_is_not_given_to_a_limited_one() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let desk = key(&store, "desk", Scope::Observe).await;
        let acme = of_acme(&store).await;
        for status in [201, 200, 200] {
            let reply = post(&api, "/infer", &desk, &sheet_by("globex")).await;
            assert_eq!(reply.status, status);
        }
        assert_refused(&api, "/infer", &acme, &sheet_by("globex"), "`globex`").await;
    })
    .await;
}

#[tokio::test]
async fn a_key_that_is_limited_to_networks_is_taken_from_nowhere_else() {
    on_each_database(async |database| {
        let (api, store) = service(database, Some(Scope::Read)).await;
        let admin = key(&store, "admin", Scope::Admin).await;
        let asked =
            json!({"name": "desk", "scope": "ask", "networks": ["10.0.0.0/8", "2001:db8::7"]});
        let made = post(&api, "/keys", &admin, &asked).await;
        assert_eq!(made.status, 201, "{}", made.text());
        assert_eq!(
            made.json()["networks"],
            json!(["10.0.0.0/8", "2001:db8::7/128"])
        );
        let made = made.json();
        let desk = made["key"].as_str().unwrap();
        for (address, is_in) in [
            ("10.1.2.3", true),
            ("[::ffff:10.1.2.3]", true),
            ("[2001:db8::7]", true),
            ("192.0.2.1", false),
            ("[2001:db8::8]", false),
        ] {
            let reply = from(&api, address, Method::GET, "/models", desk).await;
            if is_in {
                assert_eq!(reply.status, 200, "{address}");
                continue;
            }
            let problem = reply.problem(403);
            assert_eq!(problem["detail"], "the key is not taken from this address");
        }
        // A connection without an address, as that of the Unix socket, is in no network.
        get(&api, "/models", desk).await.problem(403);
        // A browser that signed in with it takes its limits along.
        let enter = |address: &str| {
            let request = Request::post("/ui/sign-in")
                .extension(Peer::Tcp(format!("{address}:1").parse().unwrap()))
                .header("content-type", "application/x-www-form-urlencoded")
                .header("sec-fetch-site", "same-origin");
            request.body(Body::from(format!("key={desk}"))).unwrap()
        };
        assert_eq!(api.send(enter("192.0.2.1")).await.status, 403);
        let entered = api.send(enter("10.0.0.1")).await;
        let cookie = entered.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let page = |address: &str| {
            let peer = Peer::Tcp(format!("{address}:1").parse().unwrap());
            let request = Request::get("/ui/try")
                .extension(peer)
                .header("cookie", &cookie);
            request.body(Body::empty()).unwrap()
        };
        assert_eq!(api.send(page("10.0.0.9")).await.status, 200);
        assert_eq!(api.send(page("192.0.2.1")).await.status, 403);
        let out = form(&api, "/ui/sign-out", "same-origin", &cookie, "").await;
        assert_eq!(out.status, 303);
    })
    .await;
}

#[tokio::test]
async fn a_key_expires_after_ninety_days_unless_another_end_or_none_is_asked_for() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let admin = key(&store, "admin", Scope::Admin).await;
        let now: Timestamp = NOW.parse().unwrap();
        let usual = (now + SignedDuration::from_hours(90 * 24)).to_string();
        for (name, stated, end) in [
            ("usual", json!({}), json!(usual)),
            ("never", json!({"expires_at": "never"}), Value::Null),
            (
                "soon",
                json!({"expires_at": "2026-12-01T00:00:00Z"}),
                json!("2026-12-01T00:00:00Z"),
            ),
        ] {
            let body = with(with(stated, "/name", json!(name)), "/scope", json!("read"));
            let made = post(&api, "/keys", &admin, &body).await;
            assert_eq!(made.status, 201, "{}", made.text());
            assert_eq!(made.json()["expires_at"], end, "{name}");
        }
        let rows = get(&api, "/keys", &admin).await.rows();
        let row = rows.iter().find(|row| row["name"] == "usual").unwrap();
        assert_eq!(row["expires_at"], usual);
    })
    .await;
}

#[tokio::test]
async fn a_wrong_limit_of_a_key_is_named_by_its_place() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let admin = key(&store, "admin", Scope::Admin).await;
        let many: Vec<_> = (0..65).map(|number| format!("p-{number}")).collect();
        for (scope, field, value, pointer) in [
            (
                "read",
                "networks",
                json!(["10.0.0.0/8", "10.0.0.0/33"]),
                "/networks/1",
            ),
            ("read", "networks", json!([]), "/networks"),
            ("read", "networks", json!("10.0.0.0/8"), "/networks"),
            ("observe", "providers", json!([]), "/providers"),
            ("observe", "providers", json!(many), "/providers"),
            ("observe", "providers", json!(["a\u{0}b"]), "/providers/0"),
            // Their keys write no prices, or make keys without limits.
            ("read", "providers", json!(["acme"]), "/providers"),
            ("ask", "providers", json!(["acme"]), "/providers"),
            ("admin", "providers", json!(["acme"]), "/providers"),
            ("read", "expires_at", json!("sometime"), "/expires_at"),
        ] {
            let body = json!({"name": "x", "scope": scope, field: value});
            let reply = post(&api, "/keys", &admin, &body).await;
            if value == json!(["a\u{0}b"]) {
                reply.problem(400);
                continue;
            }
            assert_eq!(
                reply.problem(422)["errors"][0]["pointer"],
                pointer,
                "{body}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_whose_limit_cannot_be_read_is_not_taken() {
    on_each_database(async |database| {
        let (api, store) = service(database, None).await;
        let acme = of_acme(&store).await;
        let other = key(&store, "other", Scope::Read).await;
        database
            .execute("UPDATE api_keys SET providers = 'acme' WHERE providers IS NOT NULL")
            .await;
        get(&api, "/models", &acme).await.problem(401);
        assert_eq!(get(&api, "/models", &other).await.status, 200);
    })
    .await;
}
