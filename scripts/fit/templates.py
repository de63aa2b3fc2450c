#!/usr/bin/env python3
"""Fits the laws of kernel templates (docs/model.md S11) to operators with their counts, and writes software/.../templates.toml.

    ridge trace operators.json.gz --format json > fit.json
    scripts/fit/templates.py fit.json [more.json] --judge judge.json -o software/pytorch-2.11/templates.toml

The inputs are what `ridge trace` says of operators: measured and predicted times, and `counts`. The records of
scripts/measure/torch-operators.py become such a trace by scripts/records/operator-trace.py.

Method. For each operator the time is a sum with coefficients of at least 0: a fixed time, the bytes at the DRAM
bandwidth, clocks for each count spread over the multiprocessors, and clocks of chains. Relative errors are
minimised; terms are added one by one while the error of five folds falls by 3 %, at most four. A law is written where
the folds' mean |ln(predicted / measured)| is below 0.8 of that of the model's own rule, or where there is no rule. The band holds 80 % of the
folds' errors.

Limits: one GPU's records; clocks and shares carry over to others as they are.
"""
import argparse
import collections
import json
import math
import pathlib

import numpy as np
from scipy.optimize import nnls

CLOCK, SMS, BANDWIDTH = 1.98e9, 132, 4.8e12  # of the H200 that the records were taken on
SPREAD = ["elements", "results", "strided", "wide", "index", "values", "table", "rows", "sorting", "collisions", "matrices",
          "solving", "outer", "channels", "window", "narrow", "planes", "pixels", "weights"]
CHAINS = ["columns", "side", "channels", "outer", "planes", "index", "rows"]
MOST_TERMS, FEWEST = 4, 8
LEAST_BYTES = 0.35  # an L2 serves part of the bytes, at most at this multiple of the DRAM's rate
# What the kernels of an operator can depend on; operators that are not named go through their elements once.
ELEMENTS = {"clocks.elements", "clocks.strided", "clocks.wide", "clocks.narrow", "clocks.results"}
INDICES = ELEMENTS | {"clocks.index", "clocks.values", "clocks.table", "clocks.collisions", "chain.index"}
ROWS = ELEMENTS | {"clocks.rows", "clocks.sorting", "chain.columns", "chain.rows"}
IMAGES = ELEMENTS | {"clocks.outer", "clocks.channels", "clocks.window", "clocks.rows", "chain.outer", "chain.channels",
                     "clocks.pixels", "clocks.planes", "chain.planes", "clocks.collisions"}
CONVOLUTIONS = {"clocks.window", "clocks.results", "clocks.table", "clocks.weights", "chain.planes"}
MATRICES = ROWS | {"clocks.matrices", "clocks.solving", "chain.side"}
KINDS = [(("convolution", "cudnn_convolution"), CONVOLUTIONS), (("index", "scatter", "embedding", "_embedding", "gather", "nll", "take", "put", "_index"), INDICES),
         (("sort", "topk", "_unique", "unique", "median", "kthvalue", "cum", "_cum", "_logcum", "_softmax", "_log_softmax",
           "searchsorted", "bucketize", "nonzero", "histc", "bincount", "rand", "multinomial", "masked"), ROWS | INDICES),
         (("cudnn_batch", "native_batch", "native_group", "avg_pool", "max_pool", "_adaptive", "adaptive", "upsample", "im2col",
           "col2im", "grid", "cudnn_grid", "reflection", "replication",
           "constant_pad"), IMAGES),
         (("linalg", "_linalg", "_cholesky", "cholesky", "_fft", "_cdist", "_ctc", "ctc"), MATRICES),
         (("sum", "mean", "var", "std", "all", "any", "max", "min", "amax", "amin", "argm", "logsumexp", "prod"), ROWS | IMAGES)]
# Operators of one template, fitted together.
TOGETHER = [("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"),
            ("upsample_linear1d_backward", "upsample_bilinear2d_backward", "upsample_trilinear3d_backward"),
            ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
            ("upsample_nearest1d_backward", "upsample_nearest2d_backward", "upsample_nearest3d_backward"),
            ("_unique", "_unique2"), ("cumsum", "cumprod", "_logcumsumexp"), ("std", "var", "std_mean", "var_mean"),
            ("nll_loss_forward", "nll_loss2d_forward"), ("nll_loss_backward", "nll_loss2d_backward"),
            ("median", "kthvalue"), ("hardswish_backward", "hardsigmoid_backward", "leaky_relu_backward", "elu_backward",
                                     "softplus_backward", "mish_backward", "log_sigmoid_backward"),
            ("hardswish", "hardsigmoid", "elu", "mish", "softplus", "leaky_relu", "log_sigmoid_forward"),
            ("reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d", "replication_pad3d"),
            ("linalg_lu_solve", "_cholesky_solve_helper"), ("_fft_r2c", "_fft_c2r", "_fft_c2c"),
            ("normal", "uniform", "random", "bernoulli"), ("tril", "triu"), ("atan2", "fmod", "remainder"),
            ("max_pool2d_with_indices", "max_pool3d_with_indices"),
            ("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward"),
            ("avg_pool2d", "avg_pool3d"), ("avg_pool2d_backward", "avg_pool3d_backward")]
TOGETHER += [tuple(f"{way}.{form}.{width}.{layout}" for width in widths for layout in layouts)
             for way in ("convolution", "convolution_backward") for form, widths, layouts in
             (("grouped", (16, 32), ("first", "last")), ("transposed", (16, 32), ("first", "last")), ("depthwise", (16, 32), ("last",)))]
GROUP = {name: names for names in TOGETHER for name in names}
NAMES = ["fixed", "bytes", "rule"] + [f"clocks.{each}" for each in SPREAD] + [f"chain.{each}" for each in CHAINS]


def bare(name):
    name = name.removeprefix("aten::").split(".")[0]
    return name[:-1] if len(name) > 1 and name.endswith("_") and not name.endswith("__") else name


def rows_of(path):
    for row in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["operators"]:
        if row.get("counts") and row["count"] and not row.get("driver"):
            yield (row.get("law") or bare(row["name"]), row["measured_us"] / row["count"],
                   (row.get("predicted_us") or 0.0) / row["count"], row["counts"], row.get("basis"))


def features(counts, rule):
    """Microseconds of each term with a coefficient of one."""
    found = [1.0, counts.get("bytes", 0.0) / BANDWIDTH * 1e6, rule]
    found += [counts.get(each, 0.0) / (SMS * CLOCK) * 1e6 for each in SPREAD]
    return found + [counts.get(each, 0.0) / CLOCK * 1e6 for each in CHAINS]


def solve(x, y, floor=None):
    # Long calls decide what a program takes: they count more, by the fourth root of their time.
    worth = np.minimum(np.sqrt(np.sqrt(y)), 6.0)
    weights = worth / y
    least = np.zeros(x.shape[1])
    if floor is not None:
        least[floor] = LEAST_BYTES
    for _ in range(4):
        solution, _ = nnls(x * weights[:, None], np.maximum(y - x @ least, 0.1 * y) * weights)
        solution += least
        weights = worth / np.sqrt(y * np.maximum(x @ solution, 0.3 * y))
    return solution


def errors_of(x, y, folds, floor=None):
    found = np.zeros(len(y))
    for fold in set(folds):
        inside = folds == fold
        found[inside] = np.log(np.maximum(x[inside] @ solve(x[~inside], y[~inside], floor), 0.5) / y[inside])
    return found


def score(errors):
    return float(np.mean(np.minimum(np.abs(errors), 2.0)))


def terms_of(name):
    """Places of the terms that the operator's law may have."""
    allowed = next((kind for starts, kind in KINDS if name.startswith(starts)), ELEMENTS)
    # Of a table that is looked into, the kernel reads what the indices name, not its bytes.
    return [place for place, term in enumerate(NAMES)
            if place > 0 and (term in allowed or term == "rule" or (term == "bytes" and allowed is not INDICES))]


def fit(x, y, allowed):
    """Terms and coefficients by forward selection, with the errors of the folds."""
    folds = np.arange(len(y)) % 5
    chosen = [0, 2] if 2 in allowed else [0, 1] if 1 in allowed else [0]
    floor = 1 if 1 in allowed and 2 not in allowed else None
    best = errors_of(x[:, chosen], y, folds, floor)
    while len(chosen) < min(MOST_TERMS, max(2, len(y) // 4)):
        trials = [(score(errors), term, errors) for term in allowed if term not in chosen and x[:, term].any()
                  for errors in [errors_of(x[:, chosen + [term]], y, folds, floor)]]
        if not trials:
            break
        value, term, errors = min(trials, key=lambda trial: trial[0])
        if value > 0.97 * score(best):
            break
        chosen, best = chosen + [term], errors
    return chosen, solve(x[:, chosen], y, floor), best


def section(names, chosen, solution, errors, instead):
    values = {NAMES[term]: value for term, value in zip(chosen, solution) if value > 0}
    lines = ["[[template]]", f'operators = {json.dumps(list(names))}', f"fixed_us = {values.pop('fixed', 0.0):.4g}"]
    if not instead:
        lines.append("fallback = true")
    if "rule" in values:
        lines.append(f"rule = {values.pop('rule'):.4g}")
    if "bytes" in values:
        lines.append(f"bytes = {values.pop('bytes'):.4g}")
    for kind in ("clocks", "chain"):
        terms = {key.split(".")[1]: value for key, value in values.items() if key.startswith(kind + ".")}
        if terms:
            lines.append(f"{kind} = {{ " + ", ".join(f"{key} = {value:.6f}" for key, value in terms.items()) + " }")
    low, high = np.exp(np.quantile(-errors, [0.08, 0.92]))
    lines += [f"low = {min(low, 0.97):.3f}", f"high = {max(high, 1.03):.3f}", f"rows = {len(errors)}"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fit", nargs="+")
    parser.add_argument("--judge")
    parser.add_argument("--exclude", default="", help="operators that keep their rule")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    groups = collections.defaultdict(list)
    for path in options.fit:
        for name, measured, predicted, counts, basis in rows_of(path):
            groups[GROUP.get(name, (name,))].append((measured, predicted, features(counts, predicted if basis == "shapes" else 0.0), basis))
    judge = collections.defaultdict(list)
    for name, measured, predicted, counts, basis in rows_of(options.judge) if options.judge else []:
        judge[GROUP.get(name, (name,))].append((measured, predicted, features(counts, predicted if basis == "shapes" else 0.0)))
    sections, own, kept = [], [], set(options.exclude.split(","))
    for names, rows in sorted(groups.items()):
        name = names[0]
        if name.startswith("_foreach") or len(rows) < FEWEST or name in kept or not name.replace("_", "").replace(".", "").isalnum():
            continue
        y = np.array([row[0] for row in rows])
        old = np.array([abs(math.log(row[1] / row[0])) if row[1] > 0 else 2.0 for row in rows])
        ruled = np.array([row[3] == "shapes" for row in rows])
        allowed = [term for term in terms_of(name) if NAMES[term] != "rule" or ruled.all()]
        chosen, solution, errors = fit(np.array([row[2] for row in rows]), y, allowed)
        before = float(np.mean(np.minimum(old, 2.0)))
        sizes = np.array([row[2][1] for row in rows])
        grows = any(value > 0 for term, value in zip(chosen, solution) if term > 0)
        if score(errors) > 0.8 * before or before < 0.15 or (not grows and sizes.max() > 8 * sizes.min()):
            continue
        # Where the model's own rule applies and is as good, the law stands in for it only elsewhere.
        instead = not ruled.any() or score(errors[ruled]) < 0.9 * float(np.mean(np.minimum(old[ruled], 2.0)))
        if not instead and ruled.all():
            continue
        text = f"{name:40s} rows {len(rows):4d} {before:5.2f} -> {score(errors):5.2f}"
        if judge.get(names):
            ours = [abs(math.log(max(0.5, float(np.array(row[2])[chosen] @ solution)) / row[0])) for row in judge[names]]
            theirs = [abs(math.log(row[1] / row[0])) if row[1] > 0 else 2.0 for row in judge[names]]
            text += f"   judged {len(ours):3d} {np.mean(np.minimum(theirs, 2)):5.2f} -> {np.mean(np.minimum(ours, 2)):5.2f}"
            own.append((len(ours), np.mean(np.minimum(theirs, 2)), np.mean(np.minimum(ours, 2))))
        print(text + "  " + " ".join(f"{NAMES[term]}={value:.3g}" for term, value in zip(chosen, solution)))
        sections.append(section(names, chosen, solution, errors, instead))
    if own:
        all_ = sum(each[0] for each in own)
        print(f"judged rows {all_}: {sum(n * a for n, a, _ in own) / all_:.3f} -> {sum(n * b for n, _, b in own) / all_:.3f}")
    if options.output:
        head = ("# Laws of PyTorch 2.11's kernel templates (docs/model.md S11): written by scripts/fit/templates.py from the\n"
                "# records of operators drawn at random (records/h200-sxm-operators) and the seen half of the programs.\n"
                "schema = 1\n\n")
        options.output.write_text(head + "\n".join(sections), encoding="utf-8")
        print(f"{len(sections)} laws")


if __name__ == "__main__":
    main()
