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
of every rank. `dispatches` and `probes` hold every rank's time to dispatch a step, and for one small kernel
between the steps.

Limits: one process per GPU, NCCL as installed. Tensor parallel steps do not shard embedding and
head, but `ridge model --tp` does.
"""

import functools
import statistics

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

import torch_ranks
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
# Models and sizes that nothing was chosen from; records/predicted has what is predicted for them.
JUDGES = [
    ("smollm2-360m", "ddp", "train", 4, 1024),
    ("qwen3-0.6b", "zero2", "train", 2, 1024),
    ("tinyllama-1.1b", "zero3", "train", 2, 1536),
    ("gpt2-medium", "zero1", "train", 4, 512),
    ("mistral-7b-v0.3", "tp", "prefill", 2, 1536),
    ("mistral-7b-v0.3", "tp", "decode", 24, 768),
    ("qwen3-0.6b", "ddp", "train", 8, 2048),
    ("tinyllama-1.1b", "zero2", "train", 4, 2048),
    ("smollm2-360m", "zero3", "train", 8, 2048),
    ("qwen3-4b", "tp", "prefill", 1, 1024),
    ("qwen3-0.6b", "single", "train", 2, 1024),
    ("qwen3-4b", "tp", "decode", 4, 2048),
]
FIELDS = ["model", "how", "gpus", "phase", "batch", "seq", "parameters", "allocated_before",
          "peak_extra_bytes", "kernels", "time_us", "nccl_kernels", "nccl_us", "exposed_us", "dispatch_us",
          "wall_us", "probe_us", "peaks", "dispatches", "probes", "reason"]


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


@functools.cache
def mesh_of_all():
    return init_device_mesh("cuda", (dist.get_world_size(),))


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
    walls, sent, row["probe_us"] = torch_ranks.timed(MODELS, stepper)
    row["wall_us"] = round(statistics.median(walls), 1)
    row["dispatch_us"] = round(statistics.median(sent), 1)
    stepper.held = []
    row.update(torch_ranks.times_of(MODELS, stepper))
    seen = torch_ranks.gathered({"peak": row["allocated_before"] + row["peak_extra_bytes"],
                                 "dispatch_us": row["dispatch_us"], "probe_us": row["probe_us"]})
    row["peaks"] = ";".join(str(each["peak"]) for each in seen)
    row["dispatches"] = ";".join(str(each["dispatch_us"]) for each in seen)
    row["probes"] = ";".join(str(each["probe_us"]) for each in seen)
    return row


def fill(step, row):
    name, how, phase, batch, seq = step
    row.update(phase=phase, batch=batch, seq=seq)
    model = torch_ranks.with_random_weights(MODELS.build(name, phase == "train"))
    row["parameters"] = sum(p.numel() for p in model.parameters())
    model, optimizer = spread(model, how, mesh_of_all())
    row.update(measure(MODELS.Stepper(model, phase, batch, seq, optimizer)))


if __name__ == "__main__":
    torch_ranks.run(__doc__.split("\n")[0], FIELDS, {"first": STEPS, "others": OTHERS, "judge": JUDGES}, fill)
