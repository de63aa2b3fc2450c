#!/usr/bin/env python3
"""Measures steps of transformers models on several GPUs of one node: wall, kernels, NCCL, memory.

    torchrun --standalone --nproc-per-node 2 scripts/measure/torch-parallel.py --csv out.csv --seconds 60

Training is data parallel (each GPU has its own batch): with DistributedDataParallel, with states
spread by ZeroRedundancyOptimizer (ZeRO-1), and with FSDP2's fully_shard over each layer, which
gathers weights once per step (`reshard_after_forward=False`, ZeRO-2) or in each pass (ZeRO-3).
In prefill and decode steps, DTensor shards heads and inner widths (tensor parallel).
Models are those of torch-models.py: presets with random weights, bf16, eager, SDPA. A row holds rank 0's
wall time (median of up to 8 steps, between barriers), the sum of its kernels' times without NCCL's, the sum of
NCCL's, how long only NCCL's ran, the host's time for one small kernel, and bytes: allocated before the step, the step's peak, and the peak
of every rank.

Limits: one process per GPU, NCCL as installed. Tensor parallel steps do not shard embedding and
head, but `ridge model --tp` does.
"""

import argparse
import csv
import gc
import os
import statistics
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

from siblings import sibling

MODELS = sibling("torch-models.py")
# (model, how, phase, batch per GPU, seq)
STEPS = [
    ("llama-3.2-1b", "single", "train", 2, 1024),
    ("llama-3.2-1b", "ddp", "train", 2, 1024),
    ("llama-3.2-1b", "zero1", "train", 2, 1024),
    ("llama-3.2-1b", "zero2", "train", 2, 1024),
    ("llama-3.2-1b", "zero3", "train", 2, 1024),
    ("llama-3.2-1b", "ddp", "train", 4, 2048),
    ("llama-3.2-1b", "zero3", "train", 4, 2048),
    ("llama-3.1-8b", "tp", "prefill", 1, 2048),
    ("llama-3.1-8b", "tp", "prefill", 4, 2048),
    ("llama-3.1-8b", "tp", "decode", 8, 1024),
    ("pythia-410m", "ddp", "train", 4, 1024),
]
# Other models, by which what was chosen from those above is judged.
OTHERS = [
    ("qwen2.5-1.5b", "single", "train", 2, 1024),
    ("qwen2.5-1.5b", "ddp", "train", 2, 1024),
    ("qwen2.5-1.5b", "zero3", "train", 2, 1024),
    ("qwen2.5-1.5b", "zero1", "train", 2, 1024),
    ("qwen2.5-1.5b", "zero2", "train", 2, 1024),
    ("qwen2.5-7b", "tp", "prefill", 2, 1024),
    ("qwen2.5-7b", "tp", "decode", 16, 512),
    ("gpt2-large", "ddp", "train", 4, 1024),
    ("gpt2-large", "zero3", "train", 4, 1024),
    ("qwen2.5-1.5b", "zero3", "train", 4, 2048),
]
FIELDS = ["model", "how", "gpus", "phase", "batch", "seq", "parameters", "allocated_before",
          "peak_extra_bytes", "kernels", "time_us", "nccl_kernels", "nccl_us", "exposed_us", "dispatch_us",
          "wall_us", "probe_us", "peaks", "reason"]


def shared_out(model, mesh):
    """Shards Llama's heads and inner widths over the GPUs of the mesh."""
    plan = {}
    for name in ("q_proj", "k_proj", "v_proj"):
        plan[f"self_attn.{name}"] = ColwiseParallel()
    plan["self_attn.o_proj"] = RowwiseParallel()
    plan["mlp.gate_proj"] = ColwiseParallel()
    plan["mlp.up_proj"] = ColwiseParallel()
    plan["mlp.down_proj"] = RowwiseParallel()
    for layer in model.model.layers:
        parallelize_module(layer, mesh, plan)
    return model


def spread(model, how, mesh):
    """The model as it runs on all GPUs, and its optimizer."""
    if how == "tp":
        return shared_out(model, mesh), None
    if how in ("zero2", "zero3"):
        for layer in MODELS.layers_of(model):
            fully_shard(layer, mesh=mesh, reshard_after_forward=how == "zero3")
        fully_shard(model, mesh=mesh, reshard_after_forward=how == "zero3")
        return model, torch.optim.AdamW(model.parameters(), lr=1e-5)
    if how == "single":
        return model, torch.optim.AdamW(model.parameters(), lr=1e-5)
    wrapped = DistributedDataParallel(model, device_ids=[torch.cuda.current_device()],
                                      gradient_as_bucket_view=True)
    if how == "zero1":
        return wrapped, ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-5)
    return wrapped, torch.optim.AdamW(model.parameters(), lr=1e-5)


def union_of(spans):
    """Nanoseconds that (start, end) spans cover together."""
    covered, until = 0, 0
    for start, end in sorted(spans):
        covered += max(0, end - max(start, until))
        until = max(until, end)
    return covered


def times_of(stepper):
    """Number and time of kernels, with NCCL's kernels apart, and how long only NCCL's ran."""
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as run:
        stepper.step()
        torch.cuda.synchronize()
    stepper.after()
    found = {"kernels": 0, "time_us": 0.0, "nccl_kernels": 0, "nccl_us": 0.0}
    spans = {"time_us": [], "nccl_us": []}
    for event in run.profiler.kineto_results.events():
        name = event.name()
        if event.device_type() != torch.autograd.DeviceType.CUDA or event.duration_ns() <= 0:
            continue
        if event.is_user_annotation() or name.startswith(("Memset", *MODELS.ANNOTATIONS)):
            continue
        if "::" in name and "(" not in name and "<" not in name:
            continue  # annotations
        column = "nccl_us" if name.startswith("ncclDevKernel") else "time_us"
        spans[column].append((event.start_ns(), event.end_ns()))
        if not name.startswith("Memcpy"):
            found["nccl_kernels" if column == "nccl_us" else "kernels"] += 1
            found[column] += event.duration_ns() / 1000.0
    found["exposed_us"] = (union_of(spans["time_us"] + spans["nccl_us"]) - union_of(spans["time_us"])) / 1000.0
    return {key: round(value, 1) for key, value in found.items()}


def at_a_barrier():
    """Waits until all GPUs are here, with no work left."""
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()


def measure(stepper):
    stepper.prepare()
    for _ in range(2):
        stepper.step()
        stepper.after()
    torch.cuda.synchronize()
    dist.barrier()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    out = stepper.step()
    torch.cuda.synchronize()
    row = {"allocated_before": before,
           "peak_extra_bytes": torch.cuda.max_memory_allocated() - before}
    del out
    stepper.after()
    if stepper.phase == "decode":
        stepper.step()
        stepper.hold()
        stepper.step()
        stepper.after()
    walls, sent = MODELS.timed(stepper.step, stepper.after, ready=at_a_barrier, repeats=8, seconds=float("inf"))
    row["wall_us"] = round(statistics.median(walls), 1)
    row["dispatch_us"] = round(statistics.median(sent), 1)
    stepper.held = []
    row.update(times_of(stepper))
    row["probe_us"] = round(MODELS.probe(3), 3)
    peaks = [None] * dist.get_world_size()
    dist.all_gather_object(peaks, row["allocated_before"] + row["peak_extra_bytes"])
    row["peaks"] = ";".join(map(str, peaks))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", required=True)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--others", action="store_true", help="the other models")
    args = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    began = time.perf_counter()
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    rank, gpus = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cuda", (gpus,))
    torch.nn.init.normal_ = lambda tensor, *a, **k: tensor
    with open(args.csv if rank == 0 else os.devnull, "w", newline="", encoding="utf-8") as file:
        file.write(f"# {gpus} x {torch.cuda.get_device_name()}, torch {torch.__version__}, NCCL "
                   f"{'.'.join(map(str, torch.cuda.nccl.version()))}, NVLS "
                   f"{os.environ.get('NCCL_NVLS_ENABLE', 'as is')}\n")
        out = csv.DictWriter(file, FIELDS)
        out.writeheader()
        for name, how, phase, batch, seq in OTHERS if args.others else STEPS:
            late = torch.tensor([time.perf_counter() - began > args.seconds], device="cuda").int()
            dist.all_reduce(late)
            if late.item():
                break
            model = MODELS.build(name, phase == "train")
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.normal_(0.0, 0.02)
            row = {"model": name, "how": how, "gpus": gpus, "phase": phase, "batch": batch, "seq": seq,
                   "parameters": sum(p.numel() for p in model.parameters())}
            stepper = None
            try:
                model, optimizer = spread(model, how, mesh)
                stepper = MODELS.Stepper(model, phase, batch, seq, optimizer)
                row.update(measure(stepper))
            except Exception as error:  # pylint: disable=broad-except
                row["reason"] = repr(error)[:300]
            if rank == 0:
                out.writerow(row)
                file.flush()
                print(round(time.perf_counter() - began, 1), row, flush=True)
            del stepper, model
            optimizer = None
            gc.collect()
            torch.cuda.empty_cache()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
