//! One draw of the unknowns of a class, and the draws that a prior keeps.

use std::sync::OnceLock;

use super::gaussian::UNKNOWNS;
use super::sobol::Point;
use super::summary::Summary;
use crate::estimate::quantities::JointQuantity;
use crate::evidence::unknowns::Running;

/// One draw of the unknowns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw {
    pub(super) class: u8,
    pub(super) machine: u16,
    pub(super) values: [f64; UNKNOWNS],
    pub(super) log_utilisation: f64,
    pub(super) log_rental: f64,
    pub(super) running: Running,
    /// Whether there are such models, and a unit of its machine holds it and is fast enough.
    pub(super) is_possible: bool,
}

/// A draw as it is proposed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proposed<'p> {
    /// Values of all coordinates.
    pub(super) values: [f64; UNKNOWNS],
    pub(super) point: &'p Point,
    /// log ratio of prior to proposal density
    pub(super) log_prior_over_proposal: f64,
}

/// Draws and summaries of a prior that answers share, once they are wanted.
#[derive(Debug, Clone, Default)]
pub(super) struct Drawn {
    /// The first round of every class.
    pub(super) pilots: OnceLock<Vec<Vec<Draw>>>,
    /// Every quantity before a sheet is read.
    pub(super) before: OnceLock<[Summary; JointQuantity::COUNT]>,
}
