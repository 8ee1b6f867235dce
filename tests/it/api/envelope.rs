//! Common to all responses: problems for refusals, request ids, methods.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{TestDatabase, on_each_database, sheet};

/// Every path that answers GET with 200 once something is stored.
async fn paths(api: &crate::support::Api) -> Vec<String> {
    let answer = api.infer(&sheet()).await.json();
    let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
    let fixed = [
        "/estimates",
        "/estimates/latest",
        "/price-sheets",
        "/reference/accelerators",
        "/reference/storage-tiers",
        "/reference/readings",
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/problems/unreadable",
    ];
    let mut paths: Vec<String> = fixed.map(str::to_owned).into();
    paths.push(format!("/estimates/{}", id(&answer)));
    paths.push(format!("/price-sheets/{}", id(&answer["price_sheets"][0])));
    paths
}

#[tokio::test(flavor = "multi_thread")]
async fn head_works_like_get_without_a_body() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for path in paths(&api).await {
            let get = api.get(&path).await;
            assert_eq!(get.status, StatusCode::OK, "{path}: {}", get.text());
            assert!(!get.body.is_empty(), "{path}");
            let head = api.ask(Method::HEAD, &path, &[]).await;
            assert_eq!(head.status, StatusCode::OK, "{path}");
            assert!(head.body.is_empty(), "{path}");
            for name in ["content-type", "etag", "cache-control", "vary", "link"] {
                assert_eq!(head.header(name), get.header(name), "{path}: {name}");
            }
            let length = head.header("content-length").map(str::to_owned);
            assert_eq!(length, Some(get.body.len().to_string()), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn unknown_query_parameters_are_refused_by_name_on_every_route() {
    let api = TestDatabase::sqlite().api().await;
    for path in paths(&api).await {
        let problem = api.get(&format!("{path}?limti=5")).await.problem(400);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("`limti`"), "{path}: {detail}");
    }
    let posted = api.post("/infer?stoer=false", sheet().to_string()).await;
    let problem = posted.problem(400);
    assert!(
        problem["detail"].as_str().unwrap().contains("`stoer`"),
        "{problem}"
    );
}

#[tokio::test]
async fn bad_values_of_query_parameters_are_400() {
    let api = TestDatabase::sqlite().api().await;
    let rows = [
        ("store=no", "store"),
        ("store=", "store"),
        ("store=true&store=false", "store"),
        ("format=no-catalog&model=m", "format"),
        ("format=litellm", "`format=litellm` needs `model`"),
        ("format=litellm&model=", "`format=litellm` needs `model`"),
        ("format=litellm&model=%20", "`format=litellm` needs `model`"),
        (
            "format=litellm&model=a%00b",
            "`format=litellm` needs `model`",
        ),
        ("model=m", "`model` goes with `format`"),
    ];
    for (query, words) in rows {
        let reply = api
            .post(&format!("/infer?{query}"), sheet().to_string())
            .await;
        let problem = reply.problem(400);
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.starts_with("invalid query string: "),
            "{query}: {detail}"
        );
        assert!(detail.contains(words), "{query}: {detail}");
    }
    for query in ["provider=a%00", "assumptions=none", "assumptions="] {
        api.get(&format!("/estimates/latest?{query}"))
            .await
            .problem(400);
    }
}

#[tokio::test]
async fn everything_that_is_not_there_is_a_404_problem() {
    let api = TestDatabase::sqlite().api().await;
    let unknown = Uuid::nil();
    let rows = [
        ("/nothing".to_owned(), "there is no route `/nothing`"),
        ("/estimates/".to_owned(), "there is no route `/estimates/`"),
        ("/reference".to_owned(), "there is no route `/reference`"),
        (
            format!("/estimates/{unknown}"),
            "there is no estimate with this id",
        ),
        (
            format!("/price-sheets/{unknown}"),
            "there is no price sheet with this id",
        ),
        (
            "/estimates/7".to_owned(),
            "the last part of the path is not an id",
        ),
        (
            "/price-sheets/%FF".to_owned(),
            "the last part of the path is not an id",
        ),
        (
            "/problems/nothing".to_owned(),
            "there is no problem class with this address",
        ),
    ];
    for (path, detail) in rows {
        assert_eq!(
            api.get(&path).await.problem(404)["detail"],
            detail,
            "{path}"
        );
    }
    let long = format!("/{}", "x".repeat(10_000));
    assert!(api.get(&long).await.text().len() < 1_000);
    api.get("/docs/nothing.js").await.problem(404);
}

#[tokio::test]
async fn methods_that_a_path_does_not_take_are_405_with_those_that_it_takes() {
    let api = TestDatabase::sqlite().api().await;
    for path in paths(&api).await {
        for method in [
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
            Method::OPTIONS,
            Method::TRACE,
        ] {
            let is_deleted = path.starts_with("/estimates/") && path != "/estimates/latest";
            if is_deleted && method == Method::DELETE {
                continue;
            }
            let reply = api.ask(method.clone(), &path, &[]).await;
            reply.problem(405);
            let allowed = if is_deleted {
                "GET,HEAD,DELETE"
            } else {
                "GET,HEAD"
            };
            assert_eq!(reply.header("allow"), Some(allowed), "{method} {path}");
        }
    }
    let reply = api.get("/infer").await;
    reply.problem(405);
    assert_eq!(reply.header("allow"), Some("POST"));
}

#[tokio::test]
async fn a_problem_leads_to_a_description_of_its_class() {
    let api = TestDatabase::sqlite().api().await;
    let refusals = [
        api.get("/nothing").await,
        api.get("/infer").await,
        api.get("/estimates?limit=0").await,
        api.post("/infer", " ".repeat(1024 * 1024 + 1)).await,
        api.ask(Method::POST, "/infer", &[]).await,
        api.post("/infer", "{}").await,
    ];
    for (refusal, status) in refusals.iter().zip([404, 405, 400, 413, 415, 422]) {
        let problem = refusal.problem(status);
        assert_eq!(refusal.header("cache-control"), Some("no-store"));
        let described = api.get(problem["type"].as_str().unwrap()).await;
        assert_eq!(described.status, StatusCode::OK);
        let first_line = format!("{status} {}\n", problem["title"].as_str().unwrap());
        assert!(
            described.text().starts_with(&first_line),
            "{}",
            described.text()
        );
    }
}

#[tokio::test]
async fn a_safe_request_id_is_echoed_and_any_other_replaced() {
    let api = TestDatabase::sqlite().api().await;
    let ask = async |path: &str, id: &str| {
        let reply = api.ask(Method::GET, path, &[("x-request-id", id)]).await;
        reply.header("x-request-id").unwrap().to_owned()
    };
    let longest = "x".repeat(64);
    for path in ["/healthz", "/nothing", "/estimates?limit=0"] {
        for id in ["a", "7e57-ID_0.1", &longest] {
            assert_eq!(ask(path, id).await, *id, "{path}");
        }
        let too_long = "x".repeat(65);
        for id in [
            "", "a b", "a\tb", "a\"b", "a;b", "<script>", "a/b", "%0a", &too_long,
        ] {
            let given = ask(path, id).await;
            assert!(
                given.parse::<Uuid>().is_ok(),
                "{path}: {id:?} became {given}"
            );
        }
    }
    let (one, other) = (api.get("/healthz").await, api.get("/healthz").await);
    assert_ne!(one.header("x-request-id"), other.header("x-request-id"));
    let refused = api
        .ask(Method::GET, "/nothing", &[("x-request-id", "mine-1")])
        .await;
    assert_eq!(refused.problem(404)["request_id"], "mine-1");
}

#[tokio::test]
async fn pages_of_other_origins_are_not_let_in() {
    let api = TestDatabase::sqlite().api().await;
    let origin = ("origin", "https://elsewhere.example");
    let asked = ("access-control-request-method", "POST");
    let replies = [
        api.ask(Method::GET, "/estimates", &[origin]).await,
        api.ask(Method::OPTIONS, "/infer", &[origin, asked]).await,
    ];
    for reply in replies {
        let mut names = reply.headers.keys().map(axum::http::HeaderName::as_str);
        assert!(
            !names.any(|name| name.starts_with("access-control-")),
            "{reply:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_says_ok_and_is_not_kept() {
    on_each_database(async |database: &TestDatabase| {
        let api = database.api().await;
        for path in ["/healthz", "/readyz"] {
            let reply = api.get(path).await;
            assert_eq!(
                (reply.status, reply.json()),
                (StatusCode::OK, json!({"status": "ok"}))
            );
            assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_database_is_a_503_with_retry_after() {
    on_each_database(async |database: &TestDatabase| {
        let store = database.store().await;
        let app = unroof_server::App::new(
            store.clone(),
            crate::support::clock(),
            unroof_edge::Limits::default(),
        );
        let api = crate::support::Api::new(app);
        store.close().await;
        let refusals = [
            api.get("/readyz").await,
            api.get("/estimates").await,
            api.infer(&sheet()).await,
        ];
        for refusal in refusals {
            let problem = refusal.problem(503);
            assert_eq!(problem["type"], "/problems/unavailable");
            assert_eq!(refusal.header("retry-after"), Some("1"));
            let text = refusal.text();
            assert!(!text.contains("pool") && !text.contains("sqlx"), "{text}");
        }
        // Requests without the database continue.
        assert_eq!(api.get("/healthz").await.status, StatusCode::OK);
        let computed = api.post("/infer?store=false", sheet().to_string()).await;
        assert_eq!(computed.status, StatusCode::OK);
    })
    .await;
}
