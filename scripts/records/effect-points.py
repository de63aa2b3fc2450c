#!/usr/bin/env python3
"""Makes the tables of measured points that come with `ridge effect`, from the committed records.

    effect-points RIDGE          # writes effects/measured/GPU.tsv for each GPU with records
    effect-points RIDGE --check  # exits with 1 if a table differs from the records

RIDGE lists the questions of the effects on a GPU (`ridge effect all --questions`). The newest record that
answers a question gives its line; records in records/GPU-effects come before others. A line has the
question, median time, clock, DRAM bytes, bytes between L2 and the multiprocessors, names of a library's
kernels, and peak bytes of memory. Questions that are not operations (memory, a whole step) are looked up in
GPU-effects/lessons.csv, which scripts/measure/lessons.py writes.
"""
import csv
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import record_files  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPUS = {"h200-sxm": "NVIDIA H200", "h100-sxm": "NVIDIA H100 80GB HBM3"}
COLUMNS = "question\ttime_s\tclock_hz\tdram_bytes\tl2_bytes\tkernels\tmemory_bytes"


def question_of(record):
    text = f"{record['op']} impl={record['implementation']} l2={record['l2']} launch={record['launch']}"
    if record.get("tile"):
        text += f" tile={record['tile']}"
    if record.get("pattern", "normal") != "normal":
        text += f" data={record['pattern']}"
    return text


def records_of(gpu):
    """Lines of records; later ones take precedence."""
    folders = [each for each in sorted((ROOT / "records").glob(f"{gpu}*")) if each.is_dir()]
    folders.sort(key=lambda each: each.name.endswith("-effects"))
    for folder in folders:
        for path in record_files.files_in(folder):
            for _, record in record_files.records_of(path):
                yield record


def number(value):
    return "" if value is None else f"{value:.6g}"


def kernels_of(record):
    """The names of the kernels, in the format of effects/measured.cpp."""
    if record["implementation"] != "library" or record["op"].split(" ")[0] != "matmul":
        return ""
    out = []
    for kernel in (record.get("geometry") or {}).get("kernels", []):
        blocks = kernel["grid"][0] * kernel["grid"][1] * kernel["grid"][2]
        name = kernel["name"].split("<")[0].split(":")[-1]
        out.append(f"{name}, {blocks} block{'' if blocks == 1 else 's'}")
    return "; ".join(out)


def row_of(text, record):
    timing, counters = record["timing"], record.get("counters") or {}
    read, write = counters.get("dram_read_bytes"), counters.get("dram_write_bytes")
    dram = None if read is None or write is None else read + write
    return "\t".join([text, number(timing["statistics"]["median_s"]), number(timing.get("clock_hz")),
                      number(dram), number(counters.get("sm_l2_bytes")), kernels_of(record), ""])


def lessons_of(gpu):
    """Rows of lessons.csv by question."""
    path = ROOT / "records" / f"{gpu}-effects" / "lessons.csv"
    if not path.exists():
        return {}
    with path.open(encoding="utf-8") as file:
        return {row["question"]: "\t".join([row["question"], row["time_s"], "", "", "", "", row["memory_bytes"]])
                for row in csv.DictReader(file)}


def table_of(ridge, gpu):
    asked = subprocess.run([ridge, "effect", "all", "--questions", "--gpu", gpu], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    found = lessons_of(gpu)
    for record in records_of(gpu):
        if record["device"]["name"] != GPUS[gpu] or not (record.get("timing") or {}).get("statistics"):
            continue
        text = question_of(record)
        found[text] = row_of(text, record)
    rows = [found[each] for each in asked if each in found]
    return "\n".join([COLUMNS] + rows) + "\n", len(asked), len(rows)


def main():
    ridge, check = sys.argv[1], "--check" in sys.argv
    wrong = 0
    for gpu in GPUS:
        text, asked, rows = table_of(ridge, gpu)
        path = ROOT / "effects/measured" / f"{gpu}.tsv"
        print(f"{gpu}: {rows} of {asked} questions have a record")
        if not check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            print(f"{path} differs from the records; run {sys.argv[0]} {ridge}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
