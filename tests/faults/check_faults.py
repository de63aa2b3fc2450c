#!/usr/bin/env python3
"""What ridge promises when disks are broken or full and when it is killed, tried call by call.

Usage: check_faults.py RIDGE APPEND_RECORDS LIBRARY RECORDS. LIBRARY (failing_calls.cpp) makes the n-th
write, fsync, ftruncate, rename or read of a file fail with EIO or ENOSPC, or kills the program in the
middle of it; n goes up until a run ends without a fault. What must hold:

records   every record that was said to be kept is read back whole; at most one line is cut, and the next
          run cuts it off and goes on.
charts    the file of that name is the old chart or the new one, never a part; nothing is left beside it
          but by a kill.
output    what does not fit is an error with exit code 2; what was written is the beginning of the answer.
input     a file that cannot be read to its end is an error with exit code 2 that names it.
"""
import os
import pathlib
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
    """Runs a program with one fault after the other."""

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

    def each(self, calls, effects=EFFECTS):
        """(fault text, effect) of every call, until the caller says that none happened."""
        for call in calls:
            for effect in effects:
                for number in range(1, MOST_CALLS):
                    step = Step(f"{call}:{effect}:{number}", effect)
                    yield step
                    if step.done:
                        break
                else:
                    check(False, f"{call}:{effect} still happens at call {MOST_CALLS}")


class Step:
    def __init__(self, fault, effect):
        self.fault = fault
        self.effect = effect
        self.done = False


def check_records(faults, folder, append, records):
    lines = records.read_text(encoding="utf-8").splitlines(keepends=True)[:6]
    source = folder / "source.jsonl"
    source.write_text("".join(lines), encoding="utf-8")
    file = folder / "kept.jsonl"
    for step in faults.each(("write", "fsync", "ftruncate")):
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


def check_charts(faults, folder, ridge):
    for name in ("chart.svg", "chart.html"):
        chart = folder / name
        command = [ridge, "roofline", "--gpu", "h100-sxm", "-o", chart]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        new = chart.read_bytes()
        for step in faults.each(("write", "rename")):
            chart.write_bytes(b"old")
            result = faults.run(command, step.fault, name)
            step.done = not result.faulty
            expected = b"old" if result.faulty else new
            check(chart.read_bytes() == expected, f"{name} {step.fault}: is neither old nor new")
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
        check(limited.returncode != 0 and chart.read_bytes() == b"old", f"{name}: lost to a limit of size")
        (folder / (name + ".part")).unlink(missing_ok=True)


def table(folder, rows):
    file = folder / "rows.csv"
    file.write_text("op,elements\n" + "".join(f"copy,{i + 1}\n" for i in range(rows)), encoding="utf-8")
    return file


def check_output(faults, folder, ridge, records):
    rows = table(folder, 20000)
    command = [ridge, "predict", "--from", rows, "--gpu", "h100-sxm", "--jobs", "2"]
    answer = subprocess.run([str(word) for word in command], check=True, capture_output=True).stdout
    out = folder / "answer.csv"
    for step in faults.each(("write",), ("EIO", "ENOSPC")):
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
                 "completions bash", "--help", "--version", f"validate {records}"]
    for question in questions:
        with open("/dev/full", "wb") as full:
            result = subprocess.run([ridge, *question.split()], check=False, stdout=full, stderr=subprocess.PIPE)
        check(result.returncode == 2, f"{question} > /dev/full: exit code {result.returncode}")
        check(b"cannot write" in result.stderr, f"{question} > /dev/full: says {result.stderr[:80]}")


def check_input(faults, folder, ridge, records):
    rows = table(folder, 200000)
    gpu = folder / "own.toml"
    gpu.write_text('schema = 1\nkind = "overlay"\nname = "own"\noverlay = "h100-sxm"\n'
                   '[sources]\nT = { kind = "estimate", text = "a test" }\n'
                   '[latency]\ndram = { value = "700 clk", source = "T" }\n', encoding="utf-8")
    for command, path in (([ridge, "predict", "--from", rows, "--gpu", "h100-sxm"], rows),
                          ([ridge, "validate", records], records),
                          ([ridge, "predict", "copy", "--elements", "4", "--gpu-file", gpu], gpu)):
        for step in faults.each(("read",), ("EIO",)):
            result = faults.run(command, step.fault, path)
            step.done = not result.faulty
            if step.done:
                check(result.returncode == 0, f"{path.name}: fails without a fault: {result.stderr[:200]}")
                continue
            check(result.returncode == 2, f"{path.name} {step.fault}: exit code {result.returncode}")
            check(path.name.encode() in result.stderr, f"{path.name} {step.fault}: the file is not named")


def main():
    ridge, append, library, records = (pathlib.Path(path).resolve() for path in sys.argv[1:5])
    with tempfile.TemporaryDirectory(prefix="ridge-faults-") as scratch:
        folder = pathlib.Path(scratch)
        faults = Faults(library, folder)
        check_records(faults, folder, append, records)
        check_charts(faults, folder, ridge)
        check_output(faults, folder, ridge, records)
        check_input(faults, folder, ridge, records)
    print(f"{runs} runs under faults, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
