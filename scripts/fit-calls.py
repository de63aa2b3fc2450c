#!/usr/bin/env python3
"""Fits what the host adds to a call in a stream, from records of bundled kernels.

    scripts/fit-calls.py [RIDGE]           # default: build/release/ridge

Takes the records with launch=stream in folders that fits may use (not those that judge), and looks for the
`launch.call` and `launch.stream` (B8 of docs/model.md), in steps of 0.1 us, with which RIDGE's predictions have the
least mean error. Prints both, the errors there, and how much worse their neighbours are. Hosts differ: the records of
a GPU are of several.
"""
import csv
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDS = ROOT / "measure/records"
FOLDERS = {"h200-sxm": ("h200-sxm", "h200-sxm-fit", "h200-sxm-random", "h200-sxm-corrections"),
           "h100-sxm": ("h100-sxm", "h100-sxm-corrections")}
OVERLAY = """schema = 1
kind = "overlay"
name = "calls"
overlay = "{gpu}"
[sources]
TRIED = {{ kind = "derived", text = "a value that is tried" }}
[launch]
call = {{ value = "{call:.1f} us", source = "TRIED" }}
stream = {{ value = "{stream:.1f} us", source = "TRIED" }}
"""


class Calls:
    """Errors of the calls of one GPU by tenths of a microsecond of both times."""

    def __init__(self, ridge, gpu, folder):
        self.ridge, self.gpu, self.known = ridge, gpu, {}
        self.records, self.overlay = folder / f"{gpu}.jsonl", folder / "calls.toml"
        lines = [line for name in FOLDERS[gpu] for path in sorted((RECORDS / name).glob("*.jsonl"))
                 for line in path.read_text(encoding="utf-8").splitlines() if '"launch":"stream"' in line]
        self.records.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def errors(self, call, stream):
        if (call, stream) not in self.known:
            self.overlay.write_text(OVERLAY.format(gpu=self.gpu, call=call / 10, stream=stream / 10), encoding="utf-8")
            table = subprocess.run([self.ridge, "validate", str(self.records), "--gpu-file", str(self.overlay), "--format", "csv"],
                                   check=True, capture_output=True, text=True).stdout
            self.known[call, stream] = sorted(abs(float(row["error"])) for row in csv.DictReader(table.splitlines()))
        return self.known[call, stream]

    def mean(self, call, stream):
        # A call of one kernel takes at least as long as one of several adds for each further kernel.
        if not 10 <= stream <= call:
            return float("inf")
        errors = self.errors(call, stream)
        return sum(errors) / len(errors)

    def best(self, call, stream):
        """Walks downhill, first in large steps."""
        for step in (10, 3, 1):
            while True:
                near = [(call + step * i, stream + step * j) for i in (0, -1, 1) for j in (0, -1, 1)]
                least = min(near, key=lambda place: self.mean(*place))
                if least == (call, stream):
                    break
                call, stream = least
        return call, stream


def main():
    ridge = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release/ridge")
    with tempfile.TemporaryDirectory() as scratch:
        for gpu in FOLDERS:
            calls = Calls(ridge, gpu, pathlib.Path(scratch))
            call, stream = calls.best(70, 50)
            errors = calls.errors(call, stream)
            print(f"{gpu}: launch.call = {call / 10} us, launch.stream = {stream / 10} us; {len(errors)} calls, mean error "
                  f"{100 * calls.mean(call, stream):.2f} %, 90 % within {100 * errors[int(0.9 * (len(errors) - 1))]:.1f} %")
            for title, places in (("call", [(call + i, stream) for i in (-2, 2)]), ("stream", [(call, stream + i) for i in (-4, 4)])):
                print(f"  {title}: " + ", ".join(f"{100 * calls.mean(*place):.2f} % at {place[title == 'stream'] / 10} us"
                                                 for place in places))


main()
