//! The dearest accepted request of every route, which `scripts/dearest` has found, costs as many points as it takes work.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use nix::time::ClockId;
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::server::{Server, client, output_of};
use crate::support::{TestDatabase, read_json, repository, sheet, with};

/// Most CPU time of a point, as a multiple of that of `/infer`.
const MOST_TIMES: f64 = 3.0;
/// CPU time after which a request is not repeated, in seconds.
const ENOUGH: f64 = 0.3;
/// Most repetitions of a request, and most measurements: the least counts.
const REPEATS: u32 = 12;
const MEASUREMENTS: u32 = 8;

/// Names that stand for something else at every request.
const MADE: [&str; 8] = [
    "another estimate",
    "new key",
    "new webhook",
    "new sheet",
    "withdrawn sheet",
    "new question",
    "new import",
    "held import",
];

/// Routes whose answer begins before what it costs is known: lines are charged as they are computed.
const CHARGED_LATER: [&str; 4] = [
    "POST /catalogs",
    "POST /cost",
    "POST /imports/{id}/accept",
    "GET /changes/stream",
];

/// A service with a record, and the names that are put in place of `{name}` in a request.
struct Measured {
    server: Server,
    names: BTreeMap<String, String>,
    estimates: Vec<String>,
    number: usize,
}

/// Sheets of sixteen models, the most that an estimate of a vendor has, each of three sellers, of which the vendor is one; and of an open
/// model.
fn record() -> Value {
    let offers = (0..16).flat_map(|model| (0..3).map(move |seller| (model, seller)));
    let offer = |(model, seller): (u32, usize)| {
        let sellers = ["acme", "seller-1", "seller-2"];
        let sheet = with(sheet(), "/provider", json!(sellers[seller]));
        let sheet = with(sheet, "/model", json!(format!("m-{model}")));
        let sheet = with(sheet, "/canonical_model", json!(format!("acme/m-{model}")));
        with(
            sheet,
            "/rates/0/output",
            json!(format!("{}.{seller}", 10 + model)),
        )
    };
    let open = with(sheet(), "/model", json!("gpt-oss-120b"));
    let open = with(open, "/canonical_model", json!("openai/gpt-oss-120b"));
    offers.map(offer).chain([open]).collect()
}

impl Measured {
    fn start(database: &TestDatabase) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = crate::server::file_text(folder.path(), "record.json", &record().to_string());
        output_of(&["import", &file, "--database-url", &database.url]);
        // Without a cache of answers, and with a budget that nothing here uses up, and that does not fill while it is read.
        let server = Server::start_with(&[
            "--database-url",
            &database.url,
            "--listen",
            "127.0.0.1:0",
            "--cache-bytes",
            "0",
            "--client-rate",
            "1",
            "--client-burst",
            "1000000",
            "--answer-timeout",
            "300s",
            "--statement-timeout",
            "60s",
        ]);
        let mut measured = Self {
            server,
            names: BTreeMap::new(),
            estimates: Vec::new(),
            number: 0,
        };
        measured.names = measured.names_of_record();
        measured.estimates = measured.ids_of_estimates();
        measured
    }

    fn ids_of_estimates(&self) -> Vec<String> {
        let listed = self.json("GET", "/estimates", None);
        let rows = listed["data"].as_array().unwrap().iter();
        rows.map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    }

    fn names_of_record(&self) -> BTreeMap<String, String> {
        let rows = |answer: Value| answer["data"].as_array().unwrap().clone();
        let mut names = BTreeMap::new();
        for number in 1..=12 {
            names.insert(format!("model{number}"), format!("acme/m-{number}"));
            names.insert(format!("vendor{number}"), "acme".to_owned());
        }
        for (number, id) in (1..).zip(self.ids_of_estimates()) {
            names.insert(format!("estimate{number}"), id);
        }
        let sheets = rows(self.json("GET", "/price-sheets?limit=1", None));
        for (name, field) in [
            ("sheet", "id"),
            ("provider", "provider"),
            ("offer", "model"),
        ] {
            names.insert(
                name.to_owned(),
                sheets[0][field].as_str().unwrap().to_owned(),
            );
        }
        names
    }

    /// The status, the points and the text of an answer.
    fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<(&str, String)>,
    ) -> (u16, Option<f64>, String) {
        let url = format!("{}{path}", self.server.address);
        let request = ureq::http::Request::builder().method(method).uri(url);
        let mut answer = match body {
            Some((kind, text)) => {
                client().run(request.header("content-type", kind).body(text).unwrap())
            }
            // Whatever has a body of unknown length costs as much as the longest.
            None if method == "POST" => client().run(request.body("").unwrap()),
            None => client().run(request.body(()).unwrap()),
        }
        .unwrap();
        let points = answer.headers().get("unroof-points");
        let points = points.and_then(|points| points.to_str().ok()?.parse().ok());
        let kind = answer.headers().get("content-type");
        let is_stream = kind.is_some_and(|kind| kind == "text/event-stream");
        // A stream has no end.
        let text = if is_stream {
            String::new()
        } else {
            answer.body_mut().read_to_string().unwrap_or_default()
        };
        (answer.status().as_u16(), points, text)
    }

    fn json(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let body = body.map(|body| ("application/json", body.to_string()));
        let (status, _, text) = self.ask(method, path, body);
        assert!(status < 300, "{method} {path}: {status}: {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Makes the row that a request ends.
    fn made(&self, name: &str) -> Option<String> {
        let number = self.number;
        let text = |answer: &Value, field: &str| answer[field].as_str().unwrap().to_owned();
        Some(match name {
            "another estimate" => self.estimates[number % self.estimates.len()].clone(),
            "new key" => {
                let key = json!({"name": format!("key-{number}"), "scope": "read"});
                text(&self.json("POST", "/keys", Some(&key)), "id")
            }
            "new webhook" => {
                let hook = json!({"url": format!("https://93.184.216.34/{number}")});
                text(&self.json("POST", "/webhooks", Some(&hook)), "id")
            }
            "new sheet" => {
                let sheet = with(sheet(), "/model", json!(format!("new-{number}")));
                self.json("POST", "/infer?observe=true", Some(&sheet));
                let listed = self.json("GET", &format!("/price-sheets?model=new-{number}"), None);
                text(&listed["data"][0], "id")
            }
            "withdrawn sheet" => {
                let sheet = self.made("new sheet")?;
                let reason = json!({"reason": "entered by mistake"});
                self.json(
                    "POST",
                    &format!("/price-sheets/{sheet}/withdraw"),
                    Some(&reason),
                );
                sheet
            }
            "new question" => {
                let sheet = with(sheet(), "/model", json!(format!("asked-{number}")));
                let asked = self.json("POST", "/infer?observe=false", Some(&sheet));
                text(&asked, "id")
            }
            "new import" => self.imported(number, 1, "?partial=true"),
            "held import" => {
                self.imported(number, 8, "?partial=true");
                self.imported(number, 1, "")
            }
            _ => return None,
        })
    }

    /// The id of the import of a catalog with so many offers.
    fn imported(&self, number: usize, offers: usize, query: &str) -> String {
        let entry = |offer: usize| {
            let entry = json!({"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": 1e-6,
                "output_cost_per_token": 5e-6});
            (format!("imported-{number}-{offer}"), entry)
        };
        let catalog: Value = (0..offers).map(entry).collect();
        let body = ("application/json", catalog.to_string());
        let (status, _, lines) = self.ask("POST", &format!("/catalogs{query}"), Some(body));
        assert_eq!(status, 200, "{lines}");
        let listed = self.json("GET", "/imports?limit=1", None);
        listed["data"][0]["id"].as_str().unwrap().to_owned()
    }

    /// A text with every `{name}` in place.
    fn filled(&self, text: &str, write: impl Fn(&str) -> String) -> String {
        let mut filled = text.replace("{n}", &self.number.to_string());
        for name in MADE {
            let place = format!("{{{name}}}");
            if filled.contains(&place) {
                filled = filled.replace(&place, &self.made(name).unwrap());
            }
        }
        for (name, value) in &self.names {
            filled = filled.replace(&format!("{{{name}}}"), &write(value));
        }
        filled
    }

    /// Sends a request of the list; the points that it cost, and its CPU seconds.
    fn send(&mut self, row: &Value) -> Result<(f64, f64), String> {
        self.number += 1;
        let request = &row["request"];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in request["query"].as_object().into_iter().flatten() {
            let values = value
                .as_array()
                .cloned()
                .unwrap_or_else(|| vec![value.clone()]);
            for value in values {
                query.append_pair(name, &self.filled(value.as_str().unwrap(), str::to_owned));
            }
        }
        let path = self.filled(request["path"].as_str().unwrap(), str::to_owned);
        let path = format!("{path}?{}", query.finish());
        let in_json = |name: &str| json!(name).to_string().trim_matches('"').to_owned();
        let body = request.get("body").map(|body| {
            let body = expanded(body, 0);
            if request["lines"] == true {
                let lines = body
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|line| format!("{line}\n"));
                return (
                    "application/x-ndjson",
                    self.filled(&lines.collect::<String>(), in_json),
                );
            }
            ("application/json", self.filled(&body.to_string(), in_json))
        });
        let is_charged_later = CHARGED_LATER.iter().any(|route| row["route"] == *route);
        let budget = is_charged_later.then(|| self.budget().0);
        let before = self.cpu();
        let (status, points, text) = self.ask(request["method"].as_str().unwrap(), &path, body);
        let text: String = text.chars().take(300).collect();
        if status >= 400 {
            return Err(format!("is refused, search again: {status}: {text}"));
        }
        let seconds = self.cpu() - before;
        // What is free says nothing of points, and may cost as much as what has one.
        let points = points.or_else(|| (row["points"] == 0).then_some(1.0));
        let points = points.ok_or("has no `unroof-points` in its headers")?;
        let later = budget.map(|before| {
            let (after, cost) = self.budget();
            before - after - cost
        });
        Ok((later.unwrap_or(points), seconds))
    }

    /// Points that the client has left, and those that it took to ask.
    fn budget(&self) -> (f64, f64) {
        let answer = client().get(format!("{}/search?q=a", self.server.address));
        let answer = answer.call().unwrap();
        let text = |name: &str| answer.headers()[name].to_str().unwrap();
        let left = text("ratelimit")
            .split(';')
            .find_map(|part| part.strip_prefix("r="));
        (
            left.unwrap().parse().unwrap(),
            text("unroof-points").parse().unwrap(),
        )
    }

    /// CPU seconds of the service by its own clock, whose ticks are nanoseconds; also those of threads that have ended.
    fn cpu(&self) -> f64 {
        let pid = Pid::from_raw(self.server.id().cast_signed());
        let clock = ClockId::pid_cpu_clock_id(pid).unwrap();
        Duration::from(clock.now().unwrap()).as_secs_f64()
    }

    /// Deletes the webhooks of earlier requests: their number has a limit.
    fn delete_webhooks(&self) {
        let listed = self.json("GET", "/webhooks", None);
        for row in listed["data"].as_array().into_iter().flatten() {
            let id = row["id"].as_str().unwrap();
            self.json("DELETE", &format!("/webhooks/{id}"), None);
        }
    }

    /// CPU seconds of a point.
    fn per_point(&mut self, request: &Value) -> Result<f64, String> {
        self.delete_webhooks();
        let (mut points, mut seconds) = (0.0, 0.0);
        for _ in 0..REPEATS {
            let (more, took) = self.send(request)?;
            points += more;
            seconds += took;
            if seconds > ENOUGH {
                break;
            }
        }
        Ok(seconds / points.max(1.0))
    }
}

/// A body with its recipes carried out: `$repeat`, so many copies, numbered; `$range`, so many numbers.
fn expanded(value: &Value, index: usize) -> Value {
    match value {
        Value::Object(members) => {
            if let Some(repeat) = members.get("$repeat") {
                let count = usize::try_from(repeat[0].as_u64().unwrap()).unwrap();
                return (0..count)
                    .map(|place| expanded(&repeat[1], place))
                    .collect();
            }
            if let Some(range) = members.get("$range") {
                return numbers(range);
            }
            let members = members
                .iter()
                .map(|(name, member)| (name.clone(), expanded(member, index)));
            Value::Object(members.collect())
        }
        Value::Array(items) => items.iter().map(|item| expanded(item, index)).collect(),
        Value::String(text) => json!(text.replace("{i}", &index.to_string())),
        other => other.clone(),
    }
}

fn numbers(range: &Value) -> Value {
    let (first, last) = (range[0].as_f64().unwrap(), range[1].as_f64().unwrap());
    let count = u32::try_from(range[2].as_u64().unwrap()).unwrap();
    let step =
        |place: u32| first + (last - first) * f64::from(place) / f64::from((count - 1).max(1));
    let steps = (0..count).map(step);
    if range[0].is_f64() {
        return steps.map(|step| json!(step)).collect();
    }
    steps
        .map(|step| json!(format!("{step:.0}").parse::<i64>().unwrap()))
        .collect()
}

/// Every route of the documented ones, as `GET /models`.
fn routes() -> Vec<String> {
    let listed = read_json(&repository().join("openapi/openapi.json"));
    let paths = listed["paths"].as_object().unwrap().iter();
    let routes = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        let methods = methods
            .filter(|name| ["get", "post", "put", "delete", "patch"].contains(&name.as_str()));
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    routes.collect()
}

#[test]
fn the_first_question_to_a_service_pays_for_none_of_the_tables() {
    let database = TestDatabase::sqlite();
    let place = ["--database-url", &database.url, "--listen", "127.0.0.1:0"];
    let measured = Measured {
        server: Server::start_with(&place),
        names: BTreeMap::new(),
        estimates: Vec::new(),
        number: 0,
    };
    // The estimator is prepared when the service starts, and its workers rest afterwards.
    let mut before = 0.0;
    while measured.cpu() - before > 0.005 {
        before = measured.cpu();
        thread::sleep(Duration::from_millis(300));
    }
    let points = || {
        let body = ("application/json", sheet().to_string());
        let (status, points, text) = measured.ask("POST", "/infer?store=false", Some(body));
        assert_eq!(status, 200, "{text}");
        points.unwrap()
    };
    let (first, second) = (points(), points());
    assert!(first <= second + 5.0, "{first} points, then {second}");
}

#[test]
fn no_route_costs_more_cpu_per_point_than_three_times_infer() {
    let found = read_json(&repository().join("benches/dearest.json"));
    let found = found.as_array().unwrap();
    let database = TestDatabase::sqlite();
    let mut measured = Measured::start(&database);
    let plain = read_json(&repository().join("benches/plain_sheet.json"));
    let plain = with(plain, "/model", json!("plain-{n}"));
    let infer = json!({"method": "POST", "path": "/infer", "body": {"price_sheet": plain}});
    let infer = json!({ "request": infer });
    let mut faults = Vec::new();
    for route in routes() {
        let Some(row) = found.iter().find(|row| row["route"] == route.as_str()) else {
            faults.push(format!(
                "{route}: its dearest request is not known: run scripts/dearest"
            ));
            continue;
        };
        if let Err(fault) = measured.keeps_the_price(&infer, row) {
            faults.push(format!("{route} {fault}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

impl Measured {
    /// Compares a request with `/infer`, again where it is dearer: another program may have slowed it.
    fn keeps_the_price(&mut self, infer: &Value, request: &Value) -> Result<(), String> {
        let mut least = f64::MAX;
        for _ in 0..MEASUREMENTS {
            let times = self.per_point(request)? / self.per_point(infer)?;
            least = least.min(times);
            if least <= MOST_TIMES {
                return Ok(());
            }
        }
        Err(format!(
            "takes {least:.1} times the CPU of a point of `/infer`"
        ))
    }
}
