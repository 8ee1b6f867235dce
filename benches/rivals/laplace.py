"""The posterior by the textbook's quick way in SciPy: an optimiser from several starts, then importance sampling.

Per kind of model: BFGS from several starts, with gradients by central differences that are computed in one call; at
every maximum a Student-t with five degrees of freedom of the curvature there, and where the kink between waiting for
arithmetic and waiting for memory makes two maxima, one for each. Both kinds are drawn from in proportion to their
evidence, until the effective sample size is at least 10,000.

That is `curvature`. The maximum lies beside the kink, where the curvature says little about the spread, so `moments`
adds a round: 2,000 draws, and one Student-t with their weighted mean and covariance in the place of the first.
"""

import statistics
import time

import numpy as np
from scipy import optimize, special

import density

STARTS = 4
FREEDOM = 5.0
WANTED = 10_000
FIRST, FURTHER = 10_000, 2_000
PILOT = 2_000
STEP = 1e-4
LEAST_SHARE = 0.03
RUNS = 25


def smooth(model, points):
    """The log density without the edge where active and total parameters are one; the maximum does not lie there."""
    return model.log_prior(points) + model.log_likelihood(points)


def gradient(model, point):
    """By central differences."""
    steps = STEP * np.eye(model.dimensions)
    logs = smooth(model, np.concatenate([point + steps, point - steps]))
    return (logs[: model.dimensions] - logs[model.dimensions :]) / (2 * STEP)


def curvature(model, point):
    """Hessian of the negative log density by central differences, in one call."""
    size = model.dimensions
    steps = 0.05 * np.sqrt(np.diag(model.covariances[-1]))
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    unit = np.diag(steps)
    points = [point + left * unit[row] + right * unit[column]
              for row in range(size) for column in range(size) for left, right in signs]
    logs = smooth(model, np.array(points)).reshape(size, size, 4)
    return -(logs @ np.array([1, -1, -1, 1])) / (4 * np.outer(steps, steps))


class Proposal:
    """A mixture of Student-t distributions at the maxima."""

    def __init__(self, model, random):
        self.model = model
        starts = model.draw_prior(STARTS, random)
        starts[0] = model.mean
        if not model.is_dense:
            starts[:, 1] = np.maximum(starts[:, 1], starts[:, 0] + 0.1)
        found = [optimize.minimize(lambda point: -smooth(model, point[None])[0], start,
                                   jac=lambda point: -gradient(model, point), method="BFGS", options={"gtol": 1e-3})
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
            self.logs.append(-result.fun + half_log_determinant + model.dimensions * density.HALF_LOG_2PI)
        logs = np.array(self.logs)
        self.log_evidence = density.log_sum_exp(logs)
        self.shares = np.maximum(np.exp(logs - self.log_evidence), 0.02)
        self.shares /= self.shares.sum()

    def refit(self, random):
        """Takes over the weighted moments of a few draws."""
        points, logs = self.draw(PILOT, random)
        weights = np.exp(logs - logs.max())
        self.log_evidence = logs.max() + np.log(weights.mean())
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
        return points, self.model.log_posterior(points) - density.log_sum_exp(np.array(logs))


def sample(models, random, with_moments):
    proposals = [Proposal(model, random) for model in models]
    optimised = time.perf_counter()
    if with_moments:
        for proposal in proposals:
            proposal.refit(random)
    evidence = np.array([proposal.log_evidence for proposal in proposals])
    shares = np.maximum(np.exp(evidence - density.log_sum_exp(evidence)), LEAST_SHARE)
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
    columns = [np.array(model.unknowns(own)) for model, own in zip(models, points)]
    density.show(np.concatenate(columns, axis=1), weights)
    print(f"  {'probability of a dense model':<30} {weights[: len(points[0])].sum():>11.4f}")


def main():
    models = density.classes()
    measure(models, with_moments=False)
    measure(models, with_moments=True)


if __name__ == "__main__":
    main()
