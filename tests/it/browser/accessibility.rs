//! Findings of axe: faults for those who read by screen reader, keyboard or strong contrast.

use serde_json::Value;

use super::window::{Theme, Window};
use super::{axe_file, in_browser};

/// Puts axe into the page. The driver does so from outside: the policy of the page stays as it is.
pub(super) async fn prepare(window: &Window) {
    let axe = std::fs::read_to_string(axe_file()).unwrap();
    window.run(&axe).await;
}

/// The serious and critical findings on the page, one line per element: rule, selector, what is wrong.
pub(super) async fn findings(window: &Window) -> Vec<String> {
    let script = "
        const { violations } = await axe.run(document, { resultTypes: ['violations'] });
        return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    ";
    let script = format!("return (async () => {{ {script} }})()");
    let violations = window.run(&script).await;
    violations
        .as_array()
        .unwrap()
        .iter()
        .flat_map(lines)
        .collect()
}

fn lines(violation: &Value) -> Vec<String> {
    let rule = violation["id"].as_str().unwrap();
    let nodes = violation["nodes"].as_array().unwrap().iter();
    let line = |node: &Value| {
        let summary = node["failureSummary"].as_str().unwrap_or_default();
        format!(
            "{rule}: {} in {}: {}",
            node["target"],
            node["html"],
            summary.replace('\n', " ")
        )
    };
    nodes.map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_a_field_without_a_name_and_a_text_without_contrast() {
    in_browser(async |window| {
        window.go("/ui/try").await;
        prepare(window).await;
        let script = "
            const [field, text] = [document.createElement('input'), document.createElement('p')];
            text.textContent = 'hardly to be read';
            text.style.color = 'rgb(200, 200, 200)';
            document.querySelector('main').append(field, text);
        ";
        window.choose(Theme::Light).await;
        window.run(script).await;
        let found = findings(window).await.join("\n");
        for rule in ["label: ", "color-contrast: "] {
            assert!(found.contains(rule), "no {rule} in `{found}`");
        }
    })
    .await;
}
