"""The prior of one class of models, dense or a mixture of experts with one kind of attention.

Follows `crates/infer/src/posterior/prior.rs` for a stated machine and sizes of which nothing is stated. A point is one
row: the free ones of log N_a, log N_t, log k_bw, log k_st, log beta and log L_mean. Dense models have no log N_t of their own,
and log k_bw is one of its own only where a step reads something else than what is stored.
"""

import math

import numpy as np
from scipy import stats

import tables
from tables import COMPRESSED, SPARSE, WINDOWED

NAMES = ["active_parameters", "total_parameters", "kv_bytes_per_token_read", "kv_bytes_per_token_stored",
         "batch_over_optimal_batch", "mean_decode_context_tokens"]
ACTIVE, TOTAL, KV_READ, KV_STORED, BATCH, CONTEXT = range(6)
BATCH_OVER_OPTIMAL = (math.log(2.5), 0.5)
SCALES = 4
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
READS_OTHER = (WINDOWED, SPARSE, COMPRESSED)


def variance_scales(degrees_of_freedom, count):
    """Variances of normal distributions that a Student-t is mixed of, each as probable."""
    points = (np.arange(count) + 0.5) / count
    return 1.0 / stats.gamma.ppf(points, 0.5 * degrees_of_freedom, scale=2.0 / degrees_of_freedom)


def log_sum_exp(logs):
    """Over the first axis; faster than SciPy's for few rows."""
    greatest = logs.max(axis=0)
    return greatest + np.log(np.exp(logs - greatest).sum(axis=0))


class Prior:
    """Log densities and draws of the free unknowns of a class."""

    def __init__(self, class_of_models):
        population = tables.calibration()["population"]
        self.is_dense = class_of_models["is_dense"]
        self.attention = tables.KINDS.index(class_of_models["attention"])
        self.log_share = math.log(class_of_models["share"])
        self.log_share -= math.log(sum(other["share"] for other in population["classes"]))
        self.reads_other = self.attention in READS_OTHER
        tied = [TOTAL] * self.is_dense + [KV_READ] * (not self.reads_other)
        self.slots = [slot for slot in range(6) if slot not in tied]
        self.dimensions = len(self.slots)
        self.name = f"{'dense' if self.is_dense else 'mixture'}, {tables.KINDS[self.attention]}"
        scales = variance_scales(population["size_degrees_of_freedom"], SCALES)
        parts = [self._moments(population, class_of_models, scale) for scale in scales]
        self.mean = parts[0][0][self.slots]
        self.covariances = np.array([covariance[np.ix_(self.slots, self.slots)] for _, covariance in parts])
        self.factors = np.linalg.cholesky(self.covariances)
        log_determinants = np.log(np.diagonal(self.factors, axis1=1, axis2=2)).sum(axis=1)
        self.peaks = -self.dimensions * HALF_LOG_2PI - log_determinants - math.log(SCALES)
        self.whitening = np.concatenate([np.linalg.inv(factor).T for factor in self.factors], axis=1)

    def _moments(self, population, class_of_models, scale):
        """Mean and covariance of the six unknowns for one scale of the sizes."""
        sizes = population["dense" if self.is_dense else "mixture_of_experts"]
        stored = population["stored"]
        law = next(law for law in population["attention"] if law["kind"] == class_of_models["attention"])
        slopes = np.array([stored["active"], stored["total"]])
        mean, loadings = np.zeros(6), np.zeros((6, 2))
        mean[:2] = np.array(sizes["mean"]) + class_of_models["size"]
        mean[KV_STORED] = stored["by_kind"][self.attention] + slopes @ (mean[:2] - stored["centre"])
        mean[KV_READ] = mean[KV_STORED] + law["log_read_over_stored"]
        loadings[:2] = np.eye(2)
        loadings[KV_READ] = loadings[KV_STORED] = slopes
        covariance = loadings @ (scale * np.array(sizes["covariance"])) @ loadings.T
        cache = [KV_READ, KV_STORED]
        covariance[np.ix_(cache, cache)] += stored["sd"] ** 2
        covariance[KV_READ, KV_READ] += law["sd"] ** 2
        for slot, (log_median, sd) in zip((BATCH, CONTEXT), (BATCH_OVER_OPTIMAL, tables.decode_context())):
            mean[slot], covariance[slot, slot] = log_median, sd**2
        return mean, covariance

    def unknowns(self, points):
        """The six logarithms of every row."""
        columns = [None] * 6
        for slot, column in zip(self.slots, points.T):
            columns[slot] = column
        if self.is_dense:
            columns[TOTAL] = columns[ACTIVE]
        if not self.reads_other:
            columns[KV_READ] = columns[KV_STORED]
        return np.array(columns)

    def exists(self, values):
        """Whether there are such models: no more active parameters than there are, and it reads what it stores."""
        exists = values[ACTIVE] <= values[TOTAL]
        if self.attention == WINDOWED:
            exists &= values[KV_READ] >= values[KV_STORED]
        elif self.reads_other:
            exists &= values[KV_READ] <= values[KV_STORED]
        return exists

    def log_prior(self, points):
        """log of the share of the class and of the density in it."""
        whitened = (points - self.mean) @ self.whitening
        squares = (whitened**2).reshape(len(points), SCALES, self.dimensions).sum(axis=2).T
        return self.log_share + log_sum_exp(self.peaks[:, None] - 0.5 * squares)

    def points_at(self, normal, scale):
        """Points at standard normal coordinates, for one scale of the sizes."""
        return self.mean + normal @ self.factors[scale].T

    def draw_prior(self, count, random):
        """Draws, also of models that do not exist."""
        which = random.integers(SCALES, size=count)
        normal = random.standard_normal((count, self.dimensions))
        return self.mean + np.einsum("nij,nj->ni", self.factors[which], normal)
