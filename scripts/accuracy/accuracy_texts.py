"""The paragraphs of docs/accuracy.md and of its detail pages, which `accuracy.py` puts around its tables."""

TITLES = {"judged": "judged blind", "calibrated": "an H100 after ridge calibrate --full, judged blind", "public": "public measurements", "left-out": "GPUs that nothing was fitted to",
          "published": "published rates of products",
          "torch": "PyTorch's kernels, judged blind", "suite": "the full suite on an H200",
          "random": "random shapes on an H200, training data"}
CHARTS = {"matmul": "Matrix products", "prefill": "Attention, prefill", "decode": "Attention, decode",
          "serving": "8-bit caches, latent attention, experts", "collectives": "Collectives", "streaming": "Elementwise, softmax and layernorm"}

HEAD = """# Accuracy

{lines}

Errors are predicted / measured - 1. Bias is their median; the other figures are of absolute values. "In band" is the share of measured times
inside the 80 % band. Made by `scripts/accuracy/accuracy.py`; do not edit. Every class, the ten largest errors of each with the likely reason, the
counters and the pictures are in these pages: {lists}.

"""

DETAILS = """# Accuracy in detail: {title}

Made by `scripts/accuracy/accuracy.py`; do not edit. Summary: [accuracy.md](../accuracy.md).

{report}
"""

LISTS_HEAD = """# The largest errors of each class

Reasons are computed from the errors of the eight nearest shapes of the same class. They separate a single shape (an outlier in the data, or a
choice of the library that no neighbour shares) from a range of shapes that the model misses.

"""

SEEDS = """## Judged blind: an NVIDIA H200, shapes that no fit has seen

Fits and bands use the records in `records/` (`h200-sxm`, `h200-sxm-fit`, `h200-sxm-random`). Parameters of bundled kernels and corrections also use `h200-sxm-corrections`. Corrections also use records of an H100 (`h100-sxm`,
`h100-sxm-corrections`), because both GPUs share the trees. Every record of a random shape carries
its seed. The fits have seen seeds 7 and 8 (2026-11-21; and 726 shapes that an earlier generator drew), seeds 9, 10, 301, 305, 306, 309, 310 and, on the H100, 101, 302, 307, 308, 311 and 312 (2026-11-21 to 23;
of the last four of each GPU, all library products and a part of the rest), seeds 323 to 333 and the library products among the shapes of seeds 341 to 404 (2026-11-24).
Before they took part in a fit, seeds 323 to 333 (3300 shapes) judged the fit before: mean 4.6 %, 90 % within 10.7 %; by seed, 4.4 to 5.1 and 9.7 to 12.4 %.
Seeds 9 and 10 judged once. Their worst classes then led to 265 more training shapes, so they are training data now. `scripts/accuracy/accuracy.py --judge FOLDER`
refuses records that have no seed, have a seen seed, or were measured before the last training record; seeds 315 to 321, which judged earlier fits, may be older.

"""

HISTORY = ("Seeds 503 and 504 (H200) were measured after every parameter, correction and band was fixed, seeds 322, 334, 501 and 502 before the two times of a "
           "call in a stream were fitted again. (Only `model.library.call`, which none of these shapes needs, came later.) The others judged earlier fits, "
           "before the last training records were measured.")

NOT_JUDGED = "No seed has been drawn since the last fit.\n\n"

CALIBRATE = """
## Judged blind: an NVIDIA H100 after `ridge calibrate --full`

One run of the command took 4 minutes and 35 seconds: 47 ceilings, 1629 shapes (seed 101 and the full suite, without counters) and 1978 records of PyTorch's kernels. `records/h100-sxm`
holds the records of the shapes and two overlays, `ceilings.toml` and `calibrated.toml`. The fits wrote `calibrated.toml`, with the error of each before and after. Its rows include 3860 more shapes (seeds 302, 307, 308, 311 and 312) and the training records of PyTorch's
kernels, about six more minutes of measuring (`ridge calibrate --rows records/h100-sxm records/h100-sxm-corrections
records/h100-sxm-torch --gpu h100-sxm --gpu-file records/h100-sxm/ceilings.toml` makes it again from the records). The first judging shapes were drawn after the command had
ended. Seed 12 came at once: with the overlay and the model of that time, mean 5.7 %, 90 % within 13.2 %, 80.5 % inside the band. Seeds 316, 318 and 320, below, came after many changes of the model. Without any overlay, with the catalogue's description of an H100: {before}.

"""

PUBLIC = """## Against public measurements

`ridge predict --from` predicts these rows unchanged: bf16 and fp8 matrix products, attention and collectives of
aiconfigurator (Apache-2.0), fp32 eager kernels and matrix products of NeuSight (MIT). The parameters were fitted to these rows
(`ridge fit`), and the corrections to the remaining errors (`ridge fit residual`, which prints errors of a held-out third of the shapes: up to 1.2 points more), so the table
is in-sample. Cross-validation of the parameters over whole groups of shapes adds at most 0.1 points for matrix products and
attention, and up to 4 points for softmax and layernorm by blocks, for which there are few rows (`ridge fit CLASS --data DIR` prints it).
Message sizes in the tables of collectives count elements and are converted to bytes. The same
262 collectives in the tables of an H100 and an H200, whose links are alike, differ by 5.6 % (mean; median 2.4 %, at most a factor of 2.7: all-to-all and
eight GPUs below 128 KiB), which keeps them from the aim of 4 %. On a B200 all-to-all of two GPUs beyond 32 MB is predicted 24 % too fast (a peer gets 330
GB/s there), and at 8 and 16 MiB, where its library changes the protocol, single rows are up to 36 % off.

| class | GPU | rows | mean | median | p90 | bias | in band |
|---|---|---:|---:|---:|---:|---:|---:|
"""

LEFT_OUT = """
## Left out: GPUs that nothing was fitted to

Each measured GPU, described only by its data sheet and another GPU's parameters ([all classes](accuracy/left-out.md)):

| GPU | parameters of | classes | median class | best | worst | in band |
|---|---|---:|---:|---|---|---:|
"""

LEFT_HEAD = """Here each measured GPU is described without any parameter that depends on its own measurements: by its data sheet, and by another GPU's parameters, carried over by the laws of `docs/model.md`
(L1 to L13), with the bands of a GPU that nobody measured. Within one architecture, the other GPU's residual corrections are used too (K5), fitted to its rows alone. An implementation that the other GPU does not have
takes the costs of the one that it has (L10, L11), in a wider band. Made by `scripts/accuracy/left_out.py`.

"""

PUBLISHED_HEAD = """Published rates of PyTorch's products, measured by owners of the cards (`records/published/products.csv`, with sources): square matrices of random numbers, 30 products in a row.
Predictions are for the library's kernel with a warm L2. Cards differ in clocks, limits and cooling: GeForce cards run above the clock of their data sheet (an RTX 5090 at up to 1.15 of its stated peak), and the B200 here is 17 %
faster than the one in the tables that ridge was fitted to. Nothing was fitted to these rates, but for cards that nobody else measured, a few descriptions take figures from them (docs/model.md, L2 and L5).
Small products of the first type run before the clock has risen, and 16-bit products of size 1024 wait for launches. Means are therefore given for all figures, and without those below 4096.
Made by `scripts/accuracy/published.py`; the test "predictions stay close to published rates of products" holds both means.

"""

TRAINED = """
## Records that the fits have seen

| records | n | mean | median | p90 | bias | in band |
|---|---:|---:|---:|---:|---:|---:|
"""

SUITE = """`records/h200-sxm/`: bundled kernels, cuBLASLt and access patterns, timed and counted by `ridge measure --suite full`.
Training data.

![Predicted over measured times of the full suite](../images/scatter-h200.svg)

"""

RANDOM = """`records/h200-sxm-random/`: `ridge measure --random 300` with seeds 9 and 10: every bundled kernel, cuBLASLt and access patterns.
These are training data now: 265 shapes of `records/h200-sxm-fit/` were chosen for the classes that were worst here
(`ridge fit memory|matmul|attention --records records/h200-sxm records/h200-sxm-fit`).

"""
