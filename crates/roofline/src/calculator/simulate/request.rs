//! The request of `/simulate`, and the same with every default filled in. Its sections are in the files of their names.

use super::efficiency::{Efficiency, STARTING_POINTS, StatedEfficiencies, fill_efficiency};
use super::grid::{Grid, SimulatedGrid, fill_grid};
use super::hardware::{Hardware, SimulatedMachine, fill_hardware};
use super::load::{Load, Served, SimulatedLoad, fill_load};
use super::model::{
    Model, ModelKind, Precision, SimulatedModel, SimulatedPrecision, fill_model, fill_precision,
};
use super::offer::{Offer, SimulatedOffer, fill_offer};
use crate::calculator::inputs::{InputUsed, Inputs};
use crate::forward::KvCache;
use unroof_base::input::body::body;
use unroof_base::input::body::{Body, OneOf, Stated, name_or, object, section, value};
use unroof_base::input::cursor::Cursor;

body! {
    /// A simulation request. A field that is left out has a default, which the answer names.
    pub struct SimulateRequest {
        /// The model, by its name or its architecture; DeepSeek-V3 where nothing is stated.
        model: Stated<SimulatedModel> = value(ModelKind).flag("model"),
        /// Precisions of weights, KV cache and attention.
        precision: SimulatedPrecision = section::<SimulatedPrecision>(),
        /// Chips that serve the model.
        machine: SimulatedMachine = section::<SimulatedMachine>(),
        /// Efficiencies, as shares of the peaks: `fitted` to published measurements (the default), `peak`, or either
        /// with other numbers.
        efficiencies: StatedEfficiencies = name_or::<StatedEfficiencies, _>(OneOf(STARTING_POINTS)),
        /// Operating point: batch, context and prompt.
        operating_point: SimulatedLoad = section::<SimulatedLoad>(),
        /// Batches and contexts over which the simulation is repeated, at most 10,000 points.
        grid: Stated<SimulatedGrid> = value(object::<SimulatedGrid>()),
        /// Terms on which the machine is offered; the answer then has the price sheet it implies.
        price_sheet: Stated<SimulatedOffer> = value(object::<SimulatedOffer>()),
    }
}

/// A request with every default filled in.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) model: Model,
    pub(super) cache: KvCache,
    pub(super) precision: Precision,
    pub(super) hardware: Hardware,
    pub(super) efficiency: Efficiency,
    pub(super) load: Load,
    pub(super) grid: Option<Grid>,
    pub(super) offer: Option<Offer>,
    pub(super) inputs: Vec<InputUsed>,
}

/// Reads the request. A fault in one section does not stop the checks of the others.
pub(super) fn read_question(root: &Cursor<'_>) -> Option<Question> {
    let request = SimulateRequest::read(root)?;
    let inputs = Inputs::new(root.faults());
    let model = fill_model(&request.model, &inputs);
    let precision = fill_precision(&request.precision, &inputs, model.as_ref());
    let hardware = fill_hardware(&request.machine, &inputs, model.as_ref(), precision);
    let efficiency = fill_efficiency(&request.efficiencies, &inputs);
    let model_cache = |model: &Model| KvCache::new(&model.architecture);
    let cache = model.as_ref().map(model_cache);
    let served = served(
        model.as_ref(),
        precision,
        hardware.as_ref(),
        cache.as_ref(),
        efficiency,
    );
    let load = fill_load(&request.operating_point, &inputs, served);
    let grid = fill_grid(&request.grid, &inputs);
    let offer = match &request.price_sheet.value {
        Ok(Some(stated)) => {
            fill_offer(stated, &inputs, model.as_ref(), hardware.as_ref()).map(Some)
        }
        Ok(None) => Some(None),
        Err(_) => None,
    };
    Some(Question {
        model: model?,
        cache: cache?,
        precision: precision?,
        hardware: hardware?,
        efficiency: efficiency?,
        load: load?,
        grid: grid.ok()?,
        offer: offer?,
        inputs: inputs.into_used(),
    })
}

/// The setup that the load is put on, where all of it is known.
fn served<'a>(
    model: Option<&'a Model>,
    precision: Option<Precision>,
    hardware: Option<&'a Hardware>,
    cache: Option<&'a KvCache>,
    efficiency: Option<Efficiency>,
) -> Option<Served<'a>> {
    Some(Served {
        model: model?,
        precision: precision?,
        hardware: hardware?,
        cache: cache?,
        efficiency: efficiency?,
    })
}
