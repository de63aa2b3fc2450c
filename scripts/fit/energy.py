#!/usr/bin/env python3
"""Fits the coefficients of energy (docs/model.md, EN1 to EN7) to records with a field `energy`.

    scripts/fit/energy.py h200-sxm records/h200-sxm-energy,records/h200-sxm-energy-judge [RIDGE]    # default: build/release/ridge

    scripts/fit/energy.py h100-sxm records/h100-sxm-energy RIDGE h200-sxm     # few records: near a relative's values

Prints the section [model.energy] as it stands in calibration/CHIP/ridge-0.1.toml, each value with its standard error,
and the errors of the fit and of shapes left out in turn (six parts, drawn with a fixed seed), for power below 95 % of
the limit, and for clock and time at the limit. Needs numpy and scipy.

Method. The logarithm of the measured power is compared with the law at the measured time and clock, so that errors of
predicted times do not enter the coefficients; work and terms are those of `ridge predict`. A robust loss (soft L1,
5 %) and weak expectations of each coefficient (a factor of 1.8) keep those apart that few records separate. Idle power
is that of each record's board; the printed one is their mean. The clock's ceilings follow from products of zeros, the
exponent of the clock is given.

With a relative, its coefficients are what is expected (a factor of 1.3), and the ceilings of the clock come from the
products of zeros in the records.

Limits: the standard errors are those of the linearised fit; boards differ by more (idle: 117 and 131 W).
"""
import json
import pathlib
import subprocess
import sys
import tomllib

import numpy
from scipy.optimize import least_squares

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "records"))
import record_files  # noqa: E402

EXPONENT = 1.5
GAP = 1e-6
LIMIT = 0.95
WIDTH, DOUBT, NEAR = 0.05, 0.6, 0.26
SURE = 0.02  # width for products of more than a millisecond, which decide how well the limit is met
CEILING = {"tensor_16": 0.155, "tensor_8": 0.217, "tensor_int8": 0.217, "tensor_32": 0.049}
BURST = {"tensor_16": 0.155, "tensor_8": 0.217, "tensor_int8": 0.217, "tensor_32": 0.2}
REGULATED = 0.985
#: Rates of tensor cores that the power limit leaves in short and in long products, over the peak (model.matmul of cuBLASLt); read in main.
BY_POWER = {}
#: What is expected of each coefficient: W, pJ, shares.
EXPECTED = {"running": 40, "dram": 80, "l2": 25, "l2_operands": 15, "fma": 8, "special": 10, "tensor_32": 1.0,
            "tensor_16": 0.55, "tensor_8": 0.3, "tensor_int8": 0.4, "tensor_active": 250, "fma_active": 150,
            "issue_active": 240, "waiting": 150, "zeros_tensor": 0.1, "zeros_active": 0.5, "zeros_vector": 0.4,
            "zeros_bytes": 0.63, "constant_tensor": 0.15, "constant_active": 0.55, "constant_vector": 0.5,
            "constant_bytes": 0.66}
NAMES = list(EXPECTED)
WATTS = {"running", "tensor_active", "fma_active", "issue_active", "waiting"}
PIPES = {"bf16": "tensor_16", "fp16": "tensor_16", "fp8": "tensor_8", "int8": "tensor_int8"}
MANY_KERNELS = 8


class Row:
    """A record and its prediction, as the law needs them."""

    def __init__(self, record, prediction):
        self.energy, self.prediction, self.pattern = record["energy"], prediction, record["pattern"]
        self.name = f"{record['pattern']} {record['implementation']} {record['op']}"
        self.pipe = PIPES.get(prediction["dtype"], "tensor_32")
        self.time = prediction["time_us"] * 1e-6
        self.width = SURE if record["op"].startswith("matmul") and self.energy["time_s"] > 1e-3 else WIDTH
        terms = {term["resource"]: term["time_us"] * 1e-6 for term in prediction["terms"]}
        self.terms = {name: min(time, self.time) for name, time in terms.items()}
        tensor, peak = prediction["flop_tensor"], prediction["peak_flop_per_s"]
        self.loaded = min(1.0, tensor / (peak * self.time)) if tensor > 0 else 0.0
        share = tensor / (peak * terms["tensor"]) if terms.get("tensor", 0.0) > 0 else 0.0
        short, long = BY_POWER.get(prediction["dtype"], (0.0, 1.0))
        self.droop = share / short if long <= share < short else 1.0
        self.fixed = min(self.time, terms.get("launch", 0.0) + terms.get("link", 0.0))
        chip = max([time for name, time in terms.items() if name not in ("dram", "launch", "link")], default=0.0)
        told = (terms.get("dram", 0.0) ** 4 + chip**4) ** 0.25
        scale = (self.time - self.fixed) / told if told > 0 else 0.0
        self.memory, self.chip = terms.get("dram", 0.0) * scale, chip * scale if told > 0 else self.time - self.fixed

    def parts(self, value, idle):
        """Power that is always there, energy on the chip at its highest clock, energy of DRAM."""
        p, t = self.prediction, self.terms.get
        share = {part: value[f"{self.pattern}_{part}"] if self.pattern in ("zeros", "constant") else 1.0
                 for part in ("tensor", "active", "vector", "bytes")}
        l2 = value["l2_operands"] if p["flop_tensor"] > 0 else value["l2"]
        chip = 1e-12 * (p["flop_tensor"] * value[self.pipe] * share["tensor"] +
                        p["flop_vector"] * value["fma"] * share["vector"] +
                        p["special_functions"] * value["special"] + p["l2_bytes"] * l2 * share["bytes"])
        with_blocks = 0.5 + 0.5 * min(1.0, (p.get("tiling") or {}).get("wave_efficiency", 1.0))
        busy = max(t(name, 0.0) for name in ("tensor", "fma", "issue", "special"))
        waiting = max(0.0, t("latency", 0.0) - busy)
        chip += share["active"] * with_blocks * (value["tensor_active"] * t("tensor", 0.0) + value["fma_active"] * t("fma", 0.0) +
                                                 value["waiting"] * waiting) + value["issue_active"] * t("issue", 0.0)
        if p["kernels"] >= MANY_KERNELS:
            chip += value["issue_active"] * max(0.0, self.time - busy - waiting - t("launch", 0.0))
        return idle + value["running"], chip, 1e-12 * p["dram_bytes"] * value["dram"] * share["bytes"]

    def power(self, value, boost):
        """At the measured time and clock."""
        always, chip, memory = self.parts(value, self.energy["idle_up_w"])
        clock = min(1.0, self.energy["clock_hz"] / boost / self.ceiling())
        return always + (chip * clock**EXPONENT + memory) / self.energy["time_s"]

    def ceiling(self):
        return 1.0 - CEILING[self.pipe] * self.loaded

    def settled(self, value, idle, limit):
        """(power, period, clock over boost) as `ridge predict` finds them."""
        always, chip, memory = self.parts(value, idle)
        burst, clock = (1.0 - BURST[self.pipe] * self.loaded) * self.droop, self.ceiling()

        def period(at):
            return self.fixed + (self.memory**4 + (self.chip * burst / at) ** 4) ** 0.25 + GAP

        def power(at):
            return always + (chip * (at / self.ceiling()) ** EXPONENT + memory) / period(at)
        if power(clock) > limit:
            low, high = 0.17, clock
            for _ in range(40):
                clock = 0.5 * (low + high)
                low, high = (clock, high) if power(clock) <= limit else (low, clock)
        return min(power(clock), limit), period(clock), clock


def read_by_power(gpu):
    """What EN4 takes from the model of products; tf32 inherits the rates of 16 bits."""
    path = pathlib.Path(__file__).resolve().parents[2] / "calibration" / gpu / "cublaslt-13.0.toml"
    pipes = tomllib.loads(path.read_text(encoding="utf-8"))["model"]["matmul"]
    for pipe, types in (("tensor", ("bf16", "fp16", "tf32")), ("fp8", ("fp8", "int8"))):
        rates = tuple(pipes[pipe][name]["value"] for name in ("burst_fraction", "sustained_fraction"))
        BY_POWER.update({dtype: rates for dtype in types})


def read_rows(ridge, gpu, folder):
    rows = []
    for path in sorted(pathlib.Path(folder).glob("*.jsonl*")):
        for _, record in record_files.records_of(path):
            if "energy" not in record:
                continue
            text = f"{record['op']} impl={record['implementation']} l2={record['l2']}"
            answer = subprocess.run([ridge, "predict", "--op", text, "--gpu", gpu, "--format", "json"],
                                    capture_output=True, text=True)
            if answer.returncode == 0:
                rows.append(Row(record, json.loads(answer.stdout)))
            else:
                print("# left out:", text, answer.stderr.strip()[:80], file=sys.stderr)
    return rows


def fit(rows, boost):
    """Values and relative standard errors."""
    expected = numpy.log([EXPECTED[name] for name in NAMES])

    def misses(x):
        value = dict(zip(NAMES, numpy.exp(x)))
        return numpy.concatenate([[numpy.log(row.power(value, boost) / row.energy["power_w"]) / row.width for row in rows],
                                  (x - expected) / DOUBT])
    found = least_squares(misses, expected, loss="soft_l1")
    spread = numpy.linalg.pinv(found.jac.T @ found.jac) * 2.0 * found.cost / len(rows)
    return dict(zip(NAMES, numpy.exp(found.x))), dict(zip(NAMES, numpy.sqrt(numpy.diag(spread))))


def judged(rows, value, idle, boost):
    """Lists of relative errors: power below the limit, clock and period at it."""
    errors = {"power": [], "clock": [], "time": []}
    for row in rows:
        limit = row.energy["power_limit_w"]
        power, period, clock = row.settled(value, idle, REGULATED * limit)
        if row.energy["power_w"] < LIMIT * limit:
            errors["power"].append(power / row.energy["power_w"] - 1.0)
        else:
            errors["clock"].append(clock * boost / row.energy["clock_hz"] - 1.0)
            errors["time"].append(period / row.energy["time_s"] - 1.0)
    return errors


def summary(errors):
    texts = []
    for name, values in errors.items():
        size = numpy.abs(values) if values else numpy.zeros(1)
        texts.append(f"{name} {100 * size.mean():.1f} % (median {100 * numpy.median(size):.1f} %) of {len(values)}")
    return "; ".join(texts)


def start_near(relative, rows, boost):
    """Expects the coefficients of another GPU, and takes the ceilings of the clock from products of zeros."""
    global DOUBT
    DOUBT = NEAR
    path = pathlib.Path(__file__).resolve().parents[2] / "calibration" / relative / "ridge-0.1.toml"
    section = tomllib.loads(path.read_text(encoding="utf-8"))["model"]["energy"]
    for name in NAMES:
        value = section[name]["value"]
        EXPECTED[name] = float(value.split()[0]) if isinstance(value, str) else value
    for row in rows:
        if row.pattern == "zeros" and row.prediction["flop_tensor"] > 0 and row.energy["power_w"] < LIMIT * row.energy["power_limit_w"]:
            busy = row.prediction["flop_tensor"] / (row.prediction["peak_flop_per_s"] * row.energy["time_s"])
            CEILING[row.pipe] = BURST[row.pipe] = (1.0 - row.energy["clock_hz"] / boost) / busy
            print(f"# ceiling of {row.pipe}: {CEILING[row.pipe]:.3f}")


def left_out(rows, idle, boost, parts=6):
    order, errors = numpy.random.RandomState(0).permutation(len(rows)), {"power": [], "clock": [], "time": []}
    for part in range(parts):
        out = set(order[part::parts])
        value, _ = fit([row for i, row in enumerate(rows) if i not in out], boost)
        for name, values in judged([rows[i] for i in sorted(out)], value, idle, boost).items():
            errors[name] += values
    return errors


def main():
    gpu, folder, *rest = sys.argv[1:]
    ridge = rest[0] if rest else "build/release/ridge"
    boost = max(float(json.loads(subprocess.run([ridge, "gpus", "show", gpu, "--all", "--format", "json"], check=True,
                                                capture_output=True, text=True).stdout)["fields"][name]["value"])
                for name in ("clock.boost_hz",))
    read_by_power(gpu)
    rows = [row for each in folder.split(",") for row in read_rows(ridge, gpu, each)]
    if len(rest) > 1:
        start_near(rest[1], rows, boost)
    idle = float(numpy.mean(sorted({row.energy["idle_up_w"] for row in rows})))
    value, error = fit(rows, boost)
    print(f"[model.energy]    # {len(rows)} records")
    for name in NAMES:
        text = f'"{value[name]:.4g} W"' if name in WATTS else f"{value[name]:.4g}"
        print(f'{name} = {{ value = {text}, source = "ENERGYFIT", note = "+- {100 * error[name]:.0f} %" }}')
    apart = left_out(rows, idle, boost)
    print(f"# idle {idle:.1f} W; fitted: {summary(judged(rows, value, idle, boost))}")
    print(f"# left out: {summary(apart)}; 80 % of the powers within {numpy.quantile(numpy.abs(apart['power']), 0.8):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
