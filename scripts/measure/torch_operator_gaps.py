"""Calls of forms that the other cases rarely draw, for `torch-operators.py --cases torch_operator_gaps`.

    case = draw(seed=40, index=17)

Convolutions with several filters a channel, of volumes, of few channels, grouped and transposed; recurrent layers of few sequences or
odd widths; resampling by large factors; sums and scans of narrow rows or across them; thin products in fp32; concatenation; optimizers
over lists with large tables. Shapes are drawn as in `torch_operator_networks.py`. Method and limits: `torch_operator_cases.py`.
"""
import math

import torch
import torch.nn.functional as F

import torch_operator_cases as cases
import torch_operator_layers as layers
import torch_operator_networks as networks

DEVICE = "cuda"
MOST = 1 << 25  # elements of a tensor
MOST_PRODUCTS = 2e11
FEW = (1, 2, 3, 3, 4, 6, 8, 8, 12, 16, 16, 24, 32, 32, 48, 64)


def convolved(draw, shape, out, groups, kernel, stride=1, transposed=False, padding=None):
    """A convolution of an image of this shape, made smaller until it fits, with or without its gradient."""
    space = len(shape) - 2
    kernel = min(kernel, *shape[2:])
    while shape[0] > 1 and (math.prod(shape) / shape[1] * max(out, shape[1]) > MOST * (0.25 if transposed else 1.0)
                            or math.prod(shape) * out / groups * kernel ** space > MOST_PRODUCTS):
        shape[0] = max(1, shape[0] // 2)
    while math.prod(shape) / shape[1] * max(out, shape[1]) > MOST and max(shape[2:]) > kernel:
        shape[2:] = [max(kernel, each // 2) for each in shape[2:]]
    dtype = networks.precision(draw)
    x, memory = layers.laid_out(draw, shape, dtype)
    weights = [shape[1], out // groups] if transposed else [out, shape[1] // groups]
    weight = cases.values(weights + [kernel] * space, dtype) / kernel
    if memory is not None:
        weight = weight.contiguous(memory_format=memory)
    bias = [cases.values([out], dtype)] if draw.chance(0.3) else []
    padding = (0 if transposed else kernel // 2) if padding is None else padding
    name = ("conv_transpose" if transposed else "conv") + f"{space}d"

    def call(x, weight, *bias):
        return getattr(F, name)(x, weight, *(bias or [None]), stride=stride, padding=padding, groups=groups)
    torch.backends.cudnn.allow_tf32 = True
    if draw.chance(0.15):
        return lambda: call(x, weight, *bias)
    if draw.chance(0.1):  # the first layer: its input has no gradient
        return cases.with_gradient(lambda weight, *bias: call(x, weight, *bias), weight, *bias, memory=memory)
    return cases.with_gradient(call, x, weight, *bias, memory=memory)


def multiplied(draw):
    """Several filters for each channel."""
    shape, _ = networks.image(draw, draw.random.choices((1, 2, 3), (1.5, 8, 0.7))[0])
    filters = draw.pick(2, 2, 2, 3, 4)
    return convolved(draw, shape, shape[1] * filters, shape[1], draw.pick(3, 3, 5, 7, 7, 9), draw.pick(1, 2, 2))


def volume(draw):
    side = draw.pick(8, 12, 16, 18, 24, 32, 36, 48, 64, 72, 96)
    shape = [draw.pick(1, 1, 2, 2, 4, 8), draw.pick(*FEW), side, side, side * 3 // 2 if draw.chance(0.2) else side]
    kernel, stride = draw.pick((3, 1), (3, 1), (5, 1), (5, 1), (7, 1), (2, 2), (3, 2), (1, 1))
    if draw.chance(0.2):
        return convolved(draw, shape, draw.pick(*FEW), 1, *draw.pick((2, 2), (4, 2), (3, 1)), transposed=True)
    return convolved(draw, shape, draw.pick(*FEW), 1, kernel, stride)


def few_channels(draw):
    """The first and last layers of networks, and narrow ones in between."""
    shape, _ = networks.image(draw, draw.random.choices((1, 2), (1, 4))[0])
    shape[1] = draw.pick(*FEW)
    kernel, stride = draw.pick((3, 1), (3, 1), (5, 1), (7, 2), (7, 1), (4, 4), (3, 2), (9, 1), (1, 1))
    return convolved(draw, shape, draw.pick(*FEW), 1, kernel, stride)


def grouped(draw):
    shape, _ = networks.image(draw, draw.random.choices((1, 2), (1, 4))[0])
    groups = draw.pick(2, 4, 8, 16, 32, 32, 64)
    shape[1] = max(groups, shape[1] // groups * groups)
    out = max(groups, draw.pick(shape[1], shape[1], 2 * shape[1], shape[1] // 2) // groups * groups)
    return convolved(draw, shape, out, groups, draw.pick(1, 3, 3, 3, 5), draw.pick(1, 1, 2))


def transposed(draw):
    shape, space = networks.image(draw, draw.random.choices((1, 2), (1.5, 4))[0])
    if space == 2 and draw.chance(0.3):  # the first layer of a generator
        shape[2:] = [draw.pick(1, 2, 4)] * 2
    kernel, stride, padding = draw.pick((2, 2, 0), (4, 2, 1), (4, 2, 1), (3, 2, 1), (4, 1, 0), (4, 4, 0), (16, 8, 4) if space == 1 else (3, 1, 1))
    out = draw.pick(*networks.CHANNELS[:-4])
    while shape[0] > 1 and math.prod(shape) / shape[1] * out * stride ** space > MOST:
        shape[0] //= 2
    while math.prod(shape) / shape[1] * out * stride ** space > MOST:
        out = max(1, out // 2)
    dtype = networks.precision(draw)
    x, memory = layers.laid_out(draw, shape, dtype)
    weight = cases.values([shape[1], out] + [kernel] * space, dtype) / kernel
    weight = weight if memory is None else weight.contiguous(memory_format=memory)
    torch.backends.cudnn.allow_tf32 = True

    def call(x, weight):
        return getattr(F, f"conv_transpose{space}d")(x, weight, None, stride=stride, padding=padding)
    return (lambda: call(x, weight)) if draw.chance(0.15) else cases.with_gradient(call, x, weight, memory=memory)


def trained(net, batch, steps, width, dtype):
    """A step of a recurrent network on sequences, forward and backward."""
    x = cases.values([batch, steps, width] if net.batch_first else [steps, batch, width], dtype)
    torch.backends.cudnn.allow_tf32 = True

    def run():
        net.zero_grad(set_to_none=True)
        net(x)[0].sum().backward()
    return run


def recurrent(draw):
    kind = draw.pick(torch.nn.LSTM, torch.nn.LSTM, torch.nn.GRU, torch.nn.GRU, torch.nn.RNN)
    hidden = draw.pick(24, 32, 48, 64, 96, 100, 128, 150, 160, 192, 200, 256, 256, 300, 320, 384, 400, 512, 512, 550, 600, 650, 768, 1000, 1024, 1150)
    width = hidden if draw.chance(0.5) else draw.pick(13, 40, 64, 80, 128, 256, 300, 400, 512, 1024)
    batch, steps = draw.pick(1, 1, 2, 2, 3, 4, 6, 8, 16, 20, 32, 64, 128), draw.size(8, 300)
    steps = min(steps, max(8, (1 << 23) // (batch * hidden)))
    dtype, layers_ = networks.precision(draw), draw.pick(1, 1, 2)
    net = kind(width, hidden, layers_, bidirectional=draw.chance(0.5), batch_first=draw.chance(0.5)).to(cases.DEVICE, dtype)
    return trained(net, batch, steps, width, dtype)


def resampled(draw):
    """Images brought to another size, often far larger, as for a loss over pixels; or smaller."""
    space = draw.random.choices((1, 2, 3), (1, 8, 1.5))[0]
    factor = draw.pick(2, 2, 4, 8, 16, 32, 0.5) if space < 3 else draw.pick(2, 4)
    mode = {1: draw.pick("nearest", "linear"), 2: draw.pick("nearest", "bilinear", "bilinear", "bilinear", "bicubic"), 3: draw.pick("nearest", "trilinear")}[space]
    side = draw.pick(*{1: (32, 100, 500, 2000), 2: (1, 7, 8, 12, 14, 16, 24, 28, 32, 48, 56, 64, 96, 128), 3: (4, 8, 16, 32)}[space])
    shape = [draw.pick(1, 2, 4, 8, 16), draw.pick(1, 2, 3, 16, 19, 21, 32, 48, 64, 96, 128, 150, 192, 256, 512)] + [side] * space
    while shape[1] > 1 and math.prod(shape) * max(1, factor ** space) > MOST:
        shape[1] //= 2
    while shape[0] > 1 and math.prod(shape) * max(1, factor ** space) > MOST:
        shape[0] //= 2
    to = [max(1, int(side * factor)) + (draw.pick(0, 0, 1, 5) if factor > 1 else 0) for _ in range(space)]
    x, memory = layers.laid_out(draw, shape, networks.precision(draw))
    corners = {"align_corners": draw.chance(0.3)} if mode != "nearest" else {}
    call = lambda y: F.interpolate(y, size=to, mode=mode, **corners)  # noqa: E731
    return (lambda: call(x)) if draw.chance(0.15) else cases.with_gradient(call, x, memory=memory)


def narrow(draw):
    """Many short rows, or long ones across memory."""
    columns = draw.pick(2, 3, 4, 5, 6, 8, 8, 10, 16, 20, 32, 64)
    rows = min(draw.size(1 << 10, 1 << 23), MOST // columns)
    outer = draw.pick(1, 4, 16)
    x = cases.values([max(1, rows // outer), outer, columns], networks.precision(draw))
    long = cases.values([draw.pick(1, 4, 16), draw.pick(16, 64, 256, 1024, 4096), draw.pick(16, 64, 256, 768, 1536)], networks.precision(draw))
    function = draw.pick(torch.cumsum, torch.cumsum, torch.cumprod)
    return draw.pick(lambda: x.sum(-1), lambda: x.mean(-1), lambda: x.amax(-1), lambda: function(x, -1), lambda: function(x, -1),
                     cases.with_gradient(lambda a: a.softmax(-1), x), cases.with_gradient(lambda a: F.log_softmax(a, -1), x),
                     lambda: torch.cumsum(long, 1), lambda: torch.cumsum(long, 1), lambda: long.sum(1), lambda: x.sum(0),
                     cases.with_gradient(lambda a: a.sum(-1), x), lambda: torch.linalg.vector_norm(x, dim=-1))


def thin(draw):
    """Products of few rows or columns, mostly in fp32."""
    rows, into, out = draw.size(1, 8192), draw.pick(16, 80, 192, 256, 384, 400, 512, 650, 768, 1024, 1024, 1536, 2048), draw.pick(1, 2, 8, 64, 80, 192, 256, 512, 768, 1024, 1024, 2048, 3072)
    dtype = draw.pick(torch.float32, torch.float32, torch.float32, torch.bfloat16)
    torch.backends.cuda.matmul.allow_tf32 = draw.chance(0.15)
    x, w, b = cases.values([rows, into], dtype), cases.values([out, into], dtype), cases.values([out], dtype)
    return cases.with_gradient(lambda a, w, b: F.linear(a, w, b), x, w, b)


def joined(draw):
    """Concatenation along the last dimension, along channels, or of many parts."""
    form, dtype = draw.random.randrange(3), networks.precision(draw)
    if form == 0:
        rows, count = draw.size(64, 1 << 18), draw.pick(2, 2, 3, 4, 8)
        parts = [[rows, draw.pick(1, 3, 8, 32, 64, 91, 128, 256)] for _ in range(count)]
    elif form == 1:
        shape, _ = networks.image(draw)
        parts = [[shape[0], draw.pick(shape[1], shape[1] // 2 + 1), *shape[2:]] for _ in range(2)]
    else:
        shape = draw.dims(3, 1 << 8)
        parts = [shape for _ in range(draw.pick(2, 4, 16, 48))]
    if sum(map(math.prod, parts)) > MOST:
        parts = [[1 + each[0] // 16, *each[1:]] for each in parts]
    tensors = [layers.laid_out(draw, list(each), dtype)[0] for each in parts]
    dim = 0 if form == 2 and draw.chance(0.5) else -1 if form == 0 else 1
    return lambda: torch.cat(tensors, dim)


def optimizer(draw):
    """A step over the parameters of a small model with a large table."""
    width, depth = draw.pick(64, 128, 256, 384, 512, 768, 1024), draw.random.randint(1, 8)
    table = draw.pick(0, 1000, 10000, 16000, 32000)
    shapes = [[table, width]] * bool(table) + [[width], [width], [3 * width, width], [width, width], [4 * width, width], [width, 4 * width]] * depth
    while sum(map(math.prod, shapes)) > 3 * MOST:
        shapes.pop()
    parameters = [torch.nn.Parameter(cases.values(each, torch.float32)) for each in shapes]
    for each in parameters:
        each.grad = torch.randn_like(each)
    kind, way = draw.pick((torch.optim.AdamW, "fused"), (torch.optim.AdamW, "fused"), (torch.optim.AdamW, "foreach"), (torch.optim.Adam, "foreach"),
                          (torch.optim.SGD, "foreach"))
    return kind(parameters, lr=1e-4, **({"momentum": 0.9} if kind is torch.optim.SGD else {}), **{way: True}).step


CLASSES = [(multiplied, 12), (volume, 12), (few_channels, 6), (grouped, 6), (transposed, 8), (recurrent, 9), (resampled, 9), (narrow, 8), (thin, 4),
           (joined, 4), (optimizer, 2)]


def draw(seed, index, scale=1.0):
    drawn = cases.Draw(f"{seed}/{index}", scale)
    cases.DEVICE = networks.DEVICE = DEVICE
    functions, weights = zip(*CLASSES)
    function = drawn.random.choices(functions, weights)[0]
    torch.backends.cuda.matmul.allow_tf32 = False
    return cases.Case(function.__name__, function(drawn))
