#!/usr/bin/env python3
"""How far `ridge.torch.estimate` is from the measured steps of programs: time of kernels and peak memory (docs/traces.md).

    scripts/accuracy/estimate.py records/torch-programs-judge/h200.csv [--only volumes,xcit]

Needs PyTorch 2.11, the packages of the programs (timm, torchvision, transformers) and ridge; no GPU. A program of
`scripts/measure/torch_programs_judges.py` is built and runs on fake tensors of the CPU, as `estimate` runs a model: one step to make the
optimizer's states, one that is recorded.

Limits: gradients are not scaled (the scaler asks for values), autocast is the CPU's, norms are dispatched as on the CPU.
A program whose shapes follow from values is left out, with the reason; with --values it runs with values. Compiled programs are left out.
"""
import argparse
import contextlib
import csv
import pathlib
import statistics
import sys
import time

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.optim import optimizer as optimizers

import ridge.torch as estimates
from ridge._dispatch import AsOnGpu

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/measure"))
import torch_programs  # noqa: E402
from torch_programs_fresh import FRESH  # noqa: E402
from torch_programs_judges import JUDGES  # noqa: E402

PROGRAMS = JUDGES | FRESH

GPU = "h200-sxm"


class Context(torch_programs.Context):
    """The parts of a step, without the scaling of gradients."""

    def train(self, model, loss, optimizer=None, dtype=None, scaled=False, clip=None):
        return super().train(model, loss, optimizer, dtype, False, clip)


def moved(module, *places, dtype=None, memory_format=None, **_):
    """`nn.Module.to` for fake tensors, whose parameters cannot be swapped."""
    dtype = next((each for each in places if isinstance(each, torch.dtype)), dtype)
    for part in module.modules():
        for store in (part._parameters, part._buffers):
            for name, tensor in store.items():
                if tensor is None:
                    continue
                new = tensor.detach()
                new = new.to(dtype) if dtype is not None and new.is_floating_point() else new
                rank = {torch.channels_last: 4, torch.channels_last_3d: 5}.get(memory_format)
                new = new.contiguous(memory_format=memory_format) if new.dim() == rank else new
                store[name] = nn.Parameter(new, requires_grad=tensor.requires_grad) if isinstance(tensor, nn.Parameter) else new
    return module


def value_of(tensor):
    """What a program's building asks a tensor for: a rate of dropout, a small number."""
    return 0.1 if tensor.dtype.is_floating_point else 1


def stand_in():
    """Replaces what fake tensors cannot do, and takes optimizers as a GPU does, over lists."""
    nn.Module.to = moved
    FakeTensor.item = value_of
    FakeTensor.__float__ = lambda tensor: float(value_of(tensor))
    FakeTensor.__int__ = lambda tensor: int(value_of(tensor))
    FakeTensor.tolist = lambda tensor: [value_of(tensor)] * tensor.shape[0] if tensor.dim() == 1 else value_of(tensor)
    optimizers._get_foreach_kernels_supported_devices = lambda: ["cpu", "cuda"]


def estimate_of(name, values):
    with contextlib.nullcontext() if values else estimates._fake():
        torch.manual_seed(1)
        step = PROGRAMS[name](Context("cpu"))
        step()
        recorder = estimates.Recorder()
        with recorder, AsOnGpu(GPU, values):
            step()
    return estimates.summary(recorder, nn.Module(), GPU, "train").to_dict()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--values", action="store_true", help="programs that fake tensors refuse run on this CPU")
    options = parser.parse_args()
    stand_in()
    with open(options.steps, encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["half"] in ("judge", "fresh") and not row["program"].startswith("compiled")]
    times, peaks = [], []
    for row in rows:
        if options.only and row["program"] not in options.only.split(","):
            continue
        begin = time.monotonic()
        try:
            found, how = estimate_of(row["program"], False), ""
        except Exception as error:  # noqa: BLE001: a program less
            print(f"{row['program']:18s} refused: {type(error).__name__} {(str(error).splitlines() or [''])[0][:80]}", flush=True)
            if not options.values:
                continue
            found, how = estimate_of(row["program"], True), "with values"
        known = found["gpu_time_us"] or found["at_least_us"]
        times.append(known / float(row["kernel_us"]) - 1.0)
        peaks.append(found["peak_bytes"] / float(row["peak_bytes"]) - 1.0)
        print(f"{row['program']:18s} kernels {100 * times[-1]:+6.1f} %  peak {100 * peaks[-1]:+6.1f} %  calls without a prediction "
              f"{found['not_modelled']} {how} {time.monotonic() - begin:.0f} s", flush=True)
    if times:
        print(f"{len(times)} programs: time {100 * statistics.mean(map(abs, times)):.1f} %, median {100 * statistics.median(map(abs, times)):.1f}; "
              f"peak {100 * statistics.mean(map(abs, peaks)):.1f} %, median {100 * statistics.median(map(abs, peaks)):.1f}")


if __name__ == "__main__":
    main()
