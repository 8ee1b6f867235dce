//! Costs and margins of a model whose architecture is published: its sizes are stated, and prices say how it is served.

use super::drawn_again;
use crate::clue;
use crate::estimate::judgement::published::{
    OF_MACHINES, PublishedServing, SIZES, published_value,
};
use crate::estimate::margins::LineMargin;
use crate::estimate::quantities::JointQuantity;
use crate::estimate::samples::Samples;
use crate::evidence::assumptions::Assumptions;
use crate::evidence::likelihood;
use crate::evidence::open_name::open_model_of;
use crate::evidence::quantity::Quantity;
use crate::evidence::served_speed::ServedSpeed;
use crate::posterior::Prior;
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::OpenModel;
use unroof_roofline::reference::calibration::Calibration;

/// Costs and margins of the architecture that is published of a model; none where it is not, where any size is stated, or
/// where few draws carry them.
pub(super) fn serving_of(
    name: &str,
    contents: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
    wanted: &CancelToken,
) -> Result<Option<PublishedServing>, Cancelled> {
    let drawn = drawn_with_architecture(name, contents, assumptions, calibration, wanted)?;
    Ok(drawn.map(|(samples, margins)| {
        let spread =
            |quantity: JointQuantity| (quantity.name().to_owned(), samples.spread(quantity));
        PublishedServing {
            quantities: OF_MACHINES.map(spread).into(),
            margins,
        }
    }))
}

/// Draws and margins with the sizes of the published architecture stated; none as in [`serving_of`].
pub(crate) fn drawn_with_architecture(
    name: &str,
    contents: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
    wanted: &CancelToken,
) -> Result<Option<(Samples, Vec<LineMargin>)>, Cancelled> {
    let open = open_model_of(name);
    let stated = open.and_then(|open| Some((open, with_architecture(open, assumptions)?)));
    let Some((open, stated)) = stated else {
        return Ok(None);
    };
    let prior = Prior::of_sheets(calibration, &stated, contents);
    let mut terms = clue::observed(contents, &stated, calibration);
    terms.extend(likelihood::terms(ServedSpeed::of_model(
        &open.name, contents,
    )));
    drawn_again(contents, &stated, calibration, (&prior, &terms), wanted)
}

/// The assumptions with the sizes of a model's published architecture; none where any size is stated.
pub(crate) fn with_architecture(
    open: &OpenModel,
    assumptions: &Assumptions,
) -> Option<Assumptions> {
    let is_stated = SIZES.iter().any(|(_, size)| assumptions.states(*size));
    if is_stated || assumptions.architecture().is_some() {
        return None;
    }
    let element = assumptions.middle(Quantity::KvBytesPerElement);
    let mut stated = assumptions.clone();
    for (quantity, size) in SIZES {
        let value = match size {
            // It follows from the bytes at 8,192 tokens and the kind of attention.
            Quantity::KvBytesReadSlope => None,
            Quantity::KvBytesRead | Quantity::KvBytesStored => {
                published_value(open, quantity).map(|bytes| bytes * element.unwrap_or(1.0))
            }
            _ => published_value(open, quantity),
        };
        if let Some(value) = value {
            stated = stated.stating(size, value);
        }
    }
    Some(stated)
}
