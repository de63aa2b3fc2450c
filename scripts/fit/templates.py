#!/usr/bin/env python3
"""Fits the laws of kernel templates (docs/model.md S11) to recorded operators, and writes software/.../templates.toml.

    scripts/fit/templates.py --ridge build/dev/ridge --work /tmp/laws -o software/pytorch-2.11/templates.toml

It makes traces of the records of operators (scripts/records/operator-trace.py), lets `ridge trace` count what each
operator goes through (`counts`) and what the model's own rule says (`rule_us`), the same for the recorded programs that
train, and keeps the answers in the folder `--work`. Programs that judge are not read.

Method. For each operator the time is a sum with coefficients of at least 0: a fixed time, the bytes at the DRAM
bandwidth, a share of the rule's time, clocks for each count spread over the multiprocessors, clocks of chains, and of
turns over the channels. Relative errors are minimised; rows count by the fourth root of their time, those of programs
twice, outliers less. Terms are added one by one while the error of five folds falls by 3 %, at most four. A fold is left
out as a whole: all rows of a program, or of drawn calls. A law is written where the folds' mean |ln(predicted /
measured)| is below 0.9 of that of the rule. A second law, for calls whose kernels a trace has, may use their number,
blocks and threads; it is written where it is better by the same factor. Where the rule stays, its band is written. The
band holds 80 % of the time of the folds: quantiles at 10 % n / (n + 6) on each side, n the programs and drawn calls
that it rests on, so that thin evidence makes it wide.

Limits: one GPU's records; clocks and shares carry over to others as they are.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import pathlib
import subprocess
import sys
import tomllib
import zlib

import numpy as np
from scipy.optimize import nnls

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLOCK, SMS, BANDWIDTH, L2 = 1.98e9, 132, 4.8e12, 60 * 2**20  # of the H200 that the records were taken on
SPREAD = ["elements", "results", "strided", "wide", "index", "values", "table", "rows", "sorting", "collisions", "matrices",
          "solving", "outer", "channels", "window", "narrow", "planes", "pixels", "weights", "across", "unaligned", "indexed", "threads", "blocks", "turned"]
CHAINS = ["columns", "side", "channels", "outer", "planes", "index", "rows", "launches", "matrices", "meetings", "share"]
TURNS = ["planes", "columns"]
MISSED = ["planes", "columns", "rows", "share"]
LISTED = ("_fused_adam", "_fused_sgd", "_amp_foreach")
LAUNCHED = {"clocks.threads", "clocks.blocks", "clocks.turned", "chain.launches", "chain.share", "missed.share"}
MOST_TERMS, FEWEST, FEWEST_OF_KERNEL, MOST_ROWS = 4, 8, 12, 2000
LEAST_BYTES = 0.35  # an L2 serves part of the bytes, at most at this multiple of the DRAM's rate
BETTER, BETTER_FOR_KERNEL, WORST, FOLDS = 0.9, 0.96, 0.8, 5
# What the kernels of an operator can depend on; operators that are not named go through their elements once.
ELEMENTS = {"clocks.elements", "clocks.strided", "clocks.wide", "clocks.narrow", "clocks.results", "clocks.unaligned", "clocks.indexed", "clocks.across",
            "bytes_missed"}
INDICES = (ELEMENTS - {"bytes_missed"}) | {"clocks.index", "clocks.values", "clocks.table", "clocks.collisions", "chain.index", "chain.meetings"}
ROWS = ELEMENTS | {"clocks.rows", "clocks.sorting", "chain.columns", "chain.rows", "missed.columns"}
IMAGES = ELEMENTS | {"clocks.outer", "clocks.channels", "clocks.window", "clocks.rows", "chain.outer", "chain.channels",
                     "clocks.pixels", "clocks.planes", "chain.planes", "clocks.collisions", "missed.planes"}
NORMS = {"clocks.elements", "clocks.wide", "clocks.narrow", "chain.planes", "chain.channels", "turns.planes", "clocks.pixels", "missed.planes"}
GROUPS = {"clocks.elements", "clocks.wide", "clocks.narrow", "clocks.pixels", "chain.columns", "turns.columns", "missed.columns"}
CONVOLUTIONS = {"clocks.window", "clocks.results", "clocks.table", "clocks.weights", "chain.planes", "clocks.outer", "chain.channels"}
GENERATED = ELEMENTS | {"clocks.window", "clocks.index", "clocks.values"}
RECURRENT = {"clocks.elements", "clocks.solving", "chain.columns", "chain.rows", "clocks.window"}
LISTS = {"chain.rows"}
RESAMPLING = {"clocks.results", "clocks.elements", "chain.matrices", "clocks.collisions", "clocks.window", "clocks.channels"}
MATRICES = ROWS | {"clocks.matrices", "clocks.solving", "chain.side"}
KINDS = [(("convolution", "cudnn_convolution"), CONVOLUTIONS), (("_cudnn_rnn",), RECURRENT), (LISTED, LISTS),
         (("upsample_linear", "upsample_bi", "upsample_tri"), RESAMPLING), (("triton_",), GENERATED),
         (("cudnn_batch", "native_batch"), NORMS), (("native_group",), GROUPS),
         (("index", "scatter", "embedding", "_embedding", "gather", "nll", "take", "put", "_index"), INDICES),
         (("sort", "topk", "_unique", "unique", "median", "kthvalue", "cum", "_cum", "_logcum", "_softmax", "_log_softmax",
           "searchsorted", "bucketize", "nonzero", "histc", "bincount", "rand", "multinomial", "masked"), ROWS | INDICES),
         (("avg_pool", "max_pool", "_adaptive", "adaptive", "upsample", "im2col",
           "col2im", "grid", "cudnn_grid", "reflection", "replication", "constant_pad"), IMAGES),
         (("linalg", "_linalg", "_cholesky", "cholesky", "_fft", "_cdist", "_ctc", "ctc"), MATRICES),
         (("sum", "mean", "var", "std", "all", "any", "max", "min", "amax", "amin", "argm", "logsumexp", "prod"), ROWS | IMAGES)]
# Operators of one template, fitted together.
TOGETHER = [("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
            ("upsample_nearest1d_backward", "upsample_nearest2d_backward", "upsample_nearest3d_backward"),
            ("_unique", "_unique2"), ("cumsum", "cumprod"), ("cumsum.single", "cumprod.single"), ("std", "var", "std_mean", "var_mean"),
            ("median", "kthvalue"), ("hardswish_backward", "hardsigmoid_backward", "leaky_relu_backward", "elu_backward",
                                     "softplus_backward", "mish_backward", "log_sigmoid_backward"),
            ("hardswish", "hardsigmoid", "elu", "mish", "softplus", "leaky_relu", "log_sigmoid_forward"),
            ("reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d", "replication_pad3d"),
            ("linalg_lu_solve", "_cholesky_solve_helper"), ("_fft_r2c", "_fft_c2r", "_fft_c2c"),
            ("normal", "uniform", "random", "bernoulli"), ("_fused_adam", "_fused_adamw"), ("upsample_bilinear2d_backward.16.first", "upsample_bilinear2d_backward.32.first"), ("cumsum.across", "cumprod.across", "_logcumsumexp.across"),
            ("_cummax_helper", "_cummin_helper"), ("tril", "triu"), ("atan2", "fmod", "remainder"),
            ("max_pool2d_with_indices", "max_pool3d_with_indices"),
            ("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward"),
            ("avg_pool2d", "avg_pool3d"), ("avg_pool2d_backward", "avg_pool3d_backward"),
            ("cudnn_batch_norm.fixed", "native_batch_norm.fixed")]
TOGETHER += [tuple(f"{way}.{form}.{width}.{layout}" for width in (16, 32) for layout in layouts)
             for way in ("convolution", "convolution_backward") for form, layouts in
             (("grouped", ("first", "last")), ("transposed", ("first", "last")), ("depthwise", ("last",)), ("multiplied", ("first",)))]
GROUP = {name: names for names in TOGETHER for name in names}
NAMES = (["fixed", "bytes", "rule"] + [f"clocks.{each}" for each in SPREAD] + [f"chain.{each}" for each in CHAINS] +
         [f"turns.{each}" for each in TURNS] + ["bytes_missed"] + [f"missed.{each}" for each in MISSED])


class Row:
    """One operator of a trace: microseconds of a call, what it was before, and what it counts."""

    def __init__(self, row, group, program):
        counts = row["counts"]
        self.name, self.group, self.program = row["law"], group, program
        self.kernel = row["template"]
        self.time, self.rule = row["measured_us"] / row["count"], row["rule_us"] / row["count"]
        self.share = row["measured_us"]
        self.terms = [1.0, counts.get("bytes", 0.0) / BANDWIDTH * 1e6, self.rule]
        self.terms += [counts.get(each, 0.0) / (SMS * CLOCK) * 1e6 for each in SPREAD]
        self.terms += [counts.get(each, 0.0) / CLOCK * 1e6 for each in CHAINS]
        turns = math.ceil(max(1.0, counts.get("channels", 0.0)) / SMS)
        self.terms += [turns * counts.get(each, 0.0) / CLOCK * 1e6 for each in TURNS]
        missed = min(1.0, counts.get("bytes", 0.0) / L2)
        self.terms += [missed * self.terms[1]] + [missed * counts.get(each, 0.0) / CLOCK * 1e6 for each in MISSED]


def run(command):
    subprocess.run([str(each) for each in command], check=True, stdout=subprocess.DEVNULL)


def report_of(ridge, trace, work):
    answer = work / f"{trace.parent.name}-{trace.name.removesuffix('.json.gz')}.answer.json"
    if not answer.exists() or answer.stat().st_mtime < ridge.stat().st_mtime:
        with open(answer, "wb") as file:
            subprocess.run([str(ridge), "trace", str(trace), "--format", "json"], check=True, stdout=file)
    return json.loads(answer.read_text(encoding="utf-8"))


def reports_of(options):
    """Traces of drawn calls and of programs, with their answers."""
    work = options.work
    work.mkdir(parents=True, exist_ok=True)
    for records in sorted((options.records / "h200-sxm-operators").glob("*.csv.[gx]z")):
        folder = work / records.name.partition(".")[0]
        each = ["--each"] if records.name.startswith("networks") else []
        if folder.exists() and folder.stat().st_mtime > records.stat().st_mtime:
            continue
        run([sys.executable, ROOT / "scripts/records/operator-trace.py", records, folder, "--part", "all", *each])
    traces = [*sorted(work.glob("*/*.json.gz")), *sorted((options.records / "torch-programs").glob("*.json.gz"))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda trace: report_of(options.ridge, trace, work), traces))
    return zip(traces, reports)


def rows_of(options):
    """Rows of drawn calls, each a group of its own, and of programs."""
    found = []
    for trace, report in reports_of(options):
        drawn = trace.name.startswith("all")
        for number, row in enumerate(report["operators"]):
            if row.get("counts") and row["count"] and not row.get("driver") and row["measured_us"] > 0:
                found.append(Row(row, (trace.parent.name, trace.name, number) if drawn else trace.name, not drawn))
    return found


def worth_of(y, programs):
    """Long calls decide what a program takes: they count more, by the fourth root of their time; what programs call, twice."""
    return np.minimum(np.sqrt(np.sqrt(y)), 6.0) * np.where(programs, 2.0, 1.0)


def solve(x, y, worth, floor=None):
    weights = worth / y
    least = np.zeros(x.shape[1])
    if floor is not None:
        least[floor] = LEAST_BYTES
    for _ in range(5):
        solution, _ = nnls(x * weights[:, None], np.maximum(y - x @ least, 0.1 * y) * weights)
        solution += least
        predicted = np.maximum(x @ solution, 0.3 * y)
        away = np.log(predicted / y)
        weights = worth / np.sqrt(y * predicted) / np.sqrt(1.0 + (away / 0.6) ** 2)
    return solution


def errors_of(x, y, worth, folds, floor=None):
    found = np.zeros(len(y))
    for fold in set(folds):
        inside = folds == fold
        if inside.all():
            return np.full(len(y), 2.0)
        found[inside] = np.log(np.maximum(x[inside] @ solve(x[~inside], y[~inside], worth[~inside], floor), 0.5) / y[inside])
    return found


def score(errors, worth):
    return float(np.average(np.minimum(np.abs(errors), 2.0), weights=worth))


def terms_of(name):
    """Places of the terms that the operator's law may have."""
    allowed = next((kind for starts, kind in KINDS if name.startswith(starts)), ELEMENTS)
    # Of a table that is looked into, the kernel reads what the indices name, not its bytes.
    return [place for place, term in enumerate(NAMES)
            if place > 0 and (term in allowed or term == "rule" or (term == "bytes" and allowed is not INDICES))]


class Data:
    """The rows of one template, thinned out if there are many."""

    def __init__(self, rows):
        rows = sorted(rows, key=lambda row: zlib.crc32(repr((row.group, row.terms)).encode()))
        self.rows = rows = rows[:MOST_ROWS]
        self.x, self.y = np.array([row.terms for row in rows]), np.array([row.time for row in rows])
        self.worth = worth_of(self.y, np.array([row.program for row in rows]))
        self.share = np.sqrt(np.array([row.share for row in rows]))
        numbers = {group: number for number, group in enumerate(dict.fromkeys(str(row.group) for row in rows))}
        self.groups = len(numbers)
        self.folds = np.array([numbers[str(row.group)] for row in rows]) % FOLDS
        self.ruled = np.array([row.rule > 0 for row in rows])

    def rule_errors(self):
        return np.where(self.ruled, np.log(np.maximum(self.x[:, 2], 1e-3) / self.y), 2.0)


def fit_from(data, allowed, chosen):
    """Terms and coefficients by forward selection, with the errors of the folds."""
    floor = 1 if 1 in chosen and 2 not in allowed else None
    best = errors_of(data.x[:, chosen], data.y, data.worth, data.folds, floor)
    while len(chosen) < min(MOST_TERMS, max(2, len(data.y) // 4)):
        trials = [(score(errors, data.worth), term, errors) for term in allowed if term not in chosen and data.x[:, term].any()
                  for errors in [errors_of(data.x[:, chosen + [term]], data.y, data.worth, data.folds, floor)]]
        if not trials:
            break
        value, term, errors = min(trials, key=lambda trial: trial[0])
        if value > 0.97 * score(best, data.worth):
            break
        chosen, best = chosen + [term], errors
    return chosen, solve(data.x[:, chosen], data.y, data.worth, floor), best


def fit(data, allowed):
    """The best of the sums that begin with the rule, with the bytes or with neither. What generated kernels compute, no count says."""
    starts = [[0, 2]] if 2 in allowed and data.rows[0].name.startswith("triton_") else [[0, term] for term in (2, 1) if term in allowed] + [[0]]
    return min((fit_from(data, allowed, start) for start in starts), key=lambda found: score(found[2], data.worth))


def band_of(errors, share, groups):
    """Factors on the time that hold 80 % of the weight, more if few programs and calls say so."""
    order = np.argsort(-errors)
    at = (np.cumsum(share[order]) - share[order] / 2) / share.sum()
    level = 0.1 * groups / (groups + 6.0)
    low, high = np.exp(np.interp([level, 1.0 - level], at, -errors[order]))
    return min(low, 0.97), max(high, 1.03)


def section(names, values, errors, data, fallback=False, launched=False, kernel=""):
    lines = ["[[template]]", f'operators = {json.dumps(list(names))}']
    lines += [f"kernel = {json.dumps(kernel)}"] if kernel else []
    lines += [f"fixed_us = {values.pop('fixed', 0.0):.4g}"]
    lines += ["fallback = true"] if fallback else []
    lines += ["launched = true"] if launched else []
    lines += [f"{each} = {values.pop(each):.4g}" for each in ("rule", "bytes", "bytes_missed") if values.get(each)]
    for kind in ("clocks", "chain", "turns", "missed"):
        terms = {key.split(".")[1]: value for key, value in values.items() if key.startswith(kind + ".")}
        if terms:
            lines.append(f"{kind} = {{ " + ", ".join(f"{key} = {value:.6f}" for key, value in terms.items()) + " }")
    low, high = band_of(errors, data.share, data.groups)
    lines += [f"low = {low:.3f}", f"high = {high:.3f}", f"rows = {len(errors)}", f"groups = {data.groups}"]
    return "\n".join(lines) + "\n"


def band_alone(names, rows):
    """The rule's own time, with the band of its errors."""
    data = Data([row for row in rows if row.rule > 0])
    return section(names, {"rule": 1.0}, data.rule_errors(), data)


def grows(chosen, solution, data):
    moved = any(value > 0 for term, value in zip(chosen, solution) if term > 0)
    sizes = data.x[:, 1]
    return moved or sizes.max() <= 8 * max(sizes.min(), 1e-9)


def laws_of_kernels(names, rows, terms, before):
    """Sections of the calls of each kernel, where a law of their own is better than `before`, which predicts rows."""
    sections, found = [], collections.defaultdict(list)
    for row in rows:
        found[row.kernel].append(row)
    for kernel, own in sorted(found.items()):
        data = Data(own)
        if len(data.y) < FEWEST_OF_KERNEL or data.groups < FEWEST:
            continue
        was = score(np.log(np.maximum(before(data), 0.5) / data.y), data.worth)
        chosen, solution, errors = fit(data, [term for term in terms if NAMES[term] != "rule" or data.ruled.all()])
        if score(errors, data.worth) < min(BETTER_FOR_KERNEL * was, WORST) and grows(chosen, solution, data):
            named = dict(zip((NAMES[term] for term in chosen), solution))
            sections.append(section(names, dict(named), errors, data, kernel=kernel))
            print(f"    {names[0]:38s} {kernel:40s} rows {len(data.y):5d} {was:.2f} -> {score(errors, data.worth):.2f} "
                  + " ".join(f"{key}={value:.3g}" for key, value in named.items()), flush=True)
    return sections


def laws_of(names, rows, elsewhere, stays=False):
    """Sections of one template's laws, and a line that says how good they are; `elsewhere`: only where no rule applies; `stays`: by shapes
    the rule predicts, and laws are of launches and kernels alone.

    Lists of tensors are known by the blocks of their kernels alone: they have no other law."""
    data, lists = Data(rows), names[0].startswith(LISTED)
    rule = data.rule_errors()
    before = score(rule, data.worth)
    allowed = [term for term in terms_of(names[0]) if NAMES[term] != "rule" or data.ruled.all()]
    shapes = [term for term in allowed if NAMES[term] not in LAUNCHED]
    chosen, solution, errors = fit(data, shapes)
    after, sections, note = score(errors, data.worth), [], ""
    named = dict(zip((NAMES[term] for term in chosen), solution))
    by_shape = (chosen, solution)
    good = after < min(BETTER * before, WORST) and grows(chosen, solution, data) and not (lists or stays)
    best = min(after if good else before, before)
    if good:
        # Where the model's own rule applies and is as good, the law stands in for it only elsewhere.
        some = data.ruled.any() and not data.ruled.all()
        instead = not some or score(errors[data.ruled], data.worth[data.ruled]) < BETTER * score(rule[data.ruled], data.worth[data.ruled])
        sections.append(section(names, dict(named), errors, data, fallback=elsewhere or not instead))
    elif stays or data.ruled.mean() > 0.9 and data.groups >= 20 and not lists:
        sections.append(band_alone(names, rows))
    wide = sorted(allowed + [NAMES.index(each) for each in LAUNCHED])
    chosen, solution, errors = fit(data, wide)
    by_launch = score(errors, data.worth)
    if not elsewhere and by_launch < min(BETTER * best, WORST) and (lists or any(NAMES[term] in LAUNCHED for term in chosen)):
        named = dict(zip((NAMES[term] for term in chosen), solution))
        sections.append(section(names, dict(named), errors, data, launched=True))
        by_shape, good = (chosen, solution), True
        note = f" launched {by_launch:.2f}"
    if not (lists or elsewhere or names[0].startswith(("convolution", "triton_"))):
        places, values = by_shape if good else ([2], np.ones(1))
        of_all = sorted(terms_of(names[0]) + [NAMES.index(each) for each in LAUNCHED])
        sections += laws_of_kernels(names, rows, of_all, lambda some: some.x[:, places] @ values)
    text = (f"{names[0]:42s} rows {len(data.y):5d} groups {data.groups:4d} {before:5.2f} -> {after:5.2f}{'' if good else ' (rule)'}{note}  "
            + " ".join(f"{key}={value:.3g}" for key, value in named.items()))
    return sections, text


def may_have_law(name, rows):
    """A kernel without an operator has no counts. Of most lists no sizes are recorded: a law of theirs is that of small tensors."""
    plain = "".join(letter for letter in name if letter not in "_.:").isalnum()
    return plain and len(rows) >= FEWEST and not name.startswith("_foreach_")


def law_or_band(task):
    names, rows, kept = task
    return laws_of(names, rows, names[0] in kept["elsewhere"], names[0] in kept["operators"])


def sections_without(path, starts):
    """The sections of a file whose first operator does not begin so."""
    kept = []
    for text in path.read_text(encoding="utf-8").split("[[template]]\n")[1:]:
        section_ = "[[template]]\n" + text.rstrip("\n") + "\n"
        if not tomllib.loads(section_)["template"][0]["operators"][0].startswith(starts):
            kept.append(section_)
    return kept


def add_options(parser):
    parser.add_argument("--ridge", type=pathlib.Path, default=ROOT / "build/dev/ridge")
    parser.add_argument("--records", type=pathlib.Path, default=ROOT / "records")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="a folder for traces and their answers")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-o", "--output", type=pathlib.Path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--kept", type=pathlib.Path, default=ROOT / "software/pytorch-2.11/kept-rules.toml",
                        help="operators whose rule stays")
    parser.add_argument("--without", default="", help="programs that do not train, by comma: for a look at what is left out")
    parser.add_argument("--only", default="", help="operators that begin so, by comma; the output keeps its other sections")
    options = parser.parse_args()
    kept = tomllib.loads(options.kept.read_text(encoding="utf-8"))
    without = {f"{each}.json.gz" for each in options.without.split(",")}
    templates = collections.defaultdict(list)
    for row in rows_of(options):
        if row.group not in without:
            templates[GROUP.get(row.name, (row.name,))].append(row)
    only = tuple(each for each in options.only.split(",") if each)
    fitted = [(names, rows, kept) for names, rows in sorted(templates.items())
              if may_have_law(names[0], rows) and (not only or names[0].startswith(only))]
    sections = sections_without(options.output, only) if only and options.output else []
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for found, text in pool.map(law_or_band, fitted, chunksize=1):
            sections += found
            print(text, flush=True)
    if options.output:
        head = ("# Laws of PyTorch 2.11's kernel templates (docs/model.md S11), written by scripts/fit/templates.py from records of\n"
                "# operators (records/h200-sxm-operators) and of programs (records/torch-programs).\nschema = 1\n\n")
        sections.sort(key=lambda text: tomllib.loads(text)["template"][0]["operators"][0])
        options.output.write_text(head + "\n".join(sections), encoding="utf-8")
        print(f"{len(sections)} laws")


if __name__ == "__main__":
    main()
