#!/usr/bin/env python3
"""Fits what the host adds to a call in a stream (B8 of docs/model.md), from records.

    scripts/fit/calls.py [RIDGE]           # default: build/release/ridge

Takes the records with launch=stream in folders that fits may use (not those that judge), and looks, in steps of
0.1 us, for the values with which RIDGE's predictions have the least mean error: `launch.call` and `launch.stream` for
bundled kernels, then `model.library.call` for products of cuBLASLt. Prints them, the errors there, and how much worse
their neighbours are. Hosts differ: the records of a GPU are of several.
"""
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/records"))
import record_files  # noqa: E402

RECORDS = ROOT / "records"
BUNDLED = {"h200-sxm": ("h200-sxm", "h200-sxm-fit", "h200-sxm-random", "h200-sxm-corrections"),
           "h100-sxm": ("h100-sxm", "h100-sxm-corrections")}
LIBRARY = {gpu: (gpu + "-calls",) for gpu in BUNDLED}
HEADER = 'schema = 1\nkind = "overlay"\nname = "calls"\noverlay = "{}"\n[sources]\nTRIED = {{ kind = "derived", text = "a value that is tried" }}\n'


class Calls:
    """Errors of a GPU's calls by tenths of a microsecond of the fields that are fitted, beside those that are `held`."""

    def __init__(self, ridge, gpu, folders, folder, fields, held):
        self.ridge, self.gpu, self.fields, self.held, self.known = ridge, gpu, fields, held, {}
        self.records, self.overlay = folder / f"{gpu}.jsonl", folder / "calls.toml"
        lines = [json.dumps(record) for name in folders for path in record_files.files_in(RECORDS / name)
                 for _, record in record_files.records_of(path) if record["launch"] == "stream"]
        self.records.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def errors(self, place):
        if place not in self.known:
            text = HEADER.format(self.gpu)
            for path, tenths in [*zip(self.fields, place), *self.held.items()]:
                section, name = path.rsplit(".", 1)
                header = f"[{section}]\n"
                text += ("" if header in text else header) + f'{name} = {{ value = "{tenths / 10:.1f} us", source = "TRIED" }}\n'
            self.overlay.write_text(text, encoding="utf-8")
            answer = subprocess.run([self.ridge, "validate", str(self.records), "--gpu-file", str(self.overlay), "--format", "json"],
                                    check=True, capture_output=True, text=True).stdout
            self.known[place] = json.loads(answer)["overall"]
        return self.known[place]

    def mean(self, place):
        # A call of one kernel takes at least as long as a call of several adds for each further kernel.
        if min(place) < 10 or list(place) != sorted(place, reverse=True):
            return float("inf")
        return self.errors(place)["mean_error"]

    def best(self, place):
        """Walks downhill, first in large steps."""
        for step in (10, 3, 1):
            while True:
                near = [tuple(at + step * by for at, by in zip(place, moved)) for moved in itertools.product((0, -1, 1), repeat=len(place))]
                least = min(near, key=self.mean)
                if least == place:
                    break
                place = least
        return place

    def report(self, start):
        place = self.best(start)
        errors = self.errors(place)
        print(f"{self.gpu}: {errors['n']} calls, mean error {100 * errors['mean_error']:.2f} %, 90 % within {100 * errors['p90_error']:.1f} %")
        for i, name in enumerate(self.fields):
            beside = [tuple(at + (by if i == j else 0) for j, at in enumerate(place)) for by in (-3, 3)]
            print(f"  {name} = {place[i] / 10} us (mean error " +
                  ", ".join(f"{100 * self.mean(each):.2f} % at {each[i] / 10}" for each in beside) + ")")
        return dict(zip(self.fields, place))


def main():
    ridge = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release/ridge")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for gpu in BUNDLED:
            host = Calls(ridge, gpu, BUNDLED[gpu], folder, ("launch.call", "launch.stream"), {}).report((70, 50))
            Calls(ridge, gpu, LIBRARY[gpu], folder, ("model.library.call",), host).report((50,))


main()
