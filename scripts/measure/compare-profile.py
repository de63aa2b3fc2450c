#!/usr/bin/env python3
"""Compares `ridge profile` with a program that runs alone, the PyTorch profiler and Nsight Compute, and prints tables.

Needs an NVIDIA GPU, PyTorch, a build with CUDA and, for the counters, ncu and permission for counters.
`program` counts a transformer whose kernels follow each other, with several processes of ridge and ncu in turn. ncu runs the program again
for each pass (--replay-mode application), so that each kernel follows its true predecessor in both tools. The table shows differences of
means with their standard errors.
Usage: scripts/measure/compare-profile.py [--ridge build/cuda/ridge] [--ncu ncu] [--pairs 10] [--steps 30] [--batch 8 32] [--processes 3]
                               [--only step|times|counters|program|cost] [--program build/cuda/tests/cuda/hundred_kernels]
"""
import argparse
import collections
import csv
import io
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

STEP = '''
import json, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in self.qkv(self.ln1(x)).split(d, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, d)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))

class Model(nn.Module):
    def __init__(self, layers=12, d=768, heads=12, vocab=50304, length=1024):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(length, d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.ln = nn.LayerNorm(d)

    def forward(self, ids):
        x = self.tok(ids) + self.pos.weight
        for block in self.blocks:
            x = block(x)
        return self.ln(x) @ self.tok.weight.T

batches, steps, out, trace = [int(b) for b in sys.argv[1].split(",")], int(sys.argv[2]), sys.argv[3], sys.argv[4]
torch.manual_seed(0)
model = Model().cuda().to(torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

def step(ids, name="step"):
    torch.cuda.synchronize()
    start = time.perf_counter()
    torch.cuda.nvtx.range_push(name)
    logits = model(ids)
    F.cross_entropy(logits.view(-1, logits.shape[-1]), ids.view(-1)).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    return time.perf_counter() - start

times = {}
for batch in batches:
    ids = torch.randint(0, 50304, (batch, 1024), device="cuda")
    for _ in range(5):
        step(ids, "warm-up")  # the first makes the optimizer's state
    times[batch] = [step(ids) for _ in range(steps)]
if trace:
    with torch.profiler.profile() as p:
        for _ in range(10):
            step(ids)
    p.export_chrome_trace(trace)
json.dump(times, open(out, "w"))
'''

# Each kernel works on at least 256 MB.
KERNELS = '''
import torch
x, y = (torch.randn(64 << 20, device="cuda") for _ in range(2))
a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
rows = torch.randn(16384, 8192, device="cuda", dtype=torch.bfloat16)
for _ in range(2):
    x + y
    torch.exp(x)
    x.sum()
    a @ b
    torch.softmax(rows, 1)
    rows.t().contiguous()
    torch.cuda.synchronize()
'''

# Forward passes of four layers, one after another.
PROGRAM = '''
import torch, torch.nn as nn, torch.nn.functional as F
class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out, self.up, self.down = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in self.qkv(self.ln1(x)).split(d, dim=2))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, d))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))
torch.manual_seed(0)
model = nn.Sequential(*[Block(1024, 16) for _ in range(4)], nn.LayerNorm(1024), nn.Linear(1024, 32000, bias=False)).cuda().to(torch.bfloat16).eval()
x = torch.randn(16, 1024, 1024, device="cuda", dtype=torch.bfloat16)
with torch.no_grad():
    for _ in range(3):
        torch.softmax(model(x), -1)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for _ in range(3):
        torch.softmax(model(x), -1)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
'''

# At least 100 kernels that differ in name or grid, each several times.
HUNDRED = '''
import torch
x, y = (torch.randn(48 << 20, device="cuda") for _ in range(2))
a = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)
for _ in range(4):
    for i in range(25):
        n = (16 + i) << 20
        x[:n] + y[:n]
        torch.exp(x[:n])
        x[:n].sum()
        torch.softmax(a[:4096 + 128 * i], 1)
torch.cuda.synchronize()
'''

UNITS = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum")
# The metrics that `ridge profile --counters` counts for every kernel. Each type of tensor work has its own metric.
ALL_METRICS = (*METRICS, "lts__t_sectors_srcunit_tex.sum", "sm__inst_executed_pipe_xu.sum", "sm__ops_path_tensor_src_fp8.sum",
               "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum", "sm__warps_active.avg.pct_of_peak_sustained_active",
               "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
               "smsp__sass_data_bytes_mem_shared.sum", "smsp__sass_data_bytes_mem_shared_op_gmma.sum",
               *(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum"
                 for op in ("dadd", "dmul", "dfma", "fadd", "fmul", "ffma", "hadd", "hmul", "hfma")),
               *(f"sm__ops_path_tensor_op_{op}.sum"
                 for op in ("hmma_src_bf16_dst_fp32", "hgmma_src_bf16_dst_fp32", "hgmma_src_fp16", "hgmma_src_tf32_dst_fp32",
                            "hmma_src_fp16_dst_fp32", "hmma_src_tf32_dst_fp32", "hmma_src_fp16_dst_fp16", "igmma_src_int8")),
               "sm__ops_path_tensor_src_fp64.sum")


def call(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:4])} ...: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    print("\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]), "\n", flush=True)


def compare_step(arguments, script, folder):
    """Runs the step alone and recorded in turn, one process each."""
    out = folder / "times.json"

    def medians(prefix):
        call(prefix + [sys.executable, script, ",".join(map(str, arguments.batch)), str(arguments.steps), str(out), ""])
        return {batch: 1e3 * statistics.median(times) for batch, times in json.loads(out.read_text()).items()}

    recorder = [arguments.ridge, "profile", "-o", str(folder / "step"), "--"]
    differences = {str(batch): [] for batch in arguments.batch}
    rows = []
    for pair in range(arguments.pairs):
        # The order alternates, so that warming up between two processes affects both equally.
        order = [[], recorder] if pair % 2 == 0 else [recorder, []]
        found = [medians(prefix) for prefix in order]
        alone, recorded = found if pair % 2 == 0 else reversed(found)
        for batch, time_alone in alone.items():
            difference = 100 * (recorded[batch] / time_alone - 1)
            differences[batch].append(difference)
            rows.append((batch, str(pair + 1), f"{time_alone:.2f}", f"{recorded[batch]:.2f}", f"{difference:+.2f} %"))
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    for batch, all_of_it in differences.items():
        rows.append((batch, "median", "", "", f"{statistics.median(all_of_it):+.2f} %"))
    table(("batch", "pair", "alone, ms", "recorded, ms", "difference"), rows)


def by_kernel(report):
    """Mean time and number of launches for each kernel name."""
    sums = {}
    for row in report["operators"]:
        total, launches = sums.get(row["kernel"], (0.0, 0))
        sums[row["kernel"]] = (total + row["measured_us"], launches + row["kernels"])
    return {name: (total / launches, launches) for name, (total, launches) in sums.items()}


def compare_times(arguments, script, folder):
    """Compares kernel times with those of the PyTorch profiler."""
    trace, out = folder / "trace.json", folder / "out.json"
    batch = str(max(arguments.batch))
    call([sys.executable, script, batch, "1", str(out), str(trace)])
    events = json.loads(trace.read_text())["traceEvents"]
    theirs = {}
    for event in events:
        if event.get("cat") == "kernel":
            theirs.setdefault(event["name"], []).append(event["dur"])
    prefix = str(folder / "run")
    call([arguments.ridge, "profile", "-o", prefix, "--", sys.executable, script, batch, "20", str(out), ""])
    files = [str(file) for file in folder.glob("run.*.ridge")]
    ours = by_kernel(json.loads(call([arguments.ridge, "trace", "--format", "json", "--range", "step", *files])))
    rows, ours_sum, theirs_sum = [], 0.0, 0.0
    for name, times in sorted(theirs.items(), key=lambda item: -sum(item[1])):
        if name not in ours or len(times) < 10:
            continue
        mean = statistics.mean(times)
        ours_sum += ours[name][0] * len(times) / 10
        theirs_sum += sum(times) / 10
        if sum(times) / 10 > 300:
            rows.append((f"`{name[:60]}`", str(len(times) // 10), f"{ours[name][0]:.2f}", f"{mean:.2f}",
                         f"{100 * (ours[name][0] / mean - 1):+.2f} %"))
    rows.append(("all of a step", "", f"{ours_sum:.0f}", f"{theirs_sum:.0f}", f"{100 * (ours_sum / theirs_sum - 1):+.2f} %"))
    table(("kernel", "launches of a step", "ridge, us", "PyTorch profiler, us", "difference"), rows)


def counted_by_ncu(arguments, script):
    text = call([arguments.ncu, "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw",
                 "--metrics", ",".join(METRICS), sys.executable, script])
    rows = list(csv.DictReader(io.StringIO(text[text.find('"ID"'):])))
    units, found = rows[0], {}
    for row in rows[1:]:
        values = [float(row[metric].replace(",", "")) * UNITS[units[metric]] for metric in METRICS]
        found.setdefault(row["Kernel Name"], (values[0] + values[1], values[2]))
    return found


def words(name):
    """The name of a kernel without the punctuation of its arguments, and the words of its template arguments, because demanglers
    write lambdas, unnamed namespaces and `const` differently."""
    plain = name.replace("(anonymous namespace)", "").replace("<unnamed>", "").replace("::::", "::")
    head = re.split(r"[<(]", plain)[0].split()[-1].split("::")[-1]
    return head, collections.Counter(re.findall(r"\w+", plain)) - collections.Counter(["const", "lambda", "instance", "void"])


def matched(ours, theirs):
    """Matches our kernel names with theirs: for one function, the names that share the most words."""
    def likeness(a, b):
        return sum((a & b).values()) / max(1, sum((a | b).values()))

    ours, theirs = ({name: words(name) for name in names} for names in (ours, theirs))
    pairs = sorted(((likeness(a[1], b[1]), mine, other) for mine, a in ours.items() for other, b in theirs.items() if a[0] == b[0]),
                   reverse=True)
    found, taken = {}, set()
    for _, mine, other in pairs:
        if mine not in found and other not in taken:
            found[mine] = other
            taken.add(other)
    return found


def compare_counters(arguments, script, folder):
    """Compares DRAM bytes and times with those of Nsight Compute."""
    report = json.loads(call([arguments.ridge, "profile", "--counters", "--format", "json", "-o", str(folder / "count"), "--",
                              sys.executable, script]))
    theirs, rows = counted_by_ncu(arguments, script), []
    matches = matched([row["kernel"] for row in report["operators"]], list(theirs))
    for row in report["operators"]:
        counters = row.get("counters", {})
        name = row["kernel"]
        time = row["measured_us"] / max(1, row["kernels"])
        match = matches.get(row["kernel"])
        if "dram_read_bytes" not in counters or time < 20 or match is None:
            continue
        ours = counters["dram_read_bytes"] + counters["dram_write_bytes"]
        dram, duration = theirs[match]
        rows.append((f"`{name[:60]}`", f"{ours / 1e6:.1f}", f"{dram / 1e6:.1f}", f"{100 * (ours / dram - 1):+.2f} %",
                     f"{time:.1f}", f"{duration:.1f}", f"{100 * (time / duration - 1):+.2f} %"))
    table(("kernel", "DRAM MB, ridge", "ncu", "difference", "time us, ridge", "ncu", "difference"), rows)


def mean_by_ncu(arguments, script):
    """DRAM bytes and time of each kernel name: means over all launches between cudaProfilerStart and Stop."""
    text = call([arguments.ncu, "--clock-control", "none", "--cache-control", "none", "--replay-mode", "application", "--profile-from-start",
                 "off", "--csv", "--page", "raw", "--metrics", ",".join(METRICS), sys.executable, script])
    rows = list(csv.DictReader(io.StringIO(text[text.find('"ID"'):])))
    units, found = rows[0], {}
    for row in rows[1:]:
        values = [float(row[metric].replace(",", "")) * UNITS[units[metric]] for metric in METRICS]
        found.setdefault(row["Kernel Name"], []).append((values[0] + values[1], values[2]))
    return {name: tuple(map(statistics.mean, zip(*launches))) for name, launches in found.items()}


def mean_by_ridge(arguments, script, folder):
    """The same means from `ridge profile`, which counts every launch, and the time in the run without counters."""
    report = json.loads(call([arguments.ridge, "profile", "--counters", "--launches", "1000", "--runs", "1", "--wait-for-start", "--format", "json",
                              "-o", str(folder / "program"), "--", sys.executable, script]))
    found = {}
    for row in report["operators"]:
        counters = row.get("counters", {})
        if "dram_read_bytes" in counters:
            found.setdefault(row["kernel"], []).append((row["kernels"], counters["dram_read_bytes"] + counters["dram_write_bytes"],
                                                        counters["duration_ns"] / 1e3, row["measured_us"] / row["kernels"]))
    # Each grid of a name has its own row.
    return {name: tuple(sum(row[0] * row[i] for row in rows) / sum(row[0] for row in rows) for i in (1, 2, 3)) for name, rows in found.items()}


def compare_program(arguments, script, folder):
    """Compares DRAM bytes and times of a program's kernels, with several processes of each tool in turn."""
    ours, theirs = [], []
    for _ in range(arguments.processes):
        ours.append(mean_by_ridge(arguments, script, folder))
        theirs.append(mean_by_ncu(arguments, script))
        print(f"{len(ours)} of {arguments.processes} processes", file=sys.stderr, flush=True)

    def difference(mine, other):
        """The difference in percent, and its standard error."""
        base = statistics.mean(other)
        spread = sum(statistics.variance(part) / len(part) for part in (mine, other)) if len(mine) > 1 else float("nan")
        return f"{100 * (statistics.mean(mine) / base - 1):+.2f} ± {100 * spread ** 0.5 / base:.2f} %"

    rows = []
    for mine, other in sorted(matched(list(ours[0]), list(theirs[0])).items(), key=lambda pair: -ours[0][pair[0]][1]):
        ridge, ncu = ([process[name] for process in all_of_it if name in process] for all_of_it, name in ((ours, mine), (theirs, other)))
        if ridge[0][2] < 20:
            continue
        dram, duration, free = ([value[i] for value in ridge] for i in range(3))
        rows.append((f"`{mine[:60]}`", f"{statistics.mean(dram) / 1e6:.1f}", difference(dram, [value[0] for value in ncu]),
                     f"{statistics.mean(duration):.1f}", difference(duration, [value[1] for value in ncu]), f"{statistics.mean(free):.1f}"))
    table(("kernel", "DRAM MB, ridge", "against ncu", "time us, ridge", "against ncu", "in the free run"), rows)


def compare_cost(arguments, script, folder):
    """Measures the time to count all metrics of 100 kernels."""
    def seconds(command):
        start = time.perf_counter()
        text = call(command)
        return time.perf_counter() - start, text

    rows = []
    programs = [("PyTorch, 100 launches of 400", [sys.executable, script])]
    if pathlib.Path(arguments.program).exists():
        programs = [("C++, each launched once", [arguments.program, "1"]), ("C++, 100 launches of 400", [arguments.program, "4"])] + programs
    for name, command in programs:
        alone, _ = seconds(command)
        ours, report = seconds([arguments.ridge, "profile", "--counters", "--format", "json", "-o", str(folder / "cost"), "--", *command])
        theirs, _ = seconds([arguments.ncu, "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw", "--launch-count", "100",
                             "--metrics", ",".join(ALL_METRICS), *command])
        counted = sum("vector_flop" in row.get("counters", {}) for row in json.loads(report)["operators"])
        rows.append((name, f"{alone:.2f}", f"{ours:.2f}", str(counted), f"{theirs:.2f}", f"{theirs / ours:.1f}"))
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    table(("program", "alone, s", "ridge, s", "kernels counted", "ncu, s", "ncu / ridge"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ridge", default="build/cuda/ridge")
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--program", default="build/cuda/tests/cuda/hundred_kernels")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--only", choices=("step", "times", "counters", "program", "cost"))
    arguments = parser.parse_args()
    parts = {"step": (compare_step, STEP), "times": (compare_times, STEP), "counters": (compare_counters, KERNELS), "program": (compare_program, PROGRAM),
             "cost": (compare_cost, HUNDRED)}
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part, (compare, text) in parts.items():
            if arguments.only not in (None, part):
                continue
            script = folder / f"{part}.py"
            script.write_text(text)
            try:
                compare(arguments, str(script), folder)
            except (RuntimeError, OSError, KeyError, ValueError) as error:
                failed += 1
                print(f"{part}: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
