"""Layers of networks as cases of `torch-operators.py`: convolutions, norms, pooling, losses, recurrent layers, attention,
lists of tensors, Fourier transforms, linear algebra. Method and limits: `torch_operator_cases.py`.

    function, weight = LAYERS[0]
    run = function(Draw("38/17"))     # makes the tensors; run() is the call
"""
import math

import torch
import torch.nn.functional as F

import torch_operator_cases as cases


def laid_out(draw, shape, dtype):
    """An image in one of its two layouts, and the layout."""
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(len(shape))
    x = cases.values(shape, dtype)
    if last is not None and draw.chance(0.45):
        return x.contiguous(memory_format=last), last
    return x, None


def image(draw, channels=None, space=None, most=1 << 24):
    space = space or draw.random.choices((1, 2, 3), (2, 7, 2))[0]
    channels = channels or draw.edge(3, 1024)
    side = draw.edge(4, {1: 4096, 2: 128, 3: 48}[space])
    shape = [draw.size(1, 64), channels] + [side] * space
    if draw.chance(0.3):
        shape[-1] = draw.edge(4, 2 * side)
    most = min(most, cases.LARGEST, draw.largest)
    while math.prod(shape) > most and shape[0] > 1:
        shape[0] = max(1, shape[0] // 2)
    while math.prod(shape) > most:
        shape[1 + shape[1:].index(max(shape[1:]))] //= 2
    return [max(1, each) for each in shape], space


def convolution(draw):
    shape, space = image(draw)
    into = shape[1]
    out = draw.edge(3, 1024)
    form = draw.random.choices(("full", "depthwise", "grouped"), (7, 2.5, 1.5))[0]
    groups = 1
    if form == "depthwise":
        groups = out = into
    elif form == "grouped":
        groups = draw.pick(2, 4, 8, 32)
        into, out = max(groups, into // groups * groups), max(groups, out // groups * groups)
        shape[1] = into
    kernel = draw.random.choices((1, 2, 3, 4, 5, 7, 16), (3, 0.6, 6, 0.6, 1, 1, 0.3))[0]
    kernel = min(kernel, *shape[2:])
    stride = draw.random.choices((1, 2, kernel), (6, 2, 0.7))[0]
    transposed = draw.chance(0.15)
    dtype = draw.dtype()
    outputs = math.prod(shape) / into * out / (1 if transposed else stride ** space)
    if outputs * into / groups * kernel ** space * 2 > 6e11 or outputs > 4e7:
        shape[0] = 1
        shape[2:] = [max(kernel, each // 4) for each in shape[2:]]
    x, memory = laid_out(draw, shape, dtype)
    weights = [into, out // groups] if transposed else [out, into // groups]
    weight = cases.values(weights + [kernel] * space, dtype) / kernel
    if memory is not None:
        weight = weight.contiguous(memory_format=memory)
    bias = [cases.values([out], dtype)] if draw.chance(0.4) else []
    name = ("conv_transpose" if transposed else "conv") + f"{space}d"
    padding = 0 if transposed else draw.pick(kernel // 2, kernel // 2, 0)

    def call(x, weight, *bias):
        return getattr(F, name)(x, weight, *(bias or [None]), stride=stride, padding=padding,
                                groups=groups)
    torch.backends.cudnn.allow_tf32 = True
    if draw.chance(0.25):
        return lambda: call(x, weight, *bias)
    return cases.with_gradient(call, x, weight, *bias, memory=memory)


def norm(draw):
    shape, _ = image(draw, draw.edge(8, 1024), most=1 << 25)
    dtype = draw.dtype()
    x, memory = laid_out(draw, shape, dtype)
    channels = shape[1]
    kind = torch.float32 if draw.chance(0.5) else dtype
    weight, bias = cases.values([channels], kind), cases.values([channels], kind)
    form = draw.random.choices(("batch", "group", "instance", "eval", "layer", "rms"),
                               (5, 4, 1.5, 1, 4, 1.5))[0]
    if form in ("batch", "eval"):
        if form == "batch" and math.prod(shape) == channels:
            shape[0] = 2
            x, memory = laid_out(draw, shape, dtype)
        mean, var = torch.zeros(channels, device=cases.DEVICE), torch.ones(channels, device=cases.DEVICE)
        weight, bias = weight.float(), bias.float()
        return cases.with_gradient(lambda x, w, b: F.batch_norm(x, mean, var, w, b, form == "batch"),
                                   x, weight, bias, memory=memory)
    if form == "group":
        groups = math.gcd(channels, draw.pick(8, 16, 32))
        weight, bias = weight.to(dtype), bias.to(dtype)
        return cases.with_gradient(lambda x, w, b: F.group_norm(x, groups, w, b), x, weight, bias,
                                   memory=memory)
    if form == "instance":
        weight, bias = weight.to(dtype), bias.to(dtype)
        if math.prod(shape[2:]) < 2:
            return lambda: x.neg()
        return cases.with_gradient(lambda x, w, b: F.instance_norm(x, None, None, w, b), x, weight,
                                   bias, memory=memory)
    rows, width = draw.dims(2, 1 << 12)
    y = cases.values([rows, width], dtype)
    weight, bias = cases.values([width], dtype), cases.values([width], dtype)
    if form == "rms":
        return cases.with_gradient(lambda x, w: F.rms_norm(x, [width], w), y, weight)
    return cases.with_gradient(lambda x, w, b: F.layer_norm(x, [width], w, b), y, weight, bias)


def resampling(draw):
    shape, space = image(draw)
    x, memory = laid_out(draw, shape, draw.dtype())
    window = min(draw.pick(2, 2, 3), *shape[2:])
    form = draw.random.randrange(8)
    if form == 0:
        call, step = getattr(F, f"max_pool{space}d"), draw.pick(window, 2)
        return cases.with_gradient(lambda y: call(y, window, step), x, memory=memory)
    if form == 1:
        call = getattr(F, f"avg_pool{space}d")
        return cases.with_gradient(lambda y: call(y, window), x, memory=memory)
    if form == 2:
        call, to = getattr(F, f"adaptive_avg_pool{space}d"), draw.pick(1, 1, min(7, *shape[2:]))
        return cases.with_gradient(lambda y: call(y, to), x, memory=memory)
    if form in (3, 4) and math.prod(shape) * 2 ** space < 2 * draw.largest:
        mode = draw.pick("nearest", {1: "linear", 2: "bilinear", 3: "trilinear"}[space])
        return cases.with_gradient(lambda y: F.interpolate(y, scale_factor=2, mode=mode), x)
    if form == 5:
        mode = draw.pick("constant", "reflect", "replicate")
        return cases.with_gradient(lambda y: F.pad(y, [1] * (2 * space), mode=mode), x)
    if form == 6 and space == 2:
        grid = torch.rand(shape[0], shape[2], shape[3], 2, device=cases.DEVICE, dtype=x.dtype) * 2 - 1
        return cases.with_gradient(lambda y: F.grid_sample(y, grid, align_corners=False), x)
    if space == 2 and math.prod(shape) < draw.largest // 9:
        return cases.with_gradient(lambda y: F.unfold(y, 3, padding=1), x)
    return lambda: F.avg_pool2d(x, window) if space == 2 else x.neg()


def loss(draw):
    dtype = draw.dtype()
    rows, classes = draw.dims(2, 1 << 10)
    x = cases.values([rows, classes], dtype)
    y = cases.values([rows, classes], dtype)
    form = draw.random.randrange(7)
    target = cases.indices(classes, [rows], 1.0)
    if form < 3:
        return cases.with_gradient(lambda a: F.cross_entropy(a, target), x)
    if form == 3:
        return cases.with_gradient(lambda a: F.mse_loss(a, y), x)
    if form == 4:
        return cases.with_gradient(lambda a: F.binary_cross_entropy_with_logits(a, (y > 0).to(dtype)), x)
    if form == 5:
        return cases.with_gradient(lambda a: F.smooth_l1_loss(a, y), x)
    return cases.with_gradient(lambda a: F.kl_div(F.log_softmax(a, -1), y.softmax(-1), reduction="batchmean"), x)


def recurrent(draw):
    kind = draw.pick(torch.nn.LSTM, torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN)
    width, hidden = draw.edge(8, 1024), draw.edge(16, 1536)
    steps, batch = draw.size(4, 256), draw.size(1, 256)
    dtype = draw.dtype()
    layers = draw.random.randint(1, 3)
    net = kind(width, hidden, layers, bidirectional=draw.chance(0.3), batch_first=draw.chance(0.5),
               dropout=0.1 if layers > 1 and draw.chance(0.3) else 0.0).to(cases.DEVICE, dtype)
    x = cases.values([batch, steps, width] if net.batch_first else [steps, batch, width], dtype)
    if draw.chance(0.3):
        net.eval()

        def forward():
            with torch.no_grad():
                return net(x)
        return forward

    def run():
        net.zero_grad(set_to_none=True)
        net(x)[0].sum().backward()
    return run


def attention(draw):
    batch, heads, dim = draw.size(1, 32), draw.size(1, 32), draw.pick(32, 40, 64, 64, 80, 96, 128, 128, 192, 256)
    queries = draw.size(1, 4096)
    keys = queries if draw.chance(0.7) else draw.size(1, 4096)
    while batch * heads * queries * keys > (1 << 30) or batch * heads * max(queries, keys) * dim > draw.largest:
        batch, heads, queries, keys = (max(1, each // 2) for each in (batch, heads, queries, keys))
    dtype = draw.pick(torch.float32, torch.bfloat16, torch.bfloat16, torch.float16)
    shared = heads // 4 if heads % 4 == 0 and draw.chance(0.25) else heads
    wide = dim // 2 if draw.chance(0.1) else dim

    def make(n, h, d):
        return cases.values([batch, n, h, d], dtype).transpose(1, 2)
    q, k, v = make(queries, heads, dim), make(keys, shared, dim), make(keys, shared, wide)
    options = {"enable_gqa": shared != heads}
    form = draw.random.randrange(5)
    if form == 1 and queries == keys:
        options["is_causal"] = True
    elif form == 2:
        options["attn_mask"] = torch.rand(draw.pick(1, batch), 1, queries, keys, device=cases.DEVICE) > 0.2
    elif form == 3:
        options["attn_mask"] = torch.randn(1, draw.pick(1, heads), queries, keys, device=cases.DEVICE, dtype=dtype)
    elif form == 4:
        options["dropout_p"] = 0.1

    def call(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, **options)
    if draw.chance(0.4):
        return lambda: call(q, k, v)
    return cases.with_gradient(call, q, k, v)


def list_of(draw, most=300):
    """Sizes as a model's parameters have them: many vectors, some matrices."""
    count, width = draw.size(2, most), draw.edge(16, 2048)
    shapes = [[width], [width], [width, width], [width, 4 * width], [width * 3]]
    total, found = 0, []
    for _ in range(count):
        shape = draw.random.choice(shapes)
        if total + math.prod(shape) > 3 * draw.largest:
            break
        total += math.prod(shape)
        found.append(shape)
    return found or [[width]]


def lists(draw):
    shapes = list_of(draw)
    dtype = draw.pick(torch.float32, torch.float32, torch.bfloat16)
    first, second, third = ([cases.values(shape, dtype) for shape in shapes] for _ in range(3))
    form = draw.random.randrange(10)
    if form < 4:
        parameters = [torch.nn.Parameter(each) for each in first]
        for parameter, gradient in zip(parameters, second):
            parameter.grad = gradient
        way = {"fused": True} if draw.chance(0.5) and cases.DEVICE != "cpu" else {"foreach": True}
        kind = draw.pick(torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD, torch.optim.AdamW)
        options = {"momentum": 0.9} if kind is torch.optim.SGD else {}
        optimizer = kind(parameters, lr=1e-4, **options, **way)
        return optimizer.step
    if form == 4:
        found, scale = torch.zeros(1, device=cases.DEVICE), torch.ones(1, device=cases.DEVICE)
        return lambda: torch._amp_foreach_non_finite_check_and_unscale_(first, found, scale)
    if form == 5:
        parameters = [torch.nn.Parameter(each) for each in first]
        for parameter, gradient in zip(parameters, second):
            parameter.grad = gradient
        return lambda: torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    if form == 6:
        return lambda: torch._foreach_norm(first)
    if form == 7:
        return lambda: torch._foreach_addcmul_(first, second, third, 0.5)
    if form == 8:
        return draw.pick(lambda: torch._foreach_add_(first, second), lambda: torch._foreach_mul_(first, 0.9),
                         lambda: torch._foreach_zero_(first), lambda: torch._foreach_copy_(first, second))
    return draw.pick(lambda: torch._foreach_lerp_(first, second, 0.1), lambda: torch._foreach_sqrt(third),
                     lambda: torch._foreach_addcdiv_(first, second, third, 0.5))


def transform(draw):
    shape = draw.dims(draw.random.randint(1, 3), 1 << 10)
    x = cases.values(shape, torch.float32)
    dims = draw.random.randint(1, len(shape))
    if draw.chance(0.15):
        y = cases.values([draw.size(1, 32), draw.size(4000, 160000)], torch.float32)
        window = torch.hann_window(400, device=cases.DEVICE)
        return lambda: torch.stft(y, 512, 160, 400, window, return_complex=True)
    which = tuple(range(-dims, 0))
    if draw.chance(0.5):
        half = torch.fft.rfftn(x, dim=which)
        return draw.pick(lambda: torch.fft.rfftn(x, dim=which),
                         lambda: torch.fft.irfftn(half, dim=which))
    z = torch.fft.fftn(x, dim=which)
    return draw.pick(lambda: torch.fft.fftn(z, dim=which), lambda: torch.fft.ifftn(z, dim=which),
                     lambda: z * z, lambda: z.abs())


def algebra(draw):
    n = draw.edge(2, 2048)
    batch = draw.size(1, max(1, min(4096, (1 << 22) // (n * n) + 1)))
    x = cases.values([batch, n, n] if batch > 1 else [n, n], torch.float32)
    spd = x @ x.mT / n + torch.eye(n, device=cases.DEVICE)
    y = cases.values(list(x.shape[:-1]) + [draw.size(1, n)], torch.float32)
    vector = cases.values([n], torch.float32)
    points = cases.values([draw.size(16, 4096), draw.edge(2, 256)], torch.float32)
    choices = [lambda: torch.linalg.cholesky(spd), lambda: torch.linalg.solve(spd, y),
               lambda: torch.linalg.solve_triangular(spd.tril(), y, upper=False),
               lambda: torch.cholesky_solve(y, spd.tril()), lambda: torch.linalg.inv(spd),
               lambda: torch.cdist(points, points), lambda: torch.mv(x.reshape(-1, n), vector),
               lambda: torch.dot(vector, vector), lambda: torch.outer(vector, vector),
               lambda: torch.linalg.lu_factor(spd)]
    if n <= 256:
        choices += [lambda: torch.linalg.qr(x), lambda: torch.linalg.det(spd),
                    lambda: torch.linalg.matrix_exp(spd)]
    if n <= 128 and batch <= 64:
        choices += [lambda: torch.linalg.eigh(spd), lambda: torch.linalg.svd(x)]
    return draw.pick(*choices)


def product(draw):
    """Products of the sizes that small and odd networks have: batched, thin, in fp32."""
    dtype = draw.dtype()
    batch, m, n, k = draw.size(1, 2048), draw.edge(1, 1024), draw.edge(1, 1024), draw.edge(8, 1024)
    while batch * m * n * k > 5e10 or batch * max(m * k, n * k, m * n) > draw.largest:
        batch, m, n = max(1, batch // 2), max(1, m // 2), max(1, n // 2)
        k = max(8, k // 2) if batch * m * n == 1 else k
    a = draw.tensor([batch, m, k], dtype, draw.pick("contiguous", "permuted"))
    b = draw.tensor([batch, k, n], dtype, draw.pick("contiguous", "permuted"))
    bias = cases.values([n], dtype)
    if draw.chance(0.4):
        return lambda: torch.matmul(a, b)
    if draw.chance(0.5):
        rows = cases.values([batch * m if batch * m * k < draw.largest else m, k], dtype)
        weight = cases.values([n, k], dtype)
        return cases.with_gradient(lambda x, w, c: F.linear(x, w, c), rows, weight, bias)
    return draw.pick(lambda: torch.baddbmm(bias, a, b), lambda: torch.einsum("bmk,bkn->bmn", a, b))


def sparse(draw):
    n, width = draw.size(256, 65536), draw.edge(1, 256)
    entries = draw.size(n, 16 * n)
    places = torch.stack([cases.indices(n, [entries], 1.0), cases.indices(n, [entries], 1.0)])
    matrix = torch.sparse_coo_tensor(places, cases.values([entries], torch.float32), (n, n)).coalesce()
    if draw.chance(0.6):
        matrix = matrix.to_sparse_csr()
    x = cases.values([n, width], torch.float32)
    return lambda: matrix @ x


LAYERS = [(convolution, 16), (norm, 9), (resampling, 6), (loss, 3), (recurrent, 3), (attention, 6),
          (lists, 5), (transform, 2), (algebra, 3), (product, 5), (sparse, 0.7)]
