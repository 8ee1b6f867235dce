"""The posterior density of benches/rich_sheet.json on a fixed machine, in NumPy, over many draws at once.

The density that the bench `posterior` computes for `rich_fixed_machine`: the prior (`prior.py`), the forward model
(`engine.py`) and every term that the sheet gives. Beside the unknowns of the model, a draw has seven chances: standard normal
coordinates of the utilisation, of the error of prefill times and of the cached share, and four uniform ones, each of which
chooses a serving unit; the first that holds the draw and is fast enough is taken, and without one the draw is impossible. The
error of decoding enters no term of this sheet, and the rent is stated as one number.

Run by itself it weights draws of the prior, a reference that is slow and hard to get wrong. `--check` compares draws of the
prior with what the service computes: coordinates, unit, times, and every term of the log likelihood.
"""

import json
import math
import sys

import numpy as np
from scipy import special, stats

import tables
from engine import LEAST_TOKENS_PER_SECOND, Engine, Model
from prior import ACTIVE, BATCH, HALF_LOG_2PI, KV_STORED, NAMES, TOTAL, Prior, variance_scales
from tables import NINETY_PERCENT

CHANCES, NORMAL_CHANCES = 7, 3
UTILISATION, PREFILL_ERROR, CACHED = range(3)
UTILISATION_LOG_ODDS, PREFILL_ERROR_SD = math.log(4.0), 0.21
LOG_HOUR = math.log(3600.0)
TERMS = ["model kind", "prices", "context tier", "price of holding", "fast mode", "longest context"]
MISPRINTS = 0.01
PRICE_SCALES, MISPRINT_SD, MIDDLING = 8, 6.0, (23.5, 25.0)
STATES_THE_MAXIMUM, LIMIT_LOG_RANGE = 0.8, 5.5
FAST_MODE_NOISE, FAST_MODE_LOG_RANGE = 0.5, 5.0
HOLD_PRICE_SD = 1.0
CAPACITY_SD, LOAD_SD = math.log(2.0) / NINETY_PERCENT, math.log(3.0) / NINETY_PERCENT
POOLED = [1.0, 226.75 * 73_700.0 * 86_400.0 / 608e9, 13.0 / 4.0]
# Probabilities of a normal distribution by a Taylor series from a table, as in crates/infer/src/evidence/likelihood.rs.
REACH, PER_SD = 6.0, 64.0
NEAREST = np.arange(2 * REACH * PER_SD + 1) / PER_SD - REACH
BELOW, DENSITY = special.ndtr(NEAREST), np.exp(-HALF_LOG_2PI - 0.5 * NEAREST**2)


def normal_below(standardised):
    """Probability of a normal distribution below a number of standard deviations."""
    within = np.clip(standardised, -REACH, REACH)
    entry = ((within + REACH) * PER_SD + 0.5).astype(int)
    nearest, away = NEAREST[entry], within - NEAREST[entry]
    series = 1.0 - away * (nearest / 2.0 - away * (nearest * nearest - 1.0) / 6.0)
    found = np.where(standardised >= REACH, 1.0, BELOW[entry] + DENSITY[entry] * away * series)
    far = standardised <= -REACH
    return np.where(far, special.ndtr(standardised), found) if far.any() else found


def log_of_odds(log_odds):
    """log of the share that log odds mean."""
    return -np.log1p(np.exp(-log_odds))


class Prices:
    """Both base prices by the law of prices, of a seller that may be a host or the author."""

    def __init__(self, sheet):
        self.law = law = tables.calibration()["price_law"]
        # Release: not known, so the mean of the calibration's models.
        author = np.array(law["author"])
        between = np.outer(0.5 * author, 0.5 * author)
        markup = 0.5 * (np.array(law["host"]) + np.array(law["author_spread"])) + between
        self.price = np.log(sheet.prices) - 0.5 * author
        scales = variance_scales(law["degrees_of_freedom"], PRICE_SCALES)[:, None, None]
        inverse = np.linalg.inv(markup + np.array(law["noise"]) + scales * np.array(law["deviation"]))
        self.forms = -0.5 * np.stack([inverse[:, 0, 0], 2.0 * inverse[:, 0, 1], inverse[:, 1, 1]], axis=1)
        self.peaks = 0.5 * np.log(np.linalg.det(inverse)) - 2 * HALF_LOG_2PI + math.log((1.0 - MISPRINTS) / PRICE_SCALES)
        middling = np.array(law["intercept"]) + np.array(law["active"]) * MIDDLING[0] + np.array(law["total"]) * MIDDLING[1]
        self.misprint = MISPRINTS * stats.norm.pdf(self.price, middling, MISPRINT_SD).prod()

    def likelihood(self, is_dense, values):
        law = self.law
        dense = values[ACTIVE] - law["dense_centre"] if is_dense else 0.0
        left, right = (self.price[line] - law["intercept"][line] - law["active"][line] * values[ACTIVE]
                       - law["total"][line] * values[TOTAL] - law["dense"][line] * dense for line in (0, 1))
        products = np.stack([left * left, left * right, right * right])
        return np.exp(self.peaks[:, None] + self.forms @ products).sum(axis=0) + self.misprint


class HoldPrice:
    """The price of holding a token between both times to live, over the input price."""

    def __init__(self, sheet, machine):
        self.tiers = tables.Tiers(machine)
        self.machine = machine
        self.log_price = math.log(sheet.hold_price / sheet.prices[0])
        self.time_s = float(sheet.lifetimes_s[1])
        ways = 1.0 / np.arange(1, len(sheet.lifetimes_s) + 1)
        pooled = np.log(POOLED)
        self.log_longer = pooled.mean() + ways.sum()
        self.longer_sd = math.sqrt(pooled.var() + CAPACITY_SD**2 + (ways**2).sum())
        self.over_cost = self.tiers.fitted_share / self.tiers.cost(self.time_s)

    def likelihood(self, values, log_chip_seconds, log_utilisation):
        tiers, machine = self.tiers, self.machine
        log_bytes = values[KV_STORED] + math.log(machine.element_bytes)
        log_computed = log_bytes - log_chip_seconds
        log_usd = log_chip_seconds - LOG_HOUR + machine.log_rental - log_utilisation
        log_fill = tiers.log_fill - log_computed - np.minimum(log_utilisation, 0.0) + self.log_longer
        keeps = normal_below((log_fill - math.log(self.time_s)) / self.longer_sd)
        loads = normal_below(-(log_computed + tiers.log_load) / LOAD_SD)
        weights = self.over_cost * keeps * loads
        pays = normal_below((self.log_price - tiers.log_hold - log_bytes + log_usd) / HOLD_PRICE_SD)
        paid, of_all = (weights * pays).sum(axis=0), weights.sum(axis=0)
        share = np.divide(paid, of_all, out=np.ones_like(paid), where=of_all > 0.0)
        return MISPRINTS + (1.0 - MISPRINTS) * share


class Class(Prior):
    """A class of models: log densities of points and chances, which are rows."""

    def __init__(self, class_of_models, machine, sheet, common):
        super().__init__(class_of_models)
        self.machine, self.sheet = machine, sheet
        self.engine, self.prices, self.hold_price = common
        self._kind(class_of_models)
        law = self.tier = tables.calibration()["context_tier"]
        log_threshold = math.log(sheet.threshold)
        copied = stats.norm.pdf(log_threshold, law["convention_mean"], law["convention_sd"])
        self.copied = law["convention_share"] * copied
        freedom = law["degrees_of_freedom"]
        self.tier_peak = (1.0 - law["convention_share"]) * stats.t.pdf(0.0, freedom, scale=law["scale"])

    def _kind(self, class_of_models):
        """log of the probability of the class, given whether cache reads are sold, over its share."""
        population = tables.calibration()["population"]
        cache = self.sheet.sells_cache_reads - population["dates"]["mean_cache_share"]
        odds = lambda one: math.exp(one["log_odds"][0] + one["log_odds"][2] * cache)
        every = sum(map(odds, population["classes"]))
        self.over_share = odds(class_of_models) / every / class_of_models["share"]
        self.limit_law = population["context"]
        self.limit_scale = math.hypot(self.limit_law["scale"], self.limit_law["per_year"] * population["dates"]["sd_years"])

    def draw_chances(self, count, random):
        chances = random.standard_normal((count, CHANCES))
        chances[:, NORMAL_CHANCES:] = random.random((count, CHANCES - NORMAL_CHANCES))
        return chances

    def placed(self, values, chances):
        """The models, whether each is possible, its chips and its step in seconds."""
        model = Model(self.is_dense, self.attention, values)
        sparsity = np.maximum(values[TOTAL] - values[ACTIVE], 0.0)
        batch = np.maximum(np.exp(values[BATCH] + self.machine.log_ratio + sparsity), 1.0)
        units, engine = self.machine.UNITS, self.engine
        first = engine.first_holding(engine.holding(model, batch))
        unit = np.full(len(batch), len(units) - 1)
        step_s = np.full(len(batch), np.inf)
        is_possible = np.zeros(len(batch), bool)
        exists = self.exists(values)
        tried = None
        for uniform in chances[:, NORMAL_CHANCES:].T:
            found = engine.chosen(model, first, uniform)
            is_open = exists & ~is_possible & (found < len(units))
            if tried is not None:
                is_open &= found != tried
            tried = found
            if not is_open.any():
                continue
            chips = units[np.minimum(found, len(units) - 1)]
            seconds = engine.step(model, batch, chips)
            taken = is_open & (1.0 / seconds >= LEAST_TOKENS_PER_SECOND)
            unit[taken], step_s[taken] = found[taken], seconds[taken]
            is_possible |= taken
        return model, is_possible, units[unit], step_s

    def log_terms(self, values, chances, model, chips):
        """A row for each of `TERMS`, and log of the seconds of one chip that a prompt token takes."""
        cached = 1.0 / (1.0 + np.exp(-chances[:, CACHED]))
        log_chip_seconds = self.engine.log_prompt_chip_seconds(model, chips, cached)
        log_chip_seconds = log_chip_seconds + PREFILL_ERROR_SD * chances[:, PREFILL_ERROR]
        log_utilisation = log_of_odds(UTILISATION_LOG_ODDS + chances[:, UTILISATION])
        terms = [
            np.full(len(chances), self.over_share),
            self.prices.likelihood(self.is_dense, values),
            self._threshold(values, model),
            self.hold_price.likelihood(values, log_chip_seconds, log_utilisation),
            self._speedup(values, model),
            self._limit(values),
        ]
        return np.log(np.array(terms)), log_chip_seconds

    def _threshold(self, values, model):
        residual = math.log(self.sheet.threshold) + np.log(model.reading.slope) - values[ACTIVE] - self.tier["mean"]
        grown = 1.0 + (residual / self.tier["scale"]) ** 2 / self.tier["degrees_of_freedom"]
        return self.tier_peak * grown ** (-0.5 * (self.tier["degrees_of_freedom"] + 1.0)) + self.copied

    def _speedup(self, values, model):
        balanced = self.machine.weight_bytes / self.machine.element_bytes * model.active / math.exp(self.machine.log_ratio)
        ratio = np.exp(-values[BATCH]) + model.reading.bytes_at(model.context) / balanced
        log_balance = self.machine.log_balance
        expected = values[BATCH] + np.maximum(np.log(ratio) + log_balance, 0.0) - log_balance
        distance = (math.log(self.sheet.speedup) - expected) / FAST_MODE_NOISE
        density = np.exp(-HALF_LOG_2PI - 0.5 * distance**2) / FAST_MODE_NOISE
        of_machine = density / normal_below(expected / FAST_MODE_NOISE)
        return MISPRINTS / FAST_MODE_LOG_RANGE + (1.0 - MISPRINTS) * of_machine

    def _limit(self, values):
        law = self.limit_law
        assert law["degrees_of_freedom"] == 2.0
        expected = (law["intercept"] + law["active"] * values[ACTIVE] + law["total"] * values[TOTAL]
                    + law["stored"] * values[KV_STORED] + law["by_kind"][self.attention])
        distance = (math.log(self.sheet.limit) - expected) / self.limit_scale
        grown = 1.0 + distance * distance / 2.0
        is_maximum = STATES_THE_MAXIMUM / (2.0 * math.sqrt(2.0)) / self.limit_scale / (grown * np.sqrt(grown))
        below = 0.5 - 0.5 * distance / np.sqrt(2.0 + distance * distance)
        return is_maximum + (1.0 - STATES_THE_MAXIMUM) * below / LIMIT_LOG_RANGE

    def log_likelihood(self, points, chances):
        """-inf where a draw is impossible."""
        values = self.unknowns(points)
        model, is_possible, chips, _ = self.placed(values, chances)
        terms, _ = self.log_terms(values, chances, model, chips)
        return np.where(is_possible, terms.sum(axis=0), -np.inf)

    def smooth(self, points):
        """log density at typical chances on the smallest unit that holds a draw, impossible ones as well."""
        values, chances = self.unknowns(points), np.zeros((len(points), CHANCES))
        model = Model(self.is_dense, self.attention, values)
        sparsity = np.maximum(values[TOTAL] - values[ACTIVE], 0.0)
        batch = np.maximum(np.exp(values[BATCH] + self.machine.log_ratio + sparsity), 1.0)
        holds = self.engine.holding(model, batch)
        units = self.machine.UNITS
        chips = units[np.where(holds.any(axis=1), holds.argmax(axis=1), len(units) - 1)]
        return self.log_prior(points) + self.log_terms(values, chances, model, chips)[0].sum(axis=0)


def classes():
    machine, sheet = tables.Machine(), tables.Sheet()
    common = Engine(machine), Prices(sheet), HoldPrice(sheet, machine)
    return [Class(one, machine, sheet, common) for one in tables.calibration()["population"]["classes"]]


def weighted_quantiles(values, weights, probabilities=(0.05, 0.5, 0.95)):
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    cumulative = (cumulative - 0.5 * weights[order]) / cumulative[-1]
    return np.interp(probabilities, cumulative, values[order])


def show(columns, weights, is_dense):
    """Medians and 90 % intervals of the first five unknowns, columns of logarithms; the probability of a dense model."""
    for name, column in list(zip(NAMES, columns))[:5]:
        low, median, high = np.exp(weighted_quantiles(column, weights))
        print(f"  {name:<30} {median:>11.4e}  90 % {low:.3e} to {high:.3e}")
    print(f"  {'probability of a dense model':<30} {weights[is_dense].sum() / weights.sum():>11.4f}")


def apart(ours, theirs):
    """Greatest difference relative to the numbers, or to 1 where they are smaller."""
    return float((np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1.0)).max(initial=0.0))


COORDINATES = ["log_active", "log_total", "log_kv_read", "log_kv_stored", "log_batch", "log_context"]
# Coordinates of the service's points that are chances: utilisation, error of prefill, cached share, then the units.
CHANCE_DIMENSIONS = [6, 13, 14, 8, 9, 10, 11]


def of_points(model, column, coordinates, logs, normals):
    """Pairs of what is computed here and by the service for the draws of one class, by name; and how many are possible."""
    parts = np.array_split(coordinates[:, :normals][:, : model.dimensions], len(model.factors))
    values = model.unknowns(np.concatenate([model.points_at(part, scale) for scale, part in enumerate(parts)]))
    pairs = {name: (ours, column[name]) for name, ours in zip(COORDINATES, values)}
    chances = coordinates[:, CHANCE_DIMENSIONS]
    placed, is_possible, chips, step_s = model.placed(values, chances)
    terms, log_chip_seconds = model.log_terms(values, chances, placed, chips)
    pairs["possible"] = is_possible.astype(float), (column["weight"] > 0.0).astype(float)
    both = is_possible & (column["weight"] > 0.0)
    theirs = np.array([row for row, is_in in zip(logs, both) if is_in]).T
    pairs["log of chips"] = np.log(chips[both]), column["log_chips"][both]
    pairs["log of step's seconds"] = np.log(step_s[both]), column["log_step_seconds"][both]
    pairs["log of prompt's seconds"] = log_chip_seconds[both], theirs[0]
    for name, ours, other in zip(TERMS, terms[:, both], theirs[1:], strict=True):
        pairs[name] = ours, other
    return pairs, both.sum()


def check():
    """Compares draws of the prior with the service; ends with an error where any number differs by more than 1e-9."""
    asked = json.loads(tables.ask("points"))
    rows = asked["rows"]
    column = dict(zip(asked["columns"], np.array([draw for draw, _, _ in rows]).T))
    coordinates = np.array([own for _, own, _ in rows])
    worst, possible = {}, 0
    for model in classes():
        own = np.flatnonzero((column["is_dense"] == model.is_dense) & (column["attention"] == model.attention))
        of_class = {name: values[own] for name, values in column.items()}
        pairs, count = of_points(model, of_class, coordinates[own], [rows[row][2] for row in own], asked["normals"])
        possible += count
        print(f"{model.name}: {len(own)} draws, {count} possible")
        for name, pair in pairs.items():
            worst[name] = float(np.maximum(worst.get(name, 0.0), apart(*pair)))
    for name, difference in worst.items():
        print(f"  {name:<24} {difference:.1e}")
    greatest = np.max(list(worst.values()))
    print(f"{len(rows)} draws, {possible} possible: greatest relative difference {greatest:.1e}")
    if not greatest <= 1e-9:
        sys.exit("the densities differ")


def main():
    """Sampled from the prior and weighted: slow, and hard to get wrong."""
    random = np.random.default_rng(20261121)
    count, block = 400_000, 50_000
    columns, logs, is_dense = [], [], []
    for model in classes():
        for _ in range(count // block):
            points = model.draw_prior(block, random)
            logs.append(model.log_share + model.log_likelihood(points, model.draw_chances(block, random)))
            columns.append(model.unknowns(points))
            is_dense.append(np.full(block, model.is_dense))
    logs = np.concatenate(logs)
    weights = np.exp(logs - logs.max())
    print(f"from the prior: {len(logs)} draws, effective sample size {weights.sum() ** 2 / (weights**2).sum():.0f}")
    show(np.concatenate(columns, axis=1), weights, np.concatenate(is_dense))


if __name__ == "__main__":
    check() if "--check" in sys.argv[1:] else main()
