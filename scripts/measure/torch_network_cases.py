"""Steps of networks as cases of `torch-operators.py --cases torch_network_cases`: each index is a network of the list, trained
or run once, with its batch, type and layout drawn at random.

    case = draw(seed=38, index=17)     # Case(name="resnet18", run=<function of one step>)

Rows of these cases are calls with the shapes, strides and types that programs have. They are for fitting: no program that
judges is in the list.

Limits: random weights and inputs; sizes are cut so that a step takes some 50 ms at most.
"""
import random
from typing import Callable, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

import torch_programs as base
from torch_programs_more import small_llama

DEVICE = "cuda"
STATES = ("warm", "warm")
ALONE = True  # a case has a profile of its own
LAST = torch.channels_last


class Case(NamedTuple):
    name: str
    run: Callable[[], object]


class Drawn(base.Context):
    """A context that draws the type, the batch, the layout and the optimizer of a step."""

    def __init__(self, seed, device, tiny):
        super().__init__(device, tiny)
        self.random = random.Random(seed)

    def pick(self, *of):
        return self.random.choice(of)

    def precision(self):
        """Arguments of `train`: fp32, autocast in bf16, or in fp16 with scaling."""
        return self.pick({}, {"dtype": torch.bfloat16}, {"dtype": torch.bfloat16}, {"dtype": torch.float16, "scaled": True})

    def optimizer(self):
        return self.pick(None, base.momentum, base.fused_adamw, lambda p: torch.optim.Adam(p, lr=1e-4))

    def images(self, batch, side, channels=3):
        return self.randn(self.size(batch, 2), channels, self.size(side, 64), self.size(side, 64))


def classify(c, model, batch, side=224, classes=1000):
    """A training step of a classifier of images, in one of the two layouts."""
    x, y = c.images(batch, side), c.ids(classes, c.size(batch, 2))
    if c.random.random() < 0.5:
        model, x = model.to(memory_format=LAST), x.contiguous(memory_format=LAST)
    return c.train(model, lambda m: F.cross_entropy(m(x), y), c.optimizer(), **c.precision())


def of_timm(name, batch, side=224, **options):
    def build(c):
        import timm
        return classify(c, timm.create_model(name, **options), c.pick(batch // 2, batch, batch), side)
    return name, build


def language(name, config, kind, batch=8, length=512, inference=False, **sizes):
    """A causal model of transformers with random weights: a training step, or the logits of a prompt."""
    def build(c):
        import transformers
        model = getattr(transformers, kind)(getattr(transformers, config)(**sizes))
        words = min(8000, model.config.get_text_config().vocab_size)
        ids = c.ids(words, c.size(batch, 1), c.size(length, 32))
        if inference:
            half = torch.float32 if c.tiny else c.pick(torch.bfloat16, torch.float16)
            return c.infer(model, ids, dtype=half)
        model = model.to(c.pick(torch.float32, torch.bfloat16))
        return c.train(model, lambda m: m(input_ids=ids, labels=ids).loss, c.optimizer(),
                       **(c.precision() if model.dtype == torch.float32 else {}))
    return name, build


SMALL = {"hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 2, "num_attention_heads": 16, "vocab_size": 32000}


class Up(nn.Module):
    """A U-Net of images: convolutions, strided or pooled down, transposed or interpolated up, with any norm."""

    def __init__(self, widths, norm, transposed, space=2, act=nn.ReLU):
        super().__init__()
        conv, up, pool = ((nn.Conv2d, nn.ConvTranspose2d, F.max_pool2d) if space == 2 else
                          (nn.Conv3d, nn.ConvTranspose3d, F.max_pool3d) if space == 3 else
                          (nn.Conv1d, nn.ConvTranspose1d, F.max_pool1d))

        def block(a, b):
            return nn.Sequential(conv(a, b, 3, padding=1), norm(b), act(), conv(b, b, 3, padding=1), norm(b), act())
        self.down = nn.ModuleList(block(a, b) for a, b in zip((3, *widths), widths))
        self.up = nn.ModuleList((up(b, a, 2, stride=2) if transposed else conv(b, a, 1)) for a, b in zip(widths, widths[1:]))
        self.merge = nn.ModuleList(block(2 * a, a) for a in widths[:-1])
        self.pool, self.transposed, self.head = pool, transposed, conv(widths[0], 5, 1)
        self.mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[space]

    def forward(self, x):
        kept = []
        for place, block in enumerate(self.down):
            x = block(self.pool(x, 2) if place else x)
            kept.append(x)
        for place in range(len(self.up) - 1, -1, -1):
            y = self.up[place](x)
            y = y if self.transposed else F.interpolate(y, scale_factor=2, mode=self.mode, align_corners=False)
            x = self.merge[place](torch.cat([kept[place], y], 1))
        return self.head(x)


def unet(space, side, batch, first):
    def build(c):
        norms = {1: (nn.BatchNorm1d,), 2: (nn.BatchNorm2d, nn.InstanceNorm2d), 3: (nn.BatchNorm3d, nn.InstanceNorm3d)}[space]
        norm = c.pick(*norms, lambda b: nn.GroupNorm(8, b))
        wide = c.pick(first, 2 * first)
        model = Up((wide, 2 * wide, 4 * wide), norm, c.pick(True, False), space, c.pick(nn.ReLU, nn.SiLU, nn.LeakyReLU))
        x = c.randn(c.size(batch, 1), 3, *[c.size(side, 16)] * space)
        y = c.ids(5, x.shape[0], *x.shape[2:])
        if space > 1 and c.random.random() < 0.5:
            form = LAST if space == 2 else torch.channels_last_3d
            model, x = model.to(memory_format=form), x.contiguous(memory_format=form)
        return c.train(model, lambda m: F.cross_entropy(m(x), y), c.optimizer(), **c.precision())
    return f"unet_{space}d", build


def generator(c):
    width, layers = c.pick(256, 512), []
    for place in range(4):
        layers += [nn.ConvTranspose2d(width if place else 100, width // 2 if place else width, 4, 2, 1), nn.LeakyReLU(0.2),
                   nn.BatchNorm2d(width // 2 if place else width)]
        width = width // 2 if place else width
    judge = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.InstanceNorm2d(128),
                          nn.LeakyReLU(0.2), nn.Conv2d(128, 1, 4))
    model = nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh(), judge)
    z = c.randn(c.size(c.pick(16, 64), 2), 100, 2, 2)
    return c.train(model, lambda m: F.softplus(m(z)).mean(), lambda p: torch.optim.Adam(p, lr=2e-4), **c.precision())


def vocoder(c):
    """A generator of sound: transposed convolutions, and dilated ones with long filters."""
    layers, width = [nn.Conv1d(80, 256, 7, padding=3)], 256
    for rate in (8, 8, 2):
        layers += [nn.LeakyReLU(0.1), nn.ConvTranspose1d(width, width // 2, 2 * rate, rate, rate // 2)]
        width //= 2
        layers += [part for d in (1, 3, 5) for part in (nn.LeakyReLU(0.1), nn.Conv1d(width, width, c.pick(3, 7, 11), padding="same", dilation=d))]
    model = nn.Sequential(*layers, nn.Conv1d(width, 1, 7, padding=3), nn.Tanh())
    x = c.randn(c.size(8, 1), 80, c.size(c.pick(100, 250), 10))
    return c.train(model, lambda m: m(x).abs().mean(), c.optimizer(), **c.precision())


def separator(c):
    """Separation of sound: filters of samples, depthwise dilated convolutions with global norms."""
    width = c.pick(128, 256)

    def block(d):
        return nn.Sequential(nn.Conv1d(width, 2 * width, 1), nn.PReLU(), nn.GroupNorm(1, 2 * width),
                             nn.Conv1d(2 * width, 2 * width, 3, padding=d, dilation=d, groups=2 * width), nn.PReLU(),
                             nn.GroupNorm(1, 2 * width), nn.Conv1d(2 * width, width, 1))
    model = nn.Sequential(nn.Conv1d(1, width, 16, stride=8, bias=False), *(block(2 ** i) for i in range(5)),
                          nn.ConvTranspose1d(width, 1, 16, stride=8, bias=False))
    x = c.randn(c.size(4, 1), 1, c.size(32000, 1600))
    return c.train(model, lambda m: m(x).square().mean(), c.optimizer(), **c.precision())


def tagger(kind):
    def build(c):
        from torch_programs_more import Tagger
        words, length, batch = c.pick(5000, 20000), c.size(c.pick(35, 80, 150), 8), c.size(c.pick(20, 64, 128), 2)
        width, hidden = (c.size(c.pick(128, 200, 256, 400, 512, 1024), 16) for _ in range(2))
        layers = c.pick(1, 2, 3)
        ids = c.ids(words, batch, length)
        model = Tagger(kind, words, width, hidden, layers, dropout=c.pick(0.0, 0.3) if layers > 1 else 0.0, bidirectional=c.pick(True, False))
        options = c.precision()
        lengths = None
        if c.random.random() < 0.3:
            lengths = torch.randint(length // 2, length + 1, (batch,), device="cpu")
            lengths[0] = length
        return c.train(model, lambda m: F.cross_entropy(m(ids, lengths).flatten(0, 1), ids.flatten()), c.optimizer(), clip=1.0, **options)
    return f"tagger_{kind.__name__}", build


def graphs(name):
    def build(c):
        import torch_geometric.nn as g
        nodes, width = c.size(c.pick(10000, 40000), 60), c.size(c.pick(64, 128, 256), 8)
        kind = getattr(g, name)
        options = {"heads": 4, "concat": False} if name in ("GATConv", "TransformerConv") else {"K": 3} if name == "TAGConv" else {}
        model = nn.ModuleList([kind(width, width, **options), kind(width, width, **options), nn.Linear(width, 16)])
        x, edges, y = c.randn(nodes, width), c.ids(nodes, 2, c.pick(6, 14) * nodes), c.ids(16, nodes)
        return c.train(model, lambda m: F.cross_entropy(m[2](F.relu(m[1](F.dropout(F.relu(m[0](x, edges)), 0.2), edges))), y), c.optimizer())
    return name, build


def points(c):
    """A network of points: nearest neighbours, gathered features, maxima over them."""
    batch, count, near = c.size(8, 1), c.size(1024, 32), c.size(20, 4)
    places = c.randn(batch, count, 3)
    model = nn.ModuleList([nn.Sequential(nn.Conv2d(6, 64, 1), nn.BatchNorm2d(64), nn.LeakyReLU(0.2)),
                           nn.Sequential(nn.Conv2d(128, 128, 1), nn.BatchNorm2d(128), nn.LeakyReLU(0.2)), nn.Linear(128, 40)])
    y = c.ids(40, batch)

    def edges(x):
        near_ = torch.cdist(x, x).topk(near, largest=False).indices
        found = torch.gather(x[:, None].expand(-1, count, -1, -1), 2, near_[..., None].expand(-1, -1, -1, x.shape[-1]))
        return torch.cat([found - x[:, :, None], x[:, :, None].expand_as(found)], -1).permute(0, 3, 1, 2)

    def loss(m):
        x = m[0](edges(places)).amax(-1).transpose(1, 2)
        return F.cross_entropy(m[2](m[1](edges(x)).amax((-1, -2))), y)
    return c.train(model, loss, c.optimizer())


def expert_layers(c):
    from torch_programs_more import Experts
    width = c.size(c.pick(768, 1280), 32)
    model = nn.Sequential(nn.Embedding(8000, width), *(Experts(width, c.size(c.pick(1536, 3072), 64), c.pick(4, 16), c.pick(1, 2)) for _ in range(2)),
                          nn.Linear(width, 8000))
    ids = c.ids(8000, 4, c.size(c.pick(512, 2048), 32))
    return c.train(model.to(c.pick(torch.bfloat16, torch.float32)), lambda m: F.cross_entropy(m(ids).flatten(0, 1), ids.flatten()), c.optimizer())


class Crossed(nn.Module):
    """A block of a diffusion model that is told what to draw: residual, self-attention, attention to a text."""

    def __init__(self, a, b, heads=8, text=768):
        super().__init__()
        self.res, self.norm = base.Residual(a, b, 512), nn.GroupNorm(32, b)
        self.enter, self.leave = nn.Linear(b, b), nn.Linear(b, b)
        self.own = nn.MultiheadAttention(b, heads, batch_first=True)
        self.other = nn.MultiheadAttention(b, heads, kdim=text, vdim=text, batch_first=True)
        self.norms = nn.ModuleList(nn.LayerNorm(b) for _ in range(3))
        self.wide, self.narrow = nn.Linear(b, 8 * b), nn.Linear(4 * b, b)

    def forward(self, x, t, text):
        x = self.res(x, t)
        h = self.enter(self.norm(x).flatten(2).transpose(1, 2))
        y = self.norms[0](h)
        h = h + self.own(y, y, y, need_weights=False)[0]
        h = h + self.other(self.norms[1](h), text, text, need_weights=False)[0]
        up, gate = self.wide(self.norms[2](h)).chunk(2, -1)
        h = self.leave(h + self.narrow(up * F.gelu(gate)))
        return x + h.transpose(1, 2).reshape(x.shape)


def told_diffuser(c):
    wide = c.pick(192, 320)
    model = nn.ModuleList([nn.Conv2d(4, wide, 3, padding=1), Crossed(wide, wide), nn.Conv2d(wide, 2 * wide, 3, 2, 1), Crossed(2 * wide, 2 * wide),
                           nn.Conv2d(2 * wide, wide, 3, padding=1), Crossed(2 * wide, wide), nn.Conv2d(wide, 4, 3, padding=1)])
    batch, side = c.size(c.pick(2, 8), 1), c.size(c.pick(32, 64), 8)
    x, t, text = c.randn(batch, 4, side, side), c.randn(batch, 512), c.randn(batch, 77, 768)

    def run(m):
        first = m[1](m[0](x), t, text)
        up = F.interpolate(m[3](m[2](first), t, text), scale_factor=2.0)
        return m[6](m[5](torch.cat([m[4](up), first], 1), t, text))
    if c.random.random() < 0.4:
        model.to(c.device).eval()

        def step():
            with torch.inference_mode(), c.autocast(c.pick(torch.bfloat16, torch.float16)):
                return run(model)
        return step
    return c.train(model, lambda m: F.mse_loss(run(m), x), c.optimizer(), **c.precision())


def of_torchvision(path, train_batch, side, channels=3, frames=0):
    def build(c):
        import torchvision
        module = torchvision.models
        for part in path.split(".")[:-1]:
            module = getattr(module, part)
        make = getattr(module, path.split(".")[-1])
        if "segmentation" in path:
            model = make(weights=None, weights_backbone=None, num_classes=21)
            x = c.images(train_batch, side)
            y = c.ids(21, *x.shape[:1], *x.shape[2:])
            return c.train(model, lambda m: F.cross_entropy(m(x)["out"], y), c.optimizer(), **c.precision())
        if "detection" in path:
            model = make(weights=None, weights_backbone=None)
            return c.infer(model, [c.randn(3, c.size(side, 128), c.size(side * 4 // 3, 160)).sigmoid() for _ in range(c.size(train_batch, 1))])
        model = make(weights=None)
        if frames:
            x = c.randn(c.size(train_batch, 1), channels, c.size(frames, 8), c.size(side, 64), c.size(side, 64))
            y = c.ids(400, x.shape[0])
            return c.train(model, lambda m: F.cross_entropy(m(x), y), c.optimizer(), **c.precision())
        return classify(c, model, train_batch, side)
    return path, build


def of_transformers(name, config, kind, inputs, options=None, loss=None):
    """A training step of a model that is not causal; `inputs` makes its arguments."""
    def build(c):
        import transformers
        model = getattr(transformers, kind)(getattr(transformers, config)(**(options or {})))
        given = inputs(c)
        pick = loss or (lambda out: out.loss if getattr(out, "loss", None) is not None else out[0].float().square().mean())
        return c.train(model, lambda m: pick(m(**given)), c.optimizer(), **c.precision())
    return name, build


def words(batch, length, below=8000, **more):
    def inputs(c):
        ids = c.ids(below, c.size(batch, 1), c.size(length, 32))
        found = {"input_ids": ids}
        if more.get("mask"):
            found["attention_mask"] = (torch.arange(ids.shape[1], device=c.device) < c.ids(ids.shape[1], ids.shape[0], 1) + 8).long()
        if more.get("labels"):
            found["labels"] = ids
        return found
    return inputs


def attention_models(c):
    """A decoder as repositories write it: scores, a mask added, softmax in fp32, dropout, the product with the values."""
    width, heads, length = c.size(768, 48), 12, c.size(c.pick(256, 700, 1024), 16)
    model = nn.ModuleList([nn.Embedding(16000, width), nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width),
                           nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Linear(width, 16000)])
    ids = c.ids(16000, c.size(8, 1), length)
    mask = torch.full((length, length), float("-inf"), device=c.device).triu(1)

    def loss(m):
        x = m[0](ids)
        q, k, v = m[2](m[1](x)).view(*ids.shape, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / (width // heads) ** 0.5 + mask
        mixed = F.dropout(scores.float().softmax(-1), 0.1).to(v.dtype) @ v
        x = x + m[3](mixed.transpose(1, 2).reshape(x.shape))
        x = x + m[6](F.gelu(m[5](m[4](x)), approximate="tanh"))
        return F.cross_entropy(m[7](x).flatten(0, 1).float(), ids.flatten())
    return c.train(model, loss, c.optimizer(), **c.precision())


def factorised(c):
    """A recommender with crossed factors: embeddings of many fields, their sums and squares, and a deep part."""
    fields, rows, width, batch = 26, c.size(50000, 100), c.size(c.pick(16, 64), 8), c.size(c.pick(2048, 8192), 8)
    model = nn.ModuleList([nn.Embedding(rows * fields, width), nn.Linear(fields * width, 400), nn.BatchNorm1d(400), nn.Linear(400, 1)])
    ids = c.ids(rows, batch, fields) + torch.arange(fields, device=c.device) * rows
    y = torch.rand(batch, device=c.device).round()

    def loss(m):
        x = m[0](ids)
        pairs = (x.sum(1).square() - x.square().sum(1)).sum(-1) / 2
        return F.binary_cross_entropy_with_logits(pairs + m[3](F.dropout(F.relu(m[2](m[1](x.flatten(1)))), 0.2)).squeeze(-1), y)
    return c.train(model, loss, lambda p: torch.optim.Adam(p, lr=1e-3))


def control(c):
    """Reinforcement learning: advantages over time, a clipped loss of two heads, small products."""
    steps, width = c.size(4096, 64), 64
    model = nn.ModuleList([nn.Linear(17, width), nn.Linear(width, width), nn.Linear(width, 6), nn.Linear(width, 1)])
    seen, done, gain = c.randn(steps, 17), c.ids(6, steps), c.randn(steps)

    def loss(m):
        h = torch.tanh(m[1](torch.tanh(m[0](seen))))
        log = m[2](h).log_softmax(-1).gather(1, done[:, None]).squeeze(1)
        ratio = (log - log.detach()).exp()
        clipped = ratio.clamp(0.8, 1.2) * gain
        return -torch.min(ratio * gain, clipped).mean() + F.mse_loss(m[3](h).squeeze(1), gain) - 0.01 * torch.distributions.Categorical(logits=m[2](h)).entropy().mean()
    return c.train(model, loss, lambda p: torch.optim.Adam(p, lr=3e-4), clip=0.5)


def waves(c):
    """A spectrogram network: short-time transforms, filters in mel, convolutions, back to sound."""
    batch = c.size(c.pick(4, 16), 1)
    x, window = c.randn(batch, c.size(48000, 4000)), torch.hann_window(512, device=c.device)
    mel = torch.rand(80, 257, device=c.device)
    model = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.GELU(), nn.Conv2d(32, 32, (5, 3), padding=(2, 1), groups=32), nn.Conv2d(32, 1, 1))

    def loss(m):
        z = torch.stft(x, 512, 160, 512, window, return_complex=True)
        seen = torch.log(mel @ z.abs().square() + 1e-5)
        return m(seen[:, None]).square().mean() + torch.istft(z * 0.5, 512, 160, 512, window).square().mean()
    return c.train(model, loss, c.optimizer())


def solver(c):
    """Batched linear algebra: covariances, Cholesky factors, triangular solves, eigenvalues, matrix inverses."""
    batch, n = c.size(c.pick(64, 512), 4), c.size(c.pick(16, 32, 64), 4)
    model = nn.Linear(n, n)
    x = c.randn(batch, 4 * n, n)

    def loss(m):
        y = m(x)
        spread = y.mT @ y / (4 * n) + torch.eye(n, device=y.device)
        lower = torch.linalg.cholesky(spread)
        half = torch.linalg.solve_triangular(lower, y.mT, upper=False)
        return half.square().mean() + torch.linalg.slogdet(spread)[1].mean() + torch.linalg.inv(spread).diagonal(dim1=-2, dim2=-1).mean()
    return c.train(model, loss, c.optimizer())


def adapters(c):
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(small_llama(c, 2).to(c.pick(torch.bfloat16, torch.float32)),
                           LoraConfig(r=c.pick(4, 8, 64), target_modules=["q_proj", "k_proj", "o_proj", "gate_proj"], lora_dropout=c.pick(0.0, 0.1)))
    ids = c.ids(32000, c.size(4, 1), c.size(c.pick(256, 512), 32))
    return c.train(model, lambda m: m(input_ids=ids, labels=ids).loss, base.fused_adamw)


def compiled_layers(c):
    """Compiled: a decoder's layers, whose kernels torch.compile generates."""
    width, heads = c.size(c.pick(768, 1536), 48), 12
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=c.pick(0.0, 0.1), activation="gelu", batch_first=True, norm_first=True)
    model = nn.Sequential(layer, nn.RMSNorm(width), nn.Linear(width, 4096))
    run = torch.compile(model) if not c.tiny else model
    x, y = c.randn(c.size(8, 1), c.size(512, 16), width), c.ids(4096, c.size(8, 1), c.size(512, 16))
    return c.train(model, lambda m: F.cross_entropy(run(x).flatten(0, 1), y.flatten()), c.optimizer(), dtype=torch.bfloat16)


def compiled_convolutions(c):
    model = nn.Sequential(*(part for a, b in ((3, 64), (64, 128), (128, 256)) for part in
                            (nn.Conv2d(a, b, 3, 2, 1), nn.GroupNorm(8, b), nn.SiLU(), nn.Conv2d(b, b, 3, padding=1, groups=b), nn.BatchNorm2d(b), nn.Hardswish())),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 100))
    run = torch.compile(model) if not c.tiny else model
    x, y = c.images(64, 192), c.ids(100, c.size(64, 2))
    return c.train(model, lambda m: F.cross_entropy(run(x), y), c.optimizer(), dtype=c.pick(torch.bfloat16, torch.float16))


NETWORKS = [
    of_timm("resnet18", 64), unet(2, 160, 8, 32), tagger(nn.LSTM), of_timm("efficientnet_b1", 64), told_diffuser, generator,
    graphs("GCNConv"), expert_layers, of_torchvision("video.r3d_18", 4, 112, frames=16),
    language("qwen3_next", "Qwen3NextConfig", "Qwen3NextForCausalLM", 2, 512, hidden_size=1024, intermediate_size=2048, num_hidden_layers=4,
             num_attention_heads=8, num_key_value_heads=2, vocab_size=16000, num_experts=16, num_experts_per_tok=4, moe_intermediate_size=512,
             shared_expert_intermediate_size=512),
    language("mamba2", "Mamba2Config", "Mamba2ForCausalLM", 2, 512, hidden_size=768, num_hidden_layers=2, num_heads=24, vocab_size=16000),
    vocoder, of_timm("densenet121", 32), of_timm("convnext_nano", 64), unet(3, 48, 2, 16), tagger(nn.GRU),
    of_timm("regnety_016", 64), of_timm("mobilenetv2_100", 96), attention_models, graphs("GATConv"),
    of_torchvision("detection.retinanet_resnet50_fpn", 2, 480), of_timm("resnetv2_50", 48), separator,
    language("gpt2", "GPT2Config", "GPT2LMHeadModel", 8, 512, n_layer=3, vocab_size=16000), compiled_layers,
    of_timm("maxvit_rmlp_pico_rw_256", 16, 256), of_timm("hrnet_w18_small", 32), factorised, points, waves,
    language("mixtral", "MixtralConfig", "MixtralForCausalLM", 4, 512, num_key_value_heads=4, num_local_experts=8, **SMALL),
    of_timm("xception41", 24, 256), of_timm("vgg11_bn", 48), graphs("SAGEConv"), compiled_convolutions,
    of_transformers("distilbert", "DistilBertConfig", "DistilBertForMaskedLM", words(16, 256, mask=True, labels=True), {"n_layers": 3}),
    of_transformers("wav2vec2", "Wav2Vec2Config", "Wav2Vec2Model", lambda c: {"input_values": c.randn(c.size(4, 1), c.size(48000, 4000))},
                    {"num_hidden_layers": 2, "mask_time_prob": 0.0, "layerdrop": 0.0}),
    of_timm("mobilevit_s", 48, 256), of_timm("ghostnet_100", 64), of_timm("poolformer_s12", 48), of_timm("resnext50_32x4d", 32),
    of_torchvision("segmentation.fcn_resnet50", 6, 320), unet(1, 16384, 8, 32), tagger(nn.RNN), adapters, solver, control,
    language("llama_prompt", "LlamaConfig", "LlamaForCausalLM", 4, 1024, inference=True, num_key_value_heads=4, **SMALL),
    of_timm("swin_tiny_patch4_window7_224", 32), of_timm("inception_v3", 32, 299), of_timm("nfnet_f0", 16, 192), of_timm("pvt_v2_b1", 32),
    of_transformers("vit_mae", "ViTMAEConfig", "ViTMAEForPreTraining", lambda c: {"pixel_values": c.images(32, 224)[..., :224, :224]},
                    {"num_hidden_layers": 3, "decoder_num_hidden_layers": 2}),
    of_timm("deit3_small_patch16_224", 64), of_timm("dla34", 48), of_torchvision("shufflenet_v2_x1_0", 96, 224),
    of_torchvision("detection.ssdlite320_mobilenet_v3_large", 8, 320), graphs("TransformerConv"), graphs("TAGConv"),
    of_transformers("t5", "T5Config", "T5ForConditionalGeneration", words(8, 256, labels=True), {"num_layers": 2, "num_decoder_layers": 2, "decoder_start_token_id": 0}),
    language("qwen2_moe", "Qwen2MoeConfig", "Qwen2MoeForCausalLM", 2, 512, num_key_value_heads=4, num_experts=16, num_experts_per_tok=2,
             moe_intermediate_size=704, shared_expert_intermediate_size=1408, **SMALL),
    of_timm("resnet50", 64), of_timm("efficientnetv2_rw_t", 48), of_timm("cait_xxs24_224", 32), of_torchvision("video.s3d", 4, 112, frames=16),
    of_timm("tf_mixnet_s", 64), of_timm("coat_lite_mini", 32), of_timm("rexnet_100", 64), of_timm("selecsls42b", 48),
]


def draw(seed, index, scale=1.0):
    """The network of an index, with options drawn from the seed; the list is gone through again and again."""
    entry = NETWORKS[index % len(NETWORKS)]
    name, build = entry if isinstance(entry, tuple) else (entry.__name__, entry)
    context = Drawn(f"{seed}/{index}", DEVICE, scale < 1.0)
    with torch.device(DEVICE):
        return Case(name, build(context))
