//! Layouts of a model over chips: tensor × expert × data × pipeline parallelism.

use serde::Serialize;
use utoipa::ToSchema;

use crate::reference::architecture::{Architecture, AttentionGroup};

/// Chips that a unit of several scale-up domains may have: published deployments have 144 and 320.
const MOST_CHIPS_OF_UNIT: u32 = 576;
/// Degrees of data parallelism within a unit: all up to this one, and then these.
const EVERY_DATA: u32 = 32;
const MORE_DATA: [u32; 17] = [
    36, 40, 48, 56, 64, 72, 80, 96, 112, 128, 144, 160, 192, 224, 256, 288, 320,
];
/// Degrees of tensor parallelism.
const TENSOR: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Greatest number of pipeline stages.
const MOST_STAGES: u32 = 16;

/// A layout of one copy of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Layout {
    /// Chips that share each matrix of attention, and of everything else where experts are not distributed.
    pub tensor: u32,
    /// Chips that the experts of a layer are distributed over; 1 where they are cut like every other matrix.
    pub expert: u32,
    /// Groups of `tensor` chips with a copy of attention's weights each, which share the experts.
    pub data: u32,
    /// Pipeline stages of a unit.
    pub pipeline: u32,
}

impl Layout {
    /// Chips of one copy of the model.
    #[must_use]
    pub fn chips(&self) -> u32 {
        self.tensor * self.data * self.pipeline
    }

    /// Experts and layers of the chips with most over the mean.
    pub(super) fn unevenness(&self, architecture: &Architecture) -> f64 {
        let over_mean = |parts: u32, all: u32| {
            let each = f64::from(all) / f64::from(parts);
            each.ceil() / each
        };
        let experts = architecture.experts.map(|experts| experts.routed);
        let of_experts = experts.map_or(1.0, |routed| over_mean(self.expert, routed));
        of_experts * over_mean(self.pipeline, architecture.layers)
    }

    /// Whether experts are distributed.
    #[must_use]
    pub fn distributes_experts(&self) -> bool {
        self.expert > 1
    }
}

/// Degrees that a request allows; all of the grid where a list is empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Degrees {
    pub(super) tensor: Vec<u32>,
    pub(super) data: Vec<u32>,
    pub(super) pipeline: Vec<u32>,
}

/// Chips of a tray: a board of eight, or a whole small domain, is rented at once; racks are made of trays of four.
pub(crate) fn tray_chips(domain_chips: u32) -> u32 {
    const LARGEST_BOARD: u32 = 16;
    const OF_RACK: u32 = 4;
    if domain_chips <= LARGEST_BOARD {
        domain_chips
    } else {
        OF_RACK
    }
}

/// Whether units of this many chips leave no chip of a tray over: they share one, or fill several.
fn fills_trays(chips: u32, domain_chips: u32) -> bool {
    let tray = tray_chips(domain_chips);
    tray.is_multiple_of(chips) || chips.is_multiple_of(tray)
}

/// Whether every chip has as many experts as the others, where an eighth or a quarter of them may have a copy, as 32 of
/// DeepSeek's 256 do.
fn divides_experts(routed: u32, chips: u32) -> bool {
    let copies = routed.next_multiple_of(chips) - routed;
    copies == 0 || copies * 8 == routed || copies * 4 == routed
}

impl Degrees {
    fn is_stated(&self) -> bool {
        !(self.tensor.is_empty() && self.data.is_empty() && self.pipeline.is_empty())
    }
}

/// Every layout that divides the experts and fills trays, and has at most this many chips; stated degrees need not.
pub(super) fn layouts(
    architecture: &Architecture,
    degrees: &Degrees,
    domain_chips: u32,
    most_chips: Option<u32>,
) -> Vec<Layout> {
    let most = most_chips.unwrap_or(MOST_CHIPS_OF_UNIT);
    let data_degrees: Vec<u32> = (1..=EVERY_DATA).chain(MORE_DATA).collect();
    let stages: Vec<u32> = (1..=MOST_STAGES).collect();
    let routed = architecture.experts.map(|experts| experts.routed);
    let is_free = degrees.is_stated();
    let heads = query_heads(architecture);
    let mut found = Vec::new();
    for pipeline in chosen(&degrees.pipeline, &stages) {
        if pipeline > architecture.layers {
            continue;
        }
        for tensor in chosen(&degrees.tensor, &TENSOR) {
            let is_stated = !degrees.tensor.is_empty();
            let fits_domain = tensor <= domain_chips || is_stated;
            if tensor > heads || !fits_domain {
                continue;
            }
            for data in chosen(&degrees.data, &data_degrees) {
                let Some(chips) = tensor
                    .checked_mul(data)
                    .and_then(|n| n.checked_mul(pipeline))
                else {
                    continue;
                };
                if chips > most || !(is_free || fills_trays(chips, domain_chips)) {
                    continue;
                }
                let expert = tensor * data;
                let can_distribute = routed.is_some_and(|routed| {
                    expert <= routed + routed / 4 && (is_free || divides_experts(routed, expert))
                });
                // Copies of a whole model are units of their own.
                let whole = (data == 1).then_some(1);
                let distributed = (can_distribute && expert > 1).then_some(expert);
                found.extend(whole.into_iter().chain(distributed).map(|expert| Layout {
                    tensor,
                    expert,
                    data,
                    pipeline,
                }));
            }
        }
    }
    found
}

fn chosen(stated: &[u32], all: &[u32]) -> Vec<u32> {
    if stated.is_empty() {
        all.to_vec()
    } else {
        stated.to_vec()
    }
}

/// Most query heads of a kind of attention; tensor parallelism cuts no head.
fn query_heads(architecture: &Architecture) -> u32 {
    let heads = architecture.attention.iter().map(|group| match group {
        AttentionGroup::GroupedQuery(group) => group.query_heads,
        AttentionGroup::Latent(group) => group.query_heads,
        AttentionGroup::Compressed(group) => group.query_heads,
        AttentionGroup::Linear(_) => 0,
    });
    heads.max().filter(|heads| *heads > 0).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::open_model;

    fn of(name: &str) -> Vec<Layout> {
        let model = open_model(name).unwrap();
        layouts(&model.architecture, &Degrees::default(), 8, None)
    }

    #[test]
    fn a_dense_model_has_tensor_and_pipeline_alone() {
        let found = of("Llama-3.1-70B");
        assert!(
            found
                .iter()
                .all(|layout| layout.expert == 1 && layout.data == 1)
        );
        assert!(found.iter().all(|layout| fills_trays(layout.chips(), 8)));
        assert!(found.len() > 20, "{}", found.len());
    }

    #[test]
    fn a_mixture_has_hundreds_of_layouts_that_fill_trays_and_divide_experts() {
        let model = open_model("DeepSeek-V3").unwrap();
        for domain in [8, 72] {
            let found = layouts(&model.architecture, &Degrees::default(), domain, Some(256));
            assert!(found.len() > 200, "{}", found.len());
            for layout in found {
                assert!(fills_trays(layout.chips(), domain), "{layout:?}");
                assert!(divides_experts(256, layout.expert), "{layout:?}");
            }
        }
        for chips in [7, 13, 14] {
            assert!(!fills_trays(chips, 8) && !fills_trays(chips, 72), "{chips}");
        }
        assert!(!divides_experts(256, 7) && divides_experts(256, 144) && divides_experts(256, 320));
    }

    #[test]
    fn stated_degrees_are_tried_as_they_are() {
        let model = open_model("DeepSeek-V3").unwrap();
        let degrees = Degrees {
            data: vec![13],
            ..Degrees::default()
        };
        let found = layouts(&model.architecture, &degrees, 8, None);
        assert!(found.iter().any(|layout| layout.expert == 13));
    }

    #[test]
    fn the_published_deployment_of_a_mixture_is_in_the_grid() {
        let found = of("DeepSeek-V3");
        for data in [32, 144] {
            let published = Layout {
                tensor: 1,
                expert: data,
                data,
                pipeline: 1,
            };
            assert!(found.contains(&published));
        }
        let distinct: std::collections::BTreeSet<String> =
            found.iter().map(|layout| format!("{layout:?}")).collect();
        assert_eq!(distinct.len(), found.len());
    }
}
