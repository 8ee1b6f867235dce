#!/usr/bin/env python3
"""crates/dev/rivals.py ROWS

Fits other methods to the folds of the validation, which `unroof-dev rivals > ROWS` prints, and prints the figures of
`docs/VALIDATION.md`: root mean square of log(estimate/truth) on the models that count. Each method has the median prices of input
and output, the release and the longest context, and the same training as the estimate. Needs numpy, pandas and scikit-learn.
"""

import sys
import warnings

import numpy
import pandas
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import Ridge

FEATURES = ["log_input", "log_output", "years", "log_context"]
QUANTITIES = {"active_parameters": "log_active", "total_parameters": "log_total", "kv_bytes_per_token_read": "log_kv_read",
              "kv_bytes_per_token_stored": "log_kv_stored"}
RIVALS = {
    "ridge": lambda: Ridge(alpha=1.0),
    "Gaussian process": lambda: GaussianProcessRegressor(ConstantKernel(1.0) * RBF(numpy.ones(len(FEATURES))) + WhiteKernel(0.5),
                                                         normalize_y=True),
    "boosted trees": lambda: GradientBoostingRegressor(n_estimators=150, max_depth=3, learning_rate=0.05, subsample=0.7,
                                                       min_samples_leaf=5, random_state=1),
}


def errors(folds, make, truth):
    """Errors of a method with their weights, fold by fold."""
    found = []
    for _, fold in folds:
        training, cases = fold[~fold.estimated], fold[fold.estimated & fold.counted]
        if cases.empty:
            continue
        mean, spread = training[FEATURES].mean(), training[FEATURES].std()
        scaled = lambda rows: (rows[FEATURES].fillna(mean) - mean) / spread
        fitted = make().fit(scaled(training), training[truth])
        found.append(numpy.column_stack([fitted.predict(scaled(cases)) - cases[truth], cases.weight]))
    return numpy.concatenate(found)


def main():
    warnings.filterwarnings("ignore")
    rows = pandas.read_csv(sys.argv[1])
    for setting, of_setting in rows.groupby("setting", sort=False):
        folds = list(of_setting.groupby("fold"))
        for quantity, truth in QUANTITIES.items():
            cells = []
            for make in RIVALS.values():
                error, weight = errors(folds, make, truth).T
                cells.append(f"{numpy.sqrt((weight * error ** 2).sum() / weight.sum()):.2f}")
            print(" | ".join([setting, quantity, *cells]), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
