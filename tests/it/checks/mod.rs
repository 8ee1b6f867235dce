//! Contract tests over every route and every field.

mod bodies;
mod contract;
mod decimals;
mod fields;
mod injection;
mod numbers;
mod paging;
mod polling;
mod scenario;
mod sizes;
mod surroundings;
mod text;
mod writes;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::openapi::{committed, operations};
use crate::support::{Api, Reply, sheet};

/// A path of the API document as an address that is there.
struct Route {
    path: String,
    methods: BTreeSet<String>,
    /// Whether its POST has a body.
    has_body: bool,
    /// Parameters of the query of GET.
    query: Vec<String>,
}

impl Route {
    fn takes(&self, method: &str) -> bool {
        self.methods.contains(method)
    }
}

/// Every path of the API document; a sheet is stored, so that there is something under every id.
async fn routes(api: &Api) -> Vec<Route> {
    let answer = api.infer(&sheet()).await.json();
    let text = |pointer| answer.pointer(pointer).and_then(Value::as_str).unwrap();
    let webhook = json!({"url": "https://93.184.216.34/hook"}).to_string();
    let webhook = api.post("/webhooks", webhook).await.id();
    let address = |path: &str| {
        let id = match path.split('/').nth(1) {
            Some("price-sheets") => text("/price_sheets/0/id"),
            Some("webhooks") => &webhook,
            _ => text("/id"),
        };
        path.replace("{id}", id)
            .replace("{slug}", "unreadable")
            .replace("{provider}/{model}", "acme/m-1")
            .replace("{chart}", "market.json")
    };
    let with_names = |path: &str| match path {
        "/history" => "/history?provider=acme&model=m-1".to_owned(),
        path => address(path),
    };
    let document = committed();
    let mut routes: Vec<Route> = Vec::new();
    for (path, method, operation) in operations(&document) {
        // A stream has no end that one could wait for. Its own tests are next to those of the changes.
        if path.ends_with("/stream") {
            continue;
        }
        let (path, method) = (with_names(path), method.to_uppercase());
        let place = routes.iter().position(|route| route.path == path);
        let place = place.unwrap_or_else(|| {
            routes.push(Route {
                path,
                methods: BTreeSet::new(),
                has_body: false,
                query: Vec::new(),
            });
            routes.len() - 1
        });
        if method == "GET" {
            routes[place].query = query_parameters(operation);
        }
        routes[place].has_body |= operation["requestBody"].is_object();
        routes[place].methods.insert(method);
    }
    assert!(routes.len() >= 21, "{}", routes.len());
    routes
}

fn query_parameters(operation: &Value) -> Vec<String> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters
        .filter(|parameter| parameter["in"] == "query")
        .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The addresses of those routes that take a body.
async fn paths_taking_a_body(api: &Api) -> Vec<String> {
    let routes = routes(api).await.into_iter();
    routes
        .filter(|route| route.has_body)
        .map(|route| route.path)
        .collect()
}

/// The addresses of those routes that take a method.
async fn paths_taking(api: &Api, method: &str) -> Vec<String> {
    let routes = routes(api).await.into_iter();
    routes
        .filter(|route| route.takes(method))
        .map(|route| route.path)
        .collect()
}

/// The sheet that an answer is about, as it is stored.
async fn stored_sheet(api: &Api, answer: &Reply) -> Value {
    assert!(answer.status.is_success(), "{}", answer.text());
    let id = answer.json()["price_sheets"][0]["id"].clone();
    let path = format!("/price-sheets/{}", id.as_str().unwrap());
    api.get(&path).await.json()
}

/// The rows of all pages of a list, two on each.
async fn paged_rows(api: &Api, list: &str) -> Vec<Value> {
    /// More pages than any list here has: a list without an end fails instead of continuing.
    const MOST_PAGES: usize = 100;
    let mut rows = Vec::new();
    let mut page = format!("{list}?limit=2");
    for _ in 0..MOST_PAGES {
        let reply = api.get(&page).await;
        rows.extend(reply.rows());
        match reply.json()["next_cursor"].as_str() {
            Some(cursor) => page = format!("{list}?limit=2&cursor={cursor}"),
            None => return rows,
        }
    }
    panic!("{list}: no last page");
}

/// A path with one parameter of a query, as a client writes it.
fn with_query(path: &str, name: &str, value: &str) -> String {
    let query: String = url::form_urlencoded::Serializer::new(String::new())
        .append_pair(name, value)
        .finish();
    let and = if path.contains('?') { '&' } else { '?' };
    format!("{path}{and}{query}")
}
