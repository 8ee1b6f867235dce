//! Limits per client: budgets, their headers, and what each request costs.

use std::num::NonZeroU32;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use futures_util::future::join_all;
use futures_util::stream;
use serde_json::json;
use unroof_edge::{ClientLimits, Limits};
use unroof_store::access::Scope;

use super::{get, key, post, send, service_within};
use crate::server::Server;
use crate::support::{Api, Reply, on_each_database, on_each_database_blocking, sheet, sheet_of};

/// A budget that comes back slowly: within a test, a few points.
pub(crate) fn budget(burst: u32) -> Limits {
    Limits {
        client: Some(ClientLimits {
            rate: NonZeroU32::MIN,
            burst: NonZeroU32::new(burst).unwrap(),
        }),
        ..Limits::default()
    }
}

/// The points that an answer says it cost.
pub(super) fn points(reply: &Reply) -> u32 {
    reply.header("unroof-points").unwrap().parse().unwrap()
}

/// The points that an answer says are left.
pub(super) fn rest(reply: &Reply) -> u32 {
    let text = reply.header("ratelimit").unwrap();
    let rest = text.strip_prefix("\"default\";r=").unwrap();
    rest.split_once(";t=").unwrap().0.parse().unwrap()
}

/// Whether a request took so many points, or as many more as its CPU time cost; some come back meanwhile.
fn assert_took(before: u32, reply: &Reply, least: u32) {
    let (left, points) = (rest(reply), points(reply));
    assert!(points >= least, "{reply:?}");
    let least = before.saturating_sub(points);
    assert!(
        (least..least + points.div_ceil(2).max(1)).contains(&left),
        "{before} points, then {left}: {reply:?}"
    );
}

#[tokio::test]
async fn a_client_that_has_spent_its_budget_waits_and_no_other_does() {
    on_each_database(async |database| {
        let (api, store) = service_within(database, None, budget(1_009)).await;
        let greedy = key(&store, "greedy", Scope::Ask).await;
        let modest = key(&store, "modest", Scope::Read).await;
        let first = get(&api, "/estimates", &greedy).await;
        assert_eq!(first.status, 200, "{}", first.text());
        assert_eq!(rest(&first), 1_008);
        assert_eq!(
            first.header("ratelimit-policy"),
            Some("\"default\";q=1009;w=1009")
        );
        let asked = post(&api, "/infer?store=false", &greedy, &sheet()).await;
        assert_eq!(asked.status, 200, "{}", asked.text());
        assert_took(1_008, &asked, 20);
        // A request that its scope refuses is charged too.
        let refused = post(&api, "/catalogs", &greedy, &json!({})).await;
        assert_eq!(refused.status, 403);
        assert_took(rest(&asked), &refused, 20);
        // Eight points are left in the end: twenty take long enough to come back.
        let mut left = rest(&refused);
        let mut last = refused;
        while left >= 20 {
            last = get(&api, "/ui/plan", &greedy).await;
            assert_eq!(last.status, 200);
            left = rest(&last);
        }
        let problem = post(&api, "/infer", &greedy, &sheet_of("m-2")).await;
        let wait: u32 = problem.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=20).contains(&wait), "{wait} seconds; {last:?}");
        let said = format!("\"default\";r=0;t={wait}");
        assert_eq!(problem.header("ratelimit"), Some(said.as_str()));
        let problem = problem.problem(429);
        assert_eq!(problem["type"], "/problems/client-limit");
        let page = get(&api, "/ui/try", &greedy).await;
        assert_eq!(page.status, 429);
        assert!(page.header("retry-after").is_some());
        assert!(
            page.header("content-type")
                .unwrap()
                .starts_with("text/html")
        );
        assert_eq!(rest(&get(&api, "/estimates", &modest).await), 1_008);
        // Probes are free, and say nothing of a budget.
        for open in ["/healthz", "/readyz", "/openapi.json"] {
            let reply = get(&api, open, &greedy).await;
            assert_eq!(reply.status, 200);
            assert_eq!(reply.header("ratelimit"), None);
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_the_client_has_already_is_free() {
    on_each_database(async |database| {
        let (api, store) = service_within(database, None, budget(5)).await;
        let reader = key(&store, "reader", Scope::Read).await;
        let first = get(&api, "/estimates", &reader).await;
        let known = first.header("etag").unwrap();
        let bearer = format!("Bearer {reader}");
        let headers = [("authorization", bearer.as_str()), ("if-none-match", known)];
        let mut left = rest(&first);
        for _ in 0..50 {
            let same = api.ask(Method::GET, "/estimates", &headers).await;
            assert_eq!(same.status, 304);
            assert_eq!(same.header("unroof-points"), Some("0"), "{same:?}");
            assert!(rest(&same) >= left, "{same:?}");
            left = rest(&same);
        }
        // Nor does it help to name an answer that is none: it is charged, and refused before it is worked on.
        let headers = [headers[0], ("if-none-match", "\"0\"")];
        let mut statuses = Vec::new();
        for _ in 0..8 {
            statuses.push(api.ask(Method::GET, "/estimates", &headers).await.status);
        }
        assert_eq!(statuses[0], 200);
        assert!(statuses.contains(&StatusCode::TOO_MANY_REQUESTS));
    })
    .await;
}

#[tokio::test]
async fn a_catalog_costs_by_its_size_and_one_of_unknown_size_costs_everything() {
    on_each_database(async |database| {
        let (api, store) = service_within(database, None, budget(1_000)).await;
        let desk = key(&store, "desk", Scope::Observe).await;
        let catalog = format!("{{\"note\": \"{}\"}}", "x".repeat(128 * 1024));
        let send = async |body: Body, length: Option<usize>| {
            let request = Request::post("/catalogs?dry_run=true")
                .header("authorization", format!("Bearer {desk}"))
                .header("content-type", "application/json");
            let request = match length {
                Some(length) => request.header("content-length", length),
                None => request.header("transfer-encoding", "chunked"),
            };
            api.send(request.body(body).unwrap()).await
        };
        let whole = send(Body::from(catalog.clone()), Some(catalog.len())).await;
        assert_took(1_000, &whole, 28);
        let piece = Ok::<_, std::io::Error>(catalog);
        let chunked = send(Body::from_stream(stream::iter([piece])), None).await;
        assert_eq!(chunked.status, 429, "{}", chunked.text());
    })
    .await;
}

#[tokio::test]
async fn a_browser_has_the_budget_of_its_key_however_often_it_signs_in() {
    on_each_database(async |database| {
        let (api, store) = service_within(database, None, budget(1_000)).await;
        let reader = key(&store, "reader", Scope::Read).await;
        assert_eq!(rest(&get(&api, "/estimates", &reader).await), 999);
        for number in 1..=3 {
            let form = Request::post("/ui/sign-in")
                .header("content-type", "application/x-www-form-urlencoded")
                .header("sec-fetch-site", "same-origin")
                .body(Body::from(format!("key={reader}")));
            let entered = api.send(form.unwrap()).await;
            // Those of a caller without a key, which it still is.
            assert_took(1_000 - 20 * (number - 1), &entered, 20);
            let cookie = entered.header("set-cookie").unwrap();
            let cookie = [("cookie", cookie.split(';').next().unwrap())];
            let page = api.ask(Method::GET, "/ui/truth", &cookie).await;
            assert_eq!(page.status, 200);
            assert!(rest(&page) < 1_000, "after {number} more: {page:?}");
        }
        let left = rest(&get(&api, "/estimates", &reader).await);
        assert!(left < 999, "{left}");
    })
    .await;
}

#[tokio::test]
async fn guesses_of_keys_count_for_the_address() {
    on_each_database(async |database| {
        let (api, _store) = service_within(database, None, budget(3)).await;
        let mut statuses = Vec::new();
        for number in 0..6 {
            let guess = format!("unroof_{number}");
            statuses.push(get(&api, "/estimates", &guess).await.status.as_u16());
        }
        assert_eq!(statuses[..3], [401; 3]);
        assert!(statuses[3..].contains(&429), "{statuses:?}");
    })
    .await;
}

/// A question that takes a while to compute.
async fn ask(api: &Api, key: &str, number: usize) -> Reply {
    let sheet = sheet_of(&format!("m-{number}"));
    send(api, Method::POST, "/infer?store=false", key, &sheet).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_many_questions_at_once_fills_half_of_the_queue_and_others_are_answered() {
    on_each_database(async |database| {
        let limits = Limits {
            computing: 1,
            waiting: 8,
            ..budget(1_000_000)
        };
        let (api, store) = service_within(database, None, limits).await;
        let greedy = key(&store, "greedy", Scope::Ask).await;
        let others = join_all(
            (0..3).map(async |number| key(&store, &format!("modest {number}"), Scope::Ask).await),
        );
        let others = others.await;
        let flood = join_all((0..100).map(|number| ask(&api, &greedy, number)));
        let beside = join_all(others.iter().map(|key| ask(&api, key, 1000)));
        let (flood, beside) = tokio::join!(flood, beside);
        for reply in &beside {
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
        let count = |status: u16| {
            let same = flood.iter().filter(|reply| reply.status == status);
            same.count()
        };
        assert_eq!(count(200) + count(429), 100);
        assert!(count(200) >= 4, "{} were answered", count(200));
        let refused = flood.iter().find(|reply| reply.status == 429).unwrap();
        assert_eq!(refused.header("retry-after"), Some("1"));
        let detail = refused.problem(429)["detail"].to_string();
        assert!(detail.contains("share of the request queue"), "{detail}");
    })
    .await;
}

#[test]
fn strangers_are_distinguished_by_the_address_that_a_trusted_proxy_hands_on() {
    on_each_database_blocking(|database| {
        let arguments = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
        let limits = ["--anonymous", "read", "--client-rate", "1"];
        let limits = [&limits[..], &["--client-burst", "2"]].concat();
        let proxy = ["--trusted-proxy", "127.0.0.1"];
        let server = Server::start_with(&[&arguments, &limits[..], &proxy].concat());
        let client = crate::server::client();
        let ask = |from: &str| {
            let url = format!("{}/models", server.address);
            let request = client.get(&url).header("x-forwarded-for", from);
            request.call().unwrap().status().as_u16()
        };
        let exhaust = |from: &str| {
            let mut statuses = (0..10).map(|_| ask(from));
            assert_eq!(statuses.next(), Some(200), "{from}");
            assert!(statuses.any(|status| status == 429), "{from}");
        };
        exhaust("192.0.2.1");
        exhaust("192.0.2.2");
        // What a client writes before the proxy's word is not the address.
        exhaust("203.0.113.7, 192.0.2.3");
        let spoofed = (0..10).map(|number| ask(&format!("203.0.113.{number}, 192.0.2.3")));
        assert!(spoofed.into_iter().any(|status| status == 429));
        exhaust("2001:db8:0:1::1");
        let same_network = (0..10).map(|number| ask(&format!("2001:db8:0:1::{number:x}")));
        assert!(same_network.into_iter().any(|status| status == 429));
        exhaust("2001:db8:0:2::1");
        drop(server);
        // A service that only this machine can reach has no limits by itself.
        let open = Server::start_with(&arguments);
        let url = format!("{}/models", open.address);
        let answer = client.get(&url).call().unwrap();
        assert!(answer.headers().get("ratelimit").is_none());
    });
}
