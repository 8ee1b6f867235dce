"""The posterior density of benches/rich_sheet.json on a fixed machine, in NumPy, over many draws at once.

The same density as `unroof::estimate::posterior` with what benches/fixed_machine.json states: the calibrated population
of dense models and mixtures of experts, the law of prices, and every term that the sheet gives (context tier, price of
holding a cached token, fast mode, longest context). Everything is read from the files the program is made of.

A draw of a class is one row: log N_a, log N_t, log k_bw, log k_st, log beta, log L_mean; a dense one has no log N_t.
The use of the machine (U) and the rest of the rent's spread do not enter the likelihood and are left out.
"""

import csv
import json
import math
from pathlib import Path

import numpy as np
from scipy import special, stats

BENCHES = Path(__file__).resolve().parent.parent
DATA = BENCHES.parent / "data"

NAMES = ["active_parameters", "total_parameters", "kv_bytes_per_token_read", "kv_bytes_per_token_stored",
         "batch_over_optimal_batch", "mean_decode_context_tokens"]
ACTIVE, TOTAL, KV_READ, KV_STORED, BATCH, CONTEXT = range(6)

# src/estimate/posterior/prior.rs: medians and standard deviations of log beta and log L_mean
RUN = [(math.log(2.5), 0.5), (math.log(8192.0), 1.0)]
SIZE_SCALES = 4
# src/clue/price_lines.rs
PRICE_SCALES = 8
MISPRINTS = 0.01
MISPRINT_SD = 6.0
MIDDLING = (23.5, 25.0)
# src/clue/context_maximum.rs
STATES_THE_MAXIMUM = 0.8
LOG_RANGE = 5.5
# src/clue/fast_mode.rs
FAST_MODE_NOISE = 0.5
# src/clue/tier_choice.rs
DRAIN_TIME_SD = 1.5
HOLD_PRICE_SD = 1.0

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def variance_scales(degrees_of_freedom, count):
    """Variances of normal distributions that a Student-t is mixed of, each as probable."""
    points = (np.arange(count) + 0.5) / count
    return 1.0 / stats.gamma.ppf(points, 0.5 * degrees_of_freedom, scale=2.0 / degrees_of_freedom)


def log_sum_exp(logs):
    """Over the first axis; faster than SciPy's for few rows."""
    greatest = logs.max(axis=0)
    return greatest + np.log(np.exp(logs - greatest).sum(axis=0))


class Machine:
    """What is fixed of the machine."""

    def __init__(self):
        stated = json.loads((BENCHES / "fixed_machine.json").read_text())
        rows = list(csv.DictReader((DATA / "accelerators.csv").open()))
        chip = next(row for row in rows if row["id"] == stated["accelerator"])
        reached = json.loads((DATA / "efficiencies.json").read_text())["fitted"]
        width = stated["weight_bytes_per_parameter"]
        flops = float(chip["fp8_flops_per_second"] if width <= 1 else chip["bf16_flops_per_second"])
        bandwidth = float(chip["hbm_bytes_per_second"])
        self.log_multiply_rate = math.log(flops / 2)
        self.log_ratio = math.log(width * flops / 2 / bandwidth)
        self.log_balance = math.log(reached["compute"] / reached["bandwidth"])
        self.log_weight_bytes = math.log(width)
        self.log_element_bytes = math.log(stated["kv_bytes_per_element"])
        self.log_prefill = math.log(reached["compute"])
        self.log_rental = math.log(stated["rental_usd_per_hour"])
        self.drain_s = float(chip["hbm_bytes"]) / bandwidth
        self.hold = stated["rental_usd_per_hour"] / float(chip["hbm_bytes"])

    def homes(self, ttl_s):
        """Storage tiers as homes of a cache: probabilities by the time to live, and logs of the cost of holding."""
        weights, holds = [], []
        for row in csv.DictReader((DATA / "storage_tiers.csv").open()):
            if row["id"] == "hbm-component":
                continue
            is_hbm = row["id"] == "hbm-rented"
            number = lambda column: float(row[column]) if row[column] else None
            capacity, bandwidth = number("capacity_bytes"), number("bandwidth_bytes_per_second")
            drain_s = self.drain_s if is_hbm else capacity / bandwidth if capacity and bandwidth else None
            hold = self.hold if is_hbm else number("hold_usd_per_byte_hour")
            read = 0.0 if is_hbm else number("read_usd_per_byte")
            if drain_s is None or hold is None or read is None:
                continue
            distance = math.log(ttl_s / drain_s) / DRAIN_TIME_SD
            weights.append(math.exp(-0.5 * distance**2) / (read + hold * ttl_s / 3600))
            holds.append(math.log(hold))
        weights = np.array(weights)
        return weights / weights.sum(), np.array(holds)


class Sheet:
    """The figures of the sheet that the terms need."""

    def __init__(self):
        sheet = json.loads((BENCHES / "rich_sheet.json").read_text())
        rates = sheet["rates"]
        start = lambda rate: rate.get("context_tier", {}).get("min_prompt_tokens", 0)
        base = next(rate for rate in rates if rate["service_tier"] == "standard" and start(rate) == 0)
        fast = next(rate for rate in rates if rate["service_tier"] == "fast" and start(rate) == 0)
        self.log_prices = np.log([float(base["input"]), float(base["output"])])
        self.limit = sheet["limits"]["context"]
        self.threshold = min(start(rate) for rate in rates if start(rate) > 0)
        price = float(fast["output"]) / float(base["output"])
        speed = float(sheet["service_tiers"]["fast"]["speed_multiplier"]["value"])
        self.log_speedup = math.log(1.0 + (speed - 1.0) * price / (price - 1.0))
        short, long = base["cache_write"]
        self.ttl_s = long["ttl_seconds"]
        per_hour = (float(long["price"]) - float(short["price"])) * 3600 / (self.ttl_s - short["ttl_seconds"])
        self.log_hold_over_input = math.log(per_hour / float(base["input"]))


class Class:
    """A kind of model: `log_posterior(points)` is the log of its share, prior and likelihood, for rows of points."""

    def __init__(self, name, calibration, machine, sheet):
        population, self.law = calibration["population"], calibration["price_law"]
        model = population[name]
        self.name, self.is_dense = name, name == "dense"
        self.log_share = math.log(model["share"])
        self.free = [ACTIVE, KV_READ, KV_STORED, BATCH, CONTEXT] if self.is_dense else list(range(6))
        self.dimensions = len(self.free)
        self.machine, self.sheet = machine, sheet
        self._population(model, population["size_degrees_of_freedom"])
        self._context_law(model, population["context_sd"])
        self._prices(calibration)
        self._context_tier(calibration["context_tier"])
        self.home_shares, self.home_holds = machine.homes(sheet.ttl_s)

    def _population(self, model, degrees_of_freedom):
        mean, covariance = np.zeros(6), np.zeros((6, 6))
        mean[:4] = model["mean"][:4]
        covariance[:4, :4] = np.array(model["covariance"])[:4, :4]
        for slot, (log_median, sd) in zip((BATCH, CONTEXT), RUN):
            mean[slot], covariance[slot, slot] = log_median, sd**2
        sizes = [ACTIVE] if self.is_dense else [ACTIVE, TOTAL]
        of_size = covariance[np.ix_(sizes, sizes)]
        gain = covariance[:, sizes] @ np.linalg.inv(of_size)
        self.mean = mean[self.free]
        self.covariances, self.whitening, self.peaks = [], [], []
        for scale in variance_scales(degrees_of_freedom, SIZE_SCALES):
            spread = (covariance + gain @ (of_size * (scale - 1.0)) @ gain.T)[np.ix_(self.free, self.free)]
            factor = np.linalg.cholesky(spread)
            self.covariances.append(spread)
            self.whitening.append(np.linalg.inv(factor).T)
            self.peaks.append(-self.dimensions * HALF_LOG_2PI - np.log(np.diag(factor)).sum() - math.log(SIZE_SCALES))
        self.whitening_all = np.concatenate(self.whitening, axis=1)

    def _context_law(self, model, noise_sd):
        covariance, mean = np.array(model["covariance"]), np.array(model["mean"])
        slopes = np.linalg.pinv(covariance[:4, :4], rcond=1e-9) @ covariance[:4, 4]
        self.limit_slopes = slopes
        self.limit_intercept = mean[4] - slopes @ mean[:4]
        self.limit_sd = math.sqrt(covariance[4, 4] - slopes @ covariance[:4, 4] + noise_sd**2)

    def _prices(self, calibration):
        law = calibration["price_law"]
        # The calibration does not know the provider as a host: its markup is spread as hosts are.
        covariance = np.array(law["host"]) + np.array(law["noise"])
        scales = variance_scales(law["degrees_of_freedom"], PRICE_SCALES)
        spreads = covariance + scales[:, None, None] * np.array(law["deviation"])
        inverse = np.linalg.inv(spreads)
        self.price_terms = np.stack([inverse[:, 0, 0], 2.0 * inverse[:, 0, 1], inverse[:, 1, 1]], axis=1)
        self.price_peaks = -2 * HALF_LOG_2PI - 0.5 * np.log(np.linalg.det(spreads))
        self.price_peaks += math.log((1.0 - MISPRINTS) / PRICE_SCALES)
        middling = [law["intercept"][line] + law["active"][line] * MIDDLING[0] + law["total"][line] * MIDDLING[1]
                    for line in (0, 1)]
        self.misprint = MISPRINTS * stats.norm.pdf(self.sheet.log_prices, middling, MISPRINT_SD).prod()

    def _context_tier(self, law):
        self.tier = law
        log_threshold = math.log(self.sheet.threshold)
        copied = stats.norm.pdf(log_threshold, law["convention_mean"], law["convention_sd"])
        self.copied = law["convention_share"] * copied
        freedom = law["degrees_of_freedom"]
        self.tier_peak = (1.0 - law["convention_share"]) * stats.t.pdf(0.0, freedom, scale=law["scale"])

    def unknowns(self, points):
        """The six logarithms of every row."""
        if not self.is_dense:
            return tuple(points.T)
        active, *rest = points.T
        return (active, active, *rest)

    def log_prior(self, points):
        whitened = (points - self.mean) @ self.whitening_all
        squares = (whitened**2).reshape(len(points), SIZE_SCALES, self.dimensions).sum(axis=2).T
        log_density = log_sum_exp(np.array(self.peaks)[:, None] - 0.5 * squares)
        return self.log_share + log_density

    def log_likelihood(self, points):
        active, total, read, stored, batch, context = self.unknowns(points)
        law, machine, sheet = self.law, self.machine, self.sheet
        # Both prices
        dense = active - law["dense_centre"] if self.is_dense else 0.0
        residual = [sheet.log_prices[line] - law["intercept"][line] - law["active"][line] * active
                    - law["total"][line] * total - law["dense"][line] * dense for line in (0, 1)]
        products = np.stack([residual[0] ** 2, residual[0] * residual[1], residual[1] ** 2])
        densities = np.exp(self.price_peaks[:, None] - 0.5 * self.price_terms @ products).sum(axis=0)
        log_likelihood = np.log(densities + self.misprint)
        # Context tier
        distance = math.log(sheet.threshold) + read - active - self.tier["mean"]
        freedom = self.tier["degrees_of_freedom"]
        of_cost = (1.0 + (distance / self.tier["scale"]) ** 2 / freedom) ** (-0.5 * (freedom + 1.0))
        log_likelihood += np.log(self.tier_peak * of_cost + self.copied)
        # Price of holding a token
        log_input_cost = machine.log_rental - math.log(3600) + active - machine.log_prefill - machine.log_multiply_rate
        log_cost = stored + machine.log_element_bytes - log_input_cost
        margins = (sheet.log_hold_over_input - self.home_holds[:, None] - log_cost) / HOLD_PRICE_SD
        log_likelihood += np.log(0.01 + 0.99 * (self.home_shares @ special.ndtr(margins)))
        # Fast mode
        log_crossover = machine.log_weight_bytes + active - machine.log_ratio - read - machine.log_element_bytes
        log_ratio = np.log(np.exp(-batch) + np.exp(context - log_crossover))
        step = np.maximum(log_ratio + machine.log_balance, 0.0) - machine.log_balance
        expected = batch + step
        distance = (sheet.log_speedup - expected) / FAST_MODE_NOISE
        density = np.exp(-HALF_LOG_2PI - 0.5 * distance**2) / FAST_MODE_NOISE
        # Only modes that are faster are ever seen, and one in a hundred is a promise spread over a range of 5.
        log_likelihood += np.log(0.01 / 5.0 + 0.99 * density / special.ndtr(expected / FAST_MODE_NOISE))
        # Longest context
        expected = self.limit_intercept + sum(
            slope * value for slope, value in zip(self.limit_slopes, (active, total, read, stored)))
        distance = (math.log(sheet.limit) - expected) / self.limit_sd
        is_maximum = STATES_THE_MAXIMUM / self.limit_sd * np.exp(-HALF_LOG_2PI - 0.5 * distance**2)
        is_less = (1.0 - STATES_THE_MAXIMUM) / LOG_RANGE * special.ndtr(-distance)
        return log_likelihood + np.log(is_maximum + is_less)

    def log_posterior(self, points):
        log_density = self.log_prior(points) + self.log_likelihood(points)
        if not self.is_dense:
            log_density = np.where(points[:, ACTIVE] <= points[:, TOTAL], log_density, -np.inf)
        return log_density

    def draw_prior(self, count, random):
        """Draws of the prior; in a mixture of experts, some with more active than total parameters."""
        which = random.integers(SIZE_SCALES, size=count)
        normal = random.standard_normal((count, self.dimensions))
        factors = np.linalg.cholesky(np.array(self.covariances))
        return self.mean + np.einsum("nij,nj->ni", factors[which], normal)


def classes():
    calibration = json.loads((DATA / "calibration.json").read_text())
    machine, sheet = Machine(), Sheet()
    return [Class(name, calibration, machine, sheet) for name in ("dense", "mixture_of_experts")]


def weighted_quantiles(values, weights, probabilities=(0.05, 0.5, 0.95)):
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    cumulative = (cumulative - 0.5 * weights[order]) / cumulative[-1]
    return np.interp(probabilities, cumulative, values[order])


def show(columns, weights):
    """Medians and 90 % intervals of the first five unknowns: columns of logarithms."""
    for name, column in list(zip(NAMES, columns))[:5]:
        low, median, high = np.exp(weighted_quantiles(column, weights))
        print(f"  {name:<30} {median:>11.4e}  90 % {low:.3e} to {high:.3e}")


def main():
    """Sampled from the prior and weighted: slow, and hard to get wrong."""
    random = np.random.default_rng(20261121)
    count = 2_000_000
    columns, logs = [], []
    for model in classes():
        points = model.draw_prior(count, random)
        log_weights = model.log_posterior(points) - (model.log_prior(points) - model.log_share)
        columns.append(np.array(model.unknowns(points)))
        logs.append(log_weights)
    logs = np.concatenate(logs)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    print(f"from the prior: {2 * count} draws, effective sample size {1 / (weights**2).sum():.0f}")
    show(np.concatenate(columns, axis=1), weights)
    print(f"  {'probability of a dense model':<30} {weights[:count].sum():>11.4f}")


if __name__ == "__main__":
    main()
