"""The posterior by emcee, an affine-invariant ensemble sampler, on the same density.

Classes of models have different numbers of unknowns, so each has an ensemble of its own. The seven chances of a draw are
further dimensions: standard normal ones, and for the serving units those whose probabilities are the uniform ones. 256
walkers, the density computed for half of them at once. After burning in, the shares of the classes are those of their
evidence, by importance sampling from a Student-t around the ensemble's moments; then every ensemble is run until its effective
sample size is its share of 10,000, at least 100. That is walkers x steps over the integrated autocorrelation time of the slowest
unknown of the model.
"""

import time

import emcee
import numpy as np
from scipy import special, stats

import density
from prior import log_sum_exp

WALKERS = 128
BURN_IN = 1_000
BLOCK = 500
MOST_STEPS = 60_000
WANTED, LEAST = 10_000, 100
# Autocorrelation times in the least number of steps: from fewer the time itself is not known.
TIMES = 20


class Ensemble:
    """The walkers of one class, of which the first coordinates are the unknowns and the others the chances."""

    def __init__(self, model, random):
        self.model = model
        self.sampler = emcee.EnsembleSampler(WALKERS, model.dimensions + density.CHANCES, self.log_density, vectorize=True)
        self.state = self.sampler.run_mcmc(self._start(random), BURN_IN)
        burnt_in = self.sampler.get_chain(discard=BURN_IN // 2, flat=True)
        self.log_evidence = self._log_evidence(burnt_in[:, : model.dimensions], random)
        self.sampler.reset()

    def _start(self, random):
        model = self.model
        points = model.draw_prior(WALKERS * 20, random)
        start = np.concatenate([points, random.standard_normal((len(points), density.CHANCES))], axis=1)
        return start[np.isfinite(self.log_density(start))][:WALKERS]

    def log_density(self, rows):
        points, normal = rows[:, : self.model.dimensions], rows[:, self.model.dimensions :]
        chances = normal.copy()
        chances[:, density.NORMAL_CHANCES :] = special.ndtr(normal[:, density.NORMAL_CHANCES :])
        log_likelihood = self.model.log_likelihood(points, chances)
        return self.model.log_prior(points) - 0.5 * (normal**2).sum(axis=1) + log_likelihood

    def _log_evidence(self, draws, random, count=20_000):
        """By importance sampling from a Student-t with the moments of the draws."""
        proposal = stats.multivariate_t(draws.mean(axis=0), np.cov(draws.T), df=5, seed=random)
        points = proposal.rvs(count)
        chances = self.model.draw_chances(count, random)
        logs = self.model.log_prior(points) + self.model.log_likelihood(points, chances) - proposal.logpdf(points)
        return log_sum_exp(logs) - np.log(count)

    def run(self, wanted):
        """Draws of the unknowns, their effective sample size and the autocorrelation time in steps."""
        while True:
            self.state = self.sampler.run_mcmc(self.state, BLOCK)
            slowest = self.sampler.get_autocorr_time(tol=0)[: self.model.dimensions].max()
            size = WALKERS * self.sampler.iteration / slowest
            is_known = self.sampler.iteration >= TIMES * slowest
            if size >= wanted and is_known or self.sampler.iteration >= MOST_STEPS:
                return self.sampler.get_chain(flat=True)[:, : self.model.dimensions], size, slowest


def main():
    random = np.random.default_rng(20261121)
    np.random.seed(20261121)
    models = density.classes()
    start = time.perf_counter()
    ensembles = [Ensemble(model, random) for model in models]
    evidence = np.array([ensemble.log_evidence for ensemble in ensembles])
    shares = np.exp(evidence - log_sum_exp(evidence))
    columns, weights, is_dense, of_size = [], [], [], 0.0
    for ensemble, share in zip(ensembles, shares):
        draws, size, slowest = ensemble.run(max(WANTED * share, LEAST))
        print(f"{ensemble.model.name}: probability {share:.4f}, {ensemble.sampler.iteration} steps of {WALKERS} walkers, "
              f"autocorrelation time {slowest:.0f}, effective sample size {size:.0f}")
        columns.append(ensemble.model.unknowns(draws))
        weights.append(np.full(len(draws), share / len(draws)))
        is_dense.append(np.full(len(draws), ensemble.model.is_dense))
        of_size += share * share / size
    print(f"together {time.perf_counter() - start:.2f} s, effective sample size {1.0 / of_size:.0f}")
    density.show(np.concatenate(columns, axis=1), np.concatenate(weights), np.concatenate(is_dense))


if __name__ == "__main__":
    main()
