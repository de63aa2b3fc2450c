"""Calls as networks make them, for `torch-operators.py --cases torch_operator_networks`: sizes of real layers, drawn at random.

    case = draw(seed=39, index=17)

`torch_operator_cases.py` draws shapes log-uniformly, which rarely gives a large call of many channels; here images have the sides,
channels and batches of networks for vision, sound and volumes, graphs have many edges, vocabularies are large. Method and limits there.
"""
import math

import torch
import torch.nn.functional as F

import torch_operator_cases as cases
import torch_operator_layers as layers

DEVICE = "cuda"
MOST = 1 << 26  # elements of an image
MOST_PRODUCTS = 12000  # of a convolution, times the elements of the largest tensor
SIDES = {1: (50, 100, 400, 1500, 3000, 8000, 16000, 64000), 2: (7, 8, 14, 16, 28, 32, 56, 64, 112, 128, 160, 224, 256), 3: (4, 8, 12, 16, 24, 32, 48, 64)}
BATCHES = (1, 2, 4, 8, 8, 16, 16, 32, 32, 64, 64, 96, 128)
CHANNELS = (3, 8, 16, 24, 32, 32, 40, 48, 64, 64, 80, 96, 112, 128, 128, 160, 192, 240, 256, 256, 320, 384, 480, 512, 512, 640, 768, 960, 1024, 1280, 2048)


def image(draw, space=None):
    space = space or draw.random.choices((1, 2, 3), (2, 8, 2))[0]
    while True:
        side = draw.pick(*SIDES[space])
        shape = [draw.pick(*BATCHES), draw.pick(*CHANNELS)] + [side] * space
        if space == 2 and draw.chance(0.1):
            shape[-1] = side * 4 // 3
        # A network has fewer channels where its images are large.
        if (1 << 13) < math.prod(shape) <= min(MOST, 4 * draw.largest) and shape[1] * side <= {1: 1 << 22, 2: 1 << 15, 3: 1 << 12}[space]:
            return shape, space


def precision(draw):
    return draw.pick(torch.float32, torch.bfloat16, torch.bfloat16, torch.float16)


def convolution(draw):
    shape, space = image(draw)
    form = draw.random.choices(("full", "depthwise", "grouped", "transposed"), (9, 3, 2, 2.5))[0]
    kernel = draw.random.choices((1, 2, 3, 4, 5, 7), (4, 0.7, 8, 0.6, 1.2, 1.3))[0]
    stride = draw.random.choices((1, 2), (5, 2))[0]
    dilation, groups, out = 1, 1, draw.pick(*CHANNELS)
    if space == 1 and draw.chance(0.3):
        kernel = draw.pick(8, 10, 11, 15, 16, 31)
    if form == "depthwise":
        shape[1] = max(8, shape[1])
        groups = out = shape[1]
        kernel = max(3, kernel)
    elif form == "grouped":
        groups = draw.pick(2, 4, 8, 16, 32, 32)
        shape[1], out = (max(groups, each // groups * groups) for each in (shape[1], out))
    elif form == "transposed":
        kernel, stride = draw.pick((2, 2), (4, 2), (3, 2), (4, 4), (16, 8) if space == 1 else (3, 1))
    elif draw.chance(0.08) and kernel == 3:
        dilation = draw.pick(2, 4, 6, 12)
    padding = 0 if kernel == 2 or draw.chance(0.1) else (kernel - 1) * dilation // 2 if form != "transposed" else max(0, (kernel - stride) // 2)
    kernel = min(kernel, *shape[2:])
    stride = min(stride, kernel) if form != "transposed" else stride
    if min(shape[2:]) + 2 * padding < (kernel - 1) * dilation + 1:
        dilation, padding = 1, kernel // 2
    grown = stride ** space if form == "transposed" else stride ** -space
    while True:
        results = math.prod(shape) / shape[1] * out * grown
        products = (math.prod(shape) * out / groups if form == "transposed" else results * shape[1] / groups) * kernel ** space
        if shape[0] == 1 or (products < MOST_PRODUCTS * draw.largest and results < MOST):
            break
        shape[0] //= 2
    dtype = precision(draw)
    x, memory = layers.laid_out(draw, shape, dtype)
    weights = [shape[1], out] if form == "transposed" else [out, shape[1] // groups]
    weight = cases.values(weights + [kernel] * space, dtype) / kernel
    if memory is not None:
        weight = weight.contiguous(memory_format=memory)
    bias = [cases.values([out], dtype)] if draw.chance(0.3) else []
    name = ("conv_transpose" if form == "transposed" else "conv") + f"{space}d"

    def call(x, weight, *bias):
        return getattr(F, name)(x, weight, *(bias or [None]), stride=stride, padding=padding, dilation=dilation, groups=groups)
    torch.backends.cudnn.allow_tf32 = True
    if draw.chance(0.2):
        return lambda: call(x, weight, *bias)
    if draw.chance(0.15):  # the first layer: its input has no gradient
        return cases.with_gradient(lambda weight: call(x, weight), weight, memory=memory)
    return cases.with_gradient(call, x, weight, *bias, memory=memory)


def norm(draw):
    shape, _ = image(draw)
    shape[1] = max(8, shape[1])
    dtype = precision(draw)
    x, memory = layers.laid_out(draw, shape, dtype)
    channels = shape[1]
    form = draw.random.choices(("batch", "eval", "group", "instance"), (6, 1, 4, 2))[0]
    weight, bias = cases.values([channels], torch.float32), cases.values([channels], torch.float32)
    if form in ("batch", "eval"):
        mean, var = torch.zeros(channels, device=DEVICE), torch.ones(channels, device=DEVICE)
        return cases.with_gradient(lambda x, w, b: F.batch_norm(x, mean, var, w, b, form == "batch"), x, weight, bias, memory=memory)
    weight, bias = weight.to(dtype), bias.to(dtype)
    if form == "instance":
        return cases.with_gradient(lambda x, w, b: F.instance_norm(x, None, None, w, b), x, weight, bias, memory=memory)
    groups = math.gcd(channels, draw.pick(1, 8, 16, 32, 32))
    return cases.with_gradient(lambda x, w, b: F.group_norm(x, groups, w, b), x, weight, bias, memory=memory)


def resampling(draw):
    shape, space = image(draw)
    while math.prod(shape) * 2 ** space > MOST and shape[0] > 1:
        shape[0] //= 2
    x, memory = layers.laid_out(draw, shape, precision(draw))
    form = draw.random.randrange(5)
    if form == 0:
        window, step, pad = draw.pick((2, 2, 0), (3, 2, 1), (3, 1, 1))
        call = getattr(F, f"max_pool{space}d")
        return cases.with_gradient(lambda y: call(y, window, step, pad), x, memory=memory)
    if form == 1:
        call, window = getattr(F, f"avg_pool{space}d"), draw.pick(2, 3)
        return cases.with_gradient(lambda y: call(y, window, ceil_mode=False), x, memory=memory)
    if form == 2:
        return cases.with_gradient(lambda y: getattr(F, f"adaptive_avg_pool{space}d")(y, 1), x)
    mode = draw.pick("nearest", {1: "linear", 2: "bilinear", 3: "trilinear"}[space])
    factor = draw.pick(2, 2, 2, 0.5)
    return cases.with_gradient(lambda y: F.interpolate(y, scale_factor=factor, mode=mode), x, memory=memory)


def pointwise(draw):
    """What stands between layers: activations, sums, scales by a gate, and reductions of planes, in the layouts of images."""
    shape, space = image(draw)
    dtype = precision(draw)
    x, memory = layers.laid_out(draw, shape, dtype)
    y = cases.values(shape, dtype)
    if memory is not None and draw.chance(0.7):
        y = y.contiguous(memory_format=memory)
    gate = cases.values([shape[0], shape[1]] + [1] * space, dtype)
    scale = cases.values([shape[1]] + [1] * space, torch.float32 if draw.chance(0.3) else dtype)
    planes = tuple(range(2, 2 + space))
    return draw.pick(
        cases.with_gradient(draw.pick(*cases.ACTIVATIONS), x, memory=memory), cases.with_gradient(lambda a, b: a * b, x, gate, memory=memory),
        cases.with_gradient(lambda a, b: a * b, x, scale, memory=memory), lambda: x + y, lambda: x.add_(y), lambda: torch.cat([x, y], 1),
        cases.with_gradient(lambda a: a.mean(planes), x), lambda: x.to(torch.float32), lambda: x.to(torch.bfloat16), lambda: x.contiguous(),
        lambda: x.sum((0, *planes)), lambda: x.amax(planes), lambda: F.relu_(x), lambda: x.permute(0, *planes, 1).contiguous(),
        lambda: x.flatten(2).transpose(1, 2).contiguous(), lambda: F.pad(x, [1] * (2 * space)), lambda: x.zero_(),
        cases.with_gradient(lambda a: a.square(), x), lambda: x.clamp_min(0), lambda: x / 3)


def edges(draw):
    """Messages of a graph: rows gathered by one end of each edge and added up at the other."""
    nodes, width = draw.size(2000, 200000), draw.pick(1, 4, 8, 16, 32, 64, 128, 128, 256)
    count = nodes * draw.size(2, 20)
    while count * width > MOST:
        count //= 2
    dtype = draw.pick(torch.float32, torch.float32, torch.bfloat16)
    heads = [draw.pick(2, 4, 8)] if draw.chance(0.2) and width >= 16 else []
    tail = heads + [width // heads[0]] if heads else [width]
    rows, table = cases.values([count, *tail], dtype), cases.values([nodes, *tail], dtype)
    place = cases.indices(nodes, [count], 1.0)
    place = place.sort().values if draw.chance(0.3) else place
    wide = place.view(-1, *[1] * len(tail)).expand(count, *tail)
    return draw.pick(lambda: table.index_add_(0, place, rows), lambda: table.scatter_add_(0, wide, rows), lambda: table.index_select(0, place),
                     cases.with_gradient(lambda t: t.index_select(0, place), table), cases.with_gradient(lambda t: t[place], table),
                     lambda: table.scatter_reduce_(0, wide, rows, "amax"), lambda: torch.gather(table, 0, wide.clamp(max=nodes - 1)),
                     cases.with_gradient(lambda r: torch.zeros_like(table).scatter_add(0, wide, r), rows),
                     cases.with_gradient(lambda r: torch.zeros_like(table).index_add(0, place, r), rows))


def words(draw):
    """Embeddings, and losses over a vocabulary."""
    vocabulary, width = draw.pick(1000, 5000, 10000, 30522, 32000, 50257, 128256), draw.pick(64, 128, 256, 512, 768, 1024, 2048)
    tokens = draw.size(64, 16384)
    dtype = precision(draw)
    ids = cases.indices(vocabulary, [tokens], draw.pick(1.0, 1.0, 0.1))
    if draw.chance(0.5):
        table = cases.values([vocabulary, width], draw.pick(torch.float32, dtype))
        return cases.with_gradient(lambda t: F.embedding(ids, t), table)
    while tokens * vocabulary > MOST:
        tokens //= 2
    x = cases.values([tokens, vocabulary], draw.pick(torch.float32, dtype))
    return cases.with_gradient(lambda a: F.cross_entropy(a, ids[:tokens]), x)


def rows(draw):
    """Norms, softmax, sums and products of the rows of a transformer."""
    tokens, width = draw.size(32, 32768), draw.pick(64, 128, 256, 384, 512, 768, 1024, 1152, 2048, 4096)
    while tokens * width > MOST:
        tokens //= 2
    dtype = precision(draw)
    x, weight, bias = cases.values([tokens, width], dtype), cases.values([width], dtype), cases.values([width], dtype)
    n = draw.pick(49, 64, 196, 197, 256, 512, 1024)
    scores = cases.values([max(1, min(512, MOST // 4 // (n * n))), n, n], draw.pick(torch.float32, dtype))
    return draw.pick(cases.with_gradient(lambda a, w, b: F.layer_norm(a, [width], w, b), x, weight, bias),
                     cases.with_gradient(lambda a, w: F.rms_norm(a, [width], w), x, weight),
                     cases.with_gradient(lambda a: a.softmax(-1), scores), cases.with_gradient(lambda a: F.dropout(a, 0.1), x),
                     lambda: x.sum(0), lambda: x.float().square().mean(-1, keepdim=True), cases.with_gradient(F.gelu, x), cases.with_gradient(F.silu, x),
                     lambda: x + bias, lambda: x.view(tokens, -1, 8).transpose(0, 1).contiguous(), lambda: x.cumsum(0), lambda: x.cumsum(-1),
                     lambda: torch.topk(x, min(8, width)), lambda: x.view(-1, 64, 8)[..., :4] * 2 if x.numel() % 512 == 0 else x * 2)


def linear(draw):
    tokens, into, out = draw.size(16, 32768), draw.pick(32, 64, 128, 256, 400, 512, 650, 768, 1024, 2048, 4096), draw.pick(1, 4, 16, 64, 128, 256, 768, 1000, 1024, 3072, 4096, 10000)
    while tokens * max(into, out) > MOST or tokens * into * out > 6e11:
        tokens //= 2
    dtype = precision(draw)
    x, w, b = cases.values([tokens, into], dtype), cases.values([out, into], dtype), cases.values([out], dtype)
    torch.backends.cuda.matmul.allow_tf32 = draw.chance(0.2)
    return cases.with_gradient(lambda a, w, b: F.linear(a, w, b), x, w, b)


CLASSES = [(convolution, 34), (norm, 12), (resampling, 7), (pointwise, 14), (edges, 7), (words, 4), (rows, 6), (linear, 4), (layers.recurrent, 3),
           (layers.attention, 4), (layers.lists, 4), (layers.algebra, 2), (layers.transform, 1.5), (layers.product, 2), (cases.choose, 2)]


def draw(seed, index, scale=1.0):
    drawn = cases.Draw(f"{seed}/{index}", scale)
    cases.DEVICE = DEVICE
    functions, weights = zip(*CLASSES)
    function = drawn.random.choices(functions, weights)[0]
    torch.backends.cuda.matmul.allow_tf32 = False
    return cases.Case(function.__name__, function(drawn))
