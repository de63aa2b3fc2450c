"""Steps of programs of many kinds, for `torch-programs.py`: each builds its model and returns the function that runs one step.

    step = PROGRAMS["unet3d"](Context("cuda"))
    step()

Every program is small (a few layers of the real sizes), has random weights and needs no file. `half("unseen")` names the
programs that no rule, parameter or band may be chosen by: drawn before any of them had been measured.

Limits: random weights and inputs; data loading is not part of a step.
"""
import random

import torch
import torch.nn.functional as F
from torch import nn

SPLIT_SEED = 38


class Context:
    """Where a program runs, and the parts that its training step shares with others."""

    def __init__(self, device="cuda", tiny=False):
        self.device, self.tiny = device, tiny

    def size(self, full, small):
        """`small` if the script is only tried on a CPU."""
        return small if self.tiny else full

    def randn(self, *shape, dtype=torch.float32):
        return torch.randn(*shape, device=self.device, dtype=dtype)

    def ids(self, below, *shape):
        return torch.randint(0, below, shape, device=self.device)

    def autocast(self, dtype=torch.bfloat16):
        return torch.autocast(torch.device(self.device).type, dtype)

    def train(self, model, loss, optimizer=None, dtype=None, scaled=False, clip=None):
        """A training step: forward, backward, update; with autocast and gradient scaling if asked for."""
        model.to(self.device).train()
        make = optimizer or (lambda parameters: torch.optim.AdamW(parameters, lr=1e-4))
        update = make([each for each in model.parameters() if each.requires_grad])
        scaler = torch.amp.GradScaler(torch.device(self.device).type, enabled=scaled)

        def step():
            update.zero_grad(set_to_none=True)
            if dtype is None:
                value = loss(model)
            else:
                with self.autocast(dtype):
                    value = loss(model)
            scaler.scale(value).backward()
            if clip:
                scaler.unscale_(update)
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            scaler.step(update)
            scaler.update()
            return value.detach()
        return step

    def infer(self, model, *inputs, dtype=None):
        model.to(self.device, dtype or torch.float32).eval()

        def step():
            with torch.inference_mode():
                return model(*inputs)
        return step


PROGRAMS = {}


def program(build):
    PROGRAMS[build.__name__] = build
    return build


def half(which):
    """The names of one half of the programs: "seen" or "unseen"."""
    names = sorted(PROGRAMS)
    unseen = set(random.Random(SPLIT_SEED).sample(names, len(names) // 2))
    return [name for name in names if (name in unseen) == (which == "unseen")]


def fused_adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-4, fused=parameters[0].is_cuda)


def momentum(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=1e-4)


# Images ----------------------------------------------------------------------------------------------

@program
def vit_amp(c):
    import timm
    model = timm.create_model("vit_small_patch16_224", depth=c.size(6, 1))
    x, y = c.randn(c.size(64, 2), 3, 224, 224), c.ids(1000, c.size(64, 2))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), dtype=torch.bfloat16)


@program
def convnext_scaled(c):
    import timm
    model = timm.create_model("convnext_tiny", depths=(2, 2, 3, 2)).to(memory_format=torch.channels_last)
    x = c.randn(c.size(32, 2), 3, 224, 224).contiguous(memory_format=torch.channels_last)
    y = c.ids(1000, c.size(32, 2))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), fused_adamw, torch.float16, scaled=True, clip=1.0)


@program
def resnet_last(c):
    import torchvision
    model = torchvision.models.resnet50().to(memory_format=torch.channels_last)
    x = c.randn(c.size(32, 2), 3, 224, 224).contiguous(memory_format=torch.channels_last)
    y = c.ids(1000, c.size(32, 2))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), momentum, torch.bfloat16)


@program
def resnext_fp32(c):
    import torchvision
    model = torchvision.models.ResNet(torchvision.models.resnet.Bottleneck, [2, 2, 2, 2], groups=32,
                                      width_per_group=4)
    x, y = c.randn(c.size(32, 2), 3, 224, 224), c.ids(1000, c.size(32, 2))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), momentum)


@program
def mobilenet_half(c):
    import torchvision
    model = torchvision.models.mobilenet_v3_large()
    x, y = c.randn(c.size(64, 2), 3, 224, 224), c.ids(1000, c.size(64, 2))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), momentum, torch.float16, scaled=True)


@program
def swin_v2(c):
    import timm
    model = timm.create_model("swinv2_tiny_window8_256", depths=(2, 2, 2, 2))
    x, y = c.randn(c.size(16, 1), 3, 256, 256), c.ids(1000, c.size(16, 1))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), dtype=torch.bfloat16)


@program
def detection(c):
    import torchvision
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_fpn(weights=None, weights_backbone=None)
    x = [c.randn(3, 480, 640).sigmoid() for _ in range(c.size(4, 1))]
    return c.infer(model, x)


@program
def optical_flow(c):
    import torchvision
    model = torchvision.models.optical_flow.raft_small(weights=None)
    x, y = (c.randn(c.size(2, 1), 3, c.size(360, 128), c.size(480, 128)) for _ in range(2))
    model.to(c.device).eval()

    def step():
        with torch.inference_mode():
            return model(x, y, num_flow_updates=4)
    return step


@program
def segmentation(c):
    import torchvision
    model = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None,
                                                                          num_classes=21)
    x = c.randn(c.size(8, 2), 3, c.size(384, 64), c.size(384, 64))
    y = c.ids(21, c.size(8, 2), c.size(384, 64), c.size(384, 64))
    return c.train(model, lambda m: F.cross_entropy(m(x)["out"], y), dtype=torch.float16, scaled=True)


class Block3d(nn.Sequential):
    def __init__(self, a, b):
        super().__init__(nn.Conv3d(a, b, 3, padding=1, bias=False), nn.InstanceNorm3d(b, affine=True),
                         nn.LeakyReLU(0.01, inplace=True), nn.Conv3d(b, b, 3, padding=1, bias=False),
                         nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01, inplace=True))


class Volumes(nn.Module):
    """A U-Net of volumes: blocks, strided convolutions down, transposed ones up, concatenated skips."""

    def __init__(self, widths=(16, 32, 64, 128)):
        super().__init__()
        self.down = nn.ModuleList(Block3d(a, b) for a, b in zip((1, *widths), widths))
        self.up = nn.ModuleList(nn.ConvTranspose3d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:]))
        self.merge = nn.ModuleList(Block3d(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv3d(widths[0], 4, 1)

    def forward(self, x):
        kept = []
        for place, block in enumerate(self.down):
            x = block(F.max_pool3d(x, 2) if place else x)
            kept.append(x)
        for place in range(len(self.up) - 1, -1, -1):
            x = self.merge[place](torch.cat([kept[place], self.up[place](x)], 1))
        return self.head(x)


@program
def unet3d(c):
    side = c.size(64, 16)
    x, y = c.randn(2, 1, side, side, side), c.ids(4, 2, side, side, side)
    return c.train(Volumes(), lambda m: F.cross_entropy(m(x), y), momentum, torch.bfloat16)


@program
def gan_generator(c):
    layers, width = [], 512
    layers += [nn.ConvTranspose2d(128, width, 4), nn.BatchNorm2d(width), nn.ReLU(True)]
    for _ in range(4):
        layers += [nn.ConvTranspose2d(width, width // 2, 4, 2, 1), nn.BatchNorm2d(width // 2), nn.ReLU(True)]
        width //= 2
    model = nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 3, 1, 1), nn.Tanh())
    z = c.randn(c.size(64, 2), 128, 1, 1)
    return c.train(model, lambda m: m(z).square().mean(), lambda p: torch.optim.Adam(p, betas=(0.5, 0.999)))


# Diffusion -------------------------------------------------------------------------------------------

class Residual(nn.Module):
    def __init__(self, a, b, time):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, a), nn.Conv2d(a, b, 3, padding=1)
        self.time = nn.Linear(time, b)
        self.norm2, self.conv2 = nn.GroupNorm(32, b), nn.Conv2d(b, b, 3, padding=1)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, t):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(t))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class Mix(nn.Module):
    def __init__(self, width, heads=8):
        super().__init__()
        self.norm, self.qkv, self.out, self.heads = nn.GroupNorm(32, width), nn.Conv1d(width, 3 * width, 1), \
            nn.Conv1d(width, width, 1), heads

    def forward(self, x):
        b, w, h, v = x.shape
        q, k, r = self.qkv(self.norm(x).view(b, w, h * v)).view(b, 3, self.heads, w // self.heads, h * v).transpose(-1, -2).unbind(1)
        y = F.scaled_dot_product_attention(q, k, r).transpose(-1, -2).reshape(b, w, h * v)
        return x + self.out(y).view(b, w, h, v)


class Diffuser(nn.Module):
    """The U-Net of a diffusion model: residual blocks with the time, attention at low resolution."""

    def __init__(self, widths=(128, 256, 512)):
        super().__init__()
        time = 4 * widths[0]
        self.time = nn.Sequential(nn.Linear(widths[0], time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(4, widths[0], 3, padding=1)
        self.down = nn.ModuleList(Residual(a, b, time) for a, b in zip((widths[0], *widths), widths))
        self.shrink = nn.ModuleList(nn.Conv2d(w, w, 3, 2, 1) for w in widths[:-1])
        self.mix = Mix(widths[-1])
        self.up = nn.ModuleList(Residual(a + b, b, time) for a, b in zip(reversed((*widths[1:], widths[-1])), reversed(widths)))
        self.norm, self.last = nn.GroupNorm(32, widths[0]), nn.Conv2d(widths[0], 4, 3, padding=1)

    def forward(self, x, t):
        half = self.first.out_channels // 2
        angles = t[:, None] * torch.exp(-torch.arange(half, device=t.device) * 9.2 / half)
        t = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        x, kept = self.first(x), []
        for place, block in enumerate(self.down):
            x = block(x, t)
            kept.append(x)
            if place < len(self.shrink):
                x = self.shrink[place](x)
        x = self.mix(x)
        for place, block in enumerate(self.up):
            if place:
                x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat([x, kept[-1 - place]], 1), t)
        return self.last(F.silu(self.norm(x)))


@program
def diffusion_unet(c):
    x, t = c.randn(c.size(8, 1), 4, c.size(64, 16), c.size(64, 16)), torch.rand(c.size(8, 1), device=c.device) * 999
    return c.train(Diffuser(), lambda m: F.mse_loss(m(x, t), x), dtype=torch.float16, scaled=True)


@program
def vae_decoder(c):
    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.mix = nn.Conv2d(4, 256, 3, padding=1), Mix(256, 1)
            self.blocks = nn.ModuleList(Residual(a, b, 64) for a, b in ((256, 256), (256, 128), (128, 128)))
            self.last = nn.Conv2d(128, 3, 3, padding=1)

        def forward(self, x, t):
            x = self.mix(self.first(x))
            for block in self.blocks:
                x = block(F.interpolate(x, scale_factor=2.0, mode="nearest"), t)
            return self.last(x)
    half = torch.float32 if c.tiny else torch.float16
    return c.infer(Decoder(), c.randn(1, 4, c.size(48, 8), c.size(48, 8), dtype=half),
                   c.randn(1, 64, dtype=half), dtype=half)


@program
def fourier_operator(c):
    class Spectral(nn.Module):
        def __init__(self, width, modes):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.cfloat) / width)
            self.local, self.modes = nn.Conv2d(width, width, 1), modes

        def forward(self, x):
            z, m = torch.fft.rfft2(x), self.modes
            out = torch.zeros_like(z)
            out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", z[:, :, :m, :m], self.weight)
            return F.gelu(torch.fft.irfft2(out, s=x.shape[-2:]) + self.local(x))
    model = nn.Sequential(nn.Conv2d(3, 64, 1), *(Spectral(64, c.size(16, 4)) for _ in range(4)), nn.Conv2d(64, 1, 1))
    x = c.randn(c.size(16, 1), 3, c.size(128, 16), c.size(128, 16))
    return c.train(model, lambda m: m(x).square().mean())


from torch_programs_more import more  # noqa: E402: adds to the table above

more()
