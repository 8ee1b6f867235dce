//! A picture of estimated against disclosed quantities of open-weight models.

use plotters::prelude::*;

use unroof_calibration::validation::{ModelOutcome, Validation};

const SIZE: (u32, u32) = (960, 900);
const GROUND: RGBColor = RGBColor(255, 255, 255);
const INK: RGBColor = RGBColor(40, 44, 52);
const FAINT: RGBColor = RGBColor(190, 196, 204);
const DENSE: RGBColor = RGBColor(0, 114, 178);
const MIXTURE: RGBColor = RGBColor(213, 94, 0);

/// A quantity, its label on the picture, and its range.
type Panel = (&'static str, &'static str, std::ops::Range<f64>);

const PANELS: [Panel; 4] = [
    ("active_parameters", "active parameters", 5e8..2e12),
    ("total_parameters", "total parameters", 5e8..2e13),
    (
        "kv_bytes_per_token_read",
        "KV bytes read per token",
        5e2..2e6,
    ),
    (
        "kv_bytes_per_token_stored",
        "KV bytes stored per token",
        5e2..2e6,
    ),
];

/// Estimate against truth with 90 % intervals, four quantities, as a picture.
///
/// # Errors
/// The plotting library fails.
pub fn svg(validation: &Validation) -> Result<String, String> {
    let mut text = String::new();
    draw(validation, &mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

fn draw(validation: &Validation, text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&GROUND)?;
    for (panel, (quantity, name, range)) in area.split_evenly((2, 2)).iter().zip(PANELS) {
        let style = ("sans-serif", 14).into_font().color(&INK);
        let mut chart = ChartBuilder::on(panel)
            .margin(12)
            .margin_right(28)
            .x_label_area_size(42)
            .y_label_area_size(66)
            .build_cartesian_2d(range.clone().log_scale(), range.clone().log_scale())?;
        chart
            .configure_mesh()
            .disable_mesh()
            .axis_style(FAINT)
            .label_style(style.clone())
            .axis_desc_style(style.clone())
            .x_desc(format!("{name}, published"))
            .y_desc("estimated, family left out")
            .x_label_formatter(&power)
            .y_label_formatter(&power)
            .draw()?;
        let diagonal = [(range.start, range.start), (range.end, range.end)];
        chart.draw_series(LineSeries::new(diagonal, INK))?;
        for (is_dense, label, colour) in [
            (true, "dense", DENSE),
            (false, "mixture of experts", MIXTURE),
        ] {
            let own = || {
                validation
                    .by_model
                    .iter()
                    .filter(move |model| is_of_class(model, is_dense))
            };
            let within = |value: f64| value.clamp(range.start, range.end);
            chart.draw_series(own().map(|model| {
                let outcome = &model.quantities[quantity];
                let ends = [
                    (outcome.truth, within(outcome.low_90)),
                    (outcome.truth, within(outcome.high_90)),
                ];
                PathElement::new(ends, colour.mix(0.35))
            }))?;
            chart
                .draw_series(own().map(|model| {
                    let outcome = &model.quantities[quantity];
                    Circle::new((outcome.truth, within(outcome.median)), 4, colour.filled())
                }))?
                .label(label)
                .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(style)
            .border_style(FAINT)
            .background_style(GROUND)
            .draw()?;
    }
    area.present()?;
    Ok(())
}

fn is_of_class(model: &ModelOutcome, is_dense: bool) -> bool {
    (model.quantities["total_parameters"].truth <= model.quantities["active_parameters"].truth)
        == is_dense
}

fn power(value: &f64) -> String {
    format!("{value:.0e}")
}
