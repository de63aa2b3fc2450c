"""Measures Triton kernels of a serving engine's Python package and writes tables that `ridge fit engine` reads.

    python3 scripts/measure/engine-kernels.py sglang --gpu h200-sxm --out FOLDER
    python3 scripts/measure/engine-kernels.py sglang --package DIR --shapes 60 --seed 7 --gpu h200-sxm --out FOLDER

The package is the installed one, or with --package a folder with its unpacked wheel (engine_package.py). Measured are
the kernels that Triton compiles on the spot, of SGLang: gated delta nets and Kimi delta attention over a prompt and for
one token, and a block of experts in bf16. Shapes are drawn from --seed: heads and experts from published models, tokens
log-uniform. Each kernel is first compared with a reference in double precision on random data, on a small shape.

Method. A CUDA graph of several calls is replayed over the same buffers, as in the public tables of engines; the time is
the median of replays over the calls. Half of a block of experts is not Triton: the engine's scoring and sorting are
in its compiled library, for which three kernels of this file stand. Kernels are compiled before by several processes
(--workers), so that the GPU does not wait for the compiler.

Limits: tuned tiles of Triton's autotuner are found on this GPU and may differ from those of the public tables.
"""

import argparse
import csv
import gc
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

import torch
import triton
import triton.language as tl

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from engine_package import Package  # noqa: E402

LINEAR = ["part", "dtype", "phase", "batch", "seq", "tokens", "d_model", "conv", "k_heads", "head_k_dim", "v_heads",
          "head_v_dim"]
EXPERTS = ["dtype", "weight_dtype", "tokens", "hidden", "intermediate", "topk", "experts", "tp", "ep", "distribution"]
ENDS = ["l2", "launch", "software", "kernel", "measured_us"]
GDN_HEADS = [(2048, 16, 32), (5120, 8, 24), (4096, 4, 16)]  # d_model, key and value heads of one GPU
KDA_HEADS = [(7168, 24, 24)]
MODELS = [(2048, 768, 8, 128), (4096, 1536, 8, 128), (2048, 512, 10, 512), (4096, 14336, 2, 8)]


def log_uniform(draw, least, most):
    return round(math.exp(draw.uniform(math.log(least), math.log(most))))


def shapes_of(count, seed):
    draw = random.Random(seed)
    all_shapes = []
    for i in range(count):
        kind = ["gdn", "moe", "gdn_step", "moe", "kda", "kda_step"][i % 6]
        if kind == "moe":
            hidden, inner, topk, experts = draw.choice(MODELS)
            all_shapes.append(("moe", {"tokens": log_uniform(draw, 1, 8192), "hidden": hidden, "intermediate": inner,
                                       "topk": topk, "experts": experts, "tp": draw.choice([1, 2, 4]), "ep": 1,
                                       "dtype": "bf16", "distribution": "balanced"}))
            continue
        width, keys, values = draw.choice(KDA_HEADS if kind.startswith("kda") else GDN_HEADS)
        step = kind.endswith("step")
        batch = log_uniform(draw, 1, 256 if step else 16)
        seq = 1 if step else log_uniform(draw, 16, 32768 // batch)
        all_shapes.append((kind[:3], {"part": "scan", "dtype": "bf16", "phase": "generation" if step else "context",
                                      "batch": batch, "seq": seq, "tokens": batch * seq, "d_model": width, "conv": 4,
                                      "k_heads": keys, "head_k_dim": 128, "v_heads": values, "head_v_dim": 128}))
    return all_shapes


@triton.jit
def count_kernel(ids, counts, rows, pairs, most, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(rows + at, pairs, mask=at < most)
    tl.atomic_add(counts + tl.load(ids + at, mask=at < pairs, other=0), 1, mask=at < pairs)


@triton.jit
def start_kernel(counts, starts, total, experts, size: tl.constexpr, block: tl.constexpr):
    at = tl.arange(0, block)
    padded = (tl.load(counts + at, mask=at < experts, other=0) + size - 1) // size * size
    tl.store(starts + at, tl.cumsum(padded, 0) - padded, mask=at < experts)
    tl.store(counts + at, 0, mask=at < experts)
    tl.store(total, tl.sum(padded, 0))


@triton.jit
def place_kernel(ids, starts, rows, owners, pairs, size: tl.constexpr, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < pairs
    expert = tl.load(ids + at, mask=inside, other=0)
    place = tl.atomic_add(starts + expert, 1, mask=inside)
    tl.store(rows + place, at, mask=inside)
    tl.store(owners + place // size, expert, mask=inside)


class Kernels:
    """One function for each kernel: arguments of a shape to a call without arguments."""

    def __init__(self, package):
        self.package = package
        self.fla = {name: package.module("srt.layers.attention.fla." + name) for name in
                    ("chunk", "kda", "fused_recurrent")}
        base = "srt.layers.moe.moe_runner.triton_utils.fused_moe_triton_"
        self.experts = package.module(base + "kernels")
        self.tiles = package.module(base + "config")
        package.give("srt.layers.moe.moe_runner.triton_utils", get_config=lambda: None)

    def scan(self, op, shape, seed=1):
        torch.manual_seed(seed)
        one = {"dtype": torch.bfloat16, "device": "cuda"}
        batch, tokens, dim = shape["batch"], shape["tokens"], shape["head_k_dim"]
        keys, values = shape["k_heads"], shape["v_heads"]
        state = 0.1 * torch.randn(batch, values, dim, dim, device="cuda", dtype=torch.float32)
        index = torch.arange(batch, device="cuda", dtype=torch.int32)
        if shape["phase"] == "generation":
            qkv = torch.randn(batch, (2 * keys + values) * dim, **one)
            gates = values * dim if op == "kda" else values
            a, b = torch.randn(batch, gates, **one), torch.randn(batch, values, **one)
            log_a, bias = torch.randn(values, device="cuda"), torch.randn(gates, device="cuda")
            out = torch.empty(batch, 1, values, dim, **one)
            module = self.fla["fused_recurrent"]
            name = f"fused_recurrent_{'kda' if op == 'kda' else 'gated_delta_rule'}_packed_decode"

            def step():
                getattr(module, name)(qkv, a, b, log_a, bias, dim**-0.5, state, out, index, True)
                return out

            return name, step, (qkv, a, b, log_a, bias, state)
        q, k = (torch.randn(1, tokens, keys, dim, **one) for _ in range(2))
        v = torch.randn(1, tokens, values, dim, **one)
        beta = torch.rand(1, tokens, values, device="cuda", dtype=torch.float32)
        starts = torch.arange(0, tokens + 1, shape["seq"], device="cuda", dtype=torch.int64)
        if op == "kda":
            g = -torch.rand(1, tokens, values, dim, device="cuda", dtype=torch.float32)

            def prompt():
                return self.fla["kda"].chunk_kda(q, k, v.clone() if keep else v, g, beta, initial_state=state,
                                                 initial_state_indices=index, use_qk_l2norm_in_kernel=True,
                                                 cu_seqlens=starts)

            keep = seed != 1  # the result lands in v
            return "chunk_kda", prompt, (q, k, v, g, beta, state)
        g = -torch.rand(1, tokens, values, device="cuda", dtype=torch.float32)

        def prompt_of_net():
            return self.fla["chunk"].chunk_gated_delta_rule(q, k, v, g, beta, initial_state=state,
                                                            initial_state_indices=index, cu_seqlens=starts,
                                                            use_qk_l2norm_in_kernel=True)[0]

        return "chunk_gated_delta_rule", prompt_of_net, (q, k, v, g, beta, state)

    def moe(self, shape, seed=1):
        torch.manual_seed(seed)
        one = {"dtype": torch.bfloat16, "device": "cuda"}
        tokens, hidden, topk, experts = (shape[name] for name in ("tokens", "hidden", "topk", "experts"))
        inner = shape["intermediate"] // shape["tp"]
        x = 0.1 * torch.randn(tokens, hidden, **one)
        up = 0.1 * torch.randn(experts, 2 * inner, hidden, **one)
        down = 0.1 * torch.randn(experts, hidden, inner, **one)
        # Balanced: each expert has as many pairs, up to one.
        order = torch.arange(tokens * topk, device="cuda") % experts
        ids = order.view(tokens, topk).to(torch.int32).contiguous()
        weights = torch.rand(tokens, topk, device="cuda", dtype=torch.float32)
        config = dict(self.tiles.try_get_optimal_moe_config(up.shape, down.shape, topk, None, tokens))
        size, pairs = config["BLOCK_SIZE_M"], tokens * topk
        most = pairs * size if pairs < experts + 1 else pairs + (experts + 1) * (size - 1)
        whole = {"dtype": torch.int32, "device": "cuda"}
        both, rows = torch.zeros(2, experts, **whole), torch.empty(most, **whole)
        owners, total = torch.empty(triton.cdiv(most, size), **whole), torch.empty(1, **whole)
        first, second = torch.empty(pairs, 2 * inner, **one), torch.empty(pairs, inner, **one)
        third, out = torch.empty(tokens, topk, hidden, **one), torch.empty_like(x)
        block = 256

        def product(a, b, c, weigh, of):
            self.experts.invoke_fused_moe_kernel(
                a, b, None, c, None, None, None, weights, ids, rows, owners, total, weigh, of, config,
                compute_type=tl.bfloat16, use_fp8_w8a8=False, use_int8_w8a8=False, use_int8_w8a16=False,
                use_int4_w4a16=False, per_channel_quant=False)

        def call():
            count_kernel[(triton.cdiv(most, block),)](ids, both[0], rows, pairs, most, block)
            start_kernel[(1,)](both[0], both[1], total, experts, size, triton.next_power_of_2(experts))
            place_kernel[(triton.cdiv(pairs, block),)](ids, both[1], rows, owners, pairs, size, block)
            product(x, up, first, False, topk)
            self.experts.act_and_mul_triton(first, second, config, ids)
            product(second, down, third, True, 1)
            self.experts.moe_sum_reduce_triton(third, out, 1.0)
            return out

        return "sglang_fused_moe_triton", call, (x, up, down, ids, weights)

    def call_of(self, op, shape, seed=1):
        return self.moe(shape, seed) if op == "moe" else self.scan(op, shape, seed)


def normalised(x):
    return x / (x.pow(2).sum(-1, keepdim=True) + 1e-6).sqrt()


def reference(op, shape, data):
    """The same in double precision."""
    if op == "moe":
        x, up, down, ids, weights = (each.double() for each in data)
        inner = up.shape[1] // 2
        out = torch.zeros_like(x)
        for slot in range(ids.shape[1]):
            for expert in ids[:, slot].unique():
                at = ids[:, slot] == expert
                both = x[at] @ up[int(expert)].T
                mixed = torch.nn.functional.silu(both[:, :inner]) * both[:, inner:]
                out[at] += weights[at, slot, None] * (mixed @ down[int(expert)].T)
        return out
    keys, values, dim = shape["k_heads"], shape["v_heads"], shape["head_k_dim"]
    state = data[-1].double().clone()
    batch, seq = shape["batch"], shape["seq"]
    if shape["phase"] == "generation":
        qkv, a, b, log_a, bias = (each.double() for each in data[:-1])
        q, k, v = qkv.split([keys * dim, keys * dim, values * dim], -1)
        gate = torch.nn.functional.softplus(a + bias)
        by_head = gate.view(batch, values, -1) * -log_a.exp()[None, :, None]
        q, k, v = q.view(batch, 1, keys, dim), k.view(batch, 1, keys, dim), v.view(batch, 1, values, dim)
        decay, beta = by_head[:, None], b.sigmoid().view(batch, 1, values)
    else:
        q, k, v, g, beta = (each.double()[0].view(batch, seq, *each.shape[2:]) for each in data[:-1])
        decay = g if g.dim() == 4 else g[..., None]
    repeat = values // keys
    q = normalised(q).repeat_interleave(repeat, 2) * dim**-0.5
    k = normalised(k).repeat_interleave(repeat, 2)
    out = torch.empty_like(v)
    for t in range(seq):
        state = state * decay[:, t].exp()[:, :, None, :]
        change = (v[:, t] - torch.einsum("bhvk,bhk->bhv", state, k[:, t])) * beta[:, t][..., None]
        state = state + change[..., None] * k[:, t][:, :, None, :]
        out[:, t] = torch.einsum("bhvk,bhk->bhv", state, q[:, t])
    return out


def check(kernels, op, shape):
    """Relative error of a small shape with the same kernel."""
    small = dict(shape)
    if op == "moe":
        small.update(tokens=37, hidden=256, intermediate=256, topk=2, experts=8, tp=1)
    elif shape["phase"] == "context":
        small.update(batch=2, seq=150, tokens=300)
    else:
        small.update(batch=3, tokens=3)
    _, call, data = kernels.call_of(op, small, seed=2)
    kept = [each.clone() for each in data]
    result = call()
    wanted = reference(op, small, kept)
    got = result.double().reshape(wanted.shape)
    return float((got - wanted).norm() / wanted.norm())


def time_of(call, budget):
    """Microseconds of one call: median over replays of a graph of several."""
    for _ in range(2):
        call()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    once = max(time.perf_counter() - begin, 1e-6)
    calls = max(1, min(20, int(2e-3 / once) + 1))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    times = []
    end = time.perf_counter() + budget
    graph.replay()
    while len(times) < 6 or (time.perf_counter() < end and len(times) < 100):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        times.append(1e3 * start.elapsed_time(stop) / calls)
    return statistics.median(times)


def key_of(op, shape):
    """What decides which kernels are compiled."""
    if op == "moe":
        return op, shape["hidden"], shape["intermediate"] // shape["tp"], shape["experts"], shape["tokens"]
    small = op == "kda" and shape["phase"] == "context" and shape["tokens"] * shape["v_heads"] // 64 <= 256
    return op, shape["phase"], shape["k_heads"], shape["v_heads"], small


def only_some_tiles(part, parts):
    """Autotuners of this process compile only a part of their configurations."""
    from triton.runtime.autotuner import Autotuner

    for each in [each for each in gc.get_objects() if type(each) is Autotuner]:
        each.configs = each.configs[part::parts] or each.configs[:1]
        each.cache_results = False


def warm(kernels, shapes, part, parts):
    only_some_tiles(part, parts)
    seen = set()
    for op, shape in shapes:
        key = key_of(op, shape)
        if key in seen or (op == "moe" and len(seen) % parts != part):
            seen.add(key)
            continue
        seen.add(key)
        try:
            kernels.call_of(op, shape)[1]()
            torch.cuda.synchronize()
        except Exception as error:  # the run that measures says so
            print(op, shape, error, file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("engine", choices=["sglang"])
    parser.add_argument("--package", help="folder with the unpacked wheel; default: the installed package")
    parser.add_argument("--gpu", required=True, help="ridge's name of the GPU, for the column gpu")
    parser.add_argument("--shapes", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=100, help="to measure; shapes after that are left out")
    parser.add_argument("--workers", type=int, default=8, help="processes that compile before")
    parser.add_argument("--part", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    package = Package(arguments.engine, arguments.package)
    shapes = shapes_of(arguments.shapes, arguments.seed)
    kernels = Kernels(package)
    if arguments.part >= 0:
        warm(kernels, shapes, arguments.part, arguments.workers)
        return
    begin = time.perf_counter()
    again = [sys.executable, *sys.argv]
    started = [subprocess.Popen([*again, "--part", str(i)]) for i in range(arguments.workers)]
    for each in started:
        try:
            each.wait(max(1.0, begin + 0.5 * arguments.seconds - time.perf_counter()))
        except subprocess.TimeoutExpired:
            each.kill()
    print(f"compiled after {time.perf_counter() - begin:.0f} s", flush=True)
    software = f"{arguments.engine}-{package.version}"
    files = {}
    checked = {}
    for op, shape in shapes:
        if time.perf_counter() > begin + arguments.seconds:
            print("out of time", flush=True)
            break
        kind = (op, shape.get("phase"))
        try:
            if kind not in checked:
                checked[kind] = check(kernels, op, shape)
                print(*kind, f"relative error {checked[kind]:.2g}", flush=True)
            if not checked[kind] < 0.02:
                continue
            name, call, _ = kernels.call_of(op, shape)
            measured = time_of(call, 0.15)
            del call, _
            torch.cuda.empty_cache()
        except Exception as error:
            print(op, shape, "failed:", repr(error)[:300], flush=True)
            checked.setdefault(kind, math.inf)
            continue
        columns = EXPERTS if op == "moe" else LINEAR
        if op not in files:
            files[op] = open(arguments.out / f"engine_{op}_{arguments.gpu}.csv", "w", newline="")
            csv.writer(files[op]).writerow(["gpu", "op", *columns, *ENDS])
        row = [arguments.gpu, op, *(shape.get(column, "") for column in columns), "warm", "graph", software, name,
               f"{measured:.3f}"]
        csv.writer(files[op]).writerow(row)
        files[op].flush()
    print(f"{time.perf_counter() - begin:.0f} s, {os.uname().sysname}, Triton {triton.__version__}", flush=True)


if __name__ == "__main__":
    main()
