#!/usr/bin/env python3
"""Measures what PyTorch's operators allocate beside their results, over calls drawn at random.

    torch-workspaces.py OUT.csv --seed 45 --seconds 30 [--cases torch_operator_gaps]

One row for each operator whose call allocated more than its results: the call as ridge reads it (types, sizes, strides and values, joined
by '|'), the bytes of its results, and the bytes requested beside them at the peak: workspaces of cuDNN and cuBLAS, copies in another
layout, buffers of sorts. A row also for convolutions and recurrent layers that need nothing.

Method. A dispatch mode runs each operator below autograd, between two readings of the allocator's statistics. Limits: what a library
keeps (cuBLAS's workspaces) is allocated by the first call only, and is made beforehand.
"""
import argparse
import csv
import importlib
import json
import pathlib
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode

FIELDS = ["case", "name", "op", "inputs", "results", "beside"]
TYPES = {torch.float32: "float", torch.bfloat16: "c10::BFloat16", torch.float16: "c10::Half", torch.int64: "long int", torch.int32: "int",
         torch.bool: "bool", torch.uint8: "unsigned char", torch.float64: "double"}
ALWAYS = ("convolution", "_cudnn_rnn", "cudnn_convolution")


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [each for part in value for each in tensors_in(part)] if isinstance(value, (list, tuple)) else []


def row_text(arguments):
    """The four lists of the profiler."""
    kinds, sizes, strides, values = [], [], [], []
    for each in arguments:
        one = isinstance(each, torch.Tensor)
        kinds.append(TYPES.get(each.dtype, "") if one else "Scalar" if isinstance(each, (int, float)) else "ScalarList" if isinstance(each, (list, tuple)) else "")
        sizes.append(list(each.shape) if one else [])
        strides.append(list(each.stride()) if one else [])
        values.append("" if one or tensors_in(each) or each is None else str(each))
    return "|".join(json.dumps(each, separators=(",", ":")) for each in (kinds, sizes, strides, values))


class Watch(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.found = {}

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_stats()["requested_bytes.all.current"]
        result = function(*arguments, **(options or {}))
        stats = torch.cuda.memory_stats()
        peak, kept = (stats[f"requested_bytes.all.{each}"] - before for each in ("peak", "current"))
        beside = peak - kept
        name = function.name()
        if beside > 512 or any(each in name for each in ALWAYS):
            self.found[name, row_text(arguments)] = (kept, beside)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=45)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--cases", default="torch_operator_narrow")
    options = parser.parse_args()
    cases = importlib.import_module(options.cases)
    torch.randn(64, 64, device="cuda") @ torch.randn(64, 64, device="cuda")
    start, index, rows, refused = time.monotonic(), 0, 0, 0
    with open(options.out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        while time.monotonic() - start < options.seconds:
            torch.manual_seed(index)
            try:
                name, run = cases.draw(options.seed, index)
                run()
                watch = Watch()
                with watch:
                    run()
                for (operator, inputs), (kept, beside) in watch.found.items():
                    writer.writerow([index, name, operator, inputs, kept, beside])
                    rows += 1
                file.flush()
                del run
            except Exception as error:  # noqa: BLE001: a refused call is no reason to stop
                if "CUDA error" in str(error):
                    raise
                refused += 1
            index += 1
            if index % 16 == 0:
                torch.cuda.empty_cache()
    print(f"{index} cases, {refused} refused, {rows} rows", flush=True)


if __name__ == "__main__":
    main()
