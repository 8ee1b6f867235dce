//! The examples of the API document: answers of the service, recorded when the document is written.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};
use unroof_edge::Limits;
use unroof_import::ModelEstimator;
use unroof_infer::estimate::Estimator;
use unroof_server::App;
use uuid::Uuid;

use super::operations;
use super::problems::shared_problems;
use crate::changes::webhooks::{Hand, Receiver, Sender};
use crate::support::{Api, Reply, TestDatabase, sheet};

/// Length from which an example is cut.
const LONG: usize = 4_000;
/// Items that are left of its lists, and lines of its tables below the head.
const ITEMS_LEFT: usize = 2;
/// Length from which an example that occurs again is written once.
const SHARED: usize = 300;

/// Place of an answer in the document: path, method, status, media type.
type Place = (String, String, String, String);

/// Ids under which something is stored.
pub(super) struct Ids {
    pub(super) estimate: String,
    /// An estimate that only answers a question.
    pub(super) question: String,
    pub(super) sheet: String,
    pub(super) webhook: String,
    pub(super) key: String,
    /// An import that is held, and one that is discarded.
    pub(super) imports: [String; 2],
}

impl Ids {
    /// A path of the document as an address.
    pub(super) fn fill(&self, path: &str, operation: &Value) -> String {
        let id = match path.split('/').nth(1) {
            Some("estimates") if operation["operationId"] == "delete_estimate" => &self.question,
            Some("estimates") => &self.estimate,
            Some("price-sheets") => &self.sheet,
            Some("webhooks") => &self.webhook,
            Some("keys") => &self.key,
            Some("imports") if path.ends_with("/discard") => &self.imports[1],
            Some("imports") => &self.imports[0],
            _ => "",
        };
        let mut address = path.replace("{id}", id);
        for parameter in parameters(operation, "path") {
            let name = format!("{{{}}}", parameter["name"].as_str().unwrap());
            if let Some(example) = prefill(parameter) {
                address = address.replace(&name, &example);
            }
        }
        assert!(
            !address.contains('{') && !address.contains("//"),
            "no example of {path}"
        );
        address
    }
}

fn parameters<'a>(operation: &'a Value, place: &str) -> impl Iterator<Item = &'a Value> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.filter(move |parameter| parameter["in"] == place)
}

/// The text that a page with forms writes into the field of a parameter.
fn prefill(parameter: &Value) -> Option<String> {
    let places = [
        "/example",
        "/schema/example",
        "/schema/examples/0",
        "/schema/default",
    ];
    let value = places.iter().find_map(|place| parameter.pointer(place))?;
    Some(
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned),
    )
}

/// The service with something to show under every path.
pub(super) struct Shown {
    pub(super) api: Api,
    pub(super) ids: Ids,
    _database: TestDatabase,
}

impl Shown {
    pub(super) async fn new() -> Self {
        let limits = Limits {
            webhook_allow_private: true,
            ..Limits::default()
        };
        let (database, hand) = (TestDatabase::sqlite(), Hand::new());
        let api = Api::new(App::new(database.store().await, hand.clock(), limits));
        let question = json!({"price_sheet": sheet(), "assumptions": {"chips": 8}});
        let question = api.infer(&question).await.id();
        let litellm = |price: f64| {
            json!({
                "gemini-2.5-pro": {"litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": price,
                    "output_cost_per_token": 8.0 * price, "max_input_tokens": 1_048_576},
                "gemini-2.5-flash": {"litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": 3e-7,
                    "output_cost_per_token": 2.5e-6, "max_input_tokens": 1_048_576},
            })
        };
        let other = json!({"google": {"id": "google", "name": "Google", "models": {"gemini-2.5-pro": {
            "id": "gemini-2.5-pro", "name": "Gemini 2.5 Pro", "cost": {"input": 1.5, "output": 10},
            "limit": {"context": 1_048_576, "output": 65_536}}}},
            "deepinfra": {"id": "deepinfra", "name": "Deep Infra", "models": {"openai/gpt-oss-120b": {
            "id": "openai/gpt-oss-120b", "name": "GPT OSS 120B", "cost": {"input": 0.05, "output": 0.24},
            "limit": {"context": 131_072, "output": 16_384}}}}});
        for (seen_at, format, catalog) in [
            ("2026-03-01T00:00:00Z", "litellm", litellm(2.5e-6)),
            ("2026-06-01T00:00:00Z", "litellm", litellm(1.25e-6)),
            ("2026-06-02T00:00:00Z", "models.dev", other),
        ] {
            let path = format!("/catalogs?format={format}&observed_at={seen_at}");
            let reply = api.post(&path, catalog.to_string()).await;
            assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
            hand.advance(Duration::from_secs(1));
        }
        let imports = held_imports(&api, || hand.advance(Duration::from_secs(1))).await;
        let models = ModelEstimator {
            store: database.store().await,
            estimator: Estimator::default(),
            threads: 1,
        };
        models.estimate_due().await.unwrap();
        let estimate = api.infer(&sheet()).await;
        let ids = Ids {
            sheet: estimate.json()["price_sheets"][0]["id"]
                .as_str()
                .unwrap()
                .to_owned(),
            estimate: estimate.id(),
            question,
            webhook: api
                .post(
                    "/webhooks",
                    json!({"url": "https://hooks.example.com/unroof"}).to_string(),
                )
                .await
                .id(),
            key: api
                .post(
                    "/keys",
                    json!({"name": "dashboard", "scope": "read"}).to_string(),
                )
                .await
                .id(),
            imports,
        };
        Self {
            api,
            ids,
            _database: database,
        }
    }

    /// An operation as a page prefills it: parameters with their examples and defaults, and the body with its example.
    pub(super) async fn send_prefilled(
        &self,
        path: &str,
        method: &str,
        operation: &Value,
    ) -> Vec<Reply> {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for parameter in parameters(operation, "query") {
            if let Some(value) = prefill(parameter) {
                query.append_pair(parameter["name"].as_str().unwrap(), &value);
            }
        }
        let uri = format!("{}?{}", self.ids.fill(path, operation), query.finish());
        let mut replies = Vec::new();
        for (media_type, body) in request_examples(operation) {
            let request = Request::builder()
                .method(method.to_uppercase().as_str())
                .uri(&uri);
            let request = match body {
                Some(body) => request
                    .header(header::CONTENT_TYPE, media_type)
                    .body(text_of(body)),
                None => request.body(Body::empty()),
            };
            replies.push(send(&self.api, request.unwrap(), 1).await);
        }
        replies
    }
}

/// Ids of an import that is held, and of one whose place it has taken.
async fn held_imports(api: &Api, wait: impl Fn()) -> [String; 2] {
    let file = |models: &[&str]| {
        let model = |model: &&str| {
            let prices =
                json!({"request_token": {"price": 0.0001}, "response_token": {"price": 0.0004}});
            (
                (*model).to_owned(),
                json!({"pricing_config": {"pay_as_you_go": prices}}),
            )
        };
        let models: serde_json::Map<_, _> = models.iter().map(model).collect();
        json!({"cerebras": models})
    };
    let mut ids = Vec::new();
    for models in [&["a", "b", "c", "d"][..], &["d"], &["a"]] {
        let path = "/catalogs?format=portkey&observed_at=2026-06-03T00:00:00Z";
        let path = path.replace("03T", &format!("{:02}T", 3 + ids.len()));
        let reply = api.post(&path, file(models).to_string()).await;
        let last: Value = serde_json::from_str(reply.text().lines().last().unwrap()).unwrap();
        ids.push(last["id"].as_str().unwrap_or_default().to_owned());
        wait();
    }
    [ids.pop().unwrap(), ids.pop().unwrap()]
}

/// Media type and example of every body of an operation; one without a body for an operation that takes none.
fn request_examples(operation: &Value) -> Vec<(&str, Option<&Value>)> {
    let Some(content) = operation["requestBody"]["content"].as_object() else {
        return vec![("", None)];
    };
    let examples = content.iter().map(|(media_type, content)| {
        let example = content.get("example");
        assert!(
            example.is_some(),
            "no example of a request: {}",
            operation["operationId"]
        );
        (media_type.as_str(), example)
    });
    examples.collect()
}

/// A body as it is sent: a text as it is, anything else as JSON.
fn text_of(body: &Value) -> Body {
    Body::from(
        body.as_str()
            .map_or_else(|| body.to_string(), str::to_owned),
    )
}

/// The reply; of a stream without an end, so many events.
async fn send(api: &Api, request: Request<Body>, events: usize) -> Reply {
    if !request.uri().path().ends_with("/stream") {
        return api.send(request).await;
    }
    let mut response = api.begin(request).await;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut text = String::new();
    while text.matches("\n\n").count() < events {
        let frame = tokio::time::timeout(Duration::from_secs(5), response.body_mut().frame()).await;
        let frame = frame.expect("the stream has begun").unwrap().unwrap();
        text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
    Reply {
        status,
        headers,
        body: Bytes::from(text),
    }
}

/// The answers so far.
struct Recorder {
    shown: Shown,
    answers: BTreeMap<Place, Value>,
}

/// Writes an example of every answer into a document.
pub(crate) async fn record(document: &mut Value) {
    let mut recorder = Recorder {
        shown: Shown::new().await,
        answers: BTreeMap::new(),
    };
    let listed: Vec<(String, String, Value)> = operations(document)
        .into_iter()
        .map(|(path, method, operation)| (path.to_owned(), method.to_owned(), operation.clone()))
        .collect();
    // What is read first and what removes something last, so that there is something to read.
    let order = ["get", "post", "delete"];
    for method in order {
        for (path, _, operation) in listed.iter().filter(|(_, listed, _)| listed == method) {
            recorder.record_answers(path, method, operation).await;
        }
    }
    for (path, method, operation) in &listed {
        recorder.record_refusals(path, method, operation).await;
    }
    recorder.record_full_webhooks().await;
    let (pages, delivery) = a_delivery().await;
    for page in &pages {
        recorder.note("/webhooks/{id}/deliveries", "get", page);
    }
    let shared = shared_problems().await;
    write(document, &recorder.answers, &shared);
    let sent = "/webhooks/changes/post/requestBody/content/application~1json";
    document.pointer_mut(sent).unwrap()["example"] = short(steady(&delivery));
}

impl Recorder {
    async fn record_answers(&mut self, path: &str, method: &str, operation: &Value) {
        // Its own document would hold itself; its deliveries come later.
        if ["/openapi.json", "/webhooks/{id}/deliveries"].contains(&path) {
            return;
        }
        let mut uri = self.shown.ids.fill(path, operation);
        let mut query: Vec<String> = Vec::new();
        for parameter in parameters(operation, "query") {
            let name = parameter["name"].as_str().unwrap();
            let is_wanted = parameter["required"] == true || name == "since";
            match prefill(parameter) {
                _ if name == "limit" => query.push(format!("limit={ITEMS_LEFT}")),
                _ if path.ends_with("/stream") && name == "since" => {
                    query.push("since=0".to_owned());
                }
                Some(value) if is_wanted => query.push(format!("{name}={value}")),
                _ => {}
            }
        }
        if !query.is_empty() {
            uri = format!("{uri}?{}", query.join("&"));
        }
        let content = operation["responses"]["200"]["content"].as_object();
        let accepted: Vec<&str> = content.map_or(vec!["*/*"], |content| {
            content.keys().map(String::as_str).collect()
        });
        for (media_type, body) in request_examples(operation) {
            for accepted in &accepted {
                // The form of a chart is the end of its address.
                let uri = match *accepted {
                    "text/csv" => uri.replace(".json", ".csv"),
                    "image/svg+xml" => uri.replace(".json", ".svg"),
                    _ => uri.clone(),
                };
                // The first request for an estimate stores it, the second finds it.
                for _ in 0..if path == "/infer" { 2 } else { 1 } {
                    let reply = self.send(method, &uri, accepted, media_type, body).await;
                    assert!(
                        reply.status.is_success(),
                        "{method} {uri}: {}",
                        reply.text()
                    );
                    self.note(path, method, &reply);
                }
            }
        }
    }

    /// Refusals that differ by route: of an id under which nothing is stored, and of a wrong body.
    async fn record_refusals(&mut self, path: &str, method: &str, operation: &Value) {
        let responses = &operation["responses"];
        let (media_type, body) = request_examples(operation)[0];
        if !responses["404"].is_null() {
            let nothing = path
                .replace("{id}", &Uuid::nil().to_string())
                .replace("{slug}", "none")
                .replace("{provider}/{model}", "acme/none");
            let nothing = match path {
                "/history" => "/history?provider=acme&model=none".to_owned(),
                "/compare" => "/compare?model=acme/none,acme/other".to_owned(),
                "/charts/{chart}" => "/charts/moves.json?model=acme/none".to_owned(),
                _ => nothing,
            };
            let unknown = json!({"offer": {"provider": "acme", "model": "none"}, "usage": {"input_tokens": 1}});
            let body = if path == "/cost" {
                Some(&unknown)
            } else {
                body
            };
            let reply = self.send(method, &nothing, "*/*", media_type, body).await;
            self.note(path, method, &reply);
        }
        if !responses["422"].is_null() {
            let uri = self.shown.ids.fill(path, operation);
            let wrong = json!({"unknown": 1});
            let reply = self
                .send(method, &uri, "*/*", media_type, Some(&wrong))
                .await;
            self.note(path, method, &reply);
        }
    }

    /// The refusal of the webhook after the last.
    async fn record_full_webhooks(&mut self) {
        let webhook = json!({"url": "https://hooks.example.com/unroof"});
        loop {
            let reply = self
                .send(
                    "post",
                    "/webhooks",
                    "*/*",
                    "application/json",
                    Some(&webhook),
                )
                .await;
            if reply.status != StatusCode::CREATED {
                return self.note("/webhooks", "post", &reply);
            }
        }
    }

    async fn send(
        &self,
        method: &str,
        uri: &str,
        accept: &str,
        media_type: &str,
        body: Option<&Value>,
    ) -> Reply {
        let request = Request::builder()
            .method(method.to_uppercase().as_str())
            .uri(uri)
            .header(header::ACCEPT, accept)
            .header("x-request-id", "request-1");
        let request = match body {
            Some(body) => request
                .header(header::CONTENT_TYPE, media_type)
                .body(text_of(body)),
            None => request.body(Body::empty()),
        };
        send(&self.shown.api, request.unwrap(), 2).await
    }

    /// Keeps the first answer of each kind.
    fn note(&mut self, path: &str, method: &str, reply: &Reply) {
        let Some(media_type) = reply.header("content-type") else {
            return;
        };
        let media_type = media_type.split(';').next().unwrap().to_owned();
        let example = match media_type.as_str() {
            json if json.ends_with("json") && !json.ends_with("ndjson") => reply.json(),
            _ => json!(reply.text()),
        };
        let place = (
            path.to_owned(),
            method.to_owned(),
            reply.status.as_str().to_owned(),
            media_type,
        );
        self.answers
            .entry(place)
            .or_insert_with(|| short(steady(&example)));
    }
}

/// The page of deliveries in both formats, and the body of the first, with a receiver that confirms it.
async fn a_delivery() -> ([Reply; 2], Value) {
    let (database, receiver) = (TestDatabase::sqlite(), Receiver::default());
    let sender = Sender::new(&database, &Hand::new(), true).await;
    let id = sender.add_at(receiver.listen().await).await;
    sender.api.store(&sheet()).await;
    sender
        .wait_for_last(&id, "delivered", |last| last["state"] == "delivered")
        .await;
    let path = format!("/webhooks/{id}/deliveries?limit=1");
    let csv = sender
        .api
        .ask(Method::GET, &path, &[("accept", "text/csv")])
        .await;
    ([sender.api.get(&path).await, csv], receiver.first_body())
}

/// An example that is equal at every recording: random ids, what is made of them, and secrets are replaced.
fn steady(example: &Value) -> Value {
    let mut text = example.to_string();
    let random: BTreeSet<&str> = text
        .split(|sign: char| !sign.is_ascii_hexdigit() && sign != '-')
        .collect();
    let random = random.into_iter().filter(|word| {
        let id = Uuid::try_parse(word).ok().filter(|_| word.len() == 36);
        id.is_some_and(|id| [4, 7].contains(&id.get_version_num()))
    });
    let mut places: Vec<(usize, String)> = random
        .map(|id| (text.find(id).unwrap(), id.to_owned()))
        .collect();
    places.sort();
    for (number, (_, id)) in places.into_iter().enumerate() {
        text = text.replace(&id, &format!("5f0c64d1-1f3a-4c1e-9d4b-{:012x}", number + 1));
    }
    // A link of the audit log covers such ids.
    let links: BTreeSet<String> = text
        .split(|sign: char| !sign.is_ascii_hexdigit())
        .filter(|word| word.len() == 64)
        .map(str::to_owned)
        .collect();
    for link in links {
        text = text.replace(&link, &"9f86d081884c7d65".repeat(4));
    }
    let mut steady: Value = serde_json::from_str(&text).unwrap();
    for (name, word) in [
        ("secret", "0123456789abcdef"),
        ("next_cursor", "WyIyMDI2LTExLTIx"),
        ("key", "unroof_AAECAwQF"),
    ] {
        if steady[name].is_string() {
            steady[name] = json!(word.repeat(4));
        }
    }
    steady
}

/// A long example with short lists.
fn short(example: Value) -> Value {
    if example.to_string().len() < LONG {
        return example;
    }
    cut(example)
}

fn cut(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().take(ITEMS_LEFT).map(cut).collect(),
        Value::Object(entries) => entries
            .into_iter()
            .map(|(name, entry)| (name, cut(entry)))
            .collect(),
        Value::String(text) if text.len() > LONG => {
            let lines: Vec<&str> = text.split_inclusive('\n').take(ITEMS_LEFT + 1).collect();
            json!(lines.concat())
        }
        other => other,
    }
}

/// Writes the examples into the document; one that occurs again is written once and referred to.
fn write(
    document: &mut Value,
    answers: &BTreeMap<Place, Value>,
    problems: &BTreeMap<String, Value>,
) {
    let mut shared: Map<String, Value> = problems
        .iter()
        .map(|(status, problem)| (format!("problem_{status}"), json!({"value": problem})))
        .collect();
    let occurs_again = |example: &Value| {
        let equal = answers.values().filter(|other| *other == example);
        equal.count() > 1 && example.to_string().len() > SHARED
    };
    for (path, item) in document["paths"].as_object_mut().unwrap() {
        for (method, operation) in item.as_object_mut().unwrap() {
            let name = operation["operationId"].as_str().unwrap().to_owned();
            let responses = operation["responses"].as_object_mut().unwrap();
            for (status, response) in responses {
                let content = response.get_mut("content").and_then(Value::as_object_mut);
                for (media_type, content) in content.into_iter().flatten() {
                    let place = (
                        path.clone(),
                        method.clone(),
                        status.clone(),
                        media_type.clone(),
                    );
                    let shared_name = match answers.get(&place) {
                        Some(example) if occurs_again(example) => {
                            let known = shared.iter().find(|(_, known)| known["value"] == *example);
                            let known = known.map(|(known, _)| known.clone());
                            known.unwrap_or_else(|| {
                                let name = if media_type == "text/csv" {
                                    format!("{name}_{status}_csv")
                                } else {
                                    format!("{name}_{status}")
                                };
                                shared.insert(name.clone(), json!({"value": example}));
                                name
                            })
                        }
                        Some(example) => {
                            content["example"] = example.clone();
                            continue;
                        }
                        None if path == "/openapi.json" && status == "200" => {
                            content["example"] = json!({"openapi": "3.1.0", "info": {"title": "unroof", "version": env!("CARGO_PKG_VERSION")}, "paths": {}});
                            continue;
                        }
                        None => format!("problem_{status}"),
                    };
                    assert!(shared.contains_key(&shared_name), "no example of {place:?}");
                    let reference = format!("#/components/examples/{shared_name}");
                    content["examples"] = json!({"recorded": {"$ref": reference}});
                }
            }
        }
    }
    document["components"]["examples"] = Value::Object(shared);
}
