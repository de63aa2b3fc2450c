"""The calls that `torch-operators.py` measures: one operator each, or an operator with its gradient, drawn at random.

    from torch_operator_cases import draw
    case = draw(seed=38, index=17)     # Case(name="scatter", run=<function>)
    case.run()                         # the call, on tensors that `draw` made

Method. Every index has a generator of its own, which picks the class, then shapes, strides and types; so a
run that ends early has measured a fair sample, and a case does not depend on those before it. Shapes are drawn
log-uniformly, layouts are contiguous, permuted, sliced, broadcast and channels last.

Limits: sizes stay below about 256 MB a tensor; compiled code is measured by `torch-kernels.py`.
"""
import math
import random
from typing import Callable, NamedTuple

import torch
import torch.nn.functional as F

DEVICE = "cuda"
LARGEST = 1 << 25  # elements
FLOATS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Case(NamedTuple):
    name: str
    run: Callable[[], object]


class Draw:
    """Random sizes, layouts and types of one case."""

    def __init__(self, seed, scale=1.0):
        self.random = random.Random(seed)
        self.largest = max(64, int(LARGEST * scale))

    def size(self, low, high):
        return max(1, round(math.exp(self.random.uniform(math.log(low), math.log(high)))))

    def edge(self, low, high):
        """A size that is often a multiple of 8 or a power of two."""
        value, form = self.size(low, high), self.random.random()
        if form < 0.35:
            return min(high, 1 << max(0, round(math.log2(value))))
        if form < 0.75:
            return max(low, value // 8 * 8) if value >= 8 else value
        return value

    def chance(self, p):
        return self.random.random() < p

    def pick(self, *of):
        return self.random.choice(of)

    def dtype(self):
        return FLOATS[self.random.choice(("fp32", "fp32", "bf16", "bf16", "fp16"))]

    def dims(self, rank=None, least=1 << 8):
        """A shape of `rank` dimensions with a number of elements drawn log-uniformly."""
        rank = rank or self.random.randint(1, 5)
        target = self.size(least, self.largest)
        cuts = [self.random.random() + 0.15 for _ in range(rank)]
        shape = [max(1, round(target ** (cut / sum(cuts)))) for cut in cuts]
        return [each // 8 * 8 if each >= 16 and self.chance(0.6) else each for each in shape]

    def tensor(self, shape, dtype=None, layout=None):
        """Random values in a drawn layout: what strides tensors of this shape may have."""
        dtype = dtype or self.dtype()
        layout = layout or self.random.choices(("contiguous", "permuted", "sliced", "expanded"),
                                               (6, 2, 1.5, 0.5))[0]
        if layout == "permuted" and len(shape) > 1:
            order = list(range(len(shape)))
            if self.chance(0.5):
                a, b = self.random.sample(order, 2)
                order[a], order[b] = order[b], order[a]
            else:
                self.random.shuffle(order)
            made = values([shape[i] for i in order], dtype)
            back = [order.index(i) for i in range(len(shape))]
            return made.permute(back)
        if layout == "sliced" and shape:
            place = self.random.randrange(len(shape))
            wide = list(shape)
            wide[place] = shape[place] * self.pick(2, 3)
            if math.prod(wide) <= 2 * self.largest:
                start = self.random.randint(0, wide[place] - shape[place])
                return values(wide, dtype).narrow(place, start, shape[place])
        if layout == "expanded" and shape:
            place = self.random.randrange(len(shape))
            narrow = [1 if i == place else each for i, each in enumerate(shape)]
            return values(narrow, dtype).expand(shape)
        return values(shape, dtype)

    def broadcast(self, shape):
        """A shape that broadcasts to `shape`: dimensions of one, or none in front."""
        form = self.random.random()
        if form < 0.15:
            return []
        if form < 0.45:
            return list(shape[self.random.randrange(len(shape)):])
        return [1 if self.chance(0.5) else each for each in shape]


def values(shape, dtype):
    if dtype == torch.bool:
        return torch.rand(shape, device=DEVICE) > 0.5
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, device=DEVICE, dtype=dtype)
    return torch.randint(0, 100, tuple(shape), device=DEVICE, dtype=dtype)


def indices(of, shape, spread):
    """Random places among `of`; a small `spread` makes many of them equal."""
    return torch.randint(0, max(1, min(of, int(of * spread) + 1)), tuple(shape), device=DEVICE)


def with_gradient(function, *inputs, memory=None):
    """A call that runs `function` and its gradient for the inputs that are floating."""
    wanted = [each.detach().requires_grad_() for each in inputs if each.is_floating_point()]
    names = iter(wanted)
    arguments = [next(names) if each.is_floating_point() else each for each in inputs]
    with torch.no_grad():
        result = function(*arguments)
    gradient = torch.randn_like(result)
    if memory is not None:
        gradient = gradient.contiguous(memory_format=memory)

    def run():
        return torch.autograd.grad(function(*arguments), wanted, gradient, allow_unused=True)
    return run


UNARY = ("neg", "exp", "sigmoid", "tanh", "sqrt", "abs", "rsqrt", "log", "sin", "cos", "erf", "clone",
         "square", "reciprocal", "floor", "log1p", "sign", "logical_not", "isnan", "isfinite", "round")
ACTIVATIONS = (F.relu, F.gelu, F.silu, F.hardswish, F.leaky_relu, F.elu, F.softplus, F.mish,
               F.hardsigmoid, torch.sigmoid, torch.tanh, lambda x: F.gelu(x, approximate="tanh"),
               F.logsigmoid, F.relu6)
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "eq", "gt", "le", "atan2", "pow", "fmod",
          "add", "mul", "add", "mul")


def unary(draw):
    x = draw.tensor(draw.dims())
    name = draw.pick(*UNARY)
    if draw.chance(0.15):
        p = draw.pick(2, 3, 0.5, -0.5)
        return lambda: torch.pow(x, p)
    if draw.chance(0.15):
        low = draw.random.random()
        return lambda: torch.clamp(x, min=-low)
    if draw.chance(0.2):
        k = draw.random.random()
        return draw.pick(lambda: x * k, lambda: x + k, lambda: x / k, lambda: x > k)
    return lambda: getattr(torch, name)(x)


def binary(draw):
    shape = draw.dims()
    x = draw.tensor(shape)
    dtype = x.dtype if draw.chance(0.75) else draw.dtype()
    other = shape if draw.chance(0.55) else draw.broadcast(shape)
    y = draw.tensor(other, dtype, None if len(other) > 1 else "contiguous")
    name = draw.pick(*BINARY)
    if draw.chance(0.25) and name in ("add", "sub", "mul", "div") and x.stride().count(0) == 0:
        return lambda: getattr(x, name + "_")(y)
    if draw.chance(0.5):
        x, y = y, x
    return lambda: getattr(torch, name)(x, y)


def ternary(draw):
    shape = draw.dims()
    dtype = draw.dtype()
    x, y, z = (draw.tensor(shape if draw.chance(0.7) else draw.broadcast(shape), dtype)
               for _ in range(3))
    x = draw.tensor(shape, dtype)
    mask = draw.tensor(shape if draw.chance(0.6) else draw.broadcast(shape), torch.bool)
    form = draw.random.randrange(6)
    if form == 0:
        return lambda: torch.where(mask, x, y)
    if form == 1:
        return lambda: torch.addcmul(x, y, z)
    if form == 2:
        return lambda: torch.lerp(x, y, 0.3)
    if form == 3:
        return lambda: x.masked_fill(mask, 0.0)
    if form == 4:
        return lambda: torch.addcdiv(x, y, z)
    return lambda: torch.where(mask, x, 0.0)


def activation(draw):
    function = draw.pick(*ACTIVATIONS)
    x = draw.tensor(draw.dims(), layout=None if draw.chance(0.3) else "contiguous")
    if x.stride().count(0):
        x = x.contiguous()
    if draw.chance(0.12):
        return with_gradient(lambda y: F.glu(y, dim=-1), values(list(x.shape[:-1]) + [2 * x.shape[-1]], x.dtype))
    return with_gradient(function, x)


def copy(draw):
    shape = draw.dims()
    x = draw.tensor(shape, layout=draw.pick("permuted", "permuted", "sliced", "expanded", "contiguous"))
    form = draw.random.randrange(7)
    kind = draw.pick(torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64,
                     torch.bool, torch.int32, torch.uint8)
    if form == 0:
        return lambda: x.contiguous()
    if form == 1:
        return lambda: x.to(kind)
    if form == 2:
        y = draw.tensor(shape, draw.pick(x.dtype, torch.float32), draw.pick("permuted", "sliced"))
        return lambda: y.copy_(x)
    if form == 3 and len(shape) == 4:
        return lambda: x.contiguous(memory_format=torch.channels_last)
    if form == 4:
        dim, n = draw.random.randrange(len(shape)), draw.random.randint(2, 4)
        parts = [draw.tensor([each if i != dim else draw.size(1, 2 * each) for i, each in enumerate(shape)],
                             x.dtype, draw.pick("contiguous", "contiguous", "permuted")) for _ in range(n)]
        if sum(part.numel() for part in parts) > 2 * LARGEST:
            return lambda: x.clone()
        return lambda: torch.cat(parts, dim)
    if form == 5:
        shifts, dim = draw.size(1, 8), draw.random.randrange(len(shape))
        return lambda: torch.roll(x, shifts, dim)
    fill = draw.tensor(shape, layout=draw.pick("permuted", "sliced", "contiguous"))
    return draw.pick(lambda: fill.zero_(), lambda: fill.fill_(1.5), lambda: x.flip(0),
                     lambda: x.repeat_interleave(2, 0) if x.numel() < LARGEST // 2 else x.flip(-1))


REDUCTIONS = ("sum", "mean", "amax", "amin", "var", "norm", "prod", "any", "sum", "mean", "logsumexp",
              "argmax", "std", "max", "all", "nansum", "argmin", "var_mean")


def reduction(draw):
    x = draw.tensor(draw.dims(), layout=draw.random.choices(("contiguous", "permuted", "sliced"),
                                                            (6, 3, 1))[0])
    rank = x.dim()
    name = draw.pick(*REDUCTIONS)
    dims = sorted(draw.random.sample(range(rank), draw.random.randint(1, rank)))
    if name in ("argmax", "argmin", "prod", "max"):
        dim = draw.random.randrange(rank)
        return lambda: getattr(torch, name)(x, dim)
    if name in ("any", "all"):
        mask = x > 0
        return lambda: getattr(torch, name)(mask, dims[0])
    if name == "norm":
        return lambda: torch.linalg.vector_norm(x, dim=dims)
    if draw.chance(0.1):
        return lambda: getattr(torch, name)(x, dim=dims, keepdim=True)
    if name in ("sum", "mean") and draw.chance(0.15):
        return lambda: getattr(torch, name)(x, dtype=torch.float32)
    return lambda: getattr(torch, name)(x, dim=dims)


def rows(draw):
    x = draw.tensor(draw.dims(draw.random.randint(2, 4)), layout=draw.pick("contiguous", "contiguous", "permuted"))
    dim = -1 if draw.chance(0.6) else draw.random.randrange(x.dim())
    if draw.chance(0.4):
        function = draw.pick(torch.cumsum, torch.cumprod, torch.logcumsumexp, torch.cummax)
        return lambda: function(x, dim)
    return with_gradient(draw.pick(lambda y: F.softmax(y, dim), lambda y: F.log_softmax(y, dim)), x)


def scatter(draw):
    rows_, width = draw.size(16, 1 << 18), draw.edge(1, 1024)
    rows_ = max(8, min(rows_, draw.largest // width))
    targets = draw.size(4, max(8, rows_ * 2))
    spread = draw.pick(1.0, 1.0, 0.1, 0.001)
    dtype = draw.dtype()
    source = values([rows_, width], dtype)
    place = indices(targets, [rows_], spread)
    if draw.chance(0.3):
        place = place.sort().values
    wide = place.unsqueeze(1).expand(rows_, width)
    table = values([targets, width], dtype)
    form, way, adds = draw.random.randrange(12), draw.pick("amax", "mean", "sum"), draw.chance(0.5)
    if form == 0:
        return lambda: table.index_add_(0, place, source)
    if form == 1:
        return lambda: table.scatter_add_(0, wide, source)
    if form == 2:
        return lambda: table.scatter_reduce_(0, wide, source, way)
    if form == 3:
        return lambda: table.index_select(0, place)
    if form == 4:
        return with_gradient(lambda y: y[place], table)
    if form == 5:
        return lambda: torch.gather(table, 0, wide)
    if form == 6:
        return lambda: table.index_put_((place,), source, accumulate=adds)
    if form == 7:
        return with_gradient(lambda y: F.embedding(place, y), table)
    if form == 8:
        offsets = torch.arange(0, rows_, max(1, rows_ // draw.size(1, rows_)), device=DEVICE)
        bag = draw.pick("sum", "mean")
        return with_gradient(lambda y: F.embedding_bag(place, y, offsets, mode=bag), table)
    if form == 9:
        within = indices(width, [rows_, max(1, width // draw.pick(1, 2, 8))], 1.0)
        return with_gradient(lambda y: torch.gather(y, 1, within), source)
    if form == 10:
        return lambda: table.index_copy_(0, place, source)
    return with_gradient(lambda y: y.index_select(0, place), table)


def choose(draw):
    x = draw.tensor(draw.dims(draw.random.randint(1, 2)), layout="contiguous")
    whole = torch.randint(0, draw.size(4, 1 << 20), tuple(x.shape), device=DEVICE)
    k = draw.size(1, min(256, x.shape[-1]))
    mask = x > draw.random.uniform(-2, 2)
    edges = torch.linspace(-3, 3, draw.size(4, 4096), device=DEVICE, dtype=x.dtype)
    return draw.pick(lambda: torch.topk(x, k), lambda: torch.sort(x), lambda: torch.argsort(whole),
                     lambda: torch.topk(x, k), lambda: torch.sort(x, dim=0),
                     lambda: torch.unique(whole), lambda: torch.nonzero(mask), lambda: x[mask],
                     lambda: torch.searchsorted(edges, x), lambda: torch.bucketize(x, edges),
                     lambda: torch.bincount(whole.reshape(-1)), lambda: torch.median(x, -1),
                     lambda: torch.kthvalue(x, k),
                     lambda: torch.unique(whole, return_inverse=True),
                     lambda: F.one_hot(whole.reshape(-1)[:4096] % 512, 512),
                     lambda: torch.histc(x.float(), 64), lambda: torch.isin(whole, whole.reshape(-1)[:64]))


def random_numbers(draw):
    x = draw.tensor(draw.dims(), layout="contiguous")
    p = draw.random.uniform(0.05, 0.5)
    weights = torch.rand(draw.size(1, 512), draw.edge(8, 8192), device=DEVICE)
    return draw.pick(with_gradient(lambda y: F.dropout(y, p, True), x),
                     with_gradient(lambda y: F.dropout(y, p, True), x),
                     lambda: torch.randn_like(x), lambda: torch.rand_like(x), lambda: x.bernoulli_(p),
                     lambda: torch.randint(0, 99, x.shape, device=DEVICE),
                     lambda: x.normal_(), lambda: torch.multinomial(weights, 1),
                     lambda: torch.randperm(x.numel(), device=DEVICE),
                     lambda: torch.arange(x.numel(), device=DEVICE), lambda: torch.tril(x) if x.dim() > 1 else x.neg())


from torch_operator_layers import LAYERS  # noqa: E402: uses the names above

CLASSES = [(unary, 6), (binary, 12), (ternary, 4), (activation, 7), (copy, 8), (reduction, 11), (rows, 6),
           (scatter, 10), (choose, 5), (random_numbers, 3), *LAYERS]


def draw(seed, index, scale=1.0):
    """The case of an index; `scale` below 1 makes smaller tensors, to try the code on a CPU."""
    drawn = Draw(f"{seed}/{index}", scale)
    functions, weights = zip(*CLASSES)
    function = drawn.random.choices(functions, weights)[0]
    return Case(function.__name__, function(drawn))
