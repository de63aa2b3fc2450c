#!/usr/bin/env python3
"""Checks what ridge promises on broken or full disks and when it is killed, one system call at a time.
Usage: check_faults.py RIDGE APPEND_RECORDS LIBRARY RECORDS TRACES. LIBRARY (failing_calls.cpp) makes the n-th
write, fsync, ftruncate, rename or read of a file fail with EIO or ENOSPC, or kills the program in the middle
of the call. n grows until a run ends without a fault. What must hold:
records   every record that was reported as kept reads back whole; at most one line is cut, and the next
          run removes it and continues.
charts    the file is the old chart or the new one, never a part; no other file is left beside it, except
          after a kill.
output    an answer that does not fit is an error with exit code 2; what was written is its beginning.
input     a file that cannot be read to its end is an error with exit code 2 that names the file; a trace is
          shown as far as it was read and reported as damaged.
"""
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

EFFECTS = ("EIO", "ENOSPC", "KILL")
MOST_CALLS = 60
failures = 0
runs = 0


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print("FAILED:", what)


class Faults:
    """Runs a program with one fault after another."""

    def __init__(self, library, folder):
        self.library = library
        self.log = folder / "fault.log"

    def run(self, arguments, fault, path, **options):
        global runs
        runs += 1
        self.log.unlink(missing_ok=True)
        environment = dict(os.environ, LD_PRELOAD=str(self.library), RIDGE_FAULT=fault,
                           RIDGE_FAULT_PATH=str(path), RIDGE_FAULT_LOG=str(self.log))
        options.setdefault("stdout", subprocess.PIPE)
        result = subprocess.run([str(word) for word in arguments], env=environment, check=False,
                                stderr=subprocess.PIPE, timeout=60, **options)
        result.faulty = self.log.exists()
        return result

    def each(self, name, calls, effects=EFFECTS):
        """Yields a Step for each call until the caller marks it as done, because no fault happened. Each
        call and effect must happen at least once."""
        for call in calls:
            for effect in effects:
                for number in range(1, MOST_CALLS):
                    step = Step(f"{call}:{effect}:{number}", effect)
                    yield step
                    if step.done:
                        check(number > 1, f"{name}: {call}:{effect} never happens")
                        break
                else:
                    check(False, f"{name}: {call}:{effect} still happens at call {MOST_CALLS}")


class Step:
    def __init__(self, fault, effect):
        self.fault = fault
        self.effect = effect
        self.done = False


def check_records(faults, folder, append, records):
    source = folder / "source.jsonl"
    subprocess.run([append, source, records, "0", "6"], check=True, capture_output=True)
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    file = folder / "kept.jsonl"
    for step in faults.each("records", ("write", "fsync", "ftruncate")):
        file.write_text("".join(lines[:2]) + lines[2][:40], encoding="utf-8")
        result = faults.run([append, file, source, 2, 3], step.fault, file)
        step.done = not result.faulty
        said = max([2] + [int(line) for line in result.stdout.split()])
        text = file.read_text(encoding="utf-8")
        whole = text.count("\n")
        check(text.startswith("".join(lines[:said])), f"{step.fault}: a record that was kept is lost")
        check(whole in (said, said + 1), f"{step.fault}: {whole} whole lines, {said} were kept")
        check("".join(lines).startswith(text), f"{step.fault}: the file holds something else")
        if step.done:
            check(result.returncode == 0 and said == 5, f"{step.fault}: fails without a fault")
            continue
        killed = step.effect == "KILL"
        check(result.returncode == (-signal.SIGKILL if killed else 2),
              f"{step.fault}: exit code {result.returncode}")
        if not killed:
            check(file.name.encode() in result.stderr, f"{step.fault}: the file is not named")
        again = faults.run([append, file, source, whole, 6 - whole], "none:EIO:0", file)
        check(again.returncode == 0, f"{step.fault}: the next run fails")
        check(file.read_text(encoding="utf-8") == "".join(lines), f"{step.fault}: the next run goes wrong")


def measured_table(folder, rows=16):
    """Writes a table of measured times with enough rows for a fit."""
    file = folder / "measured.csv"
    file.write_text("op,m,n,k,measured_us\n" + "".join(
        f"matmul,{256 * i},{256 * i},1024,{6 + 0.2 * i * i:.1f}\n" for i in range(1, rows + 1)), encoding="utf-8")
    return file


def undated(text):
    """The text without the date of a fit, which an overlay states."""
    return re.sub(rb"\d{4}-\d\d-\d\dT[\d:]+Z", b"", text)


def check_charts(faults, folder, ridge, traces):
    rows = measured_table(folder)
    written = {"chart.svg": ["roofline", "--gpu", "h100-sxm"], "chart.html": ["roofline", "--gpu", "h100-sxm"],
               "model.html": ["model", "gpt2", "--gpu", "h100-sxm", "--seq", "64"],
               "trace.html": ["trace", traces / "trace_llama_prefill.json.gz"],
               "effect.html": ["effect", "coalescing", "--gpu", "h100-sxm"],
               "overlay.toml": ["calibrate", "--rows", rows, "--gpu", "h100-sxm"]}
    for name, words in written.items():
        chart = folder / name
        command = [ridge, *words, "-o", chart]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        new = chart.read_bytes()
        for step in faults.each(name, ("write", "fsync", "rename")):
            chart.write_bytes(b"old")
            result = faults.run(command, step.fault, name)
            step.done = not result.faulty
            expected = b"old" if result.faulty else new
            check(undated(chart.read_bytes()) == undated(expected), f"{name} {step.fault}: is neither old nor new")
            killed = step.effect == "KILL" and result.faulty
            check(result.returncode == (0 if step.done else -signal.SIGKILL if killed else 2),
                  f"{name} {step.fault}: exit code {result.returncode}")
            beside = [path.name for path in folder.iterdir() if path.name.startswith(name + ".")]
            check(killed or not beside, f"{name} {step.fault}: leaves {beside}")
            for path in beside:
                (folder / path).unlink()
        chart.write_bytes(b"old")
        limited = subprocess.run([str(word) for word in command], check=False, capture_output=True,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)))
        check(limited.returncode == 2 and chart.read_bytes() == b"old", f"{name}: lost to a limit of size")
        check(b"File too large" in limited.stderr, f"{name}: a limit of size is not named: {limited.stderr[:80]}")


def table(folder, rows):
    file = folder / "rows.csv"
    file.write_text("op,elements\n" + "".join(f"copy,{i + 1}\n" for i in range(rows)), encoding="utf-8")
    return file


def check_memory(faults, folder, ridge, records, traces):
    """`ulimit -v`: an answer, or an error that says that memory ran out; never an abort."""
    command = [str(ridge), "predict", "softmax", "--rows", "64", "--cols", "64", "--gpu", "h100-sxm"]
    for size in (120, 60, 40, 30, 20):
        limit = size * 1000 * 1024
        limited = subprocess.run(command, check=False, capture_output=True,
                                 preexec_fn=lambda most=limit: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        check(limited.returncode >= 0 and (limited.returncode == 0 or limited.stderr), f"{size} MB: exit code {limited.returncode}")
        check(size < 60 or limited.returncode == 0, f"{size} MB are not enough: {limited.stderr[:80]}")


def check_output(faults, folder, ridge, records, traces):
    rows = table(folder, 20000)
    command = [ridge, "predict", "--from", rows, "--gpu", "h100-sxm", "--jobs", "2"]
    answer = subprocess.run([str(word) for word in command], check=True, capture_output=True).stdout
    out = folder / "answer.csv"
    for step in faults.each("output", ("write",), ("EIO", "ENOSPC")):
        with out.open("wb") as stream:
            result = faults.run(command, step.fault, out, stdout=stream)
        step.done = not result.faulty
        check(answer.startswith(out.read_bytes()), f"output {step.fault}: is not the beginning")
        check(result.returncode == (0 if step.done else 2), f"output {step.fault}: code {result.returncode}")
        check(step.done or b"cannot write" in result.stderr, f"output {step.fault}: nothing is said")
    questions = ["predict copy --elements 4 --gpu h100-sxm", "predict copy --elements 4 --gpu h100-sxm --format json",
                 "sweep copy --elements 4:400:4 --gpu h100-sxm --format csv", "gpus", "gpus show h100-sxm",
                 "roofline --gpu h100-sxm", "compare copy --elements 4 --gpu h100-sxm,h200-sxm",
                 "vram attention --heads 4 --seq 64 --head-dim 64 --gpu h100-sxm",
                 "completions bash", "--help", "--version", f"validate {records}", "ops", "ops elementwise",
                 "gpus timeline", "occupancy --threads 256 --gpu a100", "effect list", "effect coalescing --gpu h100-sxm",
                 "model gpt2 --gpu h100-sxm --seq 64", "model gpt2 --gpu h100-sxm --seq 64 --format json",
                 "model gpt2 --gpu h100-sxm --serve --seq 64 --answer 16", "compare model gpt2 --seq 64 --gpu h100-sxm,h200-sxm",
                 f"trace {traces / 'trace_llama_prefill.json.gz'}", f"trace {traces / 'kernels_h200.ridge'} --format csv",
                 f"calibrate --rows {measured_table(folder)} --gpu h100-sxm -o {folder / 'c.toml'}",
                 "vram kv-cache --kind gqa --layers 2 --kv-heads 8 --head-dim 128"]
    for question in questions:
        with open("/dev/full", "wb") as full:
            result = subprocess.run([ridge, *question.split()], check=False, stdout=full, stderr=subprocess.PIPE)
        check(result.returncode == 2, f"{question} > /dev/full: exit code {result.returncode}")
        check(b"cannot write" in result.stderr, f"{question} > /dev/full: says {result.stderr[:80]}")


def check_input(faults, folder, ridge, records, traces):
    rows = table(folder, 200000)
    gpu = folder / "own.toml"
    gpu.write_text('schema = 1\nkind = "overlay"\nname = "own"\noverlay = "h100-sxm"\n'
                   '[sources]\nT = { kind = "estimate", text = "a test" }\n'
                   '[latency]\ndram = { value = "700 clk", source = "T" }\n', encoding="utf-8")
    config = folder / "config.json"
    config.write_text('{"model_type": "gpt2", "n_layer": 2, "n_head": 4, "n_embd": 64, "vocab_size": 100, "n_positions": 64}',
                      encoding="utf-8")
    own_model = folder / "own-model.toml"
    own_model.write_text('name = "mine"\nvocabulary = 100\nhidden = 64\nlayers = 2\nheads = 4\nintermediate = 128\n',
                         encoding="utf-8")
    program = folder / "block.toml"
    program.write_text('[[operation]]\nop = "copy elements=4"\n', encoding="utf-8")
    measured = measured_table(folder)
    with_gpu = folder / "with-gpu.csv"
    with_gpu.write_text("".join(f"{'gpu' if i == 0 else 'h100-sxm'},{line}\n" for i, line in
                                enumerate(measured.read_text(encoding="utf-8").splitlines())), encoding="utf-8")
    small = ["--gpu", "h100-sxm", "--seq", "16"]
    for command, path in (([ridge, "predict", "--from", rows, "--gpu", "h100-sxm"], rows),
                          ([ridge, "validate", records], records),
                          ([ridge, "validate", measured, "--gpu", "h100-sxm"], measured),
                          ([ridge, "fit", "matmul", "--data", with_gpu, "--gpu", "h100-sxm"], with_gpu),
                          ([ridge, "calibrate", "--rows", measured, "--gpu", "h100-sxm", "-o", folder / "c.toml"], measured),
                          ([ridge, "model", config, *small], config),
                          ([ridge, "model", own_model, *small], own_model),
                          ([ridge, "model", program, "--gpu", "h100-sxm"], program),
                          ([ridge, "predict", "copy", "--elements", "4", "--gpu-file", gpu], gpu)):
        # A fit of so few rows need not converge; that is reported only after the table was read.
        whole = subprocess.run([str(word) for word in command], check=False, capture_output=True)
        check(path == with_gpu or whole.returncode == 0, f"{path.name}: fails: {whole.stderr[:200]}")
        for step in faults.each(path.name, ("read",), ("EIO",)):
            result = faults.run(command, step.fault, path)
            step.done = not result.faulty
            if step.done:
                check(result.returncode == whole.returncode, f"{path.name}: fails without a fault")
                continue
            check(result.returncode == 2, f"{path.name} {step.fault}: exit code {result.returncode}")
            check(path.name.encode() in result.stderr, f"{path.name} {step.fault}: the file is not named")


def check_traces(faults, ridge, traces):
    """Checks that a trace that cannot be read to its end is shown in part and named as damaged, or refused by name."""
    for name in ("trace_llama_prefill.json.gz", "kernels_h200.ridge", "ncu_torch.csv", "nsys_report.sqlite"):
        path = next(folder / name for folder in (traces, traces.parent / "data") if (folder / name).exists())
        whole = subprocess.run([ridge, "trace", path], check=True, capture_output=True).stdout
        for step in faults.each(name, ("read",), ("EIO",)):
            result = faults.run([ridge, "trace", path], step.fault, path)
            step.done = not result.faulty
            if step.done:
                check(result.returncode == 0, f"{name}: fails without a fault: {result.stderr[:200]}")
                continue
            said = result.stdout + result.stderr
            check(result.returncode in (0, 2), f"{name} {step.fault}: exit code {result.returncode}")
            # If only the look at the first bytes fails, nothing is lost: the file is then read in full.
            told = result.returncode == 2 or b"damaged" in said or result.stdout == whole
            check(told, f"{name} {step.fault}: nothing is said")
            check(name.encode() in said, f"{name} {step.fault}: the file is not named")


def main():
    ridge, append, library, records, traces = (pathlib.Path(path).resolve() for path in sys.argv[1:6])
    with tempfile.TemporaryDirectory(prefix="ridge-faults-") as scratch:
        folder = pathlib.Path(scratch)
        faults = Faults(library, folder)
        check_records(faults, folder, append, records)
        check_charts(faults, folder, ridge, traces)
        check_memory(faults, folder, ridge, records, traces)
        check_output(faults, folder, ridge, records, traces)
        check_input(faults, folder, ridge, records, traces)
        check_traces(faults, ridge, traces)
    print(f"{runs} runs under faults, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
