//! A picture of predicted against measured throughput.

use plotters::prelude::*;

use super::report::{Report, RowKind, Scored};
use unroof_base::units::readable;
use unroof_roofline::reference::measurement::Purpose;

const SIZE: (u32, u32) = (760, 560);
const GROUND: RGBColor = RGBColor(255, 255, 255);
const INK: RGBColor = RGBColor(40, 44, 52);
const FAINT: RGBColor = RGBColor(190, 196, 204);
const PREFILL: RGBColor = RGBColor(0, 114, 178);
const DECODE: RGBColor = RGBColor(213, 94, 0);
const DENSE: RGBColor = RGBColor(0, 158, 115);
const EXPERTS: RGBColor = RGBColor(204, 121, 167);
/// Tokens per second and chip.
const RANGE: std::ops::Range<f64> = 10.0..100_000.0;

/// Predicted against measured throughput, on publications left out, as a picture.
///
/// # Errors
/// The plotting library fails.
pub fn svg(report: &Report) -> Result<String, String> {
    let mut text = String::new();
    draw(report, &mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

fn draw(report: &Report, text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&GROUND)?;
    let style = ("sans-serif", 15).into_font().color(&INK);
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .margin_right(44)
        .x_label_area_size(46)
        .y_label_area_size(72)
        .build_cartesian_2d(RANGE.log_scale(), RANGE.log_scale())?;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(FAINT)
        .label_style(style.clone())
        .axis_desc_style(style.clone())
        .x_desc("measured tokens per second and chip")
        .y_desc("predicted, publication left out")
        .x_label_formatter(&power)
        .y_label_formatter(&power)
        .draw()?;
    for (factor, colour) in [(1.0, INK), (0.5, FAINT), (2.0, FAINT)] {
        let (from, to) = (RANGE.start, RANGE.end);
        let ends = [
            (from.max(from / factor), (from * factor).max(from)),
            (to.min(to / factor), (to * factor).min(to)),
        ];
        chart.draw_series(LineSeries::new(ends, colour))?;
    }
    let at_peak = report
        .of_kind(RowKind::Prefill)
        .chain(report.of_kind(RowKind::Decode))
        .filter(is_throughput)
        .filter_map(|row| Some((row.measured.value, row.peak?)));
    chart
        .draw_series(at_peak.map(|point| Circle::new(point, 5, FAINT)))?
        .label("prefill or decode, at peak")
        .legend(|(x, y)| Circle::new((x + 8, y), 5, FAINT));
    for (kind, name, colour) in [
        (RowKind::SharedDense, "both, dense", DENSE),
        (RowKind::SharedExperts, "both, experts", EXPERTS),
        (RowKind::Prefill, "prefill", PREFILL),
        (RowKind::Decode, "decode", DECODE),
    ] {
        let points = report
            .of_kind(kind)
            .filter(is_throughput)
            .filter_map(|row| Some((row.measured.value, row.left_out?)));
        chart
            .draw_series(points.map(|point| Circle::new(point, 5, colour.filled())))?
            .label(name)
            .legend(move |(x, y)| Circle::new((x + 8, y), 5, colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(style)
        .border_style(FAINT)
        .background_style(GROUND)
        .draw()?;
    area.present()?;
    Ok(())
}

fn is_throughput(row: &&Scored) -> bool {
    !matches!(row.measured.purpose, Purpose::Slope | Purpose::Intercept)
}

fn power(value: &f64) -> String {
    readable(*value)
}
