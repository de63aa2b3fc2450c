#!/usr/bin/env python3
"""Measures training steps that divide a model's layers (pipeline) or its sequences (context) among GPUs.

    torchrun --standalone --nproc-per-node 4 scripts/measure/torch-layouts.py --csv out.csv --seconds 90

Pipeline: torch.distributed.pipelining over whole layers, embedding on the first stage, norm and head on the last, by
the schedules gpipe, 1f1b, interleaved (two parts of the model on each GPU) and zb (ScheduleInterleavedZeroBubble). A
row's batch counts the sequences of a step, `micro` the micro-batches into which they are divided.
Context: torch.distributed.tensor.experimental.context_parallel under DistributedDataParallel; every GPU has 1/n of
each sequence, with the causal work spread evenly. allgather and alltoall are its two ways to pass keys and values on.

A row holds, for the slowest rank, the wall time between barriers (median of up to 8 steps); for each rank, separated
by semicolons, its kernels without NCCL's, their time, NCCL's, how long only NCCL's ran, the host's dispatch, the bytes allocated before and the peak
of the step; and the host's time for one small kernel. Models are those of torch-models.py, in bf16.

Limits: embedding and head are tied in no pipeline; the layers are called without the model's own loop (its masks).
"""
import statistics

import torch
import torch.distributed as dist
from torch.distributed import pipelining
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import _attention as ring
from torch.distributed.tensor.experimental import context_parallel
from torch.nn.parallel import DistributedDataParallel

import torch_ranks
from siblings import sibling

MODELS = sibling("torch-models.py")
# (model, how, batch of a step, seq, micro-batches)
STEPS = [
    ("llama-3.2-1b", "pp-1f1b", 8, 1024, 8),
    ("llama-3.2-1b", "cp-allgather", 1, 8192, 1),
    ("llama-3.2-1b", "pp-gpipe", 8, 1024, 8),
    ("llama-3.2-1b", "cp-alltoall", 1, 8192, 1),
    ("llama-3.2-1b", "pp-interleaved", 8, 1024, 8),
    ("llama-3.2-1b", "pp-zb", 8, 1024, 8),
    ("llama-3.2-1b", "pp-1f1b", 16, 2048, 16),
    ("qwen3-1.7b", "pp-1f1b", 8, 2048, 4),
    ("qwen3-1.7b", "cp-allgather", 1, 16384, 1),
    ("qwen3-1.7b", "pp-gpipe", 16, 1024, 8),
    ("qwen3-1.7b", "cp-alltoall", 2, 8192, 1),
    ("qwen3-1.7b", "pp-interleaved", 8, 2048, 8),
    ("llama-3.2-1b", "cp-allgather", 2, 4096, 1),
]
# Models and sizes that nothing was chosen from; records/predicted has what is predicted for them.
JUDGES = [
    ("qwen3-0.6b", "pp-1f1b", 8, 1024, 4),
    ("qwen3-0.6b", "cp-allgather", 1, 8192, 1),
    ("smollm2-360m", "pp-gpipe", 8, 2048, 4),
    ("smollm2-360m", "cp-alltoall", 1, 8192, 1),
    ("tinyllama-1.1b", "pp-interleaved", 8, 1024, 4),
    ("tinyllama-1.1b", "pp-zb", 8, 1024, 4),
    ("tinyllama-1.1b", "pp-1f1b", 8, 2048, 8),
    ("qwen2.5-0.5b", "cp-allgather", 2, 8192, 1),
]
EACH = ["kernels", "time_us", "nccl_us", "exposed_us", "dispatch_us", "allocated_before", "peak_extra_bytes"]
FIELDS = ["model", "how", "gpus", "batch", "seq", "micro", "wall_us", *EACH, "probe_us", "reason"]


class Part(torch.nn.Module):
    """Some layers of a decoder, with what comes before the first and after the last."""

    def __init__(self, model, layers, first, last):
        super().__init__()
        body = model.model
        self.embed = body.embed_tokens if first else None
        self.layers = torch.nn.ModuleList(layers)
        self.rotary = body.rotary_emb
        self.norm = body.norm if last else None
        self.head = model.lm_head if last else None

    def forward(self, x, positions=None):
        x = x if self.embed is None else self.embed(x)
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device).unsqueeze(0)
        rotation = self.rotary(x, position_ids=positions)
        for layer in self.layers:
            x = layer(x, attention_mask=None, position_ids=positions, position_embeddings=rotation)
            x = x[0] if isinstance(x, tuple) else x
        return x if self.head is None else self.head(self.norm(x))


def loss_of(logits, labels):
    """As transformers computes it, but labels are already those of the next tokens."""
    return torch.nn.functional.cross_entropy(logits.float().view(-1, logits.shape[-1]), labels.reshape(-1))


def device():
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


class Pipeline:
    """A step of a pipeline: forward and backward of all micro-batches, then the optimizer."""

    def __init__(self, model, how, batch, seq, micro):
        rank, gpus = dist.get_rank(), dist.get_world_size()
        layers = list(MODELS.layers_of(model))
        parts = 2 * gpus if how in ("pp-interleaved", "pp-zb") else gpus
        own = range(rank, parts, gpus)
        bounds = [round(i * len(layers) / parts) for i in range(parts + 1)]
        modules = [Part(model, layers[bounds[i]:bounds[i + 1]], i == 0, i == parts - 1) for i in own]
        stages = [pipelining.PipelineStage(module, i, parts, device()) for module, i in zip(modules, own)]
        if how == "pp-gpipe":
            self.schedule = pipelining.ScheduleGPipe(stages[0], micro, loss_fn=loss_of)
        elif how == "pp-1f1b":
            self.schedule = pipelining.Schedule1F1B(stages[0], micro, loss_fn=loss_of)
        elif how == "pp-interleaved":
            self.schedule = pipelining.ScheduleInterleaved1F1B(stages, micro, loss_fn=loss_of)
        else:
            self.schedule = pipelining.ScheduleInterleavedZeroBubble(stages, micro, loss_fn=loss_of)
        self.first, self.last = rank == 0, (parts - 1) % gpus == rank
        self.optimizer = torch.optim.AdamW([p for m in modules for p in m.parameters()], lr=1e-5)
        self.ids = torch.randint(0, model.config.vocab_size, (batch, seq), device=device())

    def step(self):
        inputs = (self.ids,) if self.first else ()
        if self.last:
            self.schedule.step(*inputs, target=self.ids, losses=[])
        else:
            self.schedule.step(*inputs)
        self.optimizer.step()

    def after(self):
        self.optimizer.zero_grad(set_to_none=True)


class Context:
    """A step of a model whose sequences are divided among the GPUs."""

    def __init__(self, model, how, batch, seq, _):
        gpus = dist.get_world_size()
        self.mesh = init_device_mesh(device().type, (gpus,))
        ring.set_rotate_method(how.split("-")[1])
        whole = Part(model, list(MODELS.layers_of(model)), True, True)
        self.module = DistributedDataParallel(whole, device_ids=[torch.cuda.current_device()]
                                              if torch.cuda.is_available() else None, gradient_as_bucket_view=True)
        self.optimizer = torch.optim.AdamW(whole.parameters(), lr=1e-5)
        self.ids = torch.randint(0, model.config.vocab_size, (batch, seq), device=device())
        self.positions = torch.arange(seq, device=device()).unsqueeze(0).repeat(batch, 1)

    def step(self):
        ids, labels, positions = self.ids.clone(), self.ids.clone(), self.positions.clone()
        buffers = [ids, labels, positions]
        with context_parallel(self.mesh, buffers=buffers, buffer_seq_dims=[1, 1, 1],
                              no_restore_buffers=set(buffers)):
            loss_of(self.module(ids, positions), labels).backward()
        self.optimizer.step()

    def after(self):
        self.optimizer.zero_grad(set_to_none=True)


def measure(stepper):
    """What this rank saw."""
    for _ in range(3):
        stepper.step()
        stepper.after()
    torch_ranks.at_a_barrier()
    row = {"allocated_before": torch.cuda.memory_allocated()}
    torch.cuda.reset_peak_memory_stats()
    stepper.step()
    torch.cuda.synchronize()
    row["peak_extra_bytes"] = torch.cuda.max_memory_allocated() - row["allocated_before"]
    stepper.after()
    row["walls"], sent, row["probe_us"] = torch_ranks.timed(MODELS, stepper)
    row["dispatch_us"] = statistics.median(sent)
    row.update(torch_ranks.times_of(MODELS, stepper))
    return row


def joined(rows):
    """One row of all ranks' rows."""
    walls = [max(of_step) for of_step in zip(*(row["walls"] for row in rows))]
    row = {field: ";".join(f"{row[field]:.0f}" for row in rows) for field in EACH}
    row["wall_us"] = round(statistics.median(walls), 1)
    row["probe_us"] = round(statistics.median(row["probe_us"] for row in rows), 3)
    return row


def stepper_of(name, how, batch, seq, micro):
    model = torch_ranks.with_random_weights(MODELS.build(name, True))
    model.train()
    return (Pipeline if how.startswith("pp") else Context)(model, how, batch, seq, micro)


def fill(step, row):
    _, _, batch, seq, micro = step
    row.update(batch=batch, seq=seq, micro=micro)
    row.update(joined(torch_ranks.gathered(measure(stepper_of(*step)))))


if __name__ == "__main__":
    torch_ranks.run(__doc__.split("\n")[0], FIELDS, {"first": STEPS, "judge": JUDGES}, fill)
