"""Programs that judge (`torch-programs.py OUT --judges`): no law, rule or band was chosen by them, and they are of families that no
record that is fitted to comes from. Method and limits: `torch_programs.py`.

    step = JUDGES["lane_finder"](Context("cuda"))
"""
import torch
import torch.nn.functional as F
from torch import nn

import torch_programs as base

LAST = torch.channels_last
JUDGES = {}


def judge(build):
    JUDGES[build.__name__] = build
    return build


# Images ----------------------------------------------------------------------------------------------

@judge
def res2net(c):
    import timm
    model = timm.create_model("res2net50_26w_4s")
    x, y = c.randn(c.size(32, 2), 3, 224, 224), c.ids(1000, c.size(32, 2))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), base.momentum, torch.bfloat16)


@judge
def xcit(c):
    import timm
    model = timm.create_model("xcit_tiny_12_p16_224")
    x, y = c.randn(c.size(48, 2), 3, 224, 224), c.ids(1000, c.size(48, 2))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), base.fused_adamw, torch.float16, scaled=True)


@judge
def fastvit(c):
    import timm
    model = timm.create_model("fastvit_t8").to(memory_format=LAST)
    x = c.randn(c.size(48, 2), 3, 256, 256).contiguous(memory_format=LAST)
    y = c.ids(1000, c.size(48, 2))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), dtype=torch.bfloat16)


@judge
def repvgg(c):
    import timm
    model = timm.create_model("repvgg_b0")
    x, y = c.randn(c.size(64, 2), 3, 224, 224), c.ids(1000, c.size(64, 2))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), base.momentum)


@judge
def anchor_free(c):
    import torchvision
    model = torchvision.models.detection.fcos_resnet50_fpn(weights=None, weights_backbone=None)
    return c.infer(model, [c.randn(3, c.size(600, 128), c.size(800, 160)).sigmoid() for _ in range(c.size(2, 1))])


@judge
def lane_finder(c):
    """Segmentation by a small backbone, with a loss over classes and one of overlap."""
    import torchvision
    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=19)
    x = c.randn(c.size(8, 2), 3, c.size(512, 64), c.size(512, 64))
    y = c.ids(19, x.shape[0], *x.shape[2:])

    def loss(m):
        out = m(x)["out"].float()
        seen, wanted = out.softmax(1), F.one_hot(y, 19).permute(0, 3, 1, 2).float()
        overlap = 2 * (seen * wanted).sum((2, 3)) / (seen + wanted).sum((2, 3)).clamp_min(1.0)
        return F.cross_entropy(out, y) + 1 - overlap.mean()
    return c.train(model, loss, dtype=torch.bfloat16)


@judge
def video_swin(c):
    import torchvision
    model = torchvision.models.video.swin3d_t(weights=None)
    x, y = c.randn(c.size(2, 1), 3, c.size(16, 8), c.size(224, 64), c.size(224, 64)), c.ids(400, c.size(2, 1))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), dtype=torch.bfloat16)


class Stage3d(nn.Module):
    """Convolutions of 5 x 5 x 5 whose sum with the input goes on, as in V-Net."""

    def __init__(self, width, depth):
        super().__init__()
        self.parts = nn.ModuleList(nn.Sequential(nn.Conv3d(width, width, 5, padding=2), nn.BatchNorm3d(width), nn.PReLU(width)) for _ in range(depth))

    def forward(self, x):
        y = x
        for part in self.parts:
            y = part(y)
        return x + y


@judge
def volumes(c):
    widths = (16, 32, 64)
    down = nn.ModuleList(nn.Conv3d(a, b, 2, 2) for a, b in zip(widths, widths[1:]))
    up = nn.ModuleList(nn.ConvTranspose3d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
    model = nn.ModuleDict({"first": nn.Conv3d(1, 16, 5, padding=2), "stages": nn.ModuleList(Stage3d(w, d) for w, d in zip(widths, (1, 2, 2))),
                           "down": down, "up": up, "last": nn.Conv3d(16, 2, 1)})
    side = c.size(72, 16)
    x, y = c.randn(2, 1, side, side, side), c.ids(2, 2, side, side, side)

    def loss(m):
        h, kept = m["first"](x), []
        for place, stage in enumerate(m["stages"]):
            h = stage(h)
            kept.append(h)
            if place < 2:
                h = m["down"][place](h)
        for place in (1, 0):
            h = F.relu(m["up"][place](h)) + kept[place]
        return F.cross_entropy(m["last"](h), y)
    return c.train(model, loss, lambda p: torch.optim.Adam(p, lr=1e-3), torch.float16, scaled=True)


# Diffusion -------------------------------------------------------------------------------------------

class Scaled(nn.Module):
    """A residual block whose norm is scaled and shifted by the time, with resampling inside (as in ADM)."""

    def __init__(self, a, b, time, way=None):
        super().__init__()
        self.norm1, self.conv1, self.norm2, self.conv2 = nn.GroupNorm(32, a), nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(32, b), nn.Conv2d(b, b, 3, padding=1)
        self.time, self.skip, self.way = nn.Linear(time, 2 * b), nn.Conv2d(a, b, 1) if a != b else nn.Identity(), way

    def moved(self, x):
        return F.avg_pool2d(x, 2) if self.way == "down" else F.interpolate(x, scale_factor=2.0) if self.way == "up" else x

    def forward(self, x, t):
        h = self.conv1(self.moved(F.silu(self.norm1(x))))
        scale, shift = self.time(F.silu(t))[:, :, None, None].chunk(2, 1)
        return self.skip(self.moved(x)) + self.conv2(F.dropout(F.silu(self.norm2(h) * (1 + scale) + shift), 0.1, self.training))


@judge
def guided_unet(c):
    wide = c.size(160, 32)
    shapes = [(wide, wide, None), (wide, wide, "down"), (wide, 2 * wide, None), (2 * wide, 2 * wide, "down"), (2 * wide, 3 * wide, None)]
    model = nn.ModuleDict({"first": nn.Conv2d(3, wide, 3, padding=1), "down": nn.ModuleList(Scaled(a, b, 4 * wide, way) for a, b, way in shapes),
                           "mix": base.Mix(3 * wide, 6), "up": nn.ModuleList([Scaled(3 * wide, 2 * wide, 4 * wide, "up"), Scaled(4 * wide, wide, 4 * wide, "up"),
                                                                             Scaled(2 * wide, wide, 4 * wide)]), "last": nn.Conv2d(wide, 6, 3, padding=1)})
    x, t = c.randn(c.size(8, 1), 3, c.size(64, 16), c.size(64, 16)), c.randn(c.size(8, 1), 4 * wide)

    def loss(m):
        h, kept = m["first"](x), []
        for block in m["down"]:
            if block.way == "down":
                kept.append(h)
            h = block(h, t)
        h = m["mix"](h)
        for place, block in enumerate(m["up"]):
            h = block(h, t)
            if place < 2:
                h = torch.cat([h, kept.pop()], 1)
        mean, spread = m["last"](h).chunk(2, 1)
        return (F.mse_loss(mean, x) + spread.exp().mean())
    return c.train(model, loss, lambda p: torch.optim.AdamW(p, lr=1e-4), torch.bfloat16)


# Sound -----------------------------------------------------------------------------------------------

@judge
def music_separation(c):
    import torchaudio
    model = torchaudio.models.hdemucs_low(["voice", "rest"])
    x = c.randn(c.size(2, 1), 2, c.size(88200, 22050))
    return c.train(model, lambda m: m(x).abs().mean())


@judge
def speech_synthesis(c):
    import torchaudio
    model = torchaudio.models.Tacotron2()
    tokens, frames = c.ids(140, c.size(16, 2), 40), c.size(24, 4)
    mel, lengths = c.randn(tokens.shape[0], 80, frames), torch.full((tokens.shape[0],), 40, device=c.device)
    spans = torch.full((tokens.shape[0],), frames, device=c.device)

    def loss(m):
        out, after, gate, _ = m(tokens, lengths, mel, spans)
        return F.mse_loss(out, mel) + F.mse_loss(after, mel) + F.softplus(gate).mean()
    return c.train(model, loss, lambda p: torch.optim.Adam(p, lr=1e-3), clip=1.0)


@judge
def sound_tagger(c):
    from transformers import ASTConfig, ASTForAudioClassification
    model = ASTForAudioClassification(ASTConfig(num_hidden_layers=c.size(4, 1), num_labels=50, max_length=c.size(512, 64)))
    x, y = c.randn(c.size(8, 1), c.size(512, 64), 128), c.ids(50, c.size(8, 1))
    return c.train(model, lambda m: F.cross_entropy(m(x).logits, y), dtype=torch.bfloat16)


# Text ------------------------------------------------------------------------------------------------

@judge
def long_documents(c):
    from transformers import LongformerConfig, LongformerForMaskedLM
    model = LongformerForMaskedLM(LongformerConfig(num_hidden_layers=2, attention_window=[256, 256], vocab_size=20000, max_position_embeddings=2050))
    ids = c.ids(20000, 2, c.size(2048, 512))
    return c.train(model, lambda m: m(input_ids=ids, labels=ids).loss, dtype=torch.bfloat16)


@judge
def permuted_language(c):
    from transformers import XLNetConfig, XLNetLMHeadModel
    model = XLNetLMHeadModel(XLNetConfig(vocab_size=20000, d_model=c.size(768, 64), n_layer=3, n_head=c.size(12, 4), d_inner=c.size(3072, 128)))
    ids = c.ids(20000, c.size(8, 1), c.size(384, 32))
    return c.train(model, lambda m: m(input_ids=ids, labels=ids).loss)


@judge
def adapted_opt(c):
    """IA3 adapters on OPT: the weights stay, and vectors scale keys, values and the MLP."""
    from peft import IA3Config, get_peft_model
    from transformers import OPTConfig, OPTForCausalLM
    model = OPTForCausalLM(OPTConfig(hidden_size=c.size(2048, 64), ffn_dim=c.size(8192, 128), num_hidden_layers=3, num_attention_heads=c.size(32, 4),
                                     vocab_size=32000, word_embed_proj_dim=c.size(2048, 64))).to(torch.bfloat16)
    model = get_peft_model(model, IA3Config(target_modules=["k_proj", "v_proj", "fc2"], feedforward_modules=["fc2"]))
    ids = c.ids(32000, 4, c.size(512, 32))
    return c.train(model, lambda m: m(input_ids=ids, labels=ids).loss)


@judge
def hybrid(c):
    """A model that mixes state-space layers, attention and experts."""
    from transformers import JambaConfig, JambaForCausalLM
    model = JambaForCausalLM(JambaConfig(vocab_size=16000, hidden_size=c.size(1024, 64), intermediate_size=c.size(2048, 128), num_hidden_layers=4,
                                         num_attention_heads=c.size(16, 4), num_key_value_heads=4, attn_layer_period=4, attn_layer_offset=2,
                                         expert_layer_period=2, expert_layer_offset=1, num_experts=8, num_experts_per_tok=2, use_mamba_kernels=False))
    ids = c.ids(16000, 2, c.size(256, 16))
    half = torch.float32 if c.tiny else torch.bfloat16
    return c.infer(model, ids, dtype=half)


@judge
def line_reader(c):
    """Text in images: convolutions, a recurrent layer over columns, CTC."""
    convs, width = [], 1
    for wide, pool in ((64, (2, 2)), (128, (2, 2)), (256, (2, 1)), (512, (2, 1))):
        convs += [nn.Conv2d(width, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU(True), nn.MaxPool2d(pool)]
        width = wide
    model = nn.ModuleDict({"convs": nn.Sequential(*convs), "net": nn.LSTM(2 * width, 256, 2, bidirectional=True), "out": nn.Linear(512, 96)})
    batch = c.size(64, 2)
    x, targets = c.randn(batch, 1, 32, c.size(256, 64)), c.ids(95, batch, 12) + 1
    steps = x.shape[-1] // 4
    into, lengths = torch.full((batch,), steps, dtype=torch.long), torch.full((batch,), 12, dtype=torch.long)

    def loss(m):
        h = m["convs"](x).flatten(1, 2).permute(2, 0, 1)
        return F.ctc_loss(m["out"](m["net"](h)[0]).log_softmax(-1), targets, into, lengths)
    return c.train(model, loss, lambda p: torch.optim.RMSprop(p, lr=1e-4), clip=5.0)


# Graphs, tables, numbers ------------------------------------------------------------------------------

@judge
def relations(c):
    """A graph with kinds of edges, and gated convolutions over it."""
    from torch_geometric.nn import RGCNConv, ResGatedGraphConv, global_max_pool
    nodes, width = c.size(15000, 60), c.size(96, 8)
    model = nn.ModuleList([RGCNConv(width, width, 8, num_bases=4), ResGatedGraphConv(width, width), nn.BatchNorm1d(width), nn.Linear(width, 10)])
    x, edges, kinds = c.randn(nodes, width), c.ids(nodes, 2, 10 * nodes), c.ids(8, 10 * nodes)
    batch = torch.arange(nodes, device=c.device) // 20
    y = c.ids(10, int(batch.max()) + 1)
    return c.train(model, lambda m: F.cross_entropy(m[3](global_max_pool(F.relu(m[2](m[1](F.relu(m[0](x, edges, kinds)), edges))), batch)), y))


@judge
def neighbours(c):
    """Several aggregations of messages and degrees, as in PNA."""
    from torch_geometric.nn import PNAConv
    nodes, width = c.size(12000, 60), c.size(64, 8)
    degrees = torch.bincount(c.ids(12, nodes), minlength=13).cpu()
    options = {"aggregators": ["mean", "min", "max", "std"], "scalers": ["identity", "amplification"], "deg": degrees}
    model = nn.ModuleList([PNAConv(width, width, **options), nn.BatchNorm1d(width), PNAConv(width, width, **options), nn.Linear(width, 1)])
    x, edges, y = c.randn(nodes, width), c.ids(nodes, 2, 8 * nodes), c.randn(nodes, 1)
    return c.train(model, lambda m: F.l1_loss(m[3](m[2](F.relu(m[1](m[0](x, edges))), edges)), y), lambda p: torch.optim.Adam(p, lr=1e-3))


@judge
def flow(c):
    """A normalising flow: masks, splines by cumulative sums and searches, triangular maps."""
    batch, width, bins = c.size(16384, 64), 32, 8
    nets = nn.ModuleList(nn.Sequential(nn.Linear(width // 2, 256), nn.ELU(), nn.Linear(256, 256), nn.ELU(), nn.Linear(256, width // 2 * 2 * bins)) for _ in range(4))
    x = c.randn(batch, width)

    def loss(m):
        h, log = x, 0.0
        for place, net in enumerate(m):
            a, b = h.chunk(2, -1) if place % 2 == 0 else tuple(reversed(h.chunk(2, -1)))
            wide, high = net(a).view(batch, width // 2, 2 * bins).softmax(-1).chunk(2, -1)
            edges = wide.cumsum(-1)
            where = torch.searchsorted(edges.detach().contiguous(), b.sigmoid().detach()[..., None].contiguous()).clamp(max=bins - 1)
            slope = high.gather(-1, where) / wide.gather(-1, where).clamp_min(1e-4)
            b = (b[..., None] * slope + high.cumsum(-1).gather(-1, where)).squeeze(-1)
            log = log + slope.clamp_min(1e-5).log().sum((-1, -2))
            h = torch.cat([a, b], -1)
        return (h.square().sum(-1) / 2 - log).mean()
    return c.train(nets, loss, lambda p: torch.optim.Adam(p, lr=1e-4))


# Compiled ---------------------------------------------------------------------------------------------

@judge
def compiled_decoder(c):
    """A decoder of RMS norms, rotary positions and gated units, written by hand and compiled."""
    width, heads, length = c.size(1024, 64), 16, c.size(512, 32)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
            self.up, self.down = nn.Linear(width, 8 * width // 2, bias=False), nn.Linear(2 * width, width, bias=False)

        def forward(self, x, cos, sin):
            q, k, v = self.qkv(self.norm1(x)).view(*x.shape[:2], 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            q, k = (each * cos + torch.cat([-each[..., width // heads // 2:], each[..., :width // heads // 2]], -1) * sin for each in (q, k))
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
            gate, up = self.up(self.norm2(x)).chunk(2, -1)
            return x + self.down(F.silu(gate) * up)
    model = nn.ModuleList([nn.Embedding(16000, width), *(Layer() for _ in range(3)), nn.RMSNorm(width), nn.Linear(width, 16000, bias=False)])
    ids = c.ids(16000, c.size(8, 1), length)
    angles = torch.outer(torch.arange(length, device=c.device), 10000 ** -(torch.arange(0, width // heads, 2, device=c.device) / (width // heads)))
    cos, sin = (torch.cat([f(angles)] * 2, -1) for f in (torch.cos, torch.sin))

    def forward(ids):
        x = model[0](ids)
        for layer in model[1:-2]:
            x = layer(x, cos.to(x.dtype), sin.to(x.dtype))
        return F.cross_entropy(model[-1](model[-2](x)).flatten(0, 1).float(), ids.flatten())
    run = torch.compile(forward) if not c.tiny else forward
    return c.train(model, lambda m: run(ids), base.fused_adamw, torch.bfloat16)


@judge
def compiled_segmenter(c):
    """A U-Net of separable convolutions, compiled."""
    def block(a, b):
        return nn.Sequential(nn.Conv2d(a, a, 3, padding=1, groups=a), nn.Conv2d(a, b, 1), nn.BatchNorm2d(b), nn.SiLU(inplace=True))
    model = nn.ModuleDict({"first": nn.Conv2d(3, 48, 3, padding=1), "a": block(48, 96), "b": block(96, 192), "c": block(288, 96), "d": block(144, 48),
                           "last": nn.Conv2d(48, 4, 1)}).to(memory_format=LAST)
    x = c.randn(c.size(8, 1), 3, c.size(192, 32), c.size(192, 32)).contiguous(memory_format=LAST)
    y = c.ids(4, x.shape[0], *x.shape[2:])

    def forward(x):
        first = model["first"](x)
        a = model["a"](F.max_pool2d(first, 2))
        b = model["b"](F.max_pool2d(a, 2))
        a = model["c"](torch.cat([F.interpolate(b, scale_factor=2.0, mode="bilinear"), a], 1))
        return model["last"](model["d"](torch.cat([F.interpolate(a, scale_factor=2.0), first], 1)))
    run = torch.compile(forward) if not c.tiny else forward
    return c.train(model, lambda m: F.cross_entropy(run(x), y), dtype=torch.bfloat16)
