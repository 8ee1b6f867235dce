//! Modes on one curve: batch, standard, priority and faster tiers as points of one batch curve of price against speed.
//!
//! A step takes 1 for reading the weights and y·b for a batch of b times the standard one, in units of the fixed time. A
//! mode is then (1 + y)/(1 + y·b) times as fast and costs (1 + y·b)/(b·(1 + y)) times as much: b = 1/(`m_p`·`m_s`) and
//! y = (`m_s` − 1)/(1 − 1/`m_p`) [D]. One y belongs to a machine and a model, so every mode of a sheet has the same.

use crate::estimate::judgement::conflict::Conflict;
use crate::evidence::clue_table::ReadingId;
use crate::evidence::reading::Reading;
use unroof_base::units::readable;

/// Speeds and price multipliers are round numbers: a mode lies off the curve where it is beyond it by this factor.
const ROUNDING: f64 = 1.25;

/// A mode that is sold faster than the standard tier.
struct FastMode<'r> {
    name: &'r str,
    price: f64,
    speed: f64,
    /// 1 + y: greatest speed of the mode over that of the standard tier.
    greatest_speedup: f64,
}

impl<'r> FastMode<'r> {
    /// Mode from the reading of its greatest speed-up.
    fn of(reading: &'r Reading) -> Option<Self> {
        (reading.id == ReadingId::FastModeMaxSpeedup).then_some(())?;
        Some(Self {
            name: reading.label("service_tier")?,
            price: reading.input("output_price_multiplier")?,
            speed: reading.input("speed_multiplier")?,
            greatest_speedup: reading.number()?,
        })
    }
}

/// The modes that cannot lie on one curve: the fastest one against the mode that bounds it, and the largest amortisation of
/// a batch tier against the same.
pub(super) fn off_one_curve(readings: &[Reading]) -> Vec<Conflict> {
    let fast: Vec<FastMode<'_>> = readings.iter().filter_map(FastMode::of).collect();
    let bounding = fast
        .iter()
        .min_by(|left, right| left.greatest_speedup.total_cmp(&right.greatest_speedup));
    let fastest = fast
        .iter()
        .max_by(|left, right| left.speed.total_cmp(&right.speed));
    let batch = readings
        .iter()
        .filter(|reading| reading.id == ReadingId::BatchDiscountUtilisation)
        .filter_map(|reading| Some((reading, reading.detail("amortisation")?)))
        .max_by(|left, right| left.1.total_cmp(&right.1));
    let Some(bounding) = bounding else {
        return Vec::new();
    };
    let too_fast = fastest.and_then(|mode| too_fast(bounding, mode));
    let too_cheap =
        batch.and_then(|(reading, amortisation)| too_cheap(bounding, reading, amortisation));
    too_fast.into_iter().chain(too_cheap).collect()
}

/// A mode faster than the speed at which the other mode's machine would only read weights.
fn too_fast(bounding: &FastMode<'_>, mode: &FastMode<'_>) -> Option<Conflict> {
    (mode.speed > ROUNDING * bounding.greatest_speedup).then(|| Conflict {
        between: vec![ReadingId::FastModeMaxSpeedup; 2],
        quantity: "greatest_speed_multiplier",
        values: [bounding.greatest_speedup, mode.speed],
        why: format!(
            "as points of one batch curve, {} ({}× the price, {}× the speed) implies that no batch is more than {}× as \
             fast as the standard tier, and {} ({}× the price) is sold at {}×: other hardware, speculation or another model",
            bounding.name,
            readable(bounding.price),
            readable(bounding.speed),
            readable(bounding.greatest_speedup),
            mode.name,
            readable(mode.price),
            readable(mode.speed),
        ),
    })
}

/// A batch tier that saves more per token than a larger batch can, (1 + y)/y, once its fuller machine is paid for.
fn too_cheap(bounding: &FastMode<'_>, batch: &Reading, amortisation: f64) -> Option<Conflict> {
    let greatest = bounding.greatest_speedup / (bounding.greatest_speedup - 1.0);
    (amortisation > ROUNDING * greatest).then(|| Conflict {
        between: vec![ReadingId::FastModeMaxSpeedup, batch.id],
        quantity: "amortisation",
        values: [greatest, amortisation],
        why: format!(
            "as points of one batch curve, {} ({}× the price, {}× the speed) implies that no larger batch makes output more \
             than {}× cheaper, and {} makes it {}× cheaper beyond what it saves on input: other hardware, speculation \
             or another model",
            bounding.name,
            readable(bounding.price),
            readable(bounding.speed),
            readable(greatest),
            batch.label("service_tier").unwrap_or("batch"),
            readable(amortisation),
        ),
    })
}
