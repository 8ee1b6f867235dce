//! What a question says is reached of the peaks.

use std::cell::RefCell;

use crate::calculator::inputs::{InputOrigin as Origin, InputUsed, Inputs, Number};
use crate::input::cursor::Cursor;
use crate::input::json::Json;
use crate::reference::{Attainment, fitted_attainment};
use crate::roofline::{Efficiencies, Overheads, Overlap};
use crate::units::Seconds;

/// What is reached of the peaks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reached {
    pub(super) efficiencies: Efficiencies,
    pub(super) overheads: Overheads,
    pub(super) overlap: Overlap,
}

/// `fitted`, `peak`, or either with other numbers.
pub(super) fn read_reached(
    field: Option<&Cursor<'_>>,
    used: &RefCell<Vec<InputUsed>>,
) -> Option<Reached> {
    let bare = field.filter(|field| matches!(field.json, Json::Text(_)));
    let inputs = Inputs::of("efficiencies.", field.filter(|_| bare.is_none()), used);
    let named = inputs.stated("name");
    // A name or a truth that is wrong is recorded; the fields beside it are read all the same, for their faults.
    let (is_peak, from) = match bare.or(named.as_ref()) {
        Some(field) => (
            field
                .one_of(&[("fitted", false), ("peak", true)])
                .unwrap_or_default(),
            Origin::Stated,
        ),
        None => (false, Origin::Default),
    };
    inputs.name("name", if is_peak { "peak" } else { "fitted" }, from);
    let from_point = if is_peak {
        Attainment {
            compute: 1.0,
            bandwidth: 1.0,
            network: 1.0,
            vectors_per_token_and_layer: 0.0,
            seconds_per_stage: Seconds(0.0),
        }
    } else {
        fitted_attainment()
    };
    let share = |name, other: f64| {
        let range = 1e-6..=1.0;
        inputs.number(
            &Number {
                name,
                unit: "",
                range,
            },
            other,
        )
    };
    let prefill = share("prefill", from_point.compute);
    let decode_bandwidth = share("decode_bandwidth", from_point.bandwidth);
    let decode_compute = share("decode_compute", from_point.compute);
    let (counts_network, from) = match inputs.stated("communication") {
        Some(field) => (field.truth().unwrap_or_default(), Origin::Stated),
        None => (!is_peak, Origin::Default),
    };
    inputs.name(
        "communication",
        if counts_network { "true" } else { "false" },
        from,
    );
    let network = share("network", from_point.network);
    let vectors = inputs.number(
        &Number {
            name: "vectors_per_token_and_layer",
            unit: "",
            range: 0.0..=1e6,
        },
        from_point.vectors_per_token_and_layer,
    );
    let per_stage = inputs.number(
        &Number {
            name: "seconds_per_stage",
            unit: "s",
            range: 0.0..=1.0,
        },
        from_point.seconds_per_stage.0,
    );
    let overlaps = [
        ("full", Overlap::Full),
        ("attention_apart", Overlap::AttentionApart),
        ("E1", Overlap::Full),
        ("E1'", Overlap::AttentionApart),
    ];
    let (overlap, from) = match inputs.stated("overlap") {
        Some(field) => (field.one_of(&overlaps), Origin::Stated),
        None if is_peak => (Some(Overlap::Full), Origin::Default),
        None => (Some(Overlap::AttentionApart), Origin::Default),
    };
    let name = overlaps.iter().find(|(_, form)| Some(*form) == overlap);
    inputs.name("overlap", name.map_or("", |(name, _)| name), from);
    inputs.refuse_unknown();
    Some(Reached {
        efficiencies: Efficiencies {
            prefill: prefill?,
            decode_bandwidth: decode_bandwidth?,
            decode_compute: decode_compute?,
        },
        overheads: Overheads {
            network: network.filter(|_| counts_network),
            vectors_per_token_and_layer: vectors?,
            per_stage: Seconds(per_stage?),
        },
        overlap: overlap?,
    })
}
