#!/usr/bin/env python3
"""Measures how fast each of several processes dispatches to its GPU while others on the same host do so too.

    host-sharing.py out.csv --seconds 3 --processes 1,2,4,8

Processes stand in turn on the machine's GPUs. In each round the first n of them dispatch, all others sleep. A row is a
twentieth of a second of one process: the mean time of the launch of a small kernel (`launch_us`: rows of a hundred
`x.add_(1)`, as in torch-models.py), of dispatching a training step of a small perceptron (`step_us`), and of a call of
torch.distributed that moves nothing, an all_reduce by NCCL in a group of one (`call_us`: rows of fifty), in turn.

The rows say whether processes slow each other down (the mean by n), and how much the slowest of n is behind the mean of
them at a moment (W23 of docs/models.md). Limits: the GPUs have little to do; where more processes than GPUs run, they
share a GPU, but wait for nothing of each other.
"""
import argparse
import csv
import datetime
import os
import statistics
import tempfile
import time

import torch
import torch.distributed as dist

WINDOW = 0.05


def step_of():
    """A training step that launches some 90 small kernels."""
    layers = [m for _ in range(6) for m in (torch.nn.Linear(64, 64), torch.nn.LayerNorm(64), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5, foreach=True)
    x = torch.randn(8, 64, device="cuda")

    def step():
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return step


def timed(call, times):
    """Microseconds of one of several calls in a row, by the host's clock."""
    torch.cuda.synchronize()
    at = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - at) * 1e6 / times


def dispatch(process, active, seconds, calls):
    """Rows of one round; `calls` are what is timed and how often in a row."""
    rows, began = [], time.perf_counter()
    while time.perf_counter() - began < seconds:
        start = time.perf_counter()
        seen = [[] for _ in calls]
        while time.perf_counter() - start < WINDOW:
            for times, (call, count) in zip(seen, calls):
                times.append(timed(call, count))
        rows.append([active, process, f"{start - began:.3f}", *(f"{statistics.mean(times):.3f}" for times in seen)])
    return rows


def work(process, rounds, seconds, barrier, queue):
    gpu = torch.device("cuda", process % torch.cuda.device_count())
    torch.cuda.set_device(gpu)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("nccl", init_method=f"file://{folder}/meet", rank=0, world_size=1, device_id=gpu,
                                timeout=datetime.timedelta(seconds=60))
    step = step_of()
    x = torch.zeros(1, device="cuda")
    calls = [(lambda: x.add_(1.0), 100), (step, 1), (lambda: dist.all_reduce(x), 50)]
    for _ in range(20):
        for call, _ in calls:
            call()
    torch.cuda.synchronize()
    rows = []
    for active in rounds:
        barrier.wait()
        if process < active:
            rows += dispatch(process, active, seconds, calls)
    queue.put(rows)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("csv")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--processes", default="1,2,4,8")
    options = parser.parse_args()
    rounds = [int(n) for n in options.processes.split(",")]
    context = torch.multiprocessing.get_context("spawn")
    barrier, queue = context.Barrier(max(rounds)), context.Queue()
    processes = [context.Process(target=work, args=(i, rounds, options.seconds, barrier, queue))
                 for i in range(max(rounds))]
    for each in processes:
        each.start()
    rows = sorted((row for _ in processes for row in queue.get()), key=lambda row: (row[0], row[1], float(row[2])))
    for each in processes:
        each.join()
    with open(options.csv, "w", newline="", encoding="utf-8") as file:
        file.write(f"# {torch.cuda.device_count()} x {torch.cuda.get_device_name()}, torch {torch.__version__}, "
                   f"{os.cpu_count()} processors\n")
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["processes", "process", "second", "launch_us", "step_us", "call_us"])
        out.writerows(rows)


if __name__ == "__main__":
    main()
