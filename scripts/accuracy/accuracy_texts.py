"""What `accuracy.py` puts around the tables of the pages in docs/accuracy/, and heads of the tables in docs/accuracy.md."""

TITLES = {"judged": "judged blind", "calibrated": "an H100 after ridge calibrate --full, judged blind", "public": "public measurements", "left-out": "GPUs that nothing was fitted to",
          "published": "published rates of products",
          "torch": "PyTorch's kernels, judged blind", "suite": "the full suite on an H200",
          "random": "random shapes on an H200, training data"}
CHARTS = {"matmul": "Matrix products", "prefill": "Attention, prefill", "decode": "Attention, decode",
          "serving": "8-bit caches, latent attention, experts", "collectives": "Collectives", "streaming": "Elementwise, softmax and layernorm"}

DETAILS = """# Accuracy in detail: {title}

Made by `scripts/accuracy/accuracy.py`; do not edit. Summary: [accuracy.md](../accuracy.md).

{report}
"""

LISTS_HEAD = """# The largest errors of each class

Reasons are computed from the errors of the eight nearest shapes of the same class. They separate a single shape (an outlier in the data, or a
choice of the library that no neighbour shares) from a range of shapes that the model misses.

"""

NOT_JUDGED = "No seed has been drawn since the last fit.\n\n"

PUBLIC = """| class | GPU | rows | mean | median | p90 | bias | in band |
|---|---|---:|---:|---:|---:|---:|---:|
"""

LEFT_OUT = """| GPU | parameters of | classes | median class | best | worst | in band |
|---|---|---:|---:|---|---|---:|
"""

LEFT_HEAD = """Here each measured GPU is described without any parameter that depends on its own measurements: by its data sheet, and by another GPU's parameters, carried over by the laws of `docs/model.md`
(L1 to L13), with the bands of a GPU that nobody measured. Within one architecture, the other GPU's residual corrections are used too (K5), fitted to its rows alone. An implementation that the other GPU does not have
takes the costs of the one that it has (L10, L11), in a wider band. Made by `scripts/accuracy/left_out.py`.

<!-- left out: from here -->
<!-- left out: to here -->
"""

PUBLISHED_HEAD = """Published rates of PyTorch's products, measured by owners of the cards (`records/published/products.csv`, with sources): square matrices of random numbers, 30 products in a row.
Predictions are for the library's kernel with a warm L2. Cards differ in clocks, limits and cooling: GeForce cards run above the clock of their data sheet (an RTX 5090 at up to 1.15 of its stated peak), and the B200 here is 17 %
faster than the one in the tables that ridge was fitted to. Nothing was fitted to these rates, but for cards that nobody else measured, a few descriptions take figures from them (docs/model.md, L2 and L5).
Small products of the first type run before the clock has risen, and 16-bit products of size 1024 wait for launches. Means are therefore given for all figures, and without those below 4096.
Made by `scripts/accuracy/published.py`; the test "predictions stay close to published rates of products" holds both means.

"""

SUITE = """`records/h200-sxm/`: bundled kernels, cuBLASLt and access patterns, timed and counted by `ridge measure --suite full`.
Training data.

![Predicted over measured times of the full suite](../images/scatter-h200.svg)

"""

RANDOM = """`records/h200-sxm-random/`: `ridge measure --random 300` with seeds 9 and 10: every bundled kernel, cuBLASLt and access patterns.
These are training data now: 265 shapes of `records/h200-sxm-fit/` were chosen for the classes that were worst here
(`ridge fit memory|matmul|attention --records records/h200-sxm records/h200-sxm-fit`).

"""

SEEN = """| records | n | mean | median | p90 | bias | in band |
|---|---:|---:|---:|---:|---:|---:|
"""
