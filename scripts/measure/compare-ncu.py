#!/usr/bin/env python3
"""Counts every bundled kernel of at least 100 MB by `ridge measure` and by Nsight Compute, and prints a table of both.

Needs a GPU with permission for counters, a build with CUDA, and ncu. Both tools run the same launches, with the L2 as the launch before
leaves it. ncu does not control clocks and caches (--clock-control none --cache-control none) and counts launches that no gate holds back
(launch=stream): a gate waits for the host, which ncu prevents from opening it for two seconds, and L2 traffic in that time does not
belong to the kernel. The tools take turns, with several processes each, because the L2 traffic of a kernel's blocks differs from process to
process. Each process gives a mean: for ncu, over every launch but the first three; for ridge, over the times that it is asked (--times).
The table compares the means over the processes. The standard error is that of their difference, from the spread of each tool's
processes.
Usage: scripts/measure/compare-ncu.py [--ridge build/cuda/ridge] [--ncu ncu] [--only WORD]... [--processes N] [--times N] [-o table.md]
       [--counts all.json]
"""
import argparse
import csv
import io
import json
import re
import statistics
import subprocess
import sys
import tempfile
import pathlib

METRICS = {
    "dram__bytes_read.sum": 1,
    "dram__bytes_write.sum": 1,
    "lts__t_sectors_srcunit_tex.sum": 32,
}
UNITS = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "sector": 1, "": 1}

# Kernel and grid identify a question's launches, so neighbours that share both are asked in separate processes.
QUESTIONS = [
    "matmul dtype=fp32 m=4096 n=4096 k=4096 impl=naive",
    "matmul dtype=fp32 m=4096 n=4096 k=4096 impl=coalesced",
    "matmul dtype=fp32 m=4096 n=4096 k=4096 impl=tiled",
    "matmul dtype=fp32 m=4096 n=4096 k=4096 impl=register_tiled",
    "matmul dtype=bf16 m=4096 n=4096 k=4096 impl=mma",
    "matmul dtype=bf16 m=4096 n=4096 k=4096 impl=wgmma",
    "attention dtype=bf16 heads=32 seq=8192 head_dim=128 impl=mma",
    "attention dtype=bf16 heads=32 seq=8192 head_dim=128 impl=wgmma",
    "attention dtype=bf16 batch=16 heads=32 kv_heads=8 seq_q=1 seq_kv=8192 head_dim=128 impl=mma",
    "attention dtype=bf16 heads=16 seq=4096 head_dim=64 impl=standard",
    'elementwise dtype=bf16 elements=134217728 expr="gelu(x + bias)" impl=fused',
    "softmax dtype=bf16 rows=16384 cols=4096 impl=fused",
    'elementwise dtype=bf16 elements=134217728 expr="gelu(x + bias)" impl=unfused',
    "softmax dtype=bf16 rows=1024 cols=131072 impl=fused",
    'elementwise dtype=fp32 elements=67108864 expr="where(x > 0, softplus(x), clamp(y, -1, 1))" impl=fused',
    "softmax dtype=bf16 rows=16384 cols=4096 impl=manual",
    "layernorm dtype=bf16 rows=16384 cols=4096 impl=fused",
    "access pattern=strided dtype=fp32 elements=33554432 stride=2 impl=bundled",
    "rmsnorm dtype=bf16 rows=16384 cols=4096 impl=fused",
    "sum dtype=fp32 rows=16384 cols=4096 impl=fused",
    "transpose dtype=fp32 rows=8192 cols=8192 impl=tiled",
    "transpose dtype=fp32 rows=8192 cols=8192 impl=naive",
    "copy dtype=bf16 elements=134217728 impl=bundled",
    "gather dtype=bf16 rows=65536 cols=2048 table_rows=200000 impl=bundled",
    "access pattern=misaligned dtype=fp32 elements=134217728 offset=1 impl=bundled",
]


def function_of(name):
    """The name of the function in ncu: the last word before template arguments and parameters."""
    name = re.sub(r"(\(anonymous namespace\)|<unnamed>)::", "", name)
    return re.split(r"[<(]", name)[0].split("::")[-1].split()[-1]


def counted_by_ridge(ridge, questions, times):
    """For each question, the metrics of every run, and the kernels of one run as (function, grid); None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        asked = [word for question in questions for word in ("--op", question) * times]
        run = subprocess.run([ridge, "measure", *asked, "--seconds", "0.02", "-o", folder], capture_output=True, text=True,
                             timeout=300, check=False)
        lines = {path.stem: iter(path.read_text().splitlines()) for path in pathlib.Path(folder).glob("*.jsonl")}
    if not lines:
        raise RuntimeError(run.stderr.strip() or "no record")
    found = []
    for question in questions:  # one file per operation, in the order of the questions
        records = [json.loads(next(lines[question.split()[0]])) for _ in range(times)]
        uncounted = next((record for record in records if "counters" not in record), None)
        if uncounted:
            print(f"{question}: {uncounted.get('failure') or uncounted.get('no_counters')}", file=sys.stderr)
            found.append(None)
            continue
        kernels = [(function_of(kernel["name"]), tuple(kernel["grid"])) for kernel in records[0]["geometry"]["kernels"]
                   for _ in range(kernel["repeat"])]
        metrics = [record["counters"]["metrics"] for record in records]
        found.append(([{name: each[name] * factor for name, factor in METRICS.items()} for each in metrics], kernels))
    return found


def launches_counted(ncu, ridge, questions, functions):
    """Every launch of these functions in one process that asks all questions: (function, grid), metrics."""
    asked = [word for question in questions for word in ("--op", question + " launch=stream")]
    run = subprocess.run(
        [ncu, "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw", "--print-kernel-base",
         "function", "--metrics", ",".join(METRICS),
         "-k", f"regex:^({'|'.join(sorted(functions))})$", ridge, "measure", "--no-counters", "--seconds", "0.001", *asked],
        capture_output=True, text=True, timeout=600, check=False)
    begin = run.stdout.find('"ID"')
    if begin < 0:
        raise RuntimeError((run.stdout + run.stderr).strip()[-300:])
    rows = list(csv.DictReader(io.StringIO(run.stdout[begin:])))
    units = rows[0]
    for row in rows[1:]:
        if not (row["ID"] or "").isdigit():
            continue
        grid = tuple(int(number) for number in re.findall(r"\d+", row["Grid Size"]))
        yield (function_of(row["Kernel Name"]), grid), {
            name: float(row[name].replace(",", "")) * UNITS[units[name]] * factor for name, factor in METRICS.items()}


def counted_by_ncu(ncu, ridge, questions, kernels):
    """The metrics of every run of each question except its first three.

    Two runs come before the first sample. The first sample begins with a clean L2, so its last 15 to 20 MB of results are not written back
    within the range. The next runs begin with the L2 as the run before left it, like timed runs and those of `ridge measure`.
    """
    functions = {function for each in kernels for function, _ in each}
    rows = list(launches_counted(ncu, ridge, questions, functions))
    order, counted, at = [which for which, _ in rows], [], 0
    for each in kernels:
        begin = next((i for i in range(at, len(order)) if order[i:i + len(each)] == each), at)
        if begin > at:
            print(f"{begin - at} launches left out, {order[at]} first", file=sys.stderr)
        at, runs = begin, []
        while order[at:at + len(each)] == each:
            runs.append({name: sum(values[name] for _, values in rows[at:at + len(each)]) for name in METRICS})
            at += len(each)
        counted.append(runs[3:])
    return counted


def told_apart(kernels):
    """Splits the questions into runs in which no neighbours share a kernel; returns lists of their positions."""
    parts = []
    for place, each in enumerate(kernels):
        if parts and not set(each) & set(kernels[place - 1]):
            parts[-1].append(place)
        else:
            parts.append([place])
    return parts


def compared(ours, theirs):
    """The mean of each tool over its processes, and the standard error of the difference (None for one process)."""
    spread = None
    if len(ours) > 1 and len(theirs) > 1:
        spread = (statistics.variance(ours) / len(ours) + statistics.variance(theirs) / len(theirs)) ** 0.5
    return statistics.mean(ours), statistics.mean(theirs), spread


def row_of(question, ours, theirs):
    """A line of the table, from each tool's list of counts for each process."""
    cells = [f"`{question}`"]
    for names in (list(METRICS)[:2], list(METRICS)[2:]):
        here, there, error = compared(*([statistics.mean(sum(run[name] for name in names) for run in runs) for runs in either]
                                        for either in (ours, theirs)))
        by_chance = "" if error is None else f" ± {100 * error / there:.2f}"
        cells += [f"{here / 1e6:.1f}", f"{there / 1e6:.1f}", f"{100 * (here / there - 1):+.2f}{by_chance} %"]
    return "| " + " | ".join(cells) + " |"


def table_of(questions, ours, theirs):
    heads = ["question", "DRAM MB, ridge", "ncu", "difference", "L2 MB, ridge", "ncu", "difference"]
    rows = [row_of(*each) for each in zip(questions, ours, theirs) if each[1] and each[2]]
    return "\n".join(["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *rows]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ridge", default="build/cuda/ridge")
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="only questions that contain one of these words")
    parser.add_argument("--processes", type=int, default=3, help="processes of each tool (default 3)")
    parser.add_argument("--times", type=int, default=1, help="times that each process of ridge is asked each question (default 1)")
    parser.add_argument("-o", "--output", help="also write the table to this file, after each pair of processes")
    parser.add_argument("--counts", help="write every count to this file, as JSON")
    arguments = parser.parse_args()
    questions = [question for question in QUESTIONS if not arguments.only or any(word in question for word in arguments.only)]
    ours, theirs = [[] for _ in questions], [[] for _ in questions]
    table = ""
    for _ in range(arguments.processes):
        found = counted_by_ridge(arguments.ridge, questions, arguments.times)
        there = [at for at, each in enumerate(found) if each]
        kernels = [found[at][1] for at in there]
        counted = [runs for part in told_apart(kernels)
                   for runs in counted_by_ncu(arguments.ncu, arguments.ridge, [questions[there[at]] for at in part],
                                              [kernels[at] for at in part])]
        for at, runs in zip(there, counted):
            if runs:
                ours[at].append(found[at][0])
                theirs[at].append(runs)
            else:
                print(f"{questions[at]}: ncu counted no run of {found[at][1]}", file=sys.stderr)
        table = table_of(questions, ours, theirs)
        if arguments.output:
            pathlib.Path(arguments.output).write_text(table, encoding="utf-8")
        if arguments.counts:
            rows = [{"question": question, "ridge": here, "ncu": those} for question, here, those in zip(questions, ours, theirs)]
            pathlib.Path(arguments.counts).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(table, end="")
    return 0 if all(ours) and all(theirs) else 1


if __name__ == "__main__":
    sys.exit(main())
