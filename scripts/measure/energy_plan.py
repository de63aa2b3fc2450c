"""The cases that `energy.py` measures: microbenchmarks that separate the coefficients, and shapes drawn at random.

    from energy_plan import cases_of
    for case, pattern in cases_of("train", 40): ...      # or ("drawn", 41)

Method. Copies, sums and functions over 1 GiB and over 12 MiB separate DRAM from L2; products of each type the pipes;
random, constant and zero data what toggles. Random shapes come from the classes of `torch_plan.py`, of at least some
10 us each. The part `drawn` has no microbenchmarks: its seeds are for judging, and for more shapes to fit to. The part
`judge` draws fewer and longer ones, only such as a graph can hold, and products at the power limit of random, constant and
zero data. The part `few` has the microbenchmarks that another GPU of a family needs, the part `limit` only products of
more than a millisecond of random, constant and zero data, of every type.
"""
import math
import random

import torch

import torch_plan
import torch_streams
from torch_plan import Case, attentions, product_case
from torch_streams import (Draw, copies, gathers, once, optimizers, pointwise, reductions, row_operations,
                           transposes)

PATTERNS = {"zeros": torch.zeros, "constant": torch.ones}
LARGE, SMALL = 1 << 28, 1 << 21  # elements
MOST_BYTES = 6e9
COUNTS = {"train": (24, 12, 9, 5, 4, 1, 2, 2, 2), "drawn": (20, 9, 7, 4, 4, 1, 2, 2, 2),
          "judge": (7, 4, 3, 2, 2, 1, 1, 1, 1)}
LONG = {"judge": 3.0}  # times as long as the shapes of the other parts


def use(pattern):
    """Fills the tensors of every case with such data from now on."""
    def normal(shape, dtype):
        if pattern in PATTERNS:
            return PATTERNS[pattern](shape, device=torch_streams.DEVICE, dtype=torch_streams.DTYPES[dtype])
        return torch.randn(shape, device=torch_streams.DEVICE, dtype=torch_streams.DTYPES[dtype])
    torch_plan.normal = torch_streams.normal = normal


def stream(expression, dtype, elements, inputs=1):
    table = {**torch_streams.UNARY, **torch_streams.BINARY}

    def make():
        return once(table[expression], *(torch_streams.normal((elements,), dtype) for _ in range(inputs)))
    return Case(f"elementwise dtype={dtype} elements={elements} expr={torch_streams.quoted(expression)}", "torch", make)


def total(dtype, rows, cols):
    return Case(f"sum dtype={dtype} rows={rows} cols={cols}", "torch",
                lambda: once(torch.sum, torch_streams.normal((rows, cols), dtype), 1))


def square(dtype, edge, k=None):
    return product_case((dtype, edge, edge, k or edge, True, False, 1), ("warm",))


def micro():
    """(case, pattern), each for one coefficient or for what the data change."""
    for pattern in ("normal", "zeros", "constant"):
        for dtype in ("bf16", "fp8", "tf32"):
            yield square(dtype, 8192), pattern
        yield square("fp32", 4096), pattern
        yield stream("x * 2", "fp32", LARGE), pattern
        yield stream("x * 2", "fp32", SMALL), pattern
    for dtype in ("fp16", "int8"):
        yield square(dtype, 8192), "normal"
    yield square("bf16", 4096, 512), "normal"
    yield square("bf16", 1024), "normal"
    for expression, dtype, elements, inputs in (("x + y", "bf16", LARGE, 2), ("exp(x)", "bf16", SMALL, 1),
                                                ("gelu_erf(x)", "bf16", SMALL, 1), ("sin(x)", "fp32", SMALL, 1),
                                                ("gelu(x)", "bf16", LARGE, 1), ("x * y", "fp32", SMALL // 2, 2)):
        yield stream(expression, dtype, elements, inputs), "normal"
    yield total("fp32", 1 << 14, 1 << 14), "normal"
    yield total("fp32", 1 << 11, 1 << 10), "normal"
    yield total("fp32", 1 << 14, 1 << 14), "zeros"


def fields_of(case):
    words = [word.split("=", 1) for word in case.op.replace('"', "").split() if "=" in word]
    return {name: int(value) if value.isdigit() else value for name, value in words}


def is_long(case, times=1.0):
    """Whether a case takes so many times 10 us on a large GPU, and is not too large."""
    fields = fields_of(case)
    if case.op.startswith("matmul"):
        batch = fields.get("batch", 1)
        flop = 2.0 * batch * fields["m"] * fields["n"] * fields["k"]
        moved = batch * (fields["n"] * fields["k"] + fields["m"] * (fields["n"] + fields["k"]))
        rate = {"fp32": 5e7, "tf32": 3e8}.get(fields["dtype"], 6e8)
        return flop > 15.0 * times * rate or moved > 2.5e7 * times
    if case.op.startswith("attention"):
        batch, heads = fields.get("batch", 1), fields["heads"]
        flop = 4.0 * batch * heads * fields["seq_q"] * fields["seq_kv"] * fields["head_dim"]
        cache = 4.0 * batch * fields.get("kv_heads", heads) * fields["seq_kv"] * fields["head_dim"]
        return (flop > 5e9 * times or cache > 3e7 * times) and "dropout" not in fields
    size = fields.get("elements") or math.prod(fields.get(name, 1) for name in ("batch", "rows", "cols"))
    any_size = times == 1.0 and case.op.startswith(("cat", "gather", "adamw"))
    return 2e7 * times < 4.0 * size < MOST_BYTES or any_size


def some(draws, draw, count, part):
    """Of the part that judges, only what one graph can hold."""
    cases = [case for case in draws(draw, 12 * count + 20) if is_long(case, LONG.get(part, 1.0))]
    return [case for case in cases if part != "judge" or "backward" not in case.op][:count]


def at_limit(seed):
    """Products of more than 1 ms of data that toggle many bits, few, or none."""
    chance = random.Random(seed + 1)
    for dtype, least, most in (("bf16", 72, 96), ("fp8", 88, 120)):
        edges = [128 * chance.randint(least, most) for _ in range(3)]
        for pattern in ("normal", "constant", "zeros"):
            yield product_case((dtype, *edges, True, False, 1), ("warm",)), pattern
    yield square("tf32", 128 * chance.randint(56, 72)), "normal"


def more_at_limit(seed):
    """Such products of other shapes and types, two of random data and one each of zeros and constants."""
    chance = random.Random(seed + 2)
    for dtype, least, most in (("bf16", 64, 128), ("fp16", 64, 128), ("fp8", 80, 144), ("tf32", 48, 80)):
        for pattern in ("normal", "normal", "constant", "zeros"):
            edges = [128 * chance.randint(least, most) for _ in range(3)]
            yield product_case((dtype, *edges, True, False, 1), ("warm",)), pattern


def drawn(part, seed):
    classes = (torch_plan.products, attentions, pointwise, row_operations, reductions, optimizers, copies, gathers,
               transposes)
    chance = random.Random(seed)
    for number, (draws, count) in enumerate(zip(classes, COUNTS[part])):
        for case in some(draws, Draw(1000 * seed + number), count, part):
            data = chance.random()
            product = case.op.startswith("matmul") and "int8" not in case.op
            yield case, "zeros" if product and data < 0.12 else "constant" if product and data < 0.2 else "normal"


def cases_of(part, seed):
    """(case, pattern) of a part, in the order of measurement."""
    if part == "few":
        return few()
    if part == "limit":
        return list(more_at_limit(seed))
    cases = list(drawn(part, seed))
    cases += list(at_limit(seed)) if part == "judge" else []
    random.Random(seed).shuffle(cases)
    return (list(micro()) if part == "train" else []) + cases


def few():
    """Idle power, DRAM, L2 and the pipes of a GPU whose family was measured."""
    chosen = [(square(dtype, 8192), pattern) for dtype in ("bf16", "fp8") for pattern in ("normal", "zeros")]
    chosen += [(square("bf16", 4096, 512), "normal"), (square("fp32", 4096), "normal"),
               (stream("x * 2", "fp32", LARGE), "normal"), (stream("x * 2", "fp32", SMALL), "normal"),
               (stream("exp(x)", "bf16", SMALL), "normal"), (total("fp32", 1 << 14, 1 << 14), "normal")]
    return chosen
