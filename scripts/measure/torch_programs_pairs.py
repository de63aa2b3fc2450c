"""Pairs of programs, of which the first was made wrong on purpose, and replayed graphs (`torch-programs.py OUT --judges`).

    step = BESIDE["slow_layout"](Context("cuda"))

`PAIRS` says which program has what a wrong one lacks. Method and limits: `torch_programs.py`.
"""
import time

import torch
import torch.nn.functional as F
from torch import nn

import torch_programs as base

LAST = torch.channels_last
BESIDE = {}


def beside(build):
    BESIDE[build.__name__] = build
    return build


def speech_net(c, batch, dtype=None, last=False):
    """Convolutions over spectrograms."""
    layers, width = [], 1
    for wide in (48, 96, 192, 384):
        layers += [nn.Conv2d(width, wide, 3, 2, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU(True), nn.Conv2d(wide, wide, 3, padding=1, bias=False),
                   nn.BatchNorm2d(wide), nn.ReLU(True)]
        width = wide
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 200))
    x, y = c.randn(c.size(batch, 2), 1, c.size(160, 32), c.size(400, 32)), c.ids(200, c.size(batch, 2))
    if last:
        model, x = model.to(memory_format=LAST), x.contiguous(memory_format=LAST)
    return c.train(model, lambda m: F.cross_entropy(m(x), y), base.momentum, dtype)


@beside
def slow_layout(c):
    return speech_net(c, 64, torch.bfloat16)


@beside
def fast_layout(c):
    return speech_net(c, 64, torch.bfloat16, last=True)


@beside
def slow_precision(c):
    return encoder(c, 32)


@beside
def fast_precision(c):
    return encoder(c, 32, torch.bfloat16)


@beside
def slow_batch(c):
    return encoder(c, 2, torch.bfloat16)


def encoder(c, batch, dtype=None, mix=F.scaled_dot_product_attention, head=64):
    heads = 8
    width = heads * c.size(head, 4)
    model = nn.ModuleList(nn.ModuleList([nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width),
                                         nn.Linear(width, 4 * width), nn.Linear(4 * width, width)]) for _ in range(4))
    x = c.randn(c.size(batch, 1), c.size(384, 16), width)

    def loss(m):
        h = x
        for n1, qkv, out, n2, up, down in m:
            q, k, v = qkv(n1(h)).view(*h.shape[:2], 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            h = h + out(mix(q, k, v).transpose(1, 2).reshape(h.shape))
            h = h + down(F.relu(up(n2(h))))
        return h.square().mean()
    return c.train(model, loss, base.fused_adamw, dtype)


@beside
def slow_attention(c):
    return encoder(c, 32, torch.bfloat16, lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v)


def gates(c):
    """A chain of pointwise operators and a norm, as a compiler would fuse it."""
    width = c.size(2048, 64)
    first, second, norm = nn.Linear(width, 2 * width), nn.Linear(width, width), nn.RMSNorm(width)
    model = nn.ModuleList([first, second, norm]).to(c.device, torch.float32 if c.tiny else torch.bfloat16).eval()
    x = c.randn(c.size(8192, 32), width, dtype=next(model.parameters()).dtype)

    def forward():
        with torch.no_grad():
            h = x
            for _ in range(4):
                up, gate = model[0](model[2](h)).chunk(2, -1)
                h = h + model[1](F.softplus(gate) * torch.tanh(up) * 0.5 + up)
            return h
    return forward


@beside
def slow_chain(c):
    return gates(c)


@beside
def fast_chain(c):
    return torch.compile(gates(c)) if not c.tiny else gates(c)


def small_net(c):
    layers = [part for _ in range(12) for part in (nn.Linear(256, 256), nn.LayerNorm(256), nn.GELU())]
    model = nn.Sequential(*layers).to(c.device).eval()
    x = c.randn(c.size(64, 4), 256)

    def forward():
        with torch.inference_mode():
            return model(x)
    return forward


def captured(c, forward, replays=1):
    """The replays of a graph, which `capture` records."""
    if c.device == "cpu":
        return forward
    held, side = [], torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            forward()
    torch.cuda.synchronize()

    def capture():
        held[:] = [torch.cuda.CUDAGraph()]
        with torch.cuda.graph(held[0]):
            forward()

    def replay():
        for _ in range(replays):
            held[0].replay()
    capture()
    replay.capture = capture
    return replay


@beside
def slow_launches(c):
    return small_net(c)


@beside
def fast_launches(c):
    return captured(c, small_net(c))


@beside
def graph_images(c):
    """Three replays of the graph of a small vision transformer."""
    import timm
    model = timm.create_model("vit_tiny_patch16_224").to(c.device, torch.float32 if c.tiny else torch.bfloat16).eval()
    x = c.randn(c.size(8, 1), 3, 224, 224, dtype=torch.float32 if c.tiny else torch.bfloat16)

    def forward():
        with torch.inference_mode():
            return model(x)
    return captured(c, forward, 3)


@beside
def graph_training(c):
    """Two replays of the graph of a whole training step."""
    model = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.GroupNorm(8, 32), nn.SiLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.GroupNorm(8, 64), nn.SiLU(),
                          nn.Flatten(), nn.LazyLinear(128), nn.Linear(128, 10)).to(c.device)
    x, y = c.randn(c.size(128, 2), 3, 64, 64), c.ids(10, c.size(128, 2))
    model(x)
    update = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def forward():
        update.zero_grad(set_to_none=False)
        F.cross_entropy(model(x), y).backward()
        update.step()
    return captured(c, forward, 2)


@beside
def few_rows(c):
    return encoder(c, 4, torch.bfloat16)


@beside
def half_rows(c):
    return encoder(c, 16, torch.bfloat16)


def images(c, batch):
    """A step of a vision transformer."""
    import timm
    model = timm.create_model("vit_small_patch16_224", depth=c.size(6, 1))
    x, y = c.randn(c.size(batch, 1), 3, 224, 224), c.ids(1000, c.size(batch, 1))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), base.fused_adamw, torch.bfloat16)


@beside
def few_images(c):
    return images(c, 4)


@beside
def twice_images(c):
    return images(c, 8)


def words(c, vocabulary):
    """A step of GPT-2 with two layers, whose time is mostly that of its vocabulary."""
    from transformers import GPT2Config, GPT2LMHeadModel
    size = c.size(768, 32)
    model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=size, n_head=c.size(12, 2), vocab_size=vocabulary, attn_pdrop=0.0, embd_pdrop=0.0,
                                        resid_pdrop=0.0))
    ids = c.ids(vocabulary, c.size(8, 1), c.size(512, 16))
    return c.train(model, lambda m: m(input_ids=ids, labels=ids).loss, base.fused_adamw, torch.bfloat16)


@beside
def odd_words(c):
    return words(c, c.size(50257, 65))


@beside
def padded_words(c):
    return words(c, c.size(50304, 72))


@beside
def odd_heads(c):
    return encoder(c, 32, torch.bfloat16, head=65)


@beside
def padded_heads(c):
    return encoder(c, 32, torch.bfloat16, head=72)


class Images(torch.utils.data.Dataset):
    """Random images on the host, each after a sleep, as if it was read and decoded."""

    def __init__(self, count, side, sleep):
        self.images, self.sleep = torch.randn(count, 3, side, side, device="cpu"), sleep

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        if self.sleep:
            time.sleep(self.sleep)
        return self.images[index]


def loaded(c, batch, sleep=0.0, kept=False, pinned=False):
    """Four steps of a small network, each with a batch of a loader (`kept`: all batches were loaded before)."""
    layers, width = [], 3
    for wide in (32, 64, 128, 256):
        layers += [nn.Conv2d(width, wide, 3, 2, 1), nn.ReLU(True), nn.Conv2d(wide, wide, 3, padding=1), nn.ReLU(True)]
        width = wide
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 100)).to(c.device, memory_format=LAST)
    update = base.momentum(model.parameters())
    loader = torch.utils.data.DataLoader(Images(4 * batch, c.size(224, 32), sleep), batch, pin_memory=False)
    batches = [each.pin_memory() if pinned else each for each in loader] if kept else loader

    def step():
        for x in batches:
            x = x.to(c.device, non_blocking=pinned).contiguous(memory_format=LAST)
            update.zero_grad(set_to_none=True)
            with c.autocast():
                value = model(x).square().mean()
            value.backward()
            update.step()
    return step


@beside
def slow_loading(c):
    return loaded(c, c.size(32, 2), sleep=0.0005)


@beside
def fast_loading(c):
    return loaded(c, c.size(32, 2), kept=True)


@beside
def pinned_loading(c):
    return loaded(c, c.size(32, 2), kept=True, pinned=c.device != "cpu")


# For each name of a wrong program, what it lacks and the program that has it.
PAIRS = {"slow_layout": "fast_layout", "slow_precision": "fast_precision", "slow_batch": "few_rows", "slow_attention": "fast_precision",
         "slow_chain": "fast_chain", "slow_launches": "fast_launches", "few_images": "twice_images", "half_rows": "fast_precision",
         "odd_words": "padded_words", "odd_heads": "padded_heads", "slow_loading": "fast_loading", "fast_loading": "pinned_loading"}
