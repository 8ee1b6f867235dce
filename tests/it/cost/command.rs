//! `unroof cost`: the HTTP answer, sheets from files and catalogs, lists, and a report.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{output_of, run, run_with, unroof};
use crate::support::{TestDatabase, sheet, wait_for, with};

/// A folder with files.
fn folder(files: &[(&str, String)]) -> (TempDir, impl Fn(&str) -> String + use<>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let path = folder.path().to_owned();
    (folder, move |name: &str| {
        path.join(name).display().to_string()
    })
}

const AT: &str = "2026-11-20T17:00:00Z";

#[test]
fn the_json_of_a_cost_is_the_http_answer_byte_for_byte() {
    let request = json!({"at": AT, "price_sheet": sheet(), "usage": {"input_tokens": 12, "cached_input_tokens": 2, "output_tokens": 3}});
    let over_http = wait_for(async {
        let api = TestDatabase::sqlite().api().await;
        api.post("/cost", request.to_string())
            .await
            .text()
            .to_owned()
    });
    let (_folder, path) = folder(&[
        ("request.json", request.to_string()),
        ("sheet.json", sheet().to_string()),
    ]);
    assert_eq!(
        output_of(&["cost", &path("request.json"), "--json"]),
        format!("{over_http}\n")
    );
    let flags = [
        "--at",
        AT,
        "--input",
        "12",
        "--cached-input",
        "2",
        "--output",
        "3",
    ];
    let sheet = path("sheet.json");
    let stated = [&["cost", "--json", "--sheet", &sheet][..], &flags].concat();
    assert_eq!(output_of(&stated), format!("{over_http}\n"));
}

#[test]
fn an_entry_of_a_catalog_prices_a_usage() {
    let catalog = json!({"acme/m-1": {"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 5e-6}});
    let (_folder, path) = folder(&[("litellm.json", catalog.to_string())]);
    let printed = output_of(&[
        "cost",
        "--sheet",
        &path("litellm.json"),
        "--format",
        "litellm",
        "--entry",
        "acme/m-1",
        "--input",
        "7",
        "--output",
        "1",
        "--json",
    ]);
    let cost: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(cost["total"], "0.000012");
    assert_eq!(cost["sources"][0]["source"], "litellm");
}

#[test]
fn a_stored_offer_prices_a_usage_without_a_server() {
    let catalog = json!({"acme/m-1": {"litellm_provider": "acme", "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 5e-6}});
    let (_folder, path) = folder(&[("litellm.json", catalog.to_string())]);
    let database = format!("sqlite:{}", path("unroof.db"));
    output_of(&[
        "import",
        &path("litellm.json"),
        "--format",
        "litellm",
        "--database-url",
        &database,
    ]);
    let offer = [
        "cost",
        "--provider",
        "acme",
        "--model",
        "m-1",
        "--database-url",
        &database,
    ];
    let printed = output_of(&[&offer[..], &["--input", "7", "--json"]].concat());
    let cost: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(cost["total"], "0.000007");
    assert_eq!(cost["sheet"]["source"], "litellm");
    let early = [
        &offer[..],
        &[
            "--input",
            "7",
            "--at",
            "1999-01-01T00:00:00Z",
            "--region",
            "eu",
        ],
    ]
    .concat();
    let refused = run(&early);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .err
            .contains("`m-1` of `acme` has no price in force at 1999-01-01T00:00:00Z"),
        "{}",
        refused.err
    );
}

#[test]
fn a_list_has_a_line_for_each_usage_and_ends_with_1_where_one_has_a_fault() {
    let (_folder, path) = folder(&[("sheet.json", sheet().to_string())]);
    let sheet = path("sheet.json");
    let list = "{\"usage\": {\"input_tokens\": 8}}\n\n{\"usage\": {\"output_tokens\": 1}}";
    let printed = run_with(
        unroof(&["cost", "-", "--lines", "--sheet", &sheet, "--at", AT]).arg("--json"),
        list,
    );
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    let lines: Vec<Value> = printed
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["cost"]["total"], "0.00001");
    assert_eq!(
        (&lines[1]["line"], &lines[1]["cost"]["at"]),
        (&json!(3), &json!(AT))
    );
    assert_eq!(
        lines[2]["totals"],
        json!([{"currency": "USD", "total": "0.00002", "usages": 2}])
    );
    let faulty = format!("{list}\n{{\"usage\": 1}}\n");
    let printed = run_with(
        &mut unroof(&["cost", "-", "--lines", "--sheet", &sheet]),
        &faulty,
    );
    assert_eq!(printed.code, Some(1));
    assert!(printed.err.contains("1 line has faults"), "{}", printed.err);
    assert!(
        printed.out.contains("\"type\":\"fault\",\"line\":4,"),
        "{}",
        printed.out
    );
}

#[test]
fn the_report_has_every_line_and_says_what_has_no_price() {
    let (_folder, path) = folder(&[(
        "sheet.json",
        with(sheet(), "/rates/0/cache_read", json!("0.125")).to_string(),
    )]);
    let sheet = path("sheet.json");
    let flags = ["--at", AT, "--input", "1000", "--cached-input", "400"];
    let report = output_of(&[&["cost", "--sheet", &sheet][..], &flags].concat());
    for part in [
        "m-1 of acme, region global, at 2026-11-20T17:00:00Z",
        "tier standard",
        "0.00075",
        "total 0.0008 USD",
        "source official: 0.0008 USD, agrees",
    ] {
        assert!(report.contains(part), "no {part}: {report}");
    }
    let report = output_of(&[
        "cost",
        "--sheet",
        &sheet,
        "--input",
        "5",
        "--service-tier",
        "flex",
    ]);
    assert!(report.contains("no total"), "{report}");
    assert!(
        report.contains("the sheet has no service tier `flex`"),
        "{report}"
    );
}

#[test]
fn a_refusal_names_the_flag() {
    let (_folder, path) = folder(&[("sheet.json", sheet().to_string())]);
    let refused = run(&["cost", "--sheet", &path("sheet.json"), "--input", "-1"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .err
            .contains("error: --input: `-1` is not a whole number"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("--input:"), "{}", refused.err);
    let refused = run(&["cost", "--input", "1"]);
    assert!(
        refused
            .err
            .contains("there is neither an offer nor a sheet"),
        "{}",
        refused.err
    );
}
