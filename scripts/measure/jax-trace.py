#!/usr/bin/env python3
"""Records two training steps of a small transformer in JAX with JAX's profiler, and a scan.

    jax-trace.py OUT

OUT gets jax.trace.json.gz (Chrome JSON) and jax.xplane.pb, as jax.profiler writes them, and jax.hlo.txt, the compiled
program. Random weights; two layers, bf16 products; a running mean over 16 rows by `lax.scan`; a copy from and to the host.
Calls of Python are not recorded, so that the files stay small.
"""
import os
import pathlib
import shutil
import sys
import tempfile

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

WIDTH, HEADS, LAYERS, WORDS = 1024, 16, 2, 16000


def parameters(key):
    def normal(*shape):
        nonlocal key
        key, part = jax.random.split(key)
        return jax.random.normal(part, shape, jnp.float32) * 0.02
    layers = [{"qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH), "up": normal(WIDTH, 4 * WIDTH),
               "down": normal(4 * WIDTH, WIDTH)} for _ in range(LAYERS)]
    return {"words": normal(WORDS, WIDTH), "layers": layers}


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def product(x, w):
    return (x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32)


def loss(weights, ids):
    x = weights["words"][ids]
    n, s, w = x.shape
    mask = jnp.tril(jnp.ones((s, s), bool))
    for layer in weights["layers"]:
        q, k, v = jnp.moveaxis(product(norm(x), layer["qkv"]).reshape(n, s, 3, HEADS, w // HEADS), 2, 0)
        scores = jnp.einsum("nqhd,nkhd->nhqk", q, k) / (w // HEADS) ** 0.5
        shares = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1)
        x = x + product(jnp.einsum("nhqk,nkhd->nqhd", shares, v).reshape(n, s, w), layer["out"])
        x = x + product(jax.nn.gelu(product(norm(x), layer["up"])), layer["down"])
    logits = product(x, weights["words"].T)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits[:, :-1]), ids[:, 1:, None], -1))


@jax.jit
def step(weights, ids):
    value, gradients = jax.value_and_grad(loss)(weights, ids)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients), value


@jax.jit
def running_mean(rows):
    def advance(mean, row):
        mean = 0.9 * mean + 0.1 * row
        return mean, jax.nn.softmax(mean)
    return jax.lax.scan(advance, jnp.zeros_like(rows[0]), rows)


def quiet():
    """No calls of Python, if this version of JAX can leave them out."""
    if not hasattr(jax.profiler, "ProfileOptions"):
        return {}
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    return {"profiler_options": options}


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    weights = parameters(jax.random.key(0))
    ids = jax.random.randint(jax.random.key(1), (4, 512), 0, WORDS)
    (out / "jax.hlo.txt").write_text(step.lower(weights, ids).compile().as_text(), encoding="utf-8")
    rows = np.random.default_rng(1).normal(size=(16, 4096)).astype(np.float32)
    for _ in range(3):
        weights, value = step(weights, ids)
        means = running_mean(jax.device_put(rows))
    jax.block_until_ready((value, means))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, **quiet()):
            for _ in range(2):
                weights, value = step(weights, ids)
            means = running_mean(jax.device_put(rows))
            jax.block_until_ready((value, means))
            np.asarray(means[0])
        for path in pathlib.Path(folder).rglob("*"):
            if path.name.endswith((".trace.json.gz", ".xplane.pb")):
                kind = "trace.json.gz" if path.name.endswith("gz") else "xplane.pb"
                shutil.copy(path, out / f"jax.{kind}")
                print(path.name, path.stat().st_size, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
