#!/usr/bin/env python3
"""Nineteen kernels of Triton: runs them, and judges the times that `ridge kernel` reads off their machine code.

    ridge profile --counters --no-lines -o tri -- scripts/measure/triton-kernels.py run KERNELS 12
    ridge trace tri.*.ridge --format json --top 0 > tri.json
    scripts/measure/triton-kernels.py table KERNELS tri.json > KERNELS/counted.csv
    scripts/measure/triton-kernels.py judge RIDGE KERNELS h200-sxm          # no GPU; needs nvdisasm

`run` launches each kernel so often and writes its cubin, Triton's metadata and KERNELS/kernels.json; `table` keeps what judges
of the counters; `judge` prints predicted and measured time, and FLOP, instructions and bytes beside the counters, with the
mean error of the times and the share in the band. Loops follow the arguments; bytes of DRAM are those counted.
KERNELS may be a tar archive (records/h200-sxm-triton.tar.gz).
"""
import csv
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

COLUMNS = ("tag", "name", "measured_us", "dram_bytes", "instructions", "tensor_flop", "asked_bytes", "vector_flop")
LANES = 32


class Jobs:
    """The kernels with their arguments, on the GPU."""

    def __init__(self, out):
        import torch
        self.torch, self.out, self.all = torch, out, []
        self.source = pathlib.Path(__file__).with_name("triton_sources.py").read_text(encoding="utf-8")
        torch.manual_seed(0)
        self.products()
        self.attention()
        self.rows()

    def half(self, *shape):
        return self.torch.randn(*shape, device="cuda", dtype=self.torch.float16)

    def full(self, *shape, value=None):
        made = self.torch.randn(*shape, device="cuda")
        return made if value is None else made.fill_(value)

    def add(self, tag, base, grid, args, **meta):
        path = self.out / f"k_{tag}.py"
        path.write_text(self.source.replace("_NAME", "_" + tag), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(f"k_{tag}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[f"k_{tag}"] = module
        spec.loader.exec_module(module)
        self.all.append((tag, getattr(module, f"{base}_{tag}"), grid, args, meta))

    def product(self, tag, shape, tile, warps, stages, act=False):
        (m, n, k), (bm, bn, bk) = shape, tile
        self.add(tag, "matmul", (-(-m // bm) * -(-n // bn),),
                 (self.half(m, k), self.half(k, n), self.half(m, n), m, n, k, k, 1, n, 1, n, 1), BLOCK_SIZE_M=bm, BLOCK_SIZE_N=bn,
                 BLOCK_SIZE_K=bk, GROUP_SIZE_M=8, ACTIVATION=act, num_warps=warps, num_stages=stages)

    def products(self):
        large = (4096, 4096, 4096)
        self.product("p0", large, (128, 64, 32), 4, 4)
        self.product("p1", large, (64, 128, 32), 4, 4)
        self.product("p2", large, (128, 128, 64), 8, 3)
        self.product("p3", large, (128, 256, 64), 8, 4, True)
        self.product("p4", (8192, 2048, 1024), (128, 128, 64), 4, 4)
        self.product("p5", (1024, 8192, 8192), (64, 32, 32), 2, 5)
        rows, ao, bo, co = [], 0, 0, 0
        for m, n, k in ((1024, 1024, 1024), (2048, 1024, 512), (512, 2048, 2048), (1024, 1024, 4096)):
            rows.append([m, n, k, ao, bo, co])
            ao, bo, co = ao + m * k, bo + k * n, co + m * n
        sizes = self.torch.tensor(rows, dtype=self.torch.int32, device="cuda")
        self.sms = self.torch.cuda.get_device_properties(0).multi_processor_count
        self.add("g0", "grouped", (self.sms,), (self.half(ao), self.half(bo), self.half(co), sizes, 4), NUM_SM=self.sms,
                 BLOCK_SIZE_M=128, BLOCK_SIZE_N=128, BLOCK_SIZE_K=32, num_warps=4, num_stages=4)

    def attention(self):
        heads, n, d = 128, 2048, 64
        q, k, v, o, do, dq, dk, dv = (self.half(heads, n, d) for _ in range(8))
        lse, delta = self.full(heads, n, value=0.0), self.full(heads, n, value=0.0)
        self.add("f0", "forward", (n // 128, heads), (q, k, v, o, lse, 0.125, n), HEAD_DIM=d, BLOCK_M=128, BLOCK_N=64,
                 CAUSAL=True, num_warps=4, num_stages=3)
        wide = [self.half(32, 4096, 128) for _ in range(4)]
        self.add("f1", "forward", (32, 32), (*wide, self.full(32, 4096, value=0.0), 0.088, 4096), HEAD_DIM=128, BLOCK_M=128,
                 BLOCK_N=64, CAUSAL=False, num_warps=8, num_stages=3)
        self.add("b0", "backprep", (n // 128, heads), (o, do, delta, n), BLOCK_M=128, HEAD_DIM=d)
        self.add("b1", "backward", (n // 128, heads), (q, k, v, 0.125, do, dq, dk, dv, lse, delta, n), BLOCK_M1=32,
                 BLOCK_N1=128, BLOCK_M2=128, BLOCK_N2=32, HEAD_DIM=d, num_warps=4, num_stages=5)

    def rows(self):
        n, m, wide = 1 << 25, 4096, 8192
        self.add("a0", "add", (n // 1024,), (self.full(n), self.full(n), self.full(n), n), BLOCK_SIZE=1024)
        self.add("s0", "softmax", (self.sms * 4,), (self.full(16384, 2048), self.full(16384, 2048), 2048, 2048, 16384, 2048),
                 BLOCK_SIZE=2048, num_stages=2, num_warps=8)
        dy, x, dx, w = self.half(m, wide), self.half(m, wide), self.half(m, wide), self.half(wide)
        dw, db = self.half(64, wide), self.half(64, wide)
        lock = self.torch.zeros(128, dtype=self.torch.int32, device="cuda")
        self.add("l0", "lnbwd", (m,), (dx, dy, dw, db, x, w, self.full(m, value=0.0), self.full(m, value=1.0), lock, wide, wide),
                 GROUP_SIZE_M=64, BLOCK_SIZE_N=8192, num_warps=8)
        self.add("l1", "lndwdb", (wide // 128,), (dw, db, self.half(wide), self.half(wide), 64, wide), BLOCK_SIZE_M=32,
                 BLOCK_SIZE_N=128)
        self.add("r0", "rms", (m,), (x, w, dx, wide, wide, 1e-5), BLOCK=1024)
        self.add("e0", "gelu", (m * wide // 1024,), (x, w, dx, m * wide, wide), BLOCK=1024)
        self.add("t0", "transpose", (m // 64, wide // 64), (x, dx, m, wide), BM=64, BN=64)
        target = self.torch.randint(0, 32000, (2048,), device="cuda")
        self.add("x0", "xent", (2048,), (self.half(2048, 32000), target, self.full(2048), 32000, 32000), BLOCK=4096, num_warps=8)


def run(out, rounds):
    out.mkdir(parents=True, exist_ok=True)
    jobs, listed = Jobs(out), {}
    for _ in range(rounds):
        for tag, function, grid, args, meta in jobs.all:
            made = function[grid](*args, **meta)
            if tag in listed:
                continue
            about = made.metadata
            (out / f"{about.name}.cubin").write_bytes(made.asm["cubin"])
            (out / f"{about.name}.json").write_text(json.dumps(about._asdict(), default=str))
            numbers = [each if isinstance(each, (int, float)) else None for each in args]
            # Triton leaves out what is 1 when it compiles.
            listed[tag] = {"tag": tag, "name": about.name, "grid": list(grid), "warps": about.num_warps, "shared": about.shared,
                           "args": numbers}
        jobs.torch.cuda.synchronize()
    (out / "kernels.json").write_text(json.dumps(list(listed.values())))
    a, b, c = jobs.all[0][3][:3]
    print("result", float((c.float() - a.float() @ b.float()).norm() / c.float().norm()))


def table(folder, trace):
    kernels = {each["name"]: each["tag"] for each in json.loads((folder / "kernels.json").read_text())}
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in json.loads(trace.read_text())["operators"]:
        counted = row.get("counters", {})
        metrics = counted.get("metrics")
        if not metrics or row["kernel"] not in kernels:
            continue
        flop = sum(metrics.get(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum", 0.0) * times
                   for op, times in (("ffma", 2), ("fadd", 1), ("fmul", 1)))
        asked = sum(metrics.get(f"smsp__sass_data_bytes_mem_global_op_{op}.sum", 0.0) for op in ("ld", "st", "ldgsts"))
        tensor = sum(value for name, value in metrics.items() if name.startswith("sm__ops_path_tensor"))
        values = (row["causes"]["measured_us"], metrics["dram__bytes_read.sum"] + metrics["dram__bytes_write.sum"],
                  metrics["smsp__inst_executed.sum"], tensor, asked, flop)
        writer.writerow([kernels[row["kernel"]], row["kernel"], *(f"{value:.6g}" for value in values)])


def answer_of(ridge, folder, kernel, counted, gpu):
    """What `ridge kernel` says of it, or why it does not."""
    # A pointer, or a number that is a floating-point one, is nothing that a loop depends on.
    args = ",".join("_" if not isinstance(each, int) else str(each) for each in kernel["args"] if each != 1)
    command = [ridge, "kernel", str(folder / f"{kernel['name']}.cubin"), "--gpu", gpu, "--grid", "x".join(map(str, kernel["grid"])),
               "--args", args, "--dram-bytes", f"{float(counted['dram_bytes']):.0f}", "--format", "json"]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{answer.stderr}")
    return json.loads(answer.stdout)


def judge(ridge, folder, gpu):
    with open(folder / "counted.csv", encoding="utf-8") as file:
        counts = {row["tag"]: row for row in csv.DictReader(file)}
    errors, held = [], 0
    print("tag  predicted  measured   error  in band  instructions  tensor FLOP  bytes asked")
    for kernel in json.loads((folder / "kernels.json").read_text()):
        if kernel["tag"] not in counts:
            continue
        counted = counts[kernel["tag"]]
        found, measured = answer_of(ridge, folder, kernel, counted, gpu), float(counted["measured_us"])
        blocks, warps = math.prod(kernel["grid"]), kernel["warps"]

        def beside(mine, name):
            truth = float(counted[name])
            return f"{mine / truth:12.3f}" if truth > 0 else f"{'-':>12}"
        error = found["time_us"] / measured - 1.0
        inside = found["low_us"] <= measured <= found["high_us"]
        errors.append(abs(error))
        held += inside
        print(f"{kernel['tag']:4} {found['time_us']:9.1f} {measured:9.1f} {100 * error:6.0f} %  {str(inside):7}",
              beside(found["instructions_of_warp"] * blocks * warps, "instructions"),
              beside(found["tensor_flop_of_warp"] * blocks * warps, "tensor_flop"),
              beside((found["global_read_bytes_of_thread"] + found["global_written_bytes_of_thread"]) * blocks * warps * LANES,
                     "asked_bytes"))
    print(f"mean error {100 * sum(errors) / len(errors):.1f} %, {held} of {len(errors)} in the band")


def main():
    what, *rest = sys.argv[1:]
    if what == "run":
        return run(pathlib.Path(rest[0]), int(rest[1]))
    if what == "table":
        return table(pathlib.Path(rest[0]), pathlib.Path(rest[1]))
    ridge, folder, gpu = rest
    if not os.path.isfile(folder):
        return judge(ridge, pathlib.Path(folder), gpu)
    with tempfile.TemporaryDirectory() as unpacked:
        with tarfile.open(folder) as archive:
            archive.extractall(unpacked, filter="data")
        return judge(ridge, pathlib.Path(unpacked), gpu)


if __name__ == "__main__":
    main()
