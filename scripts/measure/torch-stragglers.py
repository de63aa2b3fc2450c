#!/usr/bin/env python3
"""Records profiler traces of ranks with a fault planted, to test whether `ridge trace --ranks` names it.

    torchrun --standalone --nproc-per-node 4 scripts/measure/torch-stragglers.py OUT [--faults slow-gpu,slow-link]

Each fault is a folder OUT/FAULT with rank0.json.gz ...: two training steps of a stack of wide layers under
DistributedDataParallel, without and with

    none        nothing
    slow-gpu    the layers of rank 2 (of two GPUs: rank 1) take three times the work
    slow-host   rank 1's host sleeps 4 ms in every forward pass
    one-bucket  all gradients in one bucket, which is reduced after the backward pass
    busy-link   the last rank sends to the one before all the time beside the steps, which takes bandwidth of their links
    gathers     FSDP2 over few rows, so that every gather takes longer than the products beside it
    slow-link   a program that no rank knows of copies both ways between the last two GPUs all the time

Limits: a busy link stands for a slow one, because a link cannot be slowed down here.
"""
import argparse
import functools
import gzip
import json
import os
import pathlib
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

WIDTH, LAYERS, ROWS = 4096, 6, 4096
FAULTS = ["none", "slow-gpu", "slow-host", "one-bucket", "busy-link", "gathers", "slow-link"]
MOST_SECONDS = 60  # that a link is kept busy, if nobody ends it
KEPT = ("kernel", "gpu_memcpy", "gpu_memset", "cpu_op", "user_annotation", "gpu_user_annotation", "cuda_runtime",
        "cuda_driver", "ac2g", "fwdbwd", "overhead")


class Layer(torch.nn.Module):
    def __init__(self, times):
        super().__init__()
        self.product = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.times = times

    def forward(self, x):
        out = torch.relu(self.product(x))
        for _ in range(self.times - 1):  # further work whose result has no effect
            torch.mm(x.detach().view(-1, WIDTH), self.product.weight.detach())
        return out


class Sender:
    """Keeps the link from the last rank to the one before busy in a stream and a group of its own."""

    def __init__(self, rank):
        self.last = dist.get_world_size() - 1
        self.rank, self.group = rank, dist.new_group([self.last - 1, self.last])
        self.data = torch.empty(1 << 27, device="cuda", dtype=torch.bfloat16)
        self.stream = torch.cuda.Stream()

    def go(self):
        if self.rank < self.last - 1:
            return
        with torch.cuda.stream(self.stream):
            for _ in range(6):
                if self.rank == self.last:
                    dist.send(self.data, self.last - 1, group=self.group)
                else:
                    dist.recv(self.data, self.last, group=self.group)


def keep_busy(first, second):
    """Copies both ways between two GPUs until the process that began this one has ended."""
    parent, began = os.getppid(), time.perf_counter()
    data = [torch.empty(1 << 27, device=f"cuda:{gpu}", dtype=torch.bfloat16) for gpu in (first, second, first, second)]
    streams = [torch.cuda.Stream(device=gpu) for gpu in (first, second)]
    print("busy", flush=True)
    while os.getppid() == parent and time.perf_counter() - began < MOST_SECONDS:
        for _ in range(8):
            for way, stream in enumerate(streams):
                with torch.cuda.stream(stream):
                    data[3 - way].copy_(data[way], non_blocking=True)
        for stream in streams:
            stream.synchronize()


def busy_program(gpus):
    """A process that keeps the link between the last two GPUs busy; it has begun."""
    program = subprocess.Popen([sys.executable, __file__, "--keep-busy", f"{gpus - 2},{gpus - 1}"],
                               stdout=subprocess.PIPE, text=True)
    program.stdout.readline()
    return program


def built(fault, rank):
    """The model of a fault, ready for steps, and its optimizer."""
    times = 3 if fault == "slow-gpu" and rank == dist.get_world_size() // 2 else 1
    with torch.device("cuda"):
        layers = torch.nn.Sequential(*(Layer(times) for _ in range(LAYERS))).to(torch.bfloat16)
    if fault == "gathers":
        for layer in layers:
            fully_shard(layer)
        fully_shard(layers)
        return layers, torch.optim.AdamW(layers.parameters(), lr=1e-5)
    bucket = 1 << 14 if fault == "one-bucket" else 25
    model = DistributedDataParallel(layers, device_ids=[rank], bucket_cap_mb=bucket, gradient_as_bucket_view=True)
    return model, torch.optim.AdamW(layers.parameters(), lr=1e-5)


def step(model, optimizer, x, fault, rank, sender):
    if fault == "busy-link":
        sender.go()
    if fault == "slow-host" and rank == 1:
        time.sleep(4e-3)
    model(x).float().square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def kept(path, out):
    """Writes the trace without what `ridge trace` does not read."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events = [e for e in trace["traceEvents"] if e.get("ph") == "M" or e.get("cat") in KEPT]
    for event in events:
        if event.get("cat") in ("cuda_runtime", "cuda_driver", "cpu_op"):
            keep = ("correlation", "External id", "Input Dims", "Input type", "Concrete Inputs", "Collective name",
                    "dtype", "In msg nelems", "Out msg nelems", "Group size", "Process Group Name")
            event["args"] = {k: v for k, v in event.get("args", {}).items() if k in keep}
    trace["traceEvents"] = events
    with gzip.GzipFile(out, "wb", compresslevel=9, mtime=0) as file:
        file.write(json.dumps(trace, separators=(",", ":")).encode())


def record(fault, rank, out, sender):
    model, optimizer = built(fault, rank)
    program = busy_program(dist.get_world_size()) if fault == "slow-link" and rank == 0 else None
    x = torch.randn(ROWS // 16 if fault == "gathers" else ROWS, WIDTH, device="cuda").to(torch.bfloat16)
    run = functools.partial(step, model, optimizer, x, fault, rank, sender)
    for _ in range(4):
        run()
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        for number in range(2):
            with torch.profiler.record_function(f"ProfilerStep#{number}"):
                run()
        torch.cuda.synchronize()
    if program is not None:
        program.kill()
        program.wait()
    folder = out / fault
    folder.mkdir(parents=True, exist_ok=True)
    raw = folder / f"rank{rank}.raw"
    profile.export_chrome_trace(str(raw))
    kept(raw, folder / f"rank{rank}.json.gz")
    raw.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, nargs="?")
    parser.add_argument("--faults", default=",".join(FAULTS), help="names, separated by commas")
    parser.add_argument("--keep-busy", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.keep_busy:
        return keep_busy(*map(int, options.keep_busy.split(",")))
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    sender = Sender(rank)
    for fault in options.faults.split(","):
        record(fault, rank, options.out, sender)
        dist.barrier()
        if rank == 0:
            print(fault, flush=True)
        torch.cuda.empty_cache()
    dist.destroy_process_group()
    return None


if __name__ == "__main__":
    main()
