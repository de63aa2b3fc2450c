#!/usr/bin/env python3
"""A PyTorch program whose energy is known: phases of one kernel each, then two mixtures of them, for `ridge profile --energy`.

    ridge profile --energy -o mix -- energy-program.py mix.json [SECONDS]
    ridge trace mix.*.ridge --format json

Each phase is an NVTX range. The program reads NVML's energy counter itself, at the counter's own steps, and writes the
watts of each phase to its file: what a kernel takes above rest alone must be what the regression tells for it in the mixtures
as well. Needs a GPU that nobody else uses.
"""
import json
import sys
import time

import torch

from energy_counter import Counter, window_of

BATCH_SECONDS = 0.02


def operations():
    a, b = (torch.randn(6144, 6144, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    x = torch.randn(1 << 27, device="cuda", dtype=torch.bfloat16)
    y = torch.empty_like(x)
    rows = torch.randn(8192, 8192, device="cuda", dtype=torch.float32)
    return {"product": lambda: torch.mm(a, b), "copy": lambda: y.copy_(x), "softmax": lambda: torch.softmax(rows, -1),
            "sine": lambda: torch.sin(rows)}


def once(run):
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    run()
    start.record()
    for _ in range(10):
        run()
    stop.record()
    torch.cuda.synchronize()
    return start.elapsed_time(stop) * 1e-4


def main():
    out, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 2.5
    runs = operations()
    times = {name: once(run) for name, run in runs.items()}
    phases = {name: {name: 1.0} for name in runs}
    phases |= {"mix": {"product": 0.3, "copy": 0.5, "softmax": 0.2}, "other mix": {"product": 0.1, "sine": 0.6, "softmax": 0.3}}
    counter, found = Counter(), {}
    with torch.inference_mode():
        for phase, shares in phases.items():
            counter.restart()
            torch.cuda.nvtx.range_push(phase)
            counts = {name: max(1, round(share * BATCH_SECONDS / times[name])) for name, share in shares.items()}
            batches, start = 0, time.monotonic()
            while time.monotonic() - start < seconds:
                for name, count in counts.items():
                    for _ in range(count):
                        runs[name]()
                event = torch.cuda.Event()
                event.record()
                while not event.query():
                    counter.poll()
                batches += 1
            end = time.monotonic()
            torch.cuda.nvtx.range_pop()
            window = window_of(counter.readings, start + 0.3, end)
            found[phase] = {"launches": {name: count * batches for name, count in counts.items()}, "seconds": end - start,
                            **(window or {})}
            print(phase, found[phase], flush=True)
            time.sleep(0.5)
    found["idle"] = counter.idle(1.5)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)


main()
