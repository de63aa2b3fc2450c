#!/usr/bin/env python3
"""Prints operations for `ridge measure --energy`: shapes of ridge's own kernels, drawn by a seed, of 30 us and more.

    eval "ridge measure $(scripts/measure/energy-own.py 4101) --energy -o records/NAME"
"""
import random
import sys


def main():
    draw = random.Random(int(sys.argv[1]))

    def edge(least, most):
        return 128 * draw.randint(least // 128, most // 128)

    def product(dtype, implementation, least, most):
        m, n, k = (edge(least, most) for _ in range(3))
        return f"matmul m={m} n={n} k={k} dtype={dtype} impl={implementation}"
    count = 2 ** draw.randint(24, 28)
    rows, cols = 2 ** draw.randint(12, 15), 256 * draw.randint(8, 40)
    chosen = [product("bf16", "wgmma", 2048, 8192), product("fp16", "wgmma", 1024, 6144), product("bf16", "mma", 2048, 8192),
              product("fp32", "register_tiled", 1536, 4096),
              f"attention batch={draw.randint(1, 4)} heads=16 seq={512 * draw.randint(4, 12)} head_dim=128 dtype=bf16 impl=wgmma",
              f'elementwise expr="{draw.choice(["gelu(x)", "x * y + x", "exp(x)"])}" elements={count} dtype='
              f"{draw.choice(['bf16', 'fp32'])} impl=fused",
              f"{draw.choice(['softmax', 'layernorm'])} rows={rows} cols={cols} dtype=bf16 impl=fused"]
    print(" ".join(f"--op '{words}'" for words in chosen))


main()
