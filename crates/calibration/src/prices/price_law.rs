//! Law of prices: a linear mixed model with crossed effects, fitted by expectation maximisation.
//!
//! log price = intercept + b·level 1 + c·level 2 + d·further regressor + φ (vendors that sell models of their own) + seller +
//! deviation of the model + noise, two lines at once. The levels are log `N_a` and log `N_t`, or the logs of two costs. Sellers and models are effects of their own, so that a host that lists many models and a model
//! with many hosts each count by the information they add. The deviations are Student-t by weights that are
//! re-estimated in every round; rows that copy the ratio of another host add their level alone.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector, Matrix2, Vector2};

use super::{Settings, count};

/// Rounds; from about the twenty-fifth on, no parameter changes in its third digit.
const ROUNDS: usize = 30;
/// Intercept, two levels, a further regressor, vendors of their own models, and these by year of release.
const FIXED: usize = 6;
const FURTHER: usize = 3;
const AUTHOR: usize = 4;
const AUTHOR_YEARS: usize = 5;
/// Shrinkage weight of the spread of hosts in that of the few vendors, in vendors.
const VENDOR_SHRINKAGE: f64 = 3.0;

/// Values of the two lines that a row shows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shown {
    /// Values of the input and the output line.
    Both(Vector2<f64>),
    /// One combination of them, and its value.
    One(Vector2<f64>, f64),
}

/// A price as the fit sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) model: usize,
    pub(crate) seller: usize,
    pub(crate) shown: Shown,
    /// Number of independent decisions it counts as.
    pub(crate) weight: f64,
}

/// Figures of a model that its price depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Regressors {
    /// Logarithms of parameters, or of costs, from their centres.
    pub(crate) levels: [f64; 2],
    /// Part of a level that only dense models have, or years.
    pub(crate) further: f64,
    /// Years of its release from the mean; 0 where it is not known.
    pub(crate) years: f64,
}

impl Regressors {
    fn features(&self, is_author: bool) -> [f64; FIXED] {
        let [first, second] = self.levels;
        let years = if is_author { self.years } else { 0.0 };
        [
            1.0,
            first,
            second,
            self.further,
            f64::from(u8::from(is_author)),
            years,
        ]
    }
}

/// Fitted law of prices.
#[derive(Debug, Clone)]
pub(crate) struct Law {
    /// Intercept, both levels, the further regressor, and markup of vendors on models of their own with its change per
    /// year, per line.
    pub(crate) fixed: [Vector2<f64>; FIXED],
    pub(crate) host: Matrix2<f64>,
    /// Spread of what an unseen vendor asks for models of its own.
    pub(crate) unseen_author: Matrix2<f64>,
    pub(crate) deviation: Matrix2<f64>,
    pub(crate) noise: Matrix2<f64>,
    /// Mean and covariance of each seller's effect.
    pub(crate) sellers: Vec<(Vector2<f64>, Matrix2<f64>)>,
}

/// A row with the effects that its price depends on, each with its feature: the fixed ones, and its seller.
struct Observed<'a> {
    row: &'a Row,
    design: [(usize, f64); FIXED + 1],
}

impl<'a> Observed<'a> {
    fn new(row: &'a Row, sizes: &[Regressors], are_authors: &[bool]) -> Self {
        let features = sizes[row.model].features(are_authors[row.seller]);
        let design = std::array::from_fn(|place| match features.get(place) {
            Some(feature) => (place, *feature),
            None => (FIXED + row.seller, 1.0),
        });
        Self { row, design }
    }

    /// Weight of the row under a noise covariance, and its weighted price.
    fn weighted(&self, noise: &Matrix2<f64>) -> (Matrix2<f64>, Vector2<f64>) {
        let noise = noise / self.row.weight;
        match self.row.shown {
            Shown::Both(price) => {
                let precision = inverse(&noise);
                (precision, precision * price)
            }
            Shown::One(line, price) => {
                let variance = line.dot(&(noise * line));
                let precision = line * line.transpose() / variance;
                (precision, line * (price / variance))
            }
        }
    }
}

impl Shown {
    /// Expected square of the row's noise, given the fitted values and their uncertainty.
    fn expected_noise(
        &self,
        fitted: &Vector2<f64>,
        spread: &Matrix2<f64>,
        noise: &Matrix2<f64>,
    ) -> Matrix2<f64> {
        match self {
            Self::Both(price) => {
                let residual = price - fitted;
                residual * residual.transpose() + spread
            }
            Self::One(line, price) => {
                let residual = price - line.dot(fitted);
                let square = residual * residual + line.dot(&(spread * line));
                let variance = line.dot(&(noise * line));
                let gain = noise * line / variance;
                gain * gain.transpose() * square + noise - gain * gain.transpose() * variance
            }
        }
    }
}

/// The information of one model's rows about their common effects.
struct ModelBlock {
    /// Effects with the weight of the model's rows on them.
    effects: Vec<(usize, Matrix2<f64>)>,
    /// Covariance of the model's deviation, given the effects.
    covariance: Matrix2<f64>,
    price: Vector2<f64>,
}

/// Fits the law; of each seller it is said whether it is a vendor with models of its own.
pub(crate) fn fit(
    sizes: &[Regressors],
    are_authors: &[bool],
    rows: &[Row],
    settings: &Settings,
) -> Law {
    let observed = |row| Observed::new(row, sizes, are_authors);
    let rows: Vec<Observed<'_>> = rows.iter().map(observed).collect();
    let effects = FIXED + are_authors.len();
    let freedom = settings.deviation_degrees_of_freedom;
    let mut host = Matrix2::from_diagonal_element(0.1);
    let mut author = host;
    let mut deviation = Matrix2::from_diagonal_element(0.15);
    let mut noise = Matrix2::from_diagonal_element(0.06);
    let mut weights = vec![1.0; sizes.len()];
    for round in 0.. {
        let blocks = model_blocks(&rows, &weights, &deviation, &noise);
        let mut precision = prior_precision(are_authors, [&host, &author], settings);
        let (mean, covariance) = effects_given(&mut precision, &rows, &blocks, &noise);
        let sellers: Vec<(Vector2<f64>, Matrix2<f64>)> = (FIXED..effects)
            .map(|effect| (at(&mean, effect), block(&covariance, effect, effect)))
            .collect();
        if round == ROUNDS {
            return Law {
                fixed: std::array::from_fn(|effect| at(&mean, effect)),
                unseen_author: unseen_author(
                    &rows,
                    &mean,
                    &weights,
                    [&deviation, &noise, &host, &author],
                ),
                host,
                deviation,
                noise,
                sellers,
            };
        }
        let deviations: Vec<Deviation> = blocks
            .iter()
            .map(|block| Deviation::new(block, &mean, &covariance))
            .collect();
        let mut next_noise = Matrix2::zeros();
        for observed in &rows {
            let (fitted, spread) = fitted(observed, &blocks, &deviations, &mean, &covariance);
            let Row { shown, weight, .. } = observed.row;
            next_noise += shown.expected_noise(&fitted, &spread, &(noise / *weight)) * *weight;
        }
        let scale = inverse(&deviation);
        let mut next_deviation = Matrix2::zeros();
        for (weight, of_model) in weights.iter_mut().zip(&deviations) {
            let square = of_model.square();
            *weight = (freedom + 2.0) / (freedom + (scale * square).trace());
            next_deviation += square * *weight;
        }
        host = spread_of(&sellers, are_authors, false, None);
        author = spread_of(&sellers, are_authors, true, Some(&host));
        deviation = next_deviation / count(sizes.len());
        noise = next_noise / count(rows.len());
    }
    unreachable!("the rounds end")
}

/// Mean square of the effects of one kind of seller, drawn to another spread where one is given.
fn spread_of(
    sellers: &[(Vector2<f64>, Matrix2<f64>)],
    are_authors: &[bool],
    wanted: bool,
    drawn_to: Option<&Matrix2<f64>>,
) -> Matrix2<f64> {
    let squares = sellers
        .iter()
        .zip(are_authors)
        .filter(|(_, is_author)| **is_author == wanted)
        .map(|((mean, covariance), _)| mean * mean.transpose() + covariance);
    let (mut sum, mut number) = drawn_to.map_or((Matrix2::zeros(), 0.0), |spread| {
        (spread * VENDOR_SHRINKAGE, VENDOR_SHRINKAGE)
    });
    for square in squares {
        sum += square;
        number += 1.0;
    }
    // Without a seller of this kind nothing is learned about it.
    if number > 0.0 {
        sum / number
    } else {
        Matrix2::from_diagonal_element(0.1)
    }
}

/// Spread of what an unseen vendor asks for models of its own: of the mean distance of each vendor's own rows from the law, less
/// what noise and independent deviations of models add to it, drawn to the spread of hosts. It is wider than the spread of
/// the vendors' effects, since the models of a vendor are dear or cheap together, which the fit puts down to each of them.
fn unseen_author(
    rows: &[Observed<'_>],
    effects: &DVector<f64>,
    weights: &[f64],
    [deviation, noise, host, author]: [&Matrix2<f64>; 4],
) -> Matrix2<f64> {
    // Of each vendor: sum of the distances, sum of their covariances by chance, rows.
    let mut vendors: BTreeMap<usize, (Vector2<f64>, Matrix2<f64>, f64)> = BTreeMap::new();
    for Observed { row, design } in rows {
        let Shown::Both(price) = row.shown else {
            continue;
        };
        if design[AUTHOR].1 <= 0.0 {
            continue;
        }
        let of_law = design[..FIXED].iter();
        let expected: Vector2<f64> = of_law
            .map(|(effect, feature)| at(effects, *effect) * *feature)
            .sum();
        let by_chance = deviation / weights[row.model] + noise / row.weight;
        let (distance, chance, number) = vendors.entry(row.seller).or_default();
        *distance += price - expected;
        *chance += by_chance;
        *number += 1.0;
    }
    let mut sum = host * VENDOR_SHRINKAGE;
    for (distance, chance, number) in vendors.values() {
        sum += (distance * distance.transpose() - chance) / (number * number);
    }
    let spread = sum / (count(vendors.len()) + VENDOR_SHRINKAGE);
    // Of too few vendors, chance alone may be more than what they differ by.
    if spread.cholesky().is_some() {
        spread
    } else {
        *author
    }
}

fn model_blocks(
    rows: &[Observed<'_>],
    weights: &[f64],
    deviation: &Matrix2<f64>,
    noise: &Matrix2<f64>,
) -> Vec<ModelBlock> {
    let mut blocks: Vec<ModelBlock> = weights
        .iter()
        .map(|weight| ModelBlock {
            effects: Vec::new(),
            covariance: inverse(deviation) * *weight,
            price: Vector2::zeros(),
        })
        .collect();
    for observed in rows {
        let (precision, price) = observed.weighted(noise);
        let block = &mut blocks[observed.row.model];
        block.covariance += precision;
        block.price += price;
        for (effect, feature) in observed.design {
            let own = precision * feature;
            match block.effects.iter_mut().find(|known| known.0 == effect) {
                Some((_, weight)) => *weight += own,
                None => block.effects.push((effect, own)),
            }
        }
    }
    for block in &mut blocks {
        block.covariance = inverse(&block.covariance);
    }
    blocks
}

/// Prior precision of the effects: sellers vary by the covariance of their kind, the further regressor's exponent by little.
fn prior_precision(
    are_authors: &[bool],
    [host, author]: [&Matrix2<f64>; 2],
    settings: &Settings,
) -> DMatrix<f64> {
    let effects = FIXED + are_authors.len();
    let mut precision = DMatrix::<f64>::zeros(2 * effects, 2 * effects);
    for (seller, is_author) in are_authors.iter().enumerate() {
        let spread = if *is_author { author } else { host };
        let effect = FIXED + seller;
        add(&mut precision, effect, effect, &inverse(spread));
    }
    for (slope, sd) in [
        (FURTHER, settings.dense_slope_sd),
        (AUTHOR, settings.author_markup_sd),
        (AUTHOR_YEARS, settings.author_markup_sd),
    ] {
        let penalty = Matrix2::from_diagonal_element(sd.powi(-2));
        add(&mut precision, slope, slope, &penalty);
    }
    precision
}

/// Mean and covariance of the fixed effects and the sellers, the models integrated out.
fn effects_given(
    precision: &mut DMatrix<f64>,
    rows: &[Observed<'_>],
    blocks: &[ModelBlock],
    noise: &Matrix2<f64>,
) -> (DVector<f64>, DMatrix<f64>) {
    let mut weighted = DVector::<f64>::zeros(precision.nrows());
    for observed in rows {
        let (own, price) = observed.weighted(noise);
        for (left, left_feature) in observed.design {
            for (right, right_feature) in observed.design {
                let shared = own * (left_feature * right_feature);
                add(precision, left, right, &shared);
            }
            add_vector(&mut weighted, left, &(price * left_feature));
        }
    }
    for block in blocks {
        for (left, left_weight) in &block.effects {
            let shared = left_weight * block.covariance;
            for (right, right_weight) in &block.effects {
                add(precision, *left, *right, &-(shared * right_weight));
            }
            add_vector(&mut weighted, *left, &-(shared * block.price));
        }
    }
    let factor = precision
        .clone()
        .cholesky()
        .expect("every effect has a prior or rows");
    (factor.solve(&weighted), factor.inverse())
}

/// A model's deviation from the law.
struct Deviation {
    mean: Vector2<f64>,
    covariance: Matrix2<f64>,
}

impl Deviation {
    fn new(block: &ModelBlock, effects: &DVector<f64>, covariance: &DMatrix<f64>) -> Self {
        let mut unexplained = block.price;
        let mut shared = Matrix2::zeros();
        for (left, left_weight) in &block.effects {
            unexplained -= left_weight * at(effects, *left);
            for (right, right_weight) in &block.effects {
                shared += left_weight * self::block(covariance, *left, *right) * right_weight;
            }
        }
        Self {
            mean: block.covariance * unexplained,
            covariance: block.covariance + block.covariance * shared * block.covariance,
        }
    }

    /// Expected square of the deviation.
    fn square(&self) -> Matrix2<f64> {
        self.mean * self.mean.transpose() + self.covariance
    }
}

/// Mean and covariance of a row, from the law, the seller and the model's deviation.
fn fitted(
    Observed { row, design }: &Observed<'_>,
    blocks: &[ModelBlock],
    deviations: &[Deviation],
    effects: &DVector<f64>,
    covariance: &DMatrix<f64>,
) -> (Vector2<f64>, Matrix2<f64>) {
    let own = &blocks[row.model];
    let mut mean = deviations[row.model].mean;
    let mut spread = deviations[row.model].covariance;
    for &(left, left_feature) in design {
        mean += at(effects, left) * left_feature;
        for &(right, right_feature) in design {
            spread += block(covariance, left, right) * (left_feature * right_feature);
        }
        for (right, weight) in &own.effects {
            // The deviation makes up for what the effects leave, so the two vary against each other.
            let against = block(covariance, left, *right) * weight * own.covariance * left_feature;
            spread -= against + against.transpose();
        }
    }
    (mean, spread)
}

fn at(vector: &DVector<f64>, effect: usize) -> Vector2<f64> {
    Vector2::new(vector[2 * effect], vector[2 * effect + 1])
}

fn block(matrix: &DMatrix<f64>, left: usize, right: usize) -> Matrix2<f64> {
    matrix.fixed_view::<2, 2>(2 * left, 2 * right).into_owned()
}

fn add(matrix: &mut DMatrix<f64>, left: usize, right: usize, block: &Matrix2<f64>) {
    let mut view = matrix.fixed_view_mut::<2, 2>(2 * left, 2 * right);
    view += block;
}

fn add_vector(vector: &mut DVector<f64>, effect: usize, part: &Vector2<f64>) {
    let mut view = vector.fixed_rows_mut::<2>(2 * effect);
    view += part;
}

fn inverse(matrix: &Matrix2<f64>) -> Matrix2<f64> {
    matrix.try_inverse().expect("a covariance has an inverse")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four vendors with four models of their own each, and a host that sells all of them, `apart` more or less than the law.
    fn author_spread(apart: f64) -> Matrix2<f64> {
        let size = |model: usize| Regressors {
            levels: [0.2 * count(model) - 1.5, 0.2 * count(model % 7) - 1.0],
            further: 0.0,
            years: 0.0,
        };
        let sizes: Vec<Regressors> = (0..16).map(size).collect();
        let are_authors = [true, true, true, true, false];
        let row = |model: usize, seller: usize, above: f64| {
            let noise = |line: usize| {
                0.3 * (count(1 + 7 * model + 31 * seller + 17 * line))
                    .powi(2)
                    .sin()
            };
            let level = 0.7 * (sizes[model].levels[0] + 0.5) + above;
            let price = Vector2::new(level + noise(0), level + noise(1));
            Row {
                model,
                seller,
                shown: Shown::Both(price),
                weight: 1.0,
            }
        };
        let rows: Vec<Row> = (0..16)
            .flat_map(|model| {
                let vendor: usize = model / 4;
                let above = if vendor.is_multiple_of(2) {
                    apart
                } else {
                    -apart
                };
                [row(model, vendor, above), row(model, 4, above)]
            })
            .collect();
        fit(&sizes, &are_authors, &rows, &Settings::default()).unseen_author
    }

    #[test]
    fn an_unseen_vendor_may_be_as_dear_as_whole_tariffs_are_even_where_hosts_follow_them() {
        let (near, far) = (author_spread(0.0), author_spread(1.0));
        assert!(far[(0, 0)] > near[(0, 0)] + 0.2, "{near}, {far}");
        assert!(far[(1, 1)] > near[(1, 1)] + 0.2, "{near}, {far}");
        assert!(near.cholesky().is_some() && far.cholesky().is_some());
    }
}
