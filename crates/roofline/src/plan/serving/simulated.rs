//! The queue model against simulations of single events.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::aggregated::SharedUnit;
use super::chunks::Chunks;
use super::latency::FirstToken;
use super::queue::Queue;
use crate::calculator::scenario::lengths::Lengths;
use crate::plan::question::goal::Goal;
use crate::plan::question::request::{Question, read_questions};
use crate::plan::search::Search;
use unroof_base::input::read;

struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn new() -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(1_953))
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.0.random::<f64>()).ln()
    }

    fn one_of(&mut self, points: &[(f64, f64)]) -> f64 {
        let mut left = self.0.random::<f64>();
        for (value, share) in points {
            left -= share;
            if left <= 0.0 {
                return *value;
            }
        }
        points[points.len() - 1].0
    }
}

fn quantile(mut times: Vec<f64>, share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let index = (times.len() as f64 * share) as usize;
    times[index]
}

fn assert_near(model: f64, simulated: f64, tolerance: f64, what: &str) {
    let ratio = model / simulated;
    assert!(
        (ratio - 1.0).abs() <= tolerance,
        "{what}: {model} against {simulated}"
    );
}

/// Waiting and service of every request of M/G/c.
fn served_by_servers(servers: usize, rate: f64, services: &[(f64, f64)]) -> Vec<f64> {
    let mut chance = Chance::new();
    let mut free_at = vec![0.0_f64; servers];
    let mut now = 0.0;
    let mut times = Vec::new();
    for _ in 0..150_000 {
        now += chance.exponential(1.0 / rate);
        let first = free_at
            .iter_mut()
            .min_by(|left, right| left.total_cmp(right))
            .unwrap();
        *first = first.max(now) + chance.one_of(services);
        times.push(*first - now);
    }
    times
}

#[test]
fn the_time_to_the_first_token_is_that_of_simulated_servers() {
    for deviation in [0.0, 1.0] {
        let lengths = Lengths::constant(1.0).spread(deviation);
        let services = lengths.points().to_vec();
        let square: f64 = services
            .iter()
            .map(|(time, share)| time * time * share)
            .sum();
        for (servers, load) in [(1_u8, 0.5), (1, 0.8), (4, 0.8), (16, 0.6), (16, 0.9)] {
            let rate = load * f64::from(servers);
            let queue = Queue {
                servers: f64::from(servers),
                arrivals_per_second: rate,
                arrival_variation: 1.0,
                service_s: 1.0,
                service_variation: square - 1.0,
            };
            let first = FirstToken {
                waiting: queue.waiting().unwrap(),
                window_s: 0.0,
                window_probability: 0.0,
                services: services.clone(),
                added_s: 0.0,
            };
            let times = served_by_servers(servers.into(), rate, &services);
            let what = format!("{servers} servers, load {load}, spread {deviation}");
            assert_near(
                first.quantile(0.5),
                quantile(times.clone(), 0.5),
                0.2,
                &what,
            );
            assert_near(first.quantile(0.95), quantile(times, 0.95), 0.12, &what);
        }
    }
}

fn question(text: &str) -> Question {
    let questions = read(text.as_bytes(), read_questions).unwrap();
    questions.into_iter().next().unwrap()
}

const DENSE: &str = r#"{"model": "Llama-3.1-70B",
    "machine": {"accelerator": "h100-sxm", "chips": 8}, "precision": {"weight_bytes_per_parameter": 1},
    "load": {"input_tokens": 2000, "output_tokens": 300},
    "limits": {"time_to_first_token_seconds": 1, "time_per_output_token_seconds": 0.03},
    "layouts": {"tensor": [8], "pipeline": [1]}}"#;

const MIXTURE: &str = r#"{"model": "DeepSeek-V3",
    "machine": {"accelerator": "h200-sxm"}, "precision": {"weight_bytes_per_parameter": 1},
    "load": {"input_tokens": 2000, "output_tokens": 300, "requests_per_second": 60},
    "limits": {"time_to_first_token_seconds": 3, "time_per_output_token_seconds": 0.05},
    "layouts": {"tensor": [1], "data": [16], "pipeline": [1]}}"#;

#[test]
fn passes_of_several_prompts_start_and_wait_as_simulated_ones_do() {
    let question = question(MIXTURE);
    let search = Search::new(&question);
    let unit = search
        .prefill_units()
        .iter()
        .find(|unit| unit.prompts > 1.0)
        .unwrap();
    for (units, load) in [
        (1_u8, 0.5),
        (1, 0.9),
        (3, 0.3),
        (3, 0.9),
        (8, 0.6),
        (8, 0.9),
    ] {
        let rate = load * unit.capacity() * f64::from(units);
        let first = unit.first_token(f64::from(units), rate).unwrap();
        let times = gated_passes(units.into(), unit.prompts, unit.pass_s, rate);
        let added = unit.transfer_s;
        let what = format!("{units} units, load {load}");
        assert_near(
            first.quantile(0.5),
            quantile(times.clone(), 0.5) + added,
            0.2,
            &what,
        );
        assert_near(
            first.quantile(0.95),
            quantile(times, 0.95) + added,
            0.2,
            &what,
        );
    }
}

/// Units that take up to so many waiting prompts whenever they are free.
fn gated_passes(units: usize, most: f64, pass_s: f64, rate: f64) -> Vec<f64> {
    let mut chance = Chance::new();
    let mut arrivals = Vec::new();
    let mut now = 0.0;
    for _ in 0..150_000 {
        now += chance.exponential(1.0 / rate);
        arrivals.push(now);
    }
    let mut free_at = vec![0.0_f64; units];
    let mut times = Vec::new();
    let mut next = 0;
    while next < arrivals.len() {
        let unit = free_at
            .iter_mut()
            .min_by(|left, right| left.total_cmp(right))
            .unwrap();
        let start = unit.max(arrivals[next]);
        let mut taken = 0.0;
        while next < arrivals.len() && arrivals[next] <= start && taken < most {
            times.push(start + pass_s - arrivals[next]);
            next += 1;
            taken += 1.0;
        }
        *unit = start + pass_s;
    }
    times
}

/// Time to the first token and per token of every request of one unit that computes prompts first.
fn engine(unit: &SharedUnit<'_>, rate: f64, steps: u32) -> (Vec<f64>, Vec<f64>) {
    let mut chance = Chance::new();
    let (mut now, mut next_arrival) = (0.0, 0.0);
    let mut waiting: Vec<f64> = Vec::new();
    let mut running: Vec<(f64, u32)> = Vec::new();
    let (mut first, mut per_token) = (Vec::new(), Vec::new());
    while per_token.len() < 20_000 {
        while next_arrival <= now {
            waiting.push(next_arrival);
            next_arrival += chance.exponential(1.0 / rate);
        }
        if !waiting.is_empty() {
            now += unit.prefill.pass_s;
            first.push(now - waiting.remove(0));
            running.push((now, steps));
        } else if running.is_empty() {
            now = next_arrival;
        } else {
            #[expect(clippy::cast_precision_loss, reason = "a batch")]
            let batch = running.len() as f64;
            now += unit.decode.step_s(batch);
            for (_, left) in &mut running {
                *left -= 1;
            }
            running.retain(|(start, left)| {
                if *left == 0 {
                    per_token.push((now - start) / f64::from(steps));
                }
                *left > 0
            });
        }
    }
    (first, per_token)
}

#[test]
fn shared_units_are_as_fast_as_a_simulated_engine() {
    let question = question(DENSE);
    let search = Search::new(&question);
    let goal = Goal::of(&question);
    let unit = search
        .shared_units()
        .iter()
        .find(|unit| unit.chunks.is_none() && unit.prefill.prompts < 1.5)
        .unwrap();
    let (units, most) = unit.solved(&goal).unwrap();
    assert!((units - 1.0).abs() < 1e-9);
    for share in [0.4, 0.7, 1.0] {
        let rate = share * most;
        let work = unit.work(1.0, rate, &goal).unwrap();
        let (first, per_token) = engine(unit, rate, 300);
        let mean = per_token.iter().sum::<f64>() / 20_000.0;
        let what = format!("{share} of the rate");
        assert_near(work.per_token_s, mean, 0.05, &what);
        assert_near(
            work.per_token_at_limit_s,
            quantile(per_token, 0.95),
            0.15,
            &what,
        );
        assert_near(work.first.quantile(0.95), quantile(first, 0.95), 0.2, &what);
    }
}

/// Times of the same kind where each step computes a chunk of the first prompt in the queue beside the answers.
fn engine_in_chunks(
    unit: &SharedUnit<'_>,
    chunks: &Chunks,
    rate: f64,
    steps: u32,
) -> (Vec<f64>, Vec<f64>) {
    let mut chance = Chance::new();
    let (mut now, mut next_arrival) = (0.0, 0.0);
    // When a prompt arrived, and its chunks that are left.
    let mut waiting: Vec<(f64, f64)> = Vec::new();
    let mut running: Vec<(f64, u32)> = Vec::new();
    let (mut first, mut per_token) = (Vec::new(), Vec::new());
    while per_token.len() < 20_000 {
        while next_arrival <= now {
            waiting.push((next_arrival, 2_000.0 / chunks.tokens()));
            next_arrival += chance.exponential(1.0 / rate);
        }
        if waiting.is_empty() && running.is_empty() {
            now = next_arrival;
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "a batch")]
        let batch = (running.len() as f64).max(1.0);
        let plain_s = unit.decode.step_s(batch);
        let computed = waiting.first().map_or(0.0, |(_, left)| left.min(1.0));
        let whole_s = chunks.step(&unit.decode, batch).total_s;
        now += plain_s + computed * (whole_s - plain_s);
        for (_, left) in &mut running {
            *left -= 1;
        }
        running.retain(|(start, left)| {
            if *left == 0 {
                per_token.push((now - start) / f64::from(steps));
            }
            *left > 0
        });
        if let Some((arrival, left)) = waiting.first_mut() {
            *left -= computed;
            if *left <= 1e-9 {
                first.push(now - *arrival);
                waiting.remove(0);
                running.push((now, steps));
            }
        }
    }
    (first, per_token)
}

#[test]
fn chunks_in_steps_are_as_fast_as_a_simulated_engine() {
    let question = question(DENSE);
    let search = Search::new(&question);
    let goal = Goal::of(&question);
    let mut sizes = Vec::new();
    for unit in search.shared_units() {
        let Some(chunks) = &unit.chunks else { continue };
        sizes.push(chunks.tokens());
        let (_, most) = unit.solved(&goal).unwrap();
        for share in [0.4, 0.7, 1.0] {
            let rate = share * most;
            let work = unit.work(1.0, rate, &goal).unwrap();
            let (first, per_token) = engine_in_chunks(unit, chunks, rate, 300);
            let mean = per_token.iter().sum::<f64>() / 20_000.0;
            let what = format!("{share} of the rate, chunks of {}", chunks.tokens());
            assert_near(work.per_token_s, mean, 0.05, &what);
            let at_limit = quantile(per_token, 0.95);
            assert_near(work.per_token_at_limit_s, at_limit, 0.15, &what);
            assert_near(work.first.quantile(0.95), quantile(first, 0.95), 0.2, &what);
        }
    }
    assert_eq!(sizes, [512.0, 2_000.0]);
}
