"""Kernels that torch.compile generates, for `torch-operators.py --cases torch_operator_generated`: small functions drawn at random, with
their gradients.

    case = draw(seed=41, index=17)
    python torch_operator_generated.py 41 0 60 12    # compiles cases 0 to 60 in 12 processes, so that a run finds them in the cache

Functions that add into places (embeddings, gathers, resampling), norms, softmax and losses, chains of pointwise operators with
broadcasts and transposes, pooling. Method and limits: `torch_operator_cases.py`.
"""
import math
import sys

import torch
import torch._dynamo
import torch.nn.functional as F

import torch_operator_cases as cases
import torch_operator_layers as layers
import torch_operator_networks as networks

DEVICE = "cuda"
STATES = ("warm", "warm", "warm")
MOST = 1 << 25


def image(draw, factor=1):
    shape, _ = networks.image(draw, 2)
    while shape[0] > 1 and math.prod(shape) * factor > MOST:
        shape[0] //= 2
    while math.prod(shape) * factor > MOST:
        shape[1] = max(1, shape[1] // 2)
    x, memory = layers.laid_out(draw, shape, draw.pick(torch.float32, torch.bfloat16, torch.float16))
    return x, memory


def enlarged(draw):
    factor = draw.pick(2, 2, 4)
    x, memory = image(draw, factor * factor)
    mode = draw.pick("bilinear", "bilinear", "nearest", "bicubic")
    act = draw.pick(F.silu, F.relu, torch.sigmoid, lambda y: y)
    other = cases.values([1, x.shape[1], 1, 1], x.dtype)
    return lambda y, w: act(F.interpolate(y, scale_factor=factor, mode=mode) * w), [x, other], memory


def looked_up(draw):
    rows, width = draw.size(256, 65536), draw.pick(16, 32, 64, 128, 256, 512, 1024)
    tokens = min(draw.size(256, 1 << 18), MOST // width)
    dtype = draw.pick(torch.float32, torch.bfloat16)
    table, scale = cases.values([min(rows, MOST // width), width], dtype), cases.values([width], dtype)
    ids = cases.indices(table.shape[0], [tokens], draw.pick(1.0, 1.0, 0.05))
    form = draw.random.randrange(4)
    if form == 0:
        return lambda t, s: F.embedding(ids, t) * s, [table, scale], None
    if form == 1:
        return lambda t, s: torch.zeros_like(t).index_add(0, ids, F.relu(t[ids]) * s), [table, scale], None
    if form == 2:
        rows_ = cases.values([tokens, width], dtype)
        return lambda r, s: torch.zeros(table.shape, device=r.device, dtype=r.dtype).scatter_add(0, ids[:, None].expand(-1, width), r * s), [rows_, scale], None
    return lambda t, s: t.index_select(0, ids).float().square() * s, [table, scale], None


def normed(draw):
    tokens, width = draw.size(64, 32768), draw.pick(64, 192, 256, 384, 512, 768, 1024, 2048, 4096)
    while tokens * width > MOST:
        tokens //= 2
    dtype = draw.pick(torch.float32, torch.bfloat16, torch.bfloat16)
    x, y, w, b = cases.values([tokens, width], dtype), cases.values([tokens, width], dtype), cases.values([width], dtype), cases.values([width], dtype)
    act = draw.pick(F.gelu, F.silu, lambda a: a, F.relu)
    form = draw.random.randrange(3)
    if form == 0:
        return lambda x, y, w, b: act(F.layer_norm(x + y, [width], w, b)), [x, y, w, b], None
    if form == 1:
        return lambda x, y, w: act(F.rms_norm(x + y, [width], w)), [x, y, w], None
    return lambda x, y: (x + y).softmax(-1) * 0.5, [x, y], None


def batch_normed(draw):
    x, memory = image(draw)
    channels = x.shape[1]
    w, b = torch.ones(channels, device=x.device), torch.zeros(channels, device=x.device)
    mean, var = torch.zeros(channels, device=x.device), torch.ones(channels, device=x.device)
    act = draw.pick(F.silu, F.relu, F.hardswish)
    if draw.chance(0.3) and channels % 8 == 0:
        return lambda x, w, b: act(F.group_norm(x, 8, w.to(x.dtype), b.to(x.dtype))), [x, w, b], memory
    return lambda x, w, b: act(F.batch_norm(x, mean, var, w, b, True)), [x, w, b], memory


def lost(draw):
    tokens, classes = draw.size(64, 8192), draw.pick(10, 100, 1000, 8000, 16000, 32000, 50257)
    while tokens * classes > MOST:
        tokens //= 2
    x = cases.values([tokens, classes], draw.pick(torch.float32, torch.bfloat16))
    target = cases.indices(classes, [tokens], 1.0)
    return lambda x: F.cross_entropy(x.float(), target), [x], None


def chained(draw):
    shape = draw.dims(draw.random.randint(2, 4), 1 << 16)
    while math.prod(shape) > MOST:
        shape[0] = max(1, shape[0] // 2)
    dtype = draw.pick(torch.float32, torch.bfloat16, torch.bfloat16)
    x, y = draw.tensor(shape, dtype, draw.pick("contiguous", "permuted")), draw.tensor(shape, dtype, draw.pick("contiguous", "permuted"))
    gate = cases.values([shape[-1]], dtype)
    form = draw.random.randrange(5)
    if form == 0:
        return lambda x, y, g: (F.gelu(x) * g + y).tanh(), [x, y, gate], None
    if form == 1:
        return lambda x, y, g: torch.cat([F.silu(x) * y, x + g], -1), [x, y, gate], None
    if form == 2:
        return lambda x, y, g: ((x - y).square() * g).transpose(0, -1).contiguous(), [x, y, gate], None
    if form == 3:
        return lambda x, y, g: (x * y).sum(0) + g, [x, y, gate], None
    return lambda x, y, g: (x.float() * y.float()).mean(-1, keepdim=True) + g, [x, y, gate], None


def pooled(draw):
    x, memory = image(draw)
    form = draw.random.randrange(3)
    if form == 0:
        return lambda x: F.max_pool2d(F.relu(x), 2), [x], memory
    if form == 1:
        return lambda x: F.avg_pool2d(F.silu(x), 2), [x], memory
    return lambda x: F.adaptive_avg_pool2d(F.silu(x), 1), [x], memory


CLASSES = [(enlarged, 6), (looked_up, 5), (normed, 4), (batch_normed, 4), (lost, 2), (chained, 4), (pooled, 2)]


for limit in ("recompile_limit", "accumulated_recompile_limit"):  # cases share the code of their functions
    setattr(torch._dynamo.config, limit, 1 << 16)


def with_gradient(compiled, inputs, memory):
    """A call that runs the compiled function and its gradient, and nothing else that would be compiled."""
    arguments = [each.detach().requires_grad_() for each in inputs]
    gradient = []

    def run():
        result = compiled(*arguments)
        if not gradient:
            drawn = torch.randn_like(result)
            gradient.append(drawn if memory is None else drawn.contiguous(memory_format=memory))
        return torch.autograd.grad(result, arguments, gradient, allow_unused=True)
    return run


def draw(seed, index, scale=1.0, classes=CLASSES):
    drawn = cases.Draw(f"{seed}/{index}", scale)
    cases.DEVICE = networks.DEVICE = DEVICE
    functions, weights = zip(*classes)
    function = drawn.random.choices(functions, weights)[0]
    call, inputs, memory = function(drawn)
    compiled = torch.compile(call, dynamic=False, backend="inductor" if DEVICE == "cuda" else "eager")
    if drawn.chance(0.2):
        return cases.Case(function.__name__, lambda: compiled(*inputs))
    return cases.Case(function.__name__, with_gradient(compiled, inputs, memory if function is not pooled else None))


def fill_cache(part):
    seed, first, last, step, draw = part
    for index in range(first, last, step):
        torch.manual_seed(index)
        try:
            case = draw(seed, index)
            case.run()
        except Exception as error:  # noqa: BLE001: a refused call is no reason to stop
            print(index, str(error).splitlines()[:1], flush=True)


def fill(draw):
    import multiprocessing
    seed, first, last, count = map(int, sys.argv[1:5])
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        pool.map(fill_cache, [(seed, first + place, last, count, draw) for place in range(count)])


if __name__ == "__main__":
    fill(draw)
