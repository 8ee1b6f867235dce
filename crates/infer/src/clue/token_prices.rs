//! The input and the output price of a sheet, as joint evidence of the size of its model.

use wide::f64x8;

use super::Clue;
use crate::evidence::clue_table::ClueKind;
use crate::evidence::likelihood::{
    LOG_NORMAL_PEAK, Likelihood, MISPRINTS, Observed, log_normal, normal_tail,
    student_t_scale_mixture, terms,
};
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::release::release;
use crate::evidence::sheet::Evidence;
use crate::evidence::unknowns::Unknowns;
use unroof_base::units::count_f64;
use unroof_base::units::elementary::{exp, exp_each, ln};
use unroof_price_sheet::catalog::is_sold_by_author;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_price_sheet::sheet::compare::decision::decisions;
use unroof_price_sheet::vendors::vendor;
use unroof_roofline::reference::calibration::{Calibration, HostMarkup, OverLines, PriceLaw};

pub(super) static CLUE: Clue = Clue::new(&[], |_| Ok(Vec::new())).observed_by(observe);

const INPUT: usize = 0;
const OUTPUT: usize = 1;
const PARTS: [ClueKind; 2] = [ClueKind::InputPrice, ClueKind::OutputPrice];
/// Points of the scale of the model's deviation, each as probable.
const SCALES: usize = 8;
/// Spread of misprints around the price of a model of middling size: prices that no model explains count as such, and
/// leave the posterior unchanged.
const MISPRINT_SD: f64 = 6.0;
/// log of such a model's active and total parameters: 16 and 72 billion.
const MIDDLING: [f64; 2] = [23.5, 25.0];

/// Prices of sellers for one model, without their markups: log price − markup ~ law(`N_a`, `N_t`) + deviation +
/// noise.
#[derive(Debug, Clone)]
pub(super) struct PriceLines {
    law: PriceLaw,
    /// The stated lines: both or one.
    line: Option<usize>,
    /// log USD per Mtok, averaged over hosts.
    price: [f64; 2],
    /// Spreads per scale of the deviation, each as probable.
    spreads: [Spread; SCALES],
    /// Density of both lines, and of each alone.
    both: Density,
    alone: [Density; 2],
}

/// Density of residuals over all scales of the deviation, or as a misprint: a quadratic form per scale, all at once.
#[derive(Debug, Clone)]
struct Density {
    /// log density without a residual, and the share of the scale
    log_peak: f64x8,
    /// Terms added to it per square of the input residual, per product of both, and per square of the output residual.
    form: [f64x8; 3],
    /// Density of a misprint, times their share.
    misprint: f64,
}

impl Density {
    fn new(log_misprint: f64, of_scale: impl Fn(usize) -> (f64, [f64; 3])) -> Self {
        let log_share = ((1.0 - MISPRINTS) / count_f64(SCALES)).ln();
        Self {
            log_peak: std::array::from_fn(|scale| log_share + of_scale(scale).0).into(),
            form: std::array::from_fn(|entry| {
                std::array::from_fn(|scale| of_scale(scale).1[entry]).into()
            }),
            misprint: MISPRINTS * log_misprint.exp(),
        }
    }

    fn at(&self, [input, output]: [f64; 2]) -> f64 {
        let [of_input, of_both, of_output] = self.form;
        let exponent = self.log_peak
            + of_input * (input * input)
            + of_both * (input * output)
            + of_output * (output * output);
        exp_each(&exponent.to_array()).iter().sum::<f64>() + self.misprint
    }
}

/// Covariance of both lines for one scale of the deviation, ready to be used.
#[derive(Debug, Clone, Copy, Default)]
struct Spread {
    sd: [f64; 2],
    /// Covariance of the output line with the input line per variance of the input line.
    slope: f64,
    /// Standard deviation of the output line once the input line is known.
    conditional_sd: f64,
}

impl Spread {
    fn new(covariance: OverLines) -> Self {
        let slope = covariance[INPUT][OUTPUT] / covariance[INPUT][INPUT];
        let conditional = covariance[OUTPUT][OUTPUT] - slope * covariance[INPUT][OUTPUT];
        let sd = [
            covariance[INPUT][INPUT].sqrt(),
            covariance[OUTPUT][OUTPUT].sqrt(),
        ];
        let conditional_sd = conditional.sqrt();
        Self {
            sd,
            slope,
            conditional_sd,
        }
    }

    fn conditional(&self, residual: [f64; 2]) -> f64 {
        residual[OUTPUT] - self.slope * residual[INPUT]
    }

    /// log density of both lines at residual 0, and its quadratic form as in [`Density`].
    fn joint(&self) -> (f64, [f64; 3]) {
        let log_peak = 2.0 * LOG_NORMAL_PEAK - (self.sd[INPUT] * self.conditional_sd).ln();
        let input = -0.5 / self.sd[INPUT].powi(2);
        let output = -0.5 / self.conditional_sd.powi(2);
        (
            log_peak,
            [
                input + output * self.slope * self.slope,
                -2.0 * output * self.slope,
                output,
            ],
        )
    }

    /// Log peak and quadratic form of one line alone.
    fn marginal(&self, line: usize) -> (f64, [f64; 3]) {
        let mut form = [0.0; 3];
        form[2 * line] = -0.5 / self.sd[line].powi(2);
        (log_normal(0.0, self.sd[line]), form)
    }

    fn log_marginal(&self, line: usize, residual: f64) -> f64 {
        log_normal(residual, self.sd[line])
    }
}

/// log of the factor within which a price list with the same ratio is a copy of another, with a surcharge or a rebate: 1.4.
const NEAR_COPY: f64 = 0.336_472_236_621_212_9;

/// One host's prices without its markup, and their uncertainty as a measure of the model.
#[derive(Debug, Clone, Copy)]
struct Offer {
    price: [Option<f64>; 2],
    covariance: OverLines,
}

fn observe(sheets: &[Evidence<'_>], calibration: &Calibration) -> Observed {
    let contents: Vec<&PriceSheet> = sheets.iter().map(|evidence| evidence.sheet).collect();
    let groups = decisions(&contents, |sheet| is_sold_by_author(sheet) == Some(true));
    let years = release(sheets, calibration).years;
    let offers = groups.iter().filter_map(|group| {
        let offers: Vec<Offer> = group
            .iter()
            .filter_map(|decision| {
                offer(&sheets[decision.sheet], decision.copies, years, calibration)
            })
            .collect();
        one_ratio(&offers)
    });
    let offers: Vec<Offer> = offers.collect();
    terms(PriceLines::pooled(&offers, &calibration.price_law))
}

/// The base prices of a sheet in USD, less what its seller is known to charge.
fn offer(
    evidence: &Evidence<'_>,
    copies: usize,
    years: f64,
    calibration: &Calibration,
) -> Option<Offer> {
    let rate = evidence.assumptions.middle(Q::UsdPerCurrencyUnit);
    let usd = if evidence.in_usd() { 1.0 } else { rate? };
    let cell = evidence.base_cell()?;
    let markup = markup(evidence.sheet, years, calibration);
    let log_price = |price: crate::evidence::sheet::Price<'_>, line: usize| {
        Some((price.ok()?.to_f64() * usd).ln() - markup.mean[line])
    };
    let price = [
        log_price(cell.input(), INPUT),
        log_price(cell.output(), OUTPUT),
    ];
    let law = &calibration.price_law;
    let weight = (1.0 + law.copy_weight * count_f64(copies)).min(law.most_weight);
    let noise = law.noise.map(|row| row.map(|entry| entry / weight));
    price.iter().any(Option::is_some).then(|| Offer {
        price,
        covariance: sum(markup.covariance, noise),
    })
}

/// The markup of a seller: as learned; else that of an unknown host, or of an unknown vendor on models of its own. Of a
/// seller that may be either, half of the way between.
fn markup(sheet: &PriceSheet, years: f64, calibration: &Calibration) -> HostMarkup {
    let law = &calibration.price_law;
    let of_host = || {
        let known = calibration.hosts.get(&sheet.provider);
        known.cloned().unwrap_or(HostMarkup {
            mean: [0.0; 2],
            covariance: law.host,
        })
    };
    let of_author = || {
        let known = calibration.authors.get(&vendor(&sheet.provider));
        let own = known.cloned().unwrap_or(HostMarkup {
            mean: [0.0; 2],
            covariance: law.author_spread,
        });
        HostMarkup {
            mean: std::array::from_fn(|line| {
                own.mean[line] + law.author[line] + law.author_per_year[line] * years
            }),
            ..own
        }
    };
    match is_sold_by_author(sheet) {
        Some(true) => of_author(),
        Some(false) => of_host(),
        None => halfway(&of_host(), &of_author()),
    }
}

/// Mean and covariance of a markup that is one or the other, each as likely.
fn halfway(left: &HostMarkup, right: &HostMarkup) -> HostMarkup {
    let apart: [f64; 2] = std::array::from_fn(|line| 0.5 * (left.mean[line] - right.mean[line]));
    HostMarkup {
        mean: std::array::from_fn(|line| f64::midpoint(left.mean[line], right.mean[line])),
        covariance: std::array::from_fn(|row| {
            std::array::from_fn(|column| {
                f64::midpoint(left.covariance[row][column], right.covariance[row][column])
                    + apart[row] * apart[column]
            })
        }),
    }
}

/// Offers with the same ratio of prices: each informs about the level, all of them together once about the ratio.
fn one_ratio(offers: &[Offer]) -> Option<Offer> {
    let first = *offers.first()?;
    let offers = &without_near_copies(offers);
    let complete = |offer: &Offer| Some([offer.price[INPUT]?, offer.price[OUTPUT]?]);
    let lines: Vec<[f64; 2]> = offers.iter().filter_map(complete).collect();
    if lines.len() < 2 {
        return Some(first);
    }
    // In coordinates of level and difference, the level is averaged and the difference is that of the first offer.
    let mut precision = 0.0;
    let mut weighted = 0.0;
    for (line, offer) in lines.iter().zip(offers) {
        let of_level = 1.0 / level_variance(offer.covariance);
        precision += of_level;
        weighted += of_level * f64::midpoint(line[INPUT], line[OUTPUT]);
    }
    let level = weighted / precision;
    let half = 0.5 * (lines[0][OUTPUT] - lines[0][INPUT]);
    let shrink = (1.0 / precision / level_variance(first.covariance)).sqrt();
    let [[input, both], [_, output]] = first.covariance;
    let level_level = shrink * shrink * level_variance(first.covariance);
    let level_half = shrink * 0.25 * (output - input);
    let half_half = 0.25 * (input + output - 2.0 * both);
    Some(Offer {
        price: [Some(level - half), Some(level + half)],
        covariance: [
            [
                level_level - 2.0 * level_half + half_half,
                level_level - half_half,
            ],
            [
                level_level - half_half,
                level_level + 2.0 * level_half + half_half,
            ],
        ],
    })
}

/// The offers whose prices are not near those of one before them: who adds a few percent to a list copies it.
fn without_near_copies(offers: &[Offer]) -> Vec<Offer> {
    let mut kept: Vec<Offer> = Vec::new();
    for offer in offers {
        let is_near = |known: &Offer| {
            let apart = |line: usize| Some((offer.price[line]? - known.price[line]?).abs());
            let apart = apart(INPUT).or_else(|| apart(OUTPUT));
            apart.is_some_and(|apart| apart <= NEAR_COPY)
        };
        if !kept.iter().any(is_near) {
            kept.push(*offer);
        }
    }
    kept
}

/// Variance of the mean of both lines.
fn level_variance(covariance: OverLines) -> f64 {
    0.25 * (covariance[INPUT][INPUT] + 2.0 * covariance[INPUT][OUTPUT] + covariance[OUTPUT][OUTPUT])
}

fn sum(left: OverLines, right: OverLines) -> OverLines {
    std::array::from_fn(|row| std::array::from_fn(|column| left[row][column] + right[row][column]))
}

impl PriceLines {
    /// The average over offers, each weighted by how well it measures the model.
    fn pooled(offers: &[Offer], law: &PriceLaw) -> Option<Self> {
        let mut precision = [[0.0; 2]; 2];
        let mut weighted = [0.0; 2];
        for offer in offers {
            let (own, price) = match offer.price {
                [Some(input), Some(output)] => (inverse(offer.covariance), [input, output]),
                [Some(input), None] => (
                    [[1.0 / offer.covariance[INPUT][INPUT], 0.0], [0.0; 2]],
                    [input, 0.0],
                ),
                [None, Some(output)] => (
                    [[0.0; 2], [0.0, 1.0 / offer.covariance[OUTPUT][OUTPUT]]],
                    [0.0, output],
                ),
                [None, None] => continue,
            };
            for row in 0..2 {
                weighted[row] += own[row][INPUT] * price[INPUT] + own[row][OUTPUT] * price[OUTPUT];
            }
            precision = sum(precision, own);
        }
        let [input, output] = [precision[INPUT][INPUT], precision[OUTPUT][OUTPUT]];
        match (input > 0.0, output > 0.0) {
            (false, false) => None,
            (true, true) => {
                let covariance = inverse(precision);
                let price = std::array::from_fn(|row| {
                    covariance[row][INPUT] * weighted[INPUT]
                        + covariance[row][OUTPUT] * weighted[OUTPUT]
                });
                Some(Self::new(None, price, covariance, law))
            }
            (true, false) => Some(Self::new(
                Some(INPUT),
                [weighted[INPUT] / input, 0.0],
                [[1.0 / input, 0.0], [0.0, 1.0]],
                law,
            )),
            (false, true) => Some(Self::new(
                Some(OUTPUT),
                [0.0, weighted[OUTPUT] / output],
                [[1.0, 0.0], [0.0, 1.0 / output]],
                law,
            )),
        }
    }

    fn new(line: Option<usize>, price: [f64; 2], covariance: OverLines, law: &PriceLaw) -> Self {
        let spreads = student_t_scale_mixture::<SCALES>(law.degrees_of_freedom).map(|scale| {
            Spread::new(sum(
                covariance,
                law.deviation.map(|row| row.map(|entry| entry * scale)),
            ))
        });
        let misprint: [f64; 2] = std::array::from_fn(|line| {
            let middling = law.intercept[line]
                + law.active[line] * MIDDLING[0]
                + law.total[line] * MIDDLING[1];
            log_normal(price[line] - middling, MISPRINT_SD)
        });
        Self {
            law: law.clone(),
            line,
            price,
            spreads,
            both: Density::new(misprint[INPUT] + misprint[OUTPUT], |scale| {
                spreads[scale].joint()
            }),
            alone: std::array::from_fn(|line| {
                Density::new(misprint[line], |scale| spreads[scale].marginal(line))
            }),
        }
    }

    /// Price less the expectation of the law.
    fn residual(&self, unknowns: &Unknowns<'_>) -> [f64; 2] {
        let law = &self.law;
        let dense = if unknowns.is_dense {
            unknowns.log_active_parameters - law.dense_centre
        } else {
            0.0
        };
        std::array::from_fn(|line| {
            self.price[line]
                - law.intercept[line]
                - law.active[line] * unknowns.log_active_parameters
                - law.total[line] * unknowns.log_total_parameters
                - law.dense[line] * dense
        })
    }
}

fn inverse([[a, b], [_, d]]: OverLines) -> OverLines {
    let determinant = a * d - b * b;
    [
        [d / determinant, -b / determinant],
        [-b / determinant, a / determinant],
    ]
}

impl Likelihood for PriceLines {
    fn parts(&self) -> &[ClueKind] {
        match self.line {
            None => &PARTS,
            Some(INPUT) => &PARTS[..1],
            Some(_) => &PARTS[1..],
        }
    }

    fn likelihood(&self, unknowns: &Unknowns<'_>) -> f64 {
        let residual = self.residual(unknowns);
        match self.line {
            None => self.both.at(residual),
            Some(line) => self.alone[line].at(residual),
        }
    }

    fn log_likelihood_of(&self, part: usize, unknowns: &Unknowns<'_>) -> f64 {
        let input = || self.alone[INPUT].at(self.residual(unknowns));
        match (self.line, part) {
            (None, INPUT) => ln(input()),
            (None, _) => ln(self.likelihood(unknowns) / input()),
            (Some(_), _) => ln(self.likelihood(unknowns)),
        }
    }

    fn tail_probability(&self, part: usize, unknowns: &Unknowns<'_>) -> f64 {
        let residual = self.residual(unknowns);
        let line = self.line.unwrap_or(part);
        let given_input = self.line.is_none() && part == OUTPUT;
        let mut weights = 0.0;
        let mut tail = 0.0;
        for spread in &self.spreads {
            let (weight, of_spread) = if given_input {
                let weight = exp(spread.log_marginal(INPUT, residual[INPUT]));
                (
                    weight,
                    normal_tail(spread.conditional(residual), spread.conditional_sd),
                )
            } else {
                (1.0, normal_tail(residual[line], spread.sd[line]))
            };
            weights += weight;
            tail += weight * of_spread;
        }
        // An input price beyond all reason leaves no weight; then the widest spread applies.
        if weights > 0.0 {
            tail / weights
        } else {
            normal_tail(residual[line], self.spreads[0].sd[line])
        }
    }
}
