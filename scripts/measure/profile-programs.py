#!/usr/bin/env python3
"""Profiles programs of several frameworks with counters, and checks that their results are those without.

    profile-programs.py RIDGE OUT [--contexts build/cuda/tests/device/contexts] [--only jax,torch] [--seconds 150]
    profile-programs.py --run jax            # one of the programs alone

Each program prints lines `result NUMBER`. It runs alone, then under `ridge profile --counters`; the numbers must agree to
a part in a thousand (autotuners choose among kernels that round differently), the exit status must be the same, and
the report must have kernels with counters. One line of JSON for each program, also in OUT/programs.jsonl.

The programs: PyTorch eagerly, from a CUDA graph and on several streams, with a kernel of Triton that is tuned; JAX with
jit, grad and tuned products; CuPy with a kernel of its own; two contexts; a parent that forks before it uses the GPU,
so that each child is a process with a recording of its own.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

KERNEL = '''
import triton, triton.language as tl
@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b in (512, 1024) for w in (4, 8)], key=["n"])
@triton.jit
def axpy(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2.0 + tl.load(y + at, mask=at < n), mask=at < n)
'''


def show(value):
    print(f"result {float(value):.9g}", flush=True)


def run_torch():
    import importlib.util
    import tempfile

    import torch
    torch.manual_seed(0)
    a, b = (torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    layer = torch.nn.LayerNorm(2048, device="cuda", dtype=torch.bfloat16)
    for _ in range(4):
        out = layer(torch.softmax(a @ b, -1))
    show(out.float().abs().sum())
    weight = torch.randn(2048, 2048, device="cuda", requires_grad=True)
    (a.float() @ weight).square().mean().backward()
    show(weight.grad.abs().sum())
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        c = a @ b
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        d = torch.relu(a @ b) + c
    for _ in range(5):
        graph.replay()
    show(d.float().sum())
    path = pathlib.Path(tempfile.mkdtemp()) / "axpy_kernel.py"
    path.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location("axpy_kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x, y = (torch.randn(1 << 22, device="cuda") for _ in range(2))
    z = torch.empty_like(x)
    module.axpy[lambda meta: (x.numel() // meta["BLOCK"],)](x, y, z, x.numel())
    show(z.abs().sum())


def run_jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    x = jax.random.normal(keys[0], (1024, 2048), jnp.bfloat16)
    w = [jax.random.normal(key, (2048, 2048), jnp.bfloat16) / 45 for key in keys[1:]]

    def loss(w, x):
        for each in w:
            x = jax.nn.gelu(x @ each)
        return jnp.mean(jnp.square(x.astype(jnp.float32)))
    step = jax.jit(jax.value_and_grad(loss))
    for _ in range(4):
        value, gradients = step(w, x)
        w = [each - 0.1 * gradient for each, gradient in zip(w, gradients)]
    show(value)
    show(sum(jnp.sum(jnp.abs(each.astype(jnp.float32))) for each in w))


def run_cupy():
    import cupy
    kernel = cupy.RawKernel('extern "C" __global__ void twice(const float* x, float* y, int n) {'
                            " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2.0f * x[i] + 1.0f; }", "twice")
    x = cupy.arange(1 << 22, dtype=cupy.float32) % 1000
    y = cupy.empty_like(x)
    for _ in range(4):
        kernel(((1 << 22) // 256,), (256,), (x, y, 1 << 22))
    show(y.sum())
    a = cupy.random.RandomState(1).rand(1024, 1024, dtype=cupy.float32)
    show((a @ a).sum())
    show(cupy.sort(a.ravel())[12345])


def child(seed):
    import torch
    torch.manual_seed(seed)
    a = torch.randn(1024, 1024, device="cuda")
    for _ in range(3):
        b = a @ a
    show(b.abs().sum())


def run_fork():
    for seed in (1, 2):
        pid = os.fork()
        if pid == 0:
            child(seed)
            os._exit(0)
        if os.waitpid(pid, 0)[1] != 0:
            sys.exit(1)


PROGRAMS = {"torch": run_torch, "jax": run_jax, "cupy": run_cupy, "fork": run_fork}


def results(text):
    return [float(line.split()[1]) for line in text.splitlines() if line.startswith("result ")]


def close(a, b):
    return len(a) == len(b) > 0 and all(abs(x - y) <= 1e-3 * max(abs(x), abs(y)) for x, y in zip(a, b))


def reports(ridge, names):
    """Operators of the recordings, and how many of them have counters."""
    files = sorted(str(each) for each in names.parent.glob(names.name + ".*.ridge"))
    answer = subprocess.run([ridge, "trace", *files, "--top", "0", "--format", "json"], capture_output=True, text=True)
    if answer.returncode != 0:
        return {"trace": answer.stderr.strip()[-300:]}
    operators = json.loads(answer.stdout).get("operators", [])
    kernels = [each for each in operators if "launch" in each]
    counted = [each for each in kernels if each.get("counters", {}).get("metrics")]
    return {"kernels": len(kernels), "counted": len(counted), "split": sum("causes" in each for each in kernels)}


def judged(ridge, out, name, command, left):
    start = time.monotonic()
    alone = subprocess.run(command, capture_output=True, text=True, timeout=left)
    between = time.monotonic()
    record = out / f"program-{name}"
    try:
        under = subprocess.run([ridge, "profile", "--counters", "--no-lines", "--runs", "2", "-o", str(record), "--", *command],
                               capture_output=True, text=True, timeout=max(5.0, left - (between - start)))
    except subprocess.TimeoutExpired:
        return {"program": name, "timeout": True, "alone_s": round(between - start, 1)}
    (out / f"program-{name}.txt").write_text(under.stdout + "\n--- stderr\n" + under.stderr)
    mine, theirs = results(alone.stdout), results(under.stdout)
    found = {"program": name, "status": [alone.returncode, under.returncode], "results": mine, "same": close(mine, theirs[:len(mine)]),
             "alone_s": round(between - start, 1), "profiled_s": round(time.monotonic() - between, 1), **reports(ridge, record)}
    if alone.returncode:
        found["error"] = alone.stderr.strip()[-300:]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ridge", nargs="?")
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    parser.add_argument("--run", choices=PROGRAMS)
    parser.add_argument("--contexts")
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args()
    if options.run:
        PROGRAMS[options.run]()
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    commands = {"contexts": [options.contexts]} if options.contexts else {}
    commands |= {name: [sys.executable, str(pathlib.Path(__file__).resolve()), "--run", name] for name in ("cupy", "torch", "fork", "jax")}
    end, good = time.monotonic() + options.seconds, True
    with open(options.out / "programs.jsonl", "w", encoding="utf-8") as file:
        for name, command in commands.items():
            if options.only and name not in options.only.split(","):
                continue
            left = end - time.monotonic()
            if left < 10.0:
                print(json.dumps({"program": name, "left_out": "no time"}), flush=True)
                continue
            found = judged(options.ridge, options.out, name, command, left)
            good = good and found.get("same", False) and found.get("status") == [0, 0]
            print(json.dumps(found), flush=True)
            print(json.dumps(found), file=file)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
