//! Draws on machines: the first machine and unit that hold a model, of several draws at once.

use wide::f64x4;

use super::draw::{Draw, Proposed};
use super::prior::{ClassPrior, Prior, exists};
use super::sobol::{MACHINES, Point};
use crate::evidence::unknowns::{Running, Unknowns};
use unroof_base::units::number::Number;

/// Draws that are computed at once.
type Lanes = f64x4;

/// Draws that are placed together: so many that few lanes stay empty, and so few that they stay in a core's cache.
pub(super) const BLOCK: usize = 64;

/// Places the draws of one class of models.
pub(super) struct Placer<'p> {
    prior: &'p Prior,
    class: usize,
    with_prompts: bool,
    placed: Vec<Draw>,
    /// Draws that exist and have no machine yet.
    waiting: Vec<usize>,
}

impl<'p> Placer<'p> {
    pub(super) fn new(prior: &'p Prior, class: usize, with_prompts: bool) -> Self {
        Self {
            prior,
            class,
            with_prompts,
            placed: Vec::with_capacity(BLOCK),
            waiting: Vec::with_capacity(BLOCK),
        }
    }

    /// Places each proposed draw on the first of a few machines that hold it; on the first of all if none does.
    pub(super) fn place(&mut self, proposed: &[Proposed<'_>]) -> &[Draw] {
        let (prior, of_class) = (self.prior, &self.prior.classes[self.class]);
        let unplaced = proposed
            .iter()
            .map(|proposed| Draw::unplaced(prior, self.class, proposed));
        self.placed.clear();
        self.placed.extend(unplaced);
        let exist = (0..proposed.len())
            .filter(|index| exists(&self.placed[*index].unknowns(prior, of_class)));
        self.waiting.clear();
        self.waiting.extend(exist);
        for choice in 0..MACHINES {
            let mut left = 0;
            for from in (0..self.waiting.len()).step_by(Lanes::LANES) {
                // The last one again, where lanes are left over.
                let last = self.waiting.len() - 1;
                let group = Lanes::each(|lane| self.waiting[(from + lane).min(last)]);
                let count = (last + 1 - from).min(Lanes::LANES);
                self.try_machines(choice, &group, proposed);
                for index in group.into_iter().take(count) {
                    if !self.placed[index].is_possible {
                        self.waiting[left] = index;
                        left += 1;
                    }
                }
            }
            self.waiting.truncate(left);
        }
        &self.placed
    }

    /// Puts draws on the machines of their next choice, where these hold them.
    fn try_machines(&mut self, choice: usize, group: &[usize], proposed: &[Proposed<'_>]) {
        let prior = self.prior;
        let of_class = &prior.classes[self.class];
        let uniforms = Lanes::each(|lane| proposed[group[lane]].point.machines[choice]);
        let machines = uniforms.map(|uniform| prior.machine_at(uniform));
        let unknowns = Lanes::each(|lane| Unknowns {
            machine: prior.machine(machines[lane]),
            ..self.placed[group[lane]].unknowns(prior, of_class)
        });
        let rest = Lanes::of_lanes(|lane| prior.rest_of(machines[lane], uniforms[lane]));
        let placed =
            Unknowns::placed_each(&unknowns, rest, prior.is_for_users(), self.with_prompts);
        for (lane, running) in placed.into_iter().enumerate() {
            if let Some(running) = running {
                let index = group[lane];
                self.placed[index].put_on(prior, machines[lane], running, proposed[index].point);
            }
        }
    }
}

impl Draw {
    /// Draw on its first machine, which may not hold it.
    pub(super) fn unplaced(prior: &Prior, class: usize, proposed: &Proposed<'_>) -> Self {
        let point = proposed.point;
        let machine = prior.machine_at(point.machines[0]);
        Self {
            class: u8::try_from(class).unwrap_or(u8::MAX),
            machine: u16::try_from(machine).unwrap_or(u16::MAX),
            values: proposed.values,
            log_utilisation: prior.log_utilisation(point.utilisation),
            log_rental: prior.log_rental(machine, point),
            running: prior.running(prior.machine(machine), point),
            is_possible: false,
        }
    }

    /// Puts it on a machine that holds it.
    fn put_on(&mut self, prior: &Prior, machine: usize, running: Running, point: &Point) {
        self.machine = u16::try_from(machine).unwrap_or(u16::MAX);
        self.log_rental = prior.log_rental(machine, point);
        self.running = running;
        self.is_possible = true;
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
