//! Questions: the answer follows the keys, and an older one never takes the place of a newer one.

use serde_json::json;
use thirtyfour::Key;

use super::in_browser;
use super::window::Window;

const ANSWER: &str = "document.getElementById('answer').innerText";
const IS_ANSWERED: &str = "!document.getElementById('answer').hasAttribute('aria-busy')";

async fn stored_sheets(window: &Window) -> f64 {
    window.number("fetch('/price-sheets?limit=2000').then((list) => list.json()).then((list) => list.data.length)").await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assumption_that_is_typed_changes_the_answer_and_stores_nothing() {
    in_browser(async |window| {
        window.go("/ui/try?example=openai_gpt-5.4").await;
        let stored = stored_sheets(window).await;
        let before = window.text(ANSWER).await.unwrap();
        window.tab_to("details.assumptions > summary").await;
        window.press(Key::Enter).await;
        window.tab_to("#stated-active_parameters").await;
        window.type_text("70B").await;
        window
            .until(&format!("{ANSWER} !== {}", json!(before)))
            .await;
        assert_eq!(
            window.text("document.activeElement.id").await.as_deref(),
            Some("stated-active_parameters")
        );
        assert_eq!(stored_sheets(window).await.to_bits(), stored.to_bits());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_answer_never_takes_the_place_of_a_newer_one() {
    in_browser(async |window| {
        window.go("/ui/try?example=openai_gpt-5.4").await;
        // A network on which the first answer is the last to arrive.
        window
            .run(
                "const asked = window.fetch;
                window.answers = 0;
                const released = new Promise((release) => window.release = release);
                let questions = 0;
                window.fetch = async (address, { signal, ...options } = {}) => {
                    const isFirst = ++questions === 1;
                    const answer = await asked(address, options);
                    if (isFirst) await released;
                    window.answers += 1;
                    return answer;
                }",
            )
            .await;
        let sheet = "document.getElementById('sheet')";
        let ask = async |text: &str| {
            let text = json!(text);
            window.run(&format!("{sheet}.value = {text}; {sheet}.dispatchEvent(new Event('input', {{ bubbles: true }}))")).await;
        };
        ask("older").await;
        window.until("document.getElementById('answer').getAttribute('aria-busy') === 'true'").await;
        ask("{\"schema\": \"newer\"}").await;
        window.until(&format!("window.answers === 1 && {ANSWER}.includes('schema')")).await;
        let newer = window.text(ANSWER).await;
        window.run("window.release()").await;
        window.until("window.answers === 2").await;
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        assert_eq!(window.text(ANSWER).await, newer);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_leads_to_its_line() {
    in_browser(async |window| {
        window.go("/ui/try").await;
        window.tab_to("#sheet").await;
        window.type_text("{\"schema\": \"pricesheet/v1\",\n\"provider\": \"acme\",\n\"model\": 7}").await;
        window.until("document.querySelector('[data-line=\"3\"]') !== null").await;
        window.tab_to("[data-line='3']").await;
        window.press(Key::Enter).await;
        let selected = "(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.activeElement)";
        assert_eq!(window.text(selected).await.as_deref(), Some("\"model\": 7}"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slider_of_the_plan_moves_by_the_arrow_keys_and_the_address_follows() {
    in_browser(async |window| {
        window.go("/ui/plan").await;
        let before = window.text(ANSWER).await;
        window.tab_to("input[type=range]").await;
        let field = "document.getElementById(document.activeElement.dataset.slides)";
        window.run(&format!("window.field = {field}")).await;
        for _ in 0..20 {
            window.press(Key::Right).await;
        }
        window
            .until(&format!(
                "new URLSearchParams(location.search).get(window.field.name) === window.field.value && {IS_ANSWERED}"
            ))
            .await;
        let answer = window.text(ANSWER).await;
        assert_ne!(answer, before);
        // A chart that came with the answer is read out like one that came with the page.
        window.tab_to("figure[data-chart]").await;
        window.press(Key::Right).await;
        let read = window.text("document.activeElement.querySelector('.reader').textContent").await;
        assert!(read.is_some_and(|read| !read.is_empty()));
        window.reload().await;
        assert_eq!(window.text(ANSWER).await, answer);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_of_the_plan_answers_by_the_keyboard_and_its_address_holds_the_question() {
    in_browser(async |window| {
        for (view, field, typed) in [
            ("layout", "stages", "8"),
            ("training", "days", "90"),
            ("cost", "output", "12345"),
        ] {
            window.go(&format!("/ui/plan?view={view}")).await;
            let before = window.text(ANSWER).await.unwrap();
            window.tab_to(&format!("#plan-{field}")).await;
            window.type_text(typed).await;
            window
                .until(&format!(
                    "new URLSearchParams(location.search).get('{field}') === '{typed}' && {IS_ANSWERED}"
                ))
                .await;
            let answer = window.text(ANSWER).await.unwrap();
            assert_ne!(answer, before, "{view}");
            assert!(answer.contains("The request"), "{view}: {answer}");
            window.reload().await;
            assert_eq!(window.text(ANSWER).await.unwrap(), answer, "{view}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_said_beside_the_field_while_one_types_and_goes_when_it_is_mended() {
    in_browser(async |window| {
        window.go("/ui/plan?view=layout").await;
        window.tab_to("#plan-stages").await;
        window.type_text("many").await;
        let field = "document.getElementById('plan-stages')";
        let fault = "document.getElementById('plan-stages-fault').textContent";
        window
            .until(&format!(
                "{fault} !== '' && {field}.getAttribute('aria-invalid') === 'true'"
            ))
            .await;
        assert_eq!(
            window.text(&format!("{field}.value")).await.as_deref(),
            Some("many")
        );
        for _ in 0.."many".len() {
            window.press(Key::Backspace).await;
        }
        window.type_text("2").await;
        window
            .until(&format!(
                "{fault} === '' && !{field}.hasAttribute('aria-invalid') && {IS_ANSWERED}"
            ))
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slider_of_a_count_writes_whole_numbers() {
    in_browser(async |window| {
        window.go("/ui/plan?view=layout").await;
        window.tab_to("[data-slides=plan-expert_chips]").await;
        for _ in 0..7 {
            window.press(Key::Left).await;
        }
        let field = "document.getElementById('plan-expert_chips').value";
        let written = window.text(field).await.unwrap();
        assert!(written.parse::<u32>().is_ok(), "{written}");
        window
            .until(&format!(
                "new URLSearchParams(location.search).get('expert_chips') === {field} && {IS_ANSWERED}"
            ))
            .await;
        let fault = "document.getElementById('plan-expert_chips-fault').textContent";
        assert_eq!(window.text(fault).await.as_deref(), Some(""));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_arrow_keys_read_a_chart_out() {
    in_browser(async |window| {
        window.go("/ui/plan?view=fleet").await;
        window.tab_to("figure[data-chart]").await;
        let read = "document.querySelector('figure[data-chart] .reader').textContent";
        let mut labels = Vec::new();
        for key in [Key::Right, Key::Right, Key::End, Key::Home, Key::Escape] {
            window.press(key).await;
            labels.push(window.text(read).await.unwrap());
        }
        let [first, second, last, home, left] = &labels[..] else {
            unreachable!()
        };
        assert!(
            !first.is_empty() && first == home && first != second && first != last,
            "{labels:?}"
        );
        assert_eq!(left, "");
    })
    .await;
}
