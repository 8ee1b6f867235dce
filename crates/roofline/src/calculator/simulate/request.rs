//! The request of `/simulate`, and the same with every default filled in. Its sections are in the files of their names.
//!
//! ```
//! use unroof_base::input::body::flags;
//! use unroof_roofline::calculator::simulate::request::SimulateRequest;
//!
//! let flags = flags::<SimulateRequest>();
//! let batch = flags.iter().find(|flag| flag.name == "batch").unwrap();
//! assert_eq!(batch.pointer, "/load/batch");
//! ```

use super::grid::{SimulatedGrid, fill_grid};
use super::hardware::{SPREADS, fill_hardware};
use super::load::{Load, fill_load};
use super::measured::rows::{MeasuredKind, MeasuredRow};
use super::offer::{Offer, SimulatedOffer, fill_offer};
use super::setup::Setup;
use crate::calculator::inputs::{InputUsed, Inputs};
use crate::calculator::scenario::efficiency::{STARTING_POINTS, StatedEfficiencies};
use crate::calculator::scenario::machine::MOST_CHIPS;
use crate::calculator::scenario::{
    Model, ModelKind, PREFILL_FLAGS, StatedLoad, StatedMachine, StatedModel, StatedPrecision,
};
use crate::forward::Spread;
use crate::reference::fitted_attainment;
use crate::reference::names::AcceleratorIdOrAll;
use unroof_base::input::body::{Body, OneOf, Stated, bare_or, body, count, object, section, value};
use unroof_base::input::cursor::Cursor;

body! {
    /// A simulation request. A field that is left out has a default, which the answer names.
    pub struct SimulateRequest {
        /// The model, by its name, its sizes, its architecture or its configuration; DeepSeek-V3 where nothing is stated.
        model: Stated<StatedModel> = value(ModelKind).flag("model"),
        /// Precisions of weights, KV cache and attention.
        precision: StatedPrecision = section::<StatedPrecision>(),
        /// The chips that serve one copy of the model, or the accelerator alone.
        machine: StatedMachine = bare_or::<StatedMachine, _>("accelerator", AcceleratorIdOrAll),
        /// The chips that compute prompts, where they are others.
        prefill_machine: StatedMachine =
            bare_or::<StatedMachine, _>("accelerator", AcceleratorIdOrAll).with_flags(PREFILL_FLAGS),
        /// `experts` (EP with data-parallel attention) puts each expert on one chip and all other weights on every chip,
        /// `tensor` (TP) cuts every matrix; `experts` for a mixture if left out.
        spread: Stated<Spread> = value(OneOf(SPREADS)).flag("spread"),
        /// Chips that share attention's matrices where experts are distributed, as `TP4 EP32` is written; each has a copy of them if
        /// left out.
        tensor: Stated<u32> = count(1..=MOST_CHIPS).unit("chips").example(4).flag("tensor"),
        /// Efficiencies, as shares of the peaks: `fitted` to published measurements (the default), `peak`, or either
        /// with other numbers.
        efficiencies: StatedEfficiencies = bare_or::<StatedEfficiencies, _>("name", OneOf(STARTING_POINTS)),
        /// Rows of one's own benchmark of this model on these chips, 1 to 100 of them; or the result files of `vllm bench serve`
        /// or aiperf. They move the shares of arithmetic and bandwidth and the waits, and narrow the intervals.
        measured: Stated<Vec<MeasuredRow>> = value(MeasuredKind).flag("measured"),
        /// The load.
        load: StatedLoad = section::<StatedLoad>(),
        /// Batches and contexts over which the simulation is repeated, at most 10,000 points.
        grid: Stated<SimulatedGrid> = value(object::<SimulatedGrid>()),
        /// Terms on which the machine is offered; the answer then has the price sheet it implies.
        price_sheet: Stated<SimulatedOffer> = value(object::<SimulatedOffer>()),
    }
}

/// A request with every default filled in.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) setup: Setup,
    pub(super) load: Load,
    pub(super) grid: Option<SimulatedGrid>,
    pub(super) offer: Option<Offer>,
    pub(super) inputs: Vec<InputUsed>,
}

/// Reads the request. A fault in one section does not stop the checks of the others.
pub(super) fn read_question(root: &Cursor<'_>) -> Option<Question> {
    let request = SimulateRequest::read(root)?;
    let inputs = Inputs::new(root, &[]);
    let width = request.precision.cache_of_sizes();
    let model = Model::fill(&request.model, &inputs, width);
    let precision = request.precision.fill(&inputs, model.as_ref());
    let machines = [&request.machine, &request.prefill_machine];
    let hardware = fill_hardware(
        machines,
        (&request.spread, &request.tensor),
        &inputs,
        model.as_ref(),
        precision,
    );
    let reached = (hardware.as_ref()).map_or(fitted_attainment().all, |hardware| {
        hardware.row.attainment()
    });
    let efficiency = request.efficiencies.fill(&inputs, reached);
    let setup = Setup::of(model.as_ref(), precision, hardware.as_ref(), efficiency);
    let load = fill_load(&request.load, &inputs, setup.as_ref());
    let grid = fill_grid(&request.grid, &inputs);
    let offer = (request.price_sheet)
        .filled(|stated| fill_offer(stated, &inputs, model.as_ref(), hardware.as_ref()));
    let measured = request.measured.value.ok()?;
    let (setup, load) = (setup?, load?);
    let setup = match measured {
        Some(rows) => setup.learning(load.speculation, &rows),
        None => setup,
    };
    Some(Question {
        setup,
        load,
        grid: grid.ok()?,
        offer: offer.ok()?,
        inputs: inputs.into_used(),
    })
}
