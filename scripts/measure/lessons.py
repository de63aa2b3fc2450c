#!/usr/bin/env python3
"""Measures with PyTorch what `ridge effect` shows but bundled kernels cannot measure: calls, steps, memory.

    scripts/measure/lessons.py records/h200-sxm-effects [--only calls,paper,attention,steps] [--seconds 60]

calls      relu over 256 to 268 million numbers as eager calls: time between two events around one call
           on an idle GPU (the host's dispatch included), median of 20; records in eager.jsonl
paper      attention written out with stored scores in the setting of FlashAttention's paper, 64 x 16 heads of 1024 x 64
           in fp16, forward and backward, and scaling, mask and dropout of its scores; records in eager.jsonl
attention  peak of allocated bytes, including q, k, v and the result, of one forward call in fp16 with 32
           heads of 128: written out with stored scores, and with PyTorch's flash backend; the number of
           tokens doubles until a call does not fit
steps      a training step of GPT-2 (AdamW, 1024 tokens), stored and with its layers recomputed
           (gradient_checkpointing_enable): peak of allocated bytes and the sum of its kernels

The last two are rows of lessons.csv: the question as `ridge effect NAME --questions` writes it, time in
seconds, and peak bytes; one of the two may be empty. Both files are written during the run, and what
they contain is not measured again. scripts/records/effect-points.py puts the values beside the predictions.
"""

import argparse
import csv
import gc
import json
import pathlib
import statistics
import time

import torch
from siblings import sibling

FIELDS = ["question", "time_s", "memory_bytes"]


def seconds_between_events(run, repeats=20, before=lambda: None):
    """Times of one call on an idle GPU, including the host's dispatch; the first three are left out."""
    times = []
    for _ in range(repeats + 3):
        before()
        torch.cuda.synchronize()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        kept = run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3)
        del kept
    return times[3:]


def append_record(path, op, launch, times):
    kernels = sibling("torch-kernels.py")
    record = {"schema": 1, "op": op, "implementation": "torch", "l2": "warm", "launch": launch,
              "pattern": "normal", "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
              "tool": f"lessons.py, PyTorch {torch.__version__}",
              "software": "pytorch-" + torch.__version__.split("+")[0], "device": kernels.describe_device(),
              "no_counters": {"reason": "not requested", "remedy": ""}, "before": {}, "after": {},
              "timing": {"method": "events", "statistics": kernels.summary_of(times), "discarded": 0,
                         "converged": False, "seconds": sum(times), "times_s": times}}
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record, separators=(",", ":")) + "\n")
    print(op, f"{statistics.median(times) * 1e6:.1f} us", flush=True)


def calls(folder, known, _csv):
    for elements in [256 * 4**power for power in range(11)]:
        op = f"elementwise dtype=fp32 elements={elements} expr=relu(x)"
        if op in known:
            continue
        x = torch.randn(elements, device="cuda")
        append_record(folder / "eager.jsonl", op, "stream", seconds_between_events(lambda: torch.relu(x)))
        del x
        yield


def paper(folder, known, _csv):
    """Measures kernels of milliseconds, in which the host's dispatch, about 10 us, does not matter."""
    path, shape = folder / "eager.jsonl", "dtype=fp16 batch=64 heads=16 seq_q=1024 head_dim=64"

    def random(*sizes):
        return torch.randn(*sizes, dtype=torch.float16, device="cuda")

    for direction in ("", " direction=backward"):
        op = f"attention {shape}{direction}"
        if op in known:
            continue
        q, k, v, gradient = (random(64, 16, 1024, 64) for _ in range(4))
        if not direction:
            append_record(path, op, "kernel", seconds_between_events(
                lambda: torch.softmax(q @ k.transpose(-2, -1), -1) @ v))
        else:
            inputs = [each.requires_grad_() for each in (q, k, v)]
            out = torch.softmax(q @ k.transpose(-2, -1), -1) @ v
            append_record(path, op, "kernel", seconds_between_events(
                lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)))
            del out, inputs
        del q, k, v, gradient
        yield
    scores = "dtype=fp16 elements=1073741824"
    mask = torch.zeros(64, 16, 1024, 1024, dtype=torch.bool, device="cuda").triu_(1)
    for op, run in ((f'elementwise {scores} expr="x * c"', lambda x: x * 0.125),
                    (f"elementwise {scores} expr=dropout(x)", lambda x: torch.native_dropout(x, 0.1, True)),
                    (f'elementwise {scores} expr="masked_fill(x, mask)"',
                     lambda x: x.masked_fill(mask, float("-inf")))):
        if op in known:
            continue
        x = random(64, 16, 1024, 1024)
        append_record(path, op, "kernel", seconds_between_events(lambda: run(x)))  # pylint: disable=cell-var-from-loop
        del x
        yield


def attention(_folder, known, write):
    def stored(q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1), -1) @ v

    def flash(q, k, v):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    for name, run in (("standard", stored), ("flash2", flash)):
        for tokens in [1024 * 2**power for power in range(8)]:
            question = f"memory of attention dtype=fp16 heads=32 seq={tokens} head_dim=128 impl={name}"
            if question in known:
                continue
            gc.collect()
            torch.cuda.empty_cache()
            before = torch.cuda.memory_allocated()  # cuBLAS's workspace
            try:
                with torch.no_grad():
                    q, k, v = (torch.empty(1, 32, tokens, 128, dtype=torch.float16, device="cuda") for _ in range(3))
                    torch.cuda.reset_peak_memory_stats()
                    run(q[:, :, :8], k[:, :, :8], v[:, :, :8])  # creates the workspace
                    before = max(before, torch.cuda.memory_allocated() - 3 * q.numel() * 2)
                    torch.cuda.reset_peak_memory_stats()
                    run(q, k, v)
                torch.cuda.synchronize()
                write(question, None, torch.cuda.max_memory_allocated() - before)
            except torch.cuda.OutOfMemoryError:
                print("does not fit:", question, flush=True)
                break
            finally:
                q = k = v = None
            yield


def steps(_folder, known, write):
    models = sibling("torch-models.py")
    torch.nn.init.normal_ = lambda tensor, *a, **k: tensor  # values do not matter
    for again in (False, True):
        model = optimizer = None
        for batch in (1, 2, 4, 8, 16):
            question = f"step of gpt2 phase=train batch={batch} seq=1024 checkpoint={'full' if again else 'none'}"
            if question in known:
                continue
            if model is None:
                model = models.build("gpt2", True)
                if again:
                    model.gradient_checkpointing_enable()
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter.normal_(0.0, 0.02)
                optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
            row = models.measure(models.Stepper(model, "train", batch, 1024, optimizer), None, {}, 3)
            write(question, row["time_us"] * 1e-6, row["allocated_before"] + row["peak_extra_bytes"])
            gc.collect()
            torch.cuda.empty_cache()
            yield
        del model, optimizer


PARTS = {"calls": calls, "paper": paper, "attention": attention, "steps": steps}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--seconds", type=float, default=1e9)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    table = options.folder / "lessons.csv"
    known = set()
    if table.exists():
        with open(table, encoding="utf-8") as file:
            known |= {row["question"] for row in csv.DictReader(file)}
    else:
        table.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    eager = options.folder / "eager.jsonl"
    if eager.exists():
        known |= {json.loads(line)["op"] for line in eager.read_text(encoding="utf-8").splitlines()}

    def write(question, seconds, peak):
        with open(table, "a", encoding="utf-8") as file:
            cells = [question, "" if seconds is None else f"{seconds:.6g}", str(peak)]
            file.write(",".join(cells) + "\n")
        print(*cells, flush=True)

    began = time.monotonic()
    for name in options.only.split(","):
        for _ in PARTS[name](options.folder, known, write):
            if time.monotonic() - began > options.seconds:
                print("out of time", flush=True)
                return


if __name__ == "__main__":
    main()
