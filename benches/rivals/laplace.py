"""The posterior by Laplace's approximation and importance sampling, on the same density.

For every class of models SciPy's BFGS looks for a maximum over the unknowns of the model, from the mean of the prior, with the
chances at their middles and the smallest unit that holds a draw; gradients and curvature are by differences that are computed
in one call. At the maximum there is a Student-t with five degrees of freedom of the curvature there. Draws are made of every class in
proportion to its evidence, with chances and units from their prior, until the effective sample size is at least 10,000.

That is `curvature`. A maximum may lie beside a kink, where the curvature says little about the spread, so `moments` adds a
round: 640 draws of every class, and one Student-t with their weighted mean and covariance in the place of the first.
"""

import statistics
import time

import numpy as np
from scipy import optimize, special

import density
from prior import HALF_LOG_2PI, log_sum_exp

# Further starts are draws of the prior; with two the posterior is the same, and each takes about 50 ms.
STARTS = 1
FREEDOM = 5.0
WANTED = 10_000
FIRST, FURTHER = 15_000, 3_000
PILOT = 640
STEP = 1e-4
LEAST_SHARE = 0.03
RUNS = 25


def falling(model, point):
    """Minus the log density and its gradient by central differences, in one call."""
    size = model.dimensions
    steps = STEP * np.eye(size)
    logs = model.smooth(np.concatenate([point[None], point + steps, point - steps]))
    return -logs[0], (logs[size + 1 :] - logs[1 : size + 1]) / (2 * STEP)


def curvature(model, point):
    """Hessian of the negative log density by central differences, in one call."""
    size = model.dimensions
    steps = 0.05 * np.sqrt(np.diag(model.covariances[-1]))
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    unit = np.diag(steps)
    points = [point + left * unit[row] + right * unit[column]
              for row in range(size) for column in range(size) for left, right in signs]
    logs = model.smooth(np.array(points)).reshape(size, size, 4)
    return -(logs @ np.array([1, -1, -1, 1])) / (4 * np.outer(steps, steps))


class Proposal:
    """A mixture of Student-t distributions at the maxima; chances are drawn from their prior."""

    def __init__(self, model, random):
        self.model = model
        starts = np.concatenate([model.mean[None], model.draw_prior(STARTS - 1, random)])
        found = [optimize.minimize(lambda point: falling(model, point), start, jac=True, method="BFGS",
                                   options={"gtol": 1e-2})
                 for start in starts]
        self.centres, self.factors, self.logs = [], [], []
        for result in sorted(found, key=lambda result: result.fun):
            if any(np.abs(result.x - centre).max() < 0.1 for centre in self.centres):
                continue
            values, vectors = np.linalg.eigh(curvature(model, result.x))
            prior = np.diag(model.covariances[-1]).max()
            spread = vectors @ np.diag(1.0 / np.maximum(values, 1.0 / prior)) @ vectors.T
            factor = np.linalg.cholesky(spread)
            self.centres.append(result.x)
            self.factors.append(factor)
            half_log_determinant = np.log(np.diag(factor)).sum()
            self.logs.append(-result.fun + half_log_determinant + model.dimensions * HALF_LOG_2PI)
        logs = np.array(self.logs)
        self.log_evidence = log_sum_exp(logs)
        self.shares = np.maximum(np.exp(logs - self.log_evidence), 0.02)
        self.shares /= self.shares.sum()

    def refit(self, random):
        """Takes over the weighted moments of a few draws; keeps the curvature where few of them count."""
        points, logs = self.draw(PILOT, random)
        weights = np.exp(logs - logs.max())
        self.log_evidence = logs.max() + np.log(weights.mean())
        if weights.sum() ** 2 / (weights**2).sum() < 5 * self.model.dimensions:
            return
        self.centres = [np.average(points, axis=0, weights=weights)]
        self.factors = [np.linalg.cholesky(np.cov(points.T, aweights=weights))]
        self.shares = np.ones(1)

    def draw(self, count, random):
        """Points, and the logs of their weights up to the number of draws."""
        size = self.model.dimensions
        which = random.choice(len(self.shares), size=count, p=self.shares)
        normal = random.standard_normal((count, size))
        scale = np.sqrt(random.chisquare(FREEDOM, count) / FREEDOM)[:, None]
        centres, factors = np.array(self.centres), np.array(self.factors)
        if len(self.shares) == 1:
            points = centres[0] + normal / scale @ factors[0].T
        else:
            points = centres[which] + np.einsum("nij,nj->ni", factors[which], normal / scale)
        peak = special.gammaln(0.5 * (FREEDOM + size)) - special.gammaln(0.5 * FREEDOM)
        peak -= 0.5 * size * np.log(FREEDOM * np.pi)
        logs = []
        for centre, factor, share in zip(centres, factors, self.shares):
            squares = (((points - centre) @ np.linalg.inv(factor).T) ** 2).sum(axis=1)
            log_scale = np.log(share) + peak - np.log(np.diag(factor)).sum()
            logs.append(log_scale - 0.5 * (FREEDOM + size) * np.log1p(squares / FREEDOM))
        chances = self.model.draw_chances(count, random)
        log_density = self.model.log_prior(points) + self.model.log_likelihood(points, chances)
        return points, log_density - log_sum_exp(np.array(logs))


def sample(models, random, with_moments):
    proposals = [Proposal(model, random) for model in models]
    optimised = time.perf_counter()
    if with_moments:
        for proposal in proposals:
            proposal.refit(random)
    evidence = np.array([proposal.log_evidence for proposal in proposals])
    shares = np.maximum(np.exp(evidence - log_sum_exp(evidence)), LEAST_SHARE)
    shares /= shares.sum()
    drawn = [([], []) for _ in models]
    more = FIRST
    while True:
        for (points, logs), proposal, share in zip(drawn, proposals, shares):
            own_points, own_logs = proposal.draw(max(1, round(share * more)), random)
            points.append(own_points)
            logs.append(own_logs)
        logs = [np.concatenate(logs) - np.log(sum(map(len, logs))) for _, logs in drawn]
        weights = np.concatenate(logs)
        weights = np.exp(weights - weights.max())
        weights /= weights.sum()
        size = 1.0 / (weights**2).sum()
        if size >= WANTED:
            return [np.concatenate(points) for points, _ in drawn], weights, size, optimised
        more = FURTHER


def measure(models, with_moments):
    random = np.random.default_rng(20261121)
    times, optimiser = [], []
    for _ in range(RUNS):
        start = time.perf_counter()
        points, weights, size, optimised = sample(models, random, with_moments)
        times.append(time.perf_counter() - start)
        optimiser.append(optimised - start)
    print(f"{'moments' if with_moments else 'curvature'}: median of {RUNS} runs {statistics.median(times) * 1e3:.0f} ms, "
          f"fastest {min(times) * 1e3:.0f} ms, "
          f"of these the optimiser {statistics.median(optimiser) * 1e3:.0f} and {min(optimiser) * 1e3:.0f} ms; "
          f"last run: {len(weights)} draws, effective sample size {size:.0f}")
    columns = [model.unknowns(own) for model, own in zip(models, points)]
    is_dense = [np.full(len(own), model.is_dense) for model, own in zip(models, points)]
    density.show(np.concatenate(columns, axis=1), weights, np.concatenate(is_dense))


def main():
    models = density.classes()
    measure(models, with_moments=False)
    measure(models, with_moments=True)


if __name__ == "__main__":
    main()
