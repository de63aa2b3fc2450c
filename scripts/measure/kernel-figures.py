#!/usr/bin/env python3
"""Judges the operation `kernel`: predicts measured kernels from what was counted of them, and compares the times.

    kernel-figures.py RIDGE h200-sxm records/h200-sxm-counted tests/kernel/data/planted_fresh_h200.csv

A folder of records of `ridge measure` that have counters and one kernel, or a table of planted-records.py (of which
kernels with a planted fault, `a`, are left out). FLOP, bytes of DRAM and L2, grid, block, registers and shared memory are given to
`ridge predict kernel`. Prints for each source how many measured times lie in the band, and the ratio of measured to predicted.
"""
import csv
import io
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "records"))
import record_files  # noqa: E402

OPS = {"single": ("fadd", "fmul", "ffma"), "double": ("dadd", "dmul", "dfma"), "half": ("hadd", "hmul", "hfma")}


def flop_of(metrics):
    """(FLOP, type, pipe) of the busier pipe."""
    tensor = sum(value for name, value in metrics.items() if name.startswith("sm__ops_path_tensor"))
    if tensor > 0:
        dtype = "fp8" if metrics.get("sm__ops_path_tensor_src_fp8.sum") else "tf32" if any(
            "tf32" in name and value for name, value in metrics.items()) else "bf16"
        return tensor, dtype, "tensor"
    best = max(OPS, key=lambda kind: sum(count(metrics, op) for op in OPS[kind]))
    total = sum(count(metrics, op) * (2 if op.endswith("fma") else 1) for op in OPS[best])
    return total * (2 if best == "half" else 1), {"single": "fp32", "double": "fp64", "half": "fp16"}[best], "vector"


def count(metrics, op):
    return metrics.get(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum", 0.0)


def row_of(name, measured, metrics, grid, block, registers, shared):
    flop, dtype, pipe = flop_of(metrics)
    return {"name": name, "measured_us": measured, "flop": max(1, round(flop)), "dtype": dtype, "pipe": pipe,
            "bytes": max(1, round(metrics["dram__bytes_read.sum"] + metrics["dram__bytes_write.sum"])),
            "l2_bytes": round(32 * metrics.get("lts__t_sectors_srcunit_tex.sum", 0.0)), "grid": grid, "block": block,
            "registers": registers, "shared": shared}


def rows_of_folder(folder):
    for path in sorted(folder.glob("*.jsonl*")):
        for _, record in record_files.records_of(path):
            kernels = record.get("geometry", {}).get("kernels", [])
            metrics = record.get("counters", {}).get("metrics", {})
            if len(kernels) == 1 and kernels[0].get("repeat", 1) == 1 and "dram__bytes_read.sum" in metrics:
                grid = kernels[0]["grid"]
                yield row_of(record["op"], record["timing"]["statistics"]["median_s"] * 1e6, metrics, grid[0] * grid[1] * grid[2],
                             kernels[0]["block_threads"], kernels[0]["registers"], kernels[0]["shared_bytes"])


def rows_of_table(path):
    def whole(text):
        sizes = [int(each) for each in text.split("x")]
        return sizes[0] * sizes[1] * sizes[2]
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["kernel"].endswith("a"):
                continue
            metrics = {name: float(value) for name, value in row.items() if "__" in name and value}
            yield row_of(row["kernel"], float(row["time_us"]), metrics, whole(row["grid"]), whole(row["block"]),
                         int(float(row["registers"])), int(float(row["shared_bytes"])))


def main():
    ridge, gpu, *sources = sys.argv[1:]
    for source in map(pathlib.Path, sources):
        rows = list(rows_of_folder(source) if source.is_dir() else rows_of_table(source))
        table = io.StringIO()
        given = [name for name in rows[0] if name not in ("name", "measured_us")]
        writer = csv.DictWriter(table, given, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        answer = subprocess.run([ridge, "predict", "kernel", "--from", "-", "--gpu", gpu, "--format", "csv"], input=table.getvalue(),
                                capture_output=True, text=True)
        found = list(csv.DictReader(io.StringIO(answer.stdout)))
        if len(found) != len(rows):
            raise SystemExit(answer.stderr)
        known = [(row, each) for row, each in zip(rows, found) if each["time_us"]]
        ratios = sorted(row["measured_us"] / float(each["time_us"]) for row, each in known)
        inside = sum(float(each["time_low_us"]) * 0.98 <= row["measured_us"] <= float(each["time_high_us"]) for row, each in known)
        below = sum(row["measured_us"] < 0.98 * float(each["time_low_us"]) for row, each in known)
        print(f"{source}: {len(known)} of {len(rows)} kernels, {100 * inside / len(known):.0f} % in the band ({below} below it); measured / "
              f"predicted: median {statistics.median(ratios):.2f}, tenths {ratios[len(ratios) // 10]:.2f} to {ratios[-1 - len(ratios) // 10]:.2f}")


main()
