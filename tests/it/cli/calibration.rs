//! `--calibration FILE` on `infer`, `import` and `serve`.

use serde_json::{Value, json};
use unroof_roofline::reference::calibration::Calibration;

use super::infer;
use crate::server::{Server, client, get, output_of, post, run};
use crate::support::repository;

const SHEET: &str = "examples/google_gemini-2.5-pro.json";

/// A calibration that differs from the built-in one by a little, and its id.
fn other_calibration(folder: &tempfile::TempDir) -> (String, String) {
    let built_in = Calibration::shipped();
    let mut other = serde_json::to_value(built_in).unwrap();
    let intercept = &mut other["price_law"]["intercept"][0];
    *intercept = json!(intercept.as_f64().unwrap() + 0.1);
    let file = folder.path().join("calibration.json");
    std::fs::write(&file, other.to_string()).unwrap();
    let id = Calibration::read(&other.to_string()).unwrap().id();
    assert_ne!(id, built_in.id());
    (file.to_str().unwrap().to_owned(), id)
}

#[test]
fn every_answer_is_by_the_calibration_that_is_named_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (calibration, id) = other_calibration(&folder);
    let sheet = repository().join(SHEET);
    let answer = |arguments: &[&str]| -> Value {
        let file = ["infer", sheet.to_str().unwrap(), "--json"];
        serde_json::from_str(&output_of(&[&file, arguments].concat())).unwrap()
    };
    let (built_in, other) = (answer(&[]), answer(&["--calibration", &calibration]));
    assert_eq!(other["calibration_id"], id);
    assert_ne!(other["id"], built_in["id"]);
    let active = |answer: &Value| answer["quantities"]["active_parameters"]["median"].clone();
    assert_ne!(active(&other), active(&built_in));
}

#[test]
fn an_import_with_another_calibration_estimates_every_sheet_again() {
    let folder = tempfile::tempdir().unwrap();
    let (calibration, id) = other_calibration(&folder);
    let database = format!("sqlite:{}", folder.path().join("unroof.db").display());
    let catalog = folder.path().join("litellm.json");
    let entry = json!({"gpt-5.4": {"litellm_provider": "openai", "mode": "chat",
        "input_cost_per_token": 2.5e-6, "output_cost_per_token": 1.5e-5}});
    std::fs::write(&catalog, entry.to_string()).unwrap();
    let import = |arguments: &[&str]| {
        let file = [
            "import",
            catalog.to_str().unwrap(),
            "--database-url",
            &database,
            "--log",
            "error",
        ];
        output_of(&[&file, arguments].concat())
    };
    let by_other = ["--calibration", &calibration];
    assert!(import(&[]).contains("estimated          1"));
    assert!(import(&by_other).contains("estimated          1"));
    assert!(import(&by_other).contains("unchanged          1"));

    let server = Server::start_with(
        &[
            &["--database-url", &database, "--listen", "127.0.0.1:0"][..],
            &by_other,
        ]
        .concat(),
    );
    let read = |path: &str| -> Value {
        let (status, text) = get(&client(), &format!("{}{path}", server.address));
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    let latest = read("/estimates/latest");
    let estimate = latest["data"][0]["id"].as_str().unwrap();
    assert_eq!(
        read(&format!("/estimates/{estimate}"))["calibration_id"],
        id
    );
    let sheet: Value =
        serde_json::from_slice(&std::fs::read(repository().join(SHEET)).unwrap()).unwrap();
    let (_, answer) = post(&client(), &format!("{}/infer", server.address), &sheet).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&answer).unwrap()["calibration_id"],
        id
    );
}

#[test]
fn a_file_that_is_no_calibration_is_refused_by_name() {
    let sheet = std::fs::read_to_string(repository().join(SHEET)).unwrap();
    let path = repository().join(SHEET);
    let refused = infer(&sheet, &["--calibration", path.to_str().unwrap()]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("is not a calibration"),
        "{}",
        refused.err
    );
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("unroof.db").display());
    let lost = run(&[
        "serve",
        "--database-url",
        &database,
        "--calibration",
        "/nowhere.json",
    ]);
    assert_eq!(lost.code, Some(2));
    assert!(
        lost.err.contains("cannot read `/nowhere.json`"),
        "{}",
        lost.err
    );
}
