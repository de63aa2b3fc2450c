#!/usr/bin/env python3
"""Measures calls of PyTorch's collectives, and collectives beside products and copies, on all GPUs of a machine.

    torch-collectives.py OUT --seed 1            # OUT/calls.csv, OUT/overlap.csv
    torch-collectives.py OUT --only calls

calls.csv: the wall time between calls of torch.distributed in a row of calls (`measured_us`), and the time that the
host takes for one (`host_us`, while the GPU still works on earlier ones), by operation, type and bytes; and the host's
time for one small kernel (`probe_us`), just before and after each row, because hosts that are virtual machines change
within seconds.

overlap.csv: a row of collectives in one stream and a row of products (or copies) in another, each of which takes
about `--span` ms alone, run at the same time. Times of one of each, alone and beside the other, over the time in which
both ran.

Method. One process for each GPU, as users run them. A row of calls ends with one synchronisation, after which the
slowest rank counts. Each number is the median of several rows. Limits: NCCL as installed; adding in the switch (NVLS)
stays as the environment says.
"""
import argparse
import csv
import os
import pathlib
import random
import statistics
import tempfile
import time

import torch
import torch.distributed as dist

from siblings import sibling

MODELS = sibling("torch-models.py")
OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send"]
TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
LARGEST_CALL = 1 << 28
ROWS = 7


def collective(name, rank, gpus, nbytes, dtype):
    """A call of torch.distributed on buffers of its own. `nbytes` is the whole message, as for `ridge predict`."""
    kind = TYPES[dtype]
    count = nbytes // kind.itemsize // gpus * gpus
    whole = torch.randn(count, device="cuda").to(kind)
    part = torch.randn(count // gpus, device="cuda").to(kind)
    other = torch.empty_like(whole)
    return {"all_reduce": lambda: dist.all_reduce(whole),
            "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole),
            "all_to_all": lambda: dist.all_to_all_single(other, whole),
            "broadcast": lambda: dist.broadcast(whole, 0),
            "send": lambda: dist.send(whole, 1) if rank == 0 else dist.recv(whole, 0) if rank == 1 else None}[name]


def slowest(seconds):
    """The longest of the ranks' times."""
    value = torch.tensor([seconds], device="cuda", dtype=torch.float64)
    dist.all_reduce(value, op=dist.ReduceOp.MAX)
    return value.item()


def row_of(call, count):
    """Seconds by the host's clock: until all calls have returned, and until the GPU has done them."""
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(count):
        call()
    returned = time.perf_counter() - begun
    torch.cuda.synchronize()
    return returned, time.perf_counter() - begun


def measured_call(call):
    """Wall and host time of one call, and of the launch of a small kernel around its rows: of the slowest rank."""
    for _ in range(5):
        call()
    once = slowest(row_of(call, 5)[1]) / 5
    count = max(5, min(50, int(10e-3 / once)))
    rows = []
    for _ in range(ROWS):
        before = MODELS.probe(1)
        row = row_of(call, count)
        rows.append((*row, (before + MODELS.probe(1)) / 2))
    host = statistics.median(slowest(returned) / count for returned, _, _ in rows)
    wall = statistics.median(slowest(done) / count for _, done, _ in rows)
    return wall, host, statistics.median(slowest(launch) for _, _, launch in rows)


def calls(rank, gpus, seed, out):
    draw = random.Random(seed)
    sizes = [1 << power for power in range(10, 29, 3)]
    if seed > 1:
        sizes = [int(2 ** draw.uniform(9, 28)) // (64 * gpus) * 64 * gpus or 64 * gpus for _ in range(6)]
    rows = []
    for name in OPERATIONS:
        for nbytes in sizes:
            dtype = "bf16" if draw.random() < 0.75 else "fp32"
            wall, host, launch = measured_call(collective(name, rank, gpus, min(nbytes, LARGEST_CALL), dtype))
            rows.append([name, dtype, gpus, nbytes, "stream", f"{wall * 1e6:.3f}", f"{host * 1e6:.3f}",
                         f"{launch:.3f}"])
    if rank == 0:
        write(out / "calls.csv", ["op", "dtype", "gpus", "bytes", "launch", "measured_us", "host_us", "probe_us"], rows)


def beside(name, draw):
    """A row of work without communication: its description and one call."""
    if name == "matmul":
        size = draw.choice([2048, 4096, 8192])
        a = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
        c = torch.empty_like(a)
        return f"matmul m={size} n={size} k={size} dtype=bf16", lambda: torch.mm(a, b, out=c)
    elements = draw.choice([1 << 26, 1 << 28])
    source = torch.randn(elements, device="cuda", dtype=torch.bfloat16)
    target = torch.empty_like(source)
    return f"copy elements={elements} dtype=bf16", lambda: target.copy_(source)


def together(first, second):
    """Seconds of both rows of work in two streams, started together on every GPU; None leaves one out."""
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(2)]
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    torch.cuda._sleep(60_000_000)  # the host queues everything while the GPU spins
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
    for (call, count), stream, (start, stop) in zip([first, second], streams, events):
        with torch.cuda.stream(stream):
            start.record()
            for _ in range(count if call else 0):
                call()
            stop.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(stop) * 1e-3 for start, stop in events]


def slowdowns(alone, both):
    """Factors by which each row was slower while both ran; the longer one ended alone, at full speed."""
    early, late = (0, 1) if both[0] <= both[1] else (1, 0)
    factors = [0.0, 0.0]
    factors[early] = both[early] / alone[early]
    done_alone = both[late] - both[early]
    factors[late] = both[early] / max(1e-9, alone[late] - done_alone)
    return factors


def overlap(rank, gpus, seed, span, out):
    draw = random.Random(seed)
    rows = []
    for name in ["all_reduce", "all_gather", "reduce_scatter"]:
        for other in ["matmul", "copy"]:
            for nbytes in ([1 << 22, 1 << 25, 1 << 28] if seed == 1 else [3 << 20, 5 << 23, 3 << 26]):
                communicate = collective(name, rank, gpus, nbytes, "bf16")
                text, work = beside(other, draw)
                for call in (communicate, work):
                    call()
                once = [slowest(row_of(call, 5)[1]) / 5 for call in (communicate, work)]
                counts = [max(4, min(200, int(span / each))) for each in once]
                nothing = (None, 0)
                samples = []
                for _ in range(5):
                    alone = [together((communicate, counts[0]), nothing)[0], together(nothing, (work, counts[1]))[1]]
                    both = together((communicate, counts[0]), (work, counts[1]))
                    samples.append((alone, both, slowdowns(alone, both)))
                middle = [[statistics.median(s[part][i] for s in samples) for i in range(2)] for part in range(3)]
                rows.append([name, gpus, nbytes, text, *counts,
                             *(f"{middle[0][i] / counts[i] * 1e6:.3f}" for i in range(2)),
                             *(f"{middle[2][i]:.4f}" for i in range(2))])
    if rank == 0:
        write(out / "overlap.csv", ["op", "gpus", "bytes", "beside", "calls", "beside_calls", "alone_us",
                                    "beside_alone_us", "slowdown", "beside_slowdown"], rows)


def write(path, names, rows):
    nccl = ".".join(map(str, torch.cuda.nccl.version()))
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(f"# {torch.cuda.device_count()} x {torch.cuda.get_device_name()}, torch {torch.__version__}, "
                   f"NCCL {nccl}, NVLS {os.environ.get('NCCL_NVLS_ENABLE', 'default')}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def rank_main(rank, gpus, meet, options):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="file://" + meet, rank=rank, world_size=gpus,
                            device_id=torch.device("cuda", rank))
    out = pathlib.Path(options.out)
    if options.only in ("calls", "both"):
        calls(rank, gpus, options.seed, out)
    if options.only in ("overlap", "both"):
        overlap(rank, gpus, options.seed, options.span * 1e-3, out)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1, help="1: the fixed sizes; others draw sizes")
    parser.add_argument("--only", choices=["calls", "overlap", "both"], default="both")
    parser.add_argument("--span", type=float, default=20.0, help="milliseconds that a row of work takes alone")
    options = parser.parse_args()
    pathlib.Path(options.out).mkdir(parents=True, exist_ok=True)
    gpus = torch.cuda.device_count()
    if gpus < 2:
        raise SystemExit("torch-collectives.py: needs at least 2 GPUs")
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(rank_main, (gpus, folder + "/meet", options), nprocs=gpus)


if __name__ == "__main__":
    main()
