"""Tables that the density is made of, all from `crates/roofline/data/`, the sheet and the stated machine: they depend on no unknown.

The regressions of canonical models are found from models that the example `density_points` prints: fitting them reads the
architecture of every open-weight model, which is not part of the density.
"""

import csv
import json
import math
import subprocess
from functools import cache
from pathlib import Path

import numpy as np

BENCHES = Path(__file__).resolve().parent.parent
REPOSITORY = BENCHES.parent
DATA = REPOSITORY / "data"
EXAMPLE = ["cargo", "run", "--quiet", "--release", "-p", "unroof-infer", "--example", "density_points", "--"]

KINDS = ["grouped", "latent", "windowed", "sparse", "hybrid_linear", "compressed"]
GROUPED, LATENT, WINDOWED, SPARSE, HYBRID_LINEAR, COMPRESSED = range(6)
NINETY_PERCENT = 1.644_853_626_951_472_7
LIFE_H = 43_800.0

# Numbers of a model that follow from its sizes by a regression of logarithms.
LINES = ["layers", "hidden_dimension", "vocabulary", "decode_macs", "prefill_macs", "state_bytes", "expert_odds",
         "active_experts", "expert_layers"]


def ask(what):
    """The answer of the example `density_points`, as text."""
    done = subprocess.run([*EXAMPLE, what], cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return done.stdout


def rows_of(name):
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


@cache
def calibration():
    return json.loads((DATA / "calibration.json").read_text())


class Machine:
    """One chip as it is stated, and what the forward model needs of it: rates in MAC/s, bytes and bytes per second."""

    # crates/infer/src/evidence/machine.rs: sizes of serving units in chips, and shares of peak behind the regimes of decoding.
    UNITS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 72.0, 144.0, 288.0, 576.0])
    COMPUTE, BANDWIDTH = 0.680_6, 0.820_4

    def __init__(self):
        stated = json.loads((BENCHES / "fixed_machine.json").read_text())
        self.id = stated["accelerator"]
        chip = next(row for row in rows_of("accelerators.csv") if row["id"] == self.id)
        assert stated["weight_bytes_per_parameter"] == stated["kv_bytes_per_element"] == 1
        self.weight_bytes = self.element_bytes = 1.0
        self.multiply_rate = float(chip["fp8_flops_per_second"]) / 2
        self.bandwidth = float(chip["hbm_bytes_per_second"])
        self.capacity = float(chip["hbm_bytes"])
        self.domain = float(chip["scale_up_domain"])
        self.scale_up = float(chip["scale_up_bytes_per_second"])
        self.scale_out = float(chip["scale_out_bytes_per_second"])
        self.log_ratio = math.log(self.weight_bytes * self.multiply_rate / self.bandwidth)
        self.log_balance = math.log(self.COMPUTE / self.BANDWIDTH)
        self.log_rental = math.log(stated["rental_usd_per_hour"])
        self.reached = json.loads((DATA / "efficiencies.json").read_text())["fitted"]


class Sheet:
    """The figures of the sheet that the terms need."""

    def __init__(self):
        sheet = json.loads((BENCHES / "rich_sheet.json").read_text())
        rates = sheet["rates"]
        start = lambda rate: rate.get("context_tier", {}).get("min_prompt_tokens", 0)
        base = next(rate for rate in rates if rate["service_tier"] == "standard" and start(rate) == 0)
        fast = next(rate for rate in rates if rate["service_tier"] == "fast" and start(rate) == 0)
        self.prices = [float(base["input"]), float(base["output"])]
        self.sells_cache_reads = "cache_read" in base
        self.limit = sheet["limits"]["context"]
        self.threshold = min(start(rate) for rate in rates if start(rate) > 0)
        price = float(fast["output"]) / float(base["output"])
        speed = float(sheet["service_tiers"]["fast"]["speed_multiplier"]["value"])
        self.speedup = 1.0 + (speed - 1.0) * price / (price - 1.0)
        short, long = base["cache_write"]
        self.lifetimes_s = [short["ttl_seconds"], long["ttl_seconds"]]
        per_hour = (float(long["price"]) - float(short["price"])) * 3600
        self.hold_price = per_hour / (self.lifetimes_s[1] - self.lifetimes_s[0])


class Tiers:
    """Storage tiers as columns: logs of seconds to fill at a byte per second, bandwidth, USD per byte and hour."""

    def __init__(self, machine):
        rows = [row for row in rows_of("storage_tiers.csv") if row["id"] != "hbm-component"]
        number = lambda row, column: float(row[column]) if row[column] else None
        kept = []
        for row in rows:
            is_hbm = row["tier"] == "hbm"
            read = 0.0 if is_hbm else number(row, "read_usd_per_byte")
            copies, hold = number(row, "copies"), number(row, "capital_usd_per_byte_hour")
            bandwidth = number(row, "accelerator_bandwidth_bytes_per_second")
            if None in (read, copies, hold, bandwidth):
                continue
            capacity = machine.capacity if is_hbm else number(row, "accelerator_capacity_bytes")
            writes = number(row, "writes_over_life")
            wear = hold * LIFE_H / writes if writes else 0.0
            kept.append((
                self.fitted(row, rows, machine.id), math.log(capacity * 0.9 / copies) if capacity else math.inf,
                -math.inf if is_hbm else -math.log(bandwidth), math.log(hold * copies), copies, wear, hold, read))
        columns = [np.array(column)[:, None] for column in zip(*kept)]
        self.fitted_share, self.log_fill, self.log_load, self.log_hold, copies, wear, hold, read = columns
        self.cost = lambda time_s: wear * copies + hold * copies * time_s / 3600.0 + read

    @staticmethod
    def fitted(row, rows, accelerator):
        """Share of servers of this accelerator that have the tier."""
        comes = lambda other: float(accelerator in other["comes_with"].split())
        if row["tier"] == "dram":
            return comes(row) if row["comes_with"] else 1.0 - sum(map(comes, rows))
        if row["tier"] == "flash":
            return 1.0 / sum(other["tier"] == "flash" for other in rows)
        if row["tier"] in ("cxl", "disk"):
            return 1.0 / (len(rows_of("accelerators.csv")) + 2.0)
        return 1.0


def decode_context():
    """Mean and standard deviation of log L_mean over providers."""
    of_provider = {}
    for row in rows_of("decode_contexts.csv"):
        if row["is_sold"] == "true":
            of_provider.setdefault(row["provider"], []).append(math.log(float(row["mean_decode_context_tokens"])))
    means = [sum(logs) / len(logs) for logs in of_provider.values()]
    return float(np.mean(means)), float(np.std(means, ddof=1))


def features(log_active, log_total, log_kv_read):
    """What a regression of a class of models starts from, its intercept first."""
    read = log_kv_read - 10.0
    return np.array([np.ones_like(read), log_active - 23.0, log_total - log_active, read, read * read])


@cache
def lines():
    """Per class, (is dense, kind of attention), a row of coefficients for each of `LINES`."""
    models = json.loads(ask("tables"))
    classes = {}
    for model in models:
        classes.setdefault((model["is_dense"], model["attention"]), []).append(model)
    return {key: np.array([line_of(name, key, rows) for name in LINES]) for key, rows in classes.items()}


def line_of(name, key, models):
    """Coefficients of one regression from models in which nothing bounds its number."""
    column = {column: np.array([float(model[column]) for model in models]) for column in models[0]}
    is_dense, attention = key
    active, total = np.exp(column["log_active"]), np.exp(column["log_total"])
    share = column["active_expert_parameters"] / active
    embedding = column["input_embedding_parameters"]
    looked_up = total - active if is_dense else 0.0
    of_experts = ("expert_odds", "active_experts", "expert_layers")
    if is_dense and name in of_experts or attention != HYBRID_LINEAR and name == "state_bytes":
        return np.zeros(5)
    value, is_free = {
        "vocabulary": (embedding / column["hidden_dimension"], (embedding < 0.19 * active) & (embedding > 1.01 * looked_up)),
        "expert_odds": (share / (1.0 - share), (share > 0.051) & (share < 0.969)),
        "active_experts": (column["active_experts"], column["active_experts"] > 1.001),
        "expert_layers": (column["expert_layers"] / column["layers"], column["expert_layers"] < 0.999 * column["layers"]),
    }.get(name, (column.get(name), np.ones(len(models), bool)))
    known = features(column["log_active"], column["log_total"], column["log_kv_read"])[:, is_free]
    logs = np.log(value[is_free])
    found = np.linalg.lstsq(known.T, logs, rcond=None)[0]
    assert known.shape[1] > 10 and np.abs(found @ known - logs).max() < 1e-10, (name, key)
    return found
