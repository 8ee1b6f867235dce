//! `/models/{author}/{model}/badge.svg`: one quantity of a model as a small picture, for other pages.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use maud::{Markup, html};

use super::models::{ModelPath, no_model};
use super::track_record::require_quantity;
use crate::answers::Answers;
use crate::query::query;
use crate::service::extract::{Path, Query};
use unroof_base::units::compact;
use unroof_edge::{
    CachedBody, FilterText, KnownTag, NoModel, Problem, Reply, StoreRefusals, Unchanged,
};
use unroof_infer::estimate::judgement::headline::rough;
use unroof_infer::estimate::judgement::published::public_value;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::{StoredQuantity, StoredRow};

/// Colour behind the name of the quantity.
const NAME_COLOUR: &str = "#444";
/// Colour behind a value.
const VALUE_COLOUR: &str = "#1a5fa8";
/// Colour behind a value that is not identified.
const UNKNOWN_COLOUR: &str = "#6b6b6b";
/// Height of the badge, in pixels.
const HEIGHT: usize = 20;
/// Mean width of a letter of 11 pixels.
const LETTER: usize = 7;
/// Room next to a text.
const MARGIN: usize = 6;

query! {
    /// The quantity to show.
    BadgeQuery {
        /// Name of the quantity; `active_parameters` if left out.
        #[param(nullable = false, inline, example = "active_parameters")]
        quantity: Option<FilterText>,
    }
}

/// Show a quantity of a model as a picture
///
/// A small SVG picture for other pages: the name of the quantity and its public value, else its median and its 90 % interval, or
/// "not identified". It
/// has no style sheet and no script, and is read alone.
#[utoipa::path(
    get,
    path = "/models/{author}/{model}/badge.svg",
    tag = "estimates",
    params(ModelPath, BadgeQuery, KnownTag),
    responses(
        (status = 200, description = "The picture", body = String, content_type = "image/svg+xml", headers(("etag" = String))),
        Unchanged, StoreRefusals, NoModel,
    )
)]
pub(crate) async fn show_badge(
    State(answers): State<Arc<Answers>>,
    Path(path): Path<ModelPath>,
    Query(query): Query<BadgeQuery>,
    headers: HeaderMap,
) -> Reply {
    let quantity = match &query.quantity {
        Some(FilterText(name)) => require_quantity(name)?,
        None => JointQuantity::ActiveParameters,
    };
    let name = path.name();
    let body = async || {
        let badge = read_badge(&answers, &name, quantity).await?;
        let picture = badge.picture().into_string();
        Ok(CachedBody::new(picture, "image/svg+xml", None))
    };
    let question = format!("badge {} {name}", quantity.name());
    answers.polled(question, &headers, body).await
}

/// The texts of a badge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Badge {
    /// Canonical name of the model.
    pub(crate) model: String,
    /// The quantity, with its unit where the name is without.
    pub(crate) label: &'static str,
    /// The public value, else median and 90 % interval; none where it is not identified.
    pub(crate) value: Option<String>,
}

/// The badge of a model by its canonical name.
///
/// # Errors
/// There is no estimate of the model, or the database is unreachable.
pub(crate) async fn read_badge(
    answers: &Answers,
    name: &str,
    quantity: JointQuantity,
) -> Result<Badge, Problem> {
    let row = answers.store.model(name, None).await?;
    let row = row.ok_or_else(|| no_model(name, None))?;
    Ok(Badge {
        model: row.canonical_model,
        label: quantity.definition().label,
        value: public_value(name, quantity)
            .map(|public| format!("{} (public)", compact(public)))
            .or_else(|| value(StoredRow::read(&row.row_values).quantity(quantity))),
    })
}

/// `60B (14B–320B)`; none where it is not identified.
fn value(stored: StoredQuantity) -> Option<String> {
    let (median, interval) = stored.span()?;
    let [median, low, high] = [median, interval.low, interval.high].map(rough);
    (stored.identified == Some(true)).then(|| format!("{median} ({low}–{high})"))
}

impl Badge {
    /// Picture of the badge.
    fn picture(&self) -> Markup {
        let value = self.value.as_deref().unwrap_or("not identified");
        let colour = if self.value.is_some() {
            VALUE_COLOUR
        } else {
            UNKNOWN_COLOUR
        };
        let width = |text: &str| text.chars().count() * LETTER + 2 * MARGIN;
        let (left, right) = (width(self.label), width(value));
        let whole = left + right;
        html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(whole) height=(HEIGHT) role="img"
                viewBox={ "0 0 " (whole) " " (HEIGHT) } {
                title { (self.model) ": " (self.label) " | " (value) }
                rect width=(left) height=(HEIGHT) fill=(NAME_COLOUR) {}
                rect x=(left) width=(right) height=(HEIGHT) fill=(colour) {}
                (words(self.label, MARGIN, left - 2 * MARGIN))
                (words(value, left + MARGIN, right - 2 * MARGIN))
            }
        }
    }
}

/// A text that fills its width in every font.
fn words(text: &str, x: usize, width: usize) -> Markup {
    html! {
        text x=(x) y="14" textLength=(width) lengthAdjust="spacingAndGlyphs" fill="#fff" font-size="11"
            font-family="Verdana, DejaVu Sans, sans-serif" { (text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(identified: bool) -> StoredQuantity {
        StoredQuantity {
            median: Some(6.04e10),
            low_90: Some(1.41e10),
            high_90: Some(3.23e11),
            identified: Some(identified),
            interval_50: None,
        }
    }

    #[test]
    fn a_value_has_two_digits_and_its_interval() {
        assert_eq!(value(stored(true)).unwrap(), "60B (14B–320B)");
        assert_eq!(value(stored(false)), None);
        let texts = [1.38e12, 0.052, 2.0, 0.5, 98_600.0].map(rough);
        assert_eq!(texts, ["1.4T", "0.052", "2", "0.5", "99k"]);
    }

    #[test]
    fn the_picture_needs_no_style_sheet_and_escapes_names() {
        let badge = Badge {
            model: "acme/<m>".to_owned(),
            label: "active parameters",
            value: value(stored(true)),
        };
        let picture = badge.picture().into_string();
        assert!(
            picture.contains("<title>acme/&lt;m&gt;: active parameters | 60B (14B–320B)</title>")
        );
        for unwanted in ["style", "class=", "<script", "href"] {
            assert!(!picture.contains(unwanted), "{unwanted}: {picture}");
        }
        let unknown = Badge {
            value: None,
            ..badge
        };
        assert!(unknown.picture().into_string().contains(">not identified<"));
    }
}
