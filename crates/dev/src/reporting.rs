//! The views for dashboards as SQL, from the columns of lists.

use crate::generated::Template;
use unroof_infer::estimate::columns;
use unroof_price_sheet::catalog::model_key;
use unroof_roofline::forward::KvCache;
use unroof_roofline::forward::READ_CONTEXT_TOKENS;
use unroof_roofline::reference::{OpenModel, open_models};

/// The views as they were when the program was built.
const VIEWS: &str = include_str!("../../../migrations/reporting.sql");

/// The text of `migrations/reporting.sql`, with the columns of lists and the figures of open-weight models.
#[must_use]
pub fn views() -> String {
    let (mut types, mut meanings) = (Vec::new(), Vec::new());
    for column in columns() {
        let kind = if column.is_flag {
            "boolean"
        } else {
            "double precision"
        };
        types.push(format!("    {} {kind}", column.name));
        let (name, meaning) = (text(column.name), text(&column.description));
        meanings.push(format!("            ({name}, {meaning})"));
    }
    let truth: Vec<String> = open_models().iter().map(known_figures).collect();
    let mut views = Template::new(VIEWS);
    views.between("AS value (\n", ");\n", &types.join(",\n"));
    views.between("VALUES\n", "\n) AS known", &truth.join(",\n"));
    views.between(
        "'When its first price was stored'),\n",
        "\n        ) AS shared",
        &meanings.join(",\n"),
    );
    views.filled()
}

/// The figures of a model as a line of values. Attention that was assumed from the model's class is not known.
fn known_figures(model: &OpenModel) -> String {
    let architecture = &model.architecture;
    let cache = KvCache::new(architecture);
    let number = |value: f64| Some(value).filter(|value| value.is_finite());
    let attention = |value: f64| number(value).filter(|_| !model.is_estimate());
    let values = [
        text(&model.name),
        text(&model_key(&model.name)),
        text(&model.family),
        or_null(number(architecture.total_parameters)),
        or_null(number(architecture.active_parameters)),
        or_null(number(architecture.sparsity())),
        or_null(attention(cache.stored_per_token(1.0).0)),
        or_null(attention(
            cache.read_per_token_at(READ_CONTEXT_TOKENS, 1.0).0,
        )),
        or_null(attention(cache.read_per_token(1.0).0)),
        or_null(attention(cache.decode_macs_per_token())),
        or_null(attention(cache.prefill_macs_per_token())),
        or_null(attention(cache.state_per_sequence().0)),
        model.max_context.to_string(),
        or_null(number(model.native_weight_bytes())),
        text(&model.native_precision),
        text(&model.confidence),
    ];
    format!("        ({})", values.join(", "))
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

fn or_null(value: Option<f64>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}
