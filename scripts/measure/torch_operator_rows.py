"""Softmax over long rows, for `torch-operators.py --cases torch_operator_rows`: which kernel takes a row depends on its length, on where it
begins and on the type of the result.

    case = draw(seed=45, index=17)

Rows of 1025 to 100,000 columns in fp32, bf16 and fp16: softmax and log softmax, with and without their gradients, and softmax that
answers in fp32. Lengths are drawn log-uniformly; most are no multiple of 16 bytes, so that rows begin anywhere. Method and limits:
`torch_operator_cases.py`.
"""
import torch

import torch_operator_cases as cases

DEVICE = "cuda"
STATES = ("warm", "warm", "warm")
MOST, FEWEST = 1 << 27, 1 << 14  # elements


def long_rows(draw):
    columns = draw.size(1025, 12000) if draw.chance(0.75) else draw.size(9000, 100000)
    multiple = draw.pick(1, 1, 1, 2, 4, 8, 16)
    columns = max(1025, columns // multiple * multiple)
    rows = max(1, draw.size(FEWEST, MOST) // columns)
    dtype = draw.pick(torch.float32, torch.bfloat16, torch.bfloat16, torch.float16)
    start = draw.pick(0, 0, 0, 0, 1, 3)
    x = cases.values([rows * columns + start], dtype)[start:].view(rows, columns)
    form = draw.random.randrange(6)
    if form == 0:
        return cases.with_gradient(lambda y: torch.log_softmax(y, -1), x)
    if form == 1:
        return lambda: torch.log_softmax(x, -1)
    if form == 2:
        return cases.with_gradient(lambda y: torch.softmax(y, -1), x)
    if form == 3:
        return lambda: torch.softmax(x, -1, dtype=torch.float32)
    return lambda: torch.softmax(x, -1)


def draw(seed, index, scale=1.0):
    drawn = cases.Draw(f"{seed}/{index}", scale)
    cases.DEVICE = DEVICE
    return cases.Case("long_rows", long_rows(drawn))
