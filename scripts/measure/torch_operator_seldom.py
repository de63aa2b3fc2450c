"""Calls that programs make and the other draws seldom do, for `torch-operators.py --cases torch_operator_seldom`.

    case = draw(seed=44, index=17)

Queries, keys and values that leave and enter one product; sums over all but the channels; group norms of few groups and batch norms
of large and small planes; masks and several indices as an index; additions into very few places; convolutions of one tap with their
gradients; volumes; recurrent layers in fp32; fused optimizers; scans of short rows. Shapes are drawn as in
`torch_operator_networks.py`. Method and limits: `torch_operator_cases.py`.
"""
import math

import torch
import torch.nn.functional as F

import torch_operator_cases as cases
import torch_operator_gaps as gaps
import torch_operator_layers as layers
import torch_operator_narrow as narrow
import torch_operator_networks as networks

DEVICE = "cuda"
STATES = ("warm", "warm", "warm")
MOST = 1 << 25


def packed(draw):
    """One product's result as queries, keys and values of heads, and their gradients back in one tensor."""
    batch, length, heads, width = draw.pick(1, 2, 4, 8, 16, 64, 256), draw.pick(16, 49, 64, 196, 197, 256, 512, 576, 1024, 2048), draw.pick(1, 3, 4, 6, 8, 12, 16), draw.pick(16, 32, 48, 64, 64, 80, 128)
    while batch > 1 and 3 * batch * length * heads * width > MOST:
        batch //= 2
    parts = draw.pick(3, 3, 3, 2, 1)
    dtype = networks.precision(draw)
    x = cases.values([batch, length, parts * heads * width], dtype)
    form = draw.random.randrange(4)

    def call(y):
        if form == 0:
            return torch.stack([each.transpose(1, 2).contiguous() for each in y.view(batch, length, parts, heads, width).unbind(2)])
        if form == 1:
            return torch.stack([each * 1.0 for each in y.view(batch, length, parts, heads, width).permute(2, 0, 3, 1, 4).unbind(0)])
        if form == 2:
            return torch.cat([each.view(batch, length, heads, width).transpose(1, 2) for each in y.chunk(parts, -1)], 1)
        return y.view(batch, length, parts, heads, width).permute(2, 0, 3, 1, 4).contiguous()
    return cases.with_gradient(call, x)


def channel_sums(draw):
    """Sums and means over all but some dimensions, of rows or images, as for a bias."""
    dtype = networks.precision(draw)
    form = draw.random.randrange(5)
    if form < 2:
        rows, columns = draw.size(64, 1 << 18), draw.pick(8, 32, 64, 100, 128, 192, 256, 384, 512, 768, 1024, 1152, 1536, 2048, 3072, 4096)
        x = cases.values([max(1, min(rows, MOST // columns)), columns], dtype)
        return draw.pick(lambda: x.sum(0), lambda: x.sum(0, keepdim=True), lambda: x.mean(0))
    if form == 2:
        shape = [draw.pick(1, 2, 4, 8, 16), draw.pick(16, 64, 197, 256, 512, 1024, 2048), draw.pick(64, 128, 192, 384, 768, 1024, 2048)]
        x = cases.values(shape, dtype)
        return draw.pick(lambda: x.sum((0, 1)), lambda: x.sum(1), lambda: x.mean(1), lambda: x.sum((0, 1), keepdim=True))
    shape, space = networks.image(draw)
    x, _ = layers.laid_out(draw, shape, dtype)
    others = [0, *range(2, 2 + space)]
    return draw.pick(lambda: x.sum(others), lambda: x.sum(others), lambda: x.mean(others[1:]), lambda: x.sum(others[1:], keepdim=True), lambda: x.amax(others[1:]))


def normed(draw):
    """Batch and group norms."""
    shape, _ = networks.image(draw)
    if draw.chance(0.3):
        shape[0] = draw.pick(1, 1, 2)
    dtype = networks.precision(draw)
    x, memory = layers.laid_out(draw, shape, dtype) if draw.chance(0.3) else (cases.values(shape, dtype), None)
    channels = shape[1]
    if draw.chance(0.45):
        groups = math.gcd(channels, draw.pick(1, 4, 8, 16, 32, 32))
        weight, bias = cases.values([channels], dtype), cases.values([channels], dtype)
        return cases.with_gradient(lambda x, w, b: F.group_norm(x, groups, w, b), x, weight, bias, memory=memory)
    mean, var = torch.zeros(channels, device=cases.DEVICE), torch.ones(channels, device=cases.DEVICE)
    weight, bias = cases.values([channels], torch.float32), cases.values([channels], torch.float32)
    training = math.prod(shape) > channels and draw.chance(0.85)
    return cases.with_gradient(lambda x, w, b: F.batch_norm(x, mean, var, w, b, training), x, weight, bias, memory=memory)


def indexed(draw):
    """A mask or several indices as an index, and what is written there."""
    rows, width = draw.size(64, 1 << 19), draw.pick(1, 1, 2, 4, 8, 32, 64, 128, 256)
    while rows * width > MOST:
        rows //= 2
    dtype = draw.pick(torch.float32, torch.float32, torch.bfloat16, torch.int64)
    x = cases.values([rows, width] if width > 1 else [rows], dtype)
    mask = torch.rand(rows, device=cases.DEVICE) < draw.pick(0.01, 0.1, 0.5, 0.9)
    place = cases.indices(rows, [draw.size(16, 1 << 18)], draw.pick(0.0001, 0.01, 1.0))
    form = draw.random.randrange(7)
    if form == 0:
        return lambda: x[mask]
    if form == 1:
        pair = cases.values([2, rows], torch.int64)
        return lambda: pair[:, mask]
    if form == 2:
        return lambda: x.index_put_((mask,), torch.zeros((), device=cases.DEVICE, dtype=dtype))
    if form == 3 and dtype.is_floating_point:
        return cases.with_gradient(lambda y: y[place], x)
    if form == 4 and width > 1:
        column = torch.randint(0, width, place.shape, device=cases.DEVICE)
        return lambda: x[place, column]
    if form == 5 and dtype.is_floating_point:
        return cases.with_gradient(lambda y: y[mask], x)
    return lambda: x[place]


def added(draw):
    """Additions into few or many places, of values along the first or the last dimension."""
    dtype = draw.pick(torch.float32, torch.float32, torch.bfloat16, torch.int64)
    places, count = draw.size(1, 1 << 18), draw.size(256, 1 << 18)
    width = draw.pick(1, 1, 4, 8, 32, 64, 128, 256)
    while count * width > MOST or places * width > MOST:
        count, places = max(1, count // 2), max(1, places // 2)
    place = torch.randint(0, places, (count,), device=cases.DEVICE)
    table, source = cases.values([places, width] if width > 1 else [places], dtype), cases.values([count, width] if width > 1 else [count], dtype)
    wide = place[:, None].expand(count, width) if width > 1 else place
    form = draw.random.randrange(4)
    if form == 0:
        return lambda: table.scatter_add_(0, wide, source)
    if form == 1:
        return lambda: table.index_add_(0, place, source)
    if form == 2 and dtype.is_floating_point:
        return lambda: table.scatter_reduce_(0, wide, source, draw.pick("amax", "mean", "sum"))
    # The gradient of a gather along the last dimension, as positions in attention have it.
    outer, length = draw.pick(8, 24, 48, 96), draw.pick(64, 128, 256, 384)
    relative = cases.values([outer, length, 2 * length - 1], torch.float32)
    which = torch.arange(length, device=cases.DEVICE)
    return cases.with_gradient(lambda y: y.index_select(2, which), relative)


def one_tap(draw):
    """Convolutions of one tap, with gradients, in fp32 more often than not."""
    shape, space = networks.image(draw)
    while shape[0] > 1 and math.prod(shape) > MOST // 2:
        shape[0] //= 2
    if draw.chance(0.3):
        shape[1] = draw.pick(1, 3, 4, 8, 12, 16, 32)
    out = draw.pick(shape[1], shape[1] * 2, shape[1] // 2 or 1, shape[1] * 4, 1, 3, 12, 48, 64, 96, 256)
    while math.prod(shape) / shape[1] * out > MOST:
        out = max(1, out // 2)
    dtype = draw.pick(torch.float32, torch.float32, torch.bfloat16)
    x, memory = layers.laid_out(draw, shape, dtype)
    weight = cases.values([out, shape[1]] + [1] * space, dtype)
    weight = weight if memory is None else weight.contiguous(memory_format=memory)
    torch.backends.cudnn.allow_tf32 = True
    return cases.with_gradient(lambda x, w: getattr(F, f"conv{space}d")(x, w), x, weight, memory=memory)


def recurrent(draw):
    """LSTM and GRU whose weights one kernel may hold, mostly in fp32 and with both directions."""
    kind, hidden = draw.pick(torch.nn.LSTM, torch.nn.LSTM, torch.nn.GRU), draw.pick(64, 96, 128, 160, 192, 192, 224, 256, 320, 384, 512)
    width = draw.pick(hidden, 2 * hidden, 80, 128, 256, 384)
    batch, steps = draw.pick(1, 2, 2, 4, 8, 16, 32), draw.size(20, 400)
    dtype = draw.pick(torch.float32, torch.float32, torch.bfloat16)
    net = kind(width, hidden, draw.pick(1, 1, 2), bidirectional=draw.chance(0.6), batch_first=draw.chance(0.5)).to(cases.DEVICE, dtype)
    return gaps.trained(net, batch, steps, width, dtype)


def short_scans(draw):
    columns, rows = draw.pick(2, 3, 4, 5, 8, 10, 12, 16, 24, 32, 48, 64), draw.size(1 << 10, 1 << 21)
    x = cases.values([max(1, min(rows, MOST // columns)), columns], draw.pick(torch.float32, torch.float32, torch.bfloat16))
    return draw.pick(lambda: x.cumsum(-1), lambda: x.cumsum(-1), lambda: x.cumprod(-1), lambda: x.logcumsumexp(-1))


CLASSES = [(packed, 14), (channel_sums, 12), (normed, 16), (indexed, 10), (added, 9), (one_tap, 12), (gaps.volume, 9), (recurrent, 5), (narrow.recurrent, 2),
           (gaps.optimizer, 4), (short_scans, 3), (gaps.joined, 4)]


def draw(seed, index, scale=1.0):
    drawn = cases.Draw(f"{seed}/{index}", scale)
    cases.DEVICE = networks.DEVICE = gaps.DEVICE = narrow.DEVICE = DEVICE
    functions, weights = zip(*CLASSES)
    function = drawn.random.choices(functions, weights)[0]
    torch.backends.cuda.matmul.allow_tf32 = False
    return cases.Case(function.__name__, function(drawn))
