//! Draws on machines: the first machine and unit that hold a model.

use super::draw::Draw;
use super::gaussian::UNKNOWNS;
use super::prior::{ClassPrior, Prior, exists};
use super::sobol::Point;
use crate::model::unknowns::Unknowns;

impl Draw {
    /// On the first of a few machines that hold it; on the first of all if none does.
    pub(super) fn new(
        prior: &Prior,
        class: usize,
        values: [f64; UNKNOWNS],
        point: &Point,
        with_prompts: bool,
    ) -> Self {
        let of_class = &prior.classes[class];
        let first = prior.machine_at(point.machines[0]);
        let unknowns = Unknowns {
            running: prior.running(prior.machine(first), point),
            ..of_class.unknowns(&values, prior.machine(first))
        };
        let mut placed = None;
        if exists(&unknowns) {
            let model = unknowns.model();
            placed = point.machines.into_iter().find_map(|uniform| {
                let machine = prior.machine_at(uniform);
                let unknowns = Unknowns {
                    machine: prior.machine(machine),
                    ..unknowns
                };
                let running = prior.placed(&unknowns, &model, machine, uniform, with_prompts)?;
                Some((machine, running))
            });
        }
        let is_possible = placed.is_some();
        let (machine, running) = placed.unwrap_or((first, unknowns.running));
        let of_machine = prior.machine(machine);
        Self {
            class: u8::try_from(class).unwrap_or(u8::MAX),
            machine: u16::try_from(machine).unwrap_or(u16::MAX),
            values,
            log_utilisation: prior.log_utilisation(point.utilisation),
            log_rental: of_machine.log_rental + of_machine.rental_sd * point.rental,
            running,
            is_possible,
        }
    }

    pub(super) fn unknowns<'a>(&self, prior: &'a Prior, class: &ClassPrior) -> Unknowns<'a> {
        Unknowns {
            log_utilisation: self.log_utilisation,
            log_rental: self.log_rental,
            running: self.running,
            ..class.unknowns(&self.values, prior.machine(self.machine.into()))
        }
    }
}
