"""The posterior by emcee, an affine-invariant ensemble sampler, on the same density.

The two kinds of model have different numbers of unknowns, so each has an ensemble of its own, and their shares are those
of their evidence, by importance sampling from a Student-t around the ensemble's moments. 64 walkers, the density worked
out for half of them at once. The effective sample size is walkers x steps over the integrated autocorrelation time of
the slowest unknown; the mixture of experts, which holds nearly all of the probability here, is run until that is 10,000,
dense models until it is a tenth of it.
"""

import time

import emcee
import numpy as np
from scipy import stats

import density

WALKERS = 64
BURN_IN = 1_000
BLOCK = 2_000
MOST_STEPS = 60_000
WANTED = 10_000


def run(model, wanted, random):
    """Draws after burning in, the effective sample size, the autocorrelation time and the steps."""
    start = model.draw_prior(WALKERS * 4, random)
    start = start[np.isfinite(model.log_posterior(start))][:WALKERS]
    sampler = emcee.EnsembleSampler(WALKERS, model.dimensions, model.log_posterior, vectorize=True)
    state = sampler.run_mcmc(start, BURN_IN)
    sampler.reset()
    while True:
        state = sampler.run_mcmc(state, BLOCK if wanted > 2_000 else BLOCK // 4)
        slowest = sampler.get_autocorr_time(tol=0).max()
        size = WALKERS * sampler.iteration / slowest
        if size >= wanted or sampler.iteration >= MOST_STEPS:
            return sampler.get_chain(flat=True), size, slowest, sampler.iteration


def log_evidence(model, draws, random, count=20_000):
    """By importance sampling from a Student-t with the moments of the draws."""
    proposal = stats.multivariate_t(draws.mean(axis=0), np.cov(draws.T), df=5, seed=random)
    points = proposal.rvs(count)
    logs = model.log_posterior(points) - proposal.logpdf(points)
    return density.log_sum_exp(logs) - np.log(count)


def main():
    random = np.random.default_rng(20261121)
    np.random.seed(20261121)
    models = density.classes()
    total = time.perf_counter()
    columns, weights, evidence = [], [], []
    for model in models:
        start = time.perf_counter()
        draws, size, slowest, steps = run(model, WANTED / 10 if model.is_dense else WANTED, random)
        print(f"{model.name}: {steps} steps of {WALKERS} walkers, autocorrelation time {slowest:.0f}, "
              f"effective sample size {size:.0f}, {time.perf_counter() - start:.2f} s")
        evidence.append(log_evidence(model, draws, random))
        columns.append(np.array(model.unknowns(draws)))
        weights.append(len(draws))
    shares = np.exp(np.array(evidence) - density.log_sum_exp(np.array(evidence)))
    print(f"together {time.perf_counter() - total:.2f} s")
    weights = np.concatenate([np.full(count, share / count) for count, share in zip(weights, shares)])
    density.show(np.concatenate(columns, axis=1), weights)
    print(f"  {'probability of a dense model':<30} {shares[0]:>11.4f}")


if __name__ == "__main__":
    main()
