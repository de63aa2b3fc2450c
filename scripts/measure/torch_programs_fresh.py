"""Programs of half C (`torch-programs.py OUT --fresh`): written when the laws of halves A and B were settled, of families that no other
program has, recorded once and read at the end only. Method and limits: `torch_programs.py`.

    step = FRESH["vocoder"](Context("cuda"))
"""
import torch
import torch.nn.functional as F
from torch import nn

import torch_programs as base

LAST = torch.channels_last
FRESH = {}


def fresh(build):
    FRESH[build.__name__] = build
    return build


# Images ----------------------------------------------------------------------------------------------

@fresh
def multiscale_vit(c):
    """Attention whose keys and values are pooled by depthwise convolutions."""
    import timm
    model = timm.create_model("mvitv2_tiny")
    x, y = c.randn(c.size(24, 1), 3, 224, 224), c.ids(1000, c.size(24, 1))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), base.fused_adamw, torch.bfloat16)


@fresh
def high_resolution(c):
    """Branches of several resolutions side by side, which exchange their features."""
    import timm
    model = timm.create_model("hrnet_w18_small").to(memory_format=LAST)
    x = c.randn(c.size(24, 1), 3, 224, 224).contiguous(memory_format=LAST)
    y = c.ids(1000, x.shape[0])
    return c.train(model, lambda m: F.cross_entropy(m(x), y), base.momentum, torch.float16, scaled=True)


@fresh
def window_segmenter(c):
    """The encoder of images of SAM: windows, and relative positions in two dimensions."""
    from transformers import SamVisionConfig, SamVisionModel
    model = SamVisionModel(SamVisionConfig(hidden_size=c.size(768, 64), num_hidden_layers=3, num_attention_heads=c.size(12, 4), image_size=c.size(512, 128),
                                           mlp_dim=c.size(3072, 128), global_attn_indexes=[1], window_size=c.size(14, 4), output_channels=c.size(256, 32)))
    dtype = torch.float32 if c.tiny else torch.float16
    return c.infer(model, c.randn(c.size(4, 1), 3, c.size(512, 128), c.size(512, 128), dtype=dtype), dtype=dtype)


# Sound and time --------------------------------------------------------------------------------------

class Dilated(nn.Module):
    """A residual block of one-dimensional convolutions with normalised weights, as in HiFi-GAN."""

    def __init__(self, width, kernel):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.wide = nn.ModuleList(norm(nn.Conv1d(width, width, kernel, dilation=d, padding=d * (kernel - 1) // 2)) for d in (1, 3, 5))
        self.close = nn.ModuleList(norm(nn.Conv1d(width, width, kernel, padding=(kernel - 1) // 2)) for _ in range(3))

    def forward(self, x):
        for a, b in zip(self.wide, self.close):
            x = x + b(F.leaky_relu(a(F.leaky_relu(x, 0.1)), 0.1))
        return x


@fresh
def vocoder(c):
    """Spectra to sound: transposed convolutions and residual blocks, in fp32."""
    wide = c.size(256, 16)
    norm = nn.utils.parametrizations.weight_norm
    model = nn.ModuleDict({
        "first": nn.Conv1d(80, wide, 7, padding=3),
        "up": nn.ModuleList(norm(nn.ConvTranspose1d(wide >> i, wide >> (i + 1), 2 * s, s, s // 2)) for i, s in enumerate((8, 8, 4))),
        "blocks": nn.ModuleList(nn.ModuleList(Dilated(wide >> (i + 1), k) for k in (3, 7)) for i in range(3)),
        "last": nn.Conv1d(wide >> 3, 1, 7, padding=3)})
    x, y = c.randn(c.size(8, 1), 80, c.size(32, 4)), c.randn(c.size(8, 1), 1, 256 * c.size(32, 4))

    def loss(m):
        h = m["first"](x)
        for up, blocks in zip(m["up"], m["blocks"]):
            h = up(F.leaky_relu(h, 0.1))
            h = sum(block(h) for block in blocks) / len(blocks)
        sound = m["last"](F.leaky_relu(h)).tanh()
        spectra = [torch.stft(each.squeeze(1), 512, 128, window=torch.hann_window(512, device=x.device), return_complex=True).abs() for each in (sound, y)]
        return F.l1_loss(*spectra)
    return c.train(model, loss, lambda p: torch.optim.AdamW(p, lr=1e-4))


@fresh
def weather(c):
    """Fields over time by a recurrent network of convolutions."""
    width = c.size(48, 8)
    gates = nn.ModuleList([nn.Conv2d(4 + width, 4 * width, 3, padding=1), nn.Conv2d(2 * width, 4 * width, 3, padding=1)])
    model = nn.ModuleDict({"gates": gates, "last": nn.Conv2d(width, 4, 1)})
    side = c.size(96, 16)
    x, y = c.randn(c.size(4, 1), c.size(6, 2), 4, side, side), c.randn(c.size(4, 1), 4, side, side)

    def loss(m):
        states = [(torch.zeros(x.shape[0], width, side, side, device=x.device),) * 2 for _ in m["gates"]]
        for step in range(x.shape[1]):
            h = x[:, step]
            for place, gate in enumerate(m["gates"]):
                i, f, o, g = gate(torch.cat([h, states[place][0]], 1)).chunk(4, 1)
                cell = f.sigmoid() * states[place][1] + i.sigmoid() * g.tanh()
                h = o.sigmoid() * cell.tanh()
                states[place] = (h, cell)
        return F.mse_loss(m["last"](h), y)
    return c.train(model, loss, lambda p: torch.optim.Adam(p, lr=1e-3), torch.bfloat16)


@fresh
def forecaster(c):
    from transformers import PatchTSTConfig, PatchTSTForPrediction
    model = PatchTSTForPrediction(PatchTSTConfig(num_input_channels=c.size(21, 3), context_length=c.size(512, 64), patch_length=16, patch_stride=8, d_model=128,
                                                 num_attention_heads=16, ffn_dim=256, num_hidden_layers=3, prediction_length=96))
    x, y = c.randn(c.size(32, 2), c.size(512, 64), c.size(21, 3)), c.randn(c.size(32, 2), 96, c.size(21, 3))
    return c.train(model, lambda m: m(past_values=x, future_values=y).loss)


@fresh
def agent(c):
    """Actor and critic over frames of a game, with a memory (PPO)."""
    steps, games = c.size(32, 4), c.size(24, 2)
    eyes = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 256))
    model = nn.ModuleDict({"eyes": eyes, "memory": nn.GRU(256, 250), "actor": nn.Linear(250, 6), "critic": nn.Linear(250, 1)})
    frames, rewards = c.randn(steps * games, 4, 84, 84), c.randn(steps, games)
    old = torch.distributions.Categorical(logits=c.randn(steps, games, 6))
    actions = old.sample()
    before = old.log_prob(actions)

    def loss(m):
        h, _ = m["memory"](m["eyes"](frames).view(steps, games, -1))
        now, value = torch.distributions.Categorical(logits=m["actor"](h)), m["critic"](h).squeeze(-1)
        gains, gain = [], torch.zeros(games, device=h.device)
        with torch.no_grad():
            for step in reversed(range(steps - 1)):
                gain = rewards[step] + 0.99 * value[step + 1] - value[step] + 0.94 * gain
                gains.append(gain)
        gains = torch.stack([*reversed(gains), torch.zeros_like(gain)])
        ratio = (now.log_prob(actions) - before).exp()
        kept = torch.min(ratio * gains, ratio.clamp(0.9, 1.1) * gains)
        return -kept.mean() + 0.5 * F.mse_loss(value, rewards) - 0.01 * now.entropy().mean()
    return c.train(model, loss, lambda p: torch.optim.Adam(p, lr=1e-4), clip=0.5)


# Text, graphs, points --------------------------------------------------------------------------------

@fresh
def adapted_bloom(c):
    """Products of small matrices as adapters (LoHa) on BLOOM."""
    from peft import LoHaConfig, get_peft_model
    from transformers import BloomConfig, BloomForCausalLM
    model = BloomForCausalLM(BloomConfig(vocab_size=c.size(32000, 500), hidden_size=c.size(1024, 64), n_layer=3, n_head=c.size(16, 4)))
    model = get_peft_model(model.to(torch.bfloat16), LoHaConfig(r=8, target_modules=["query_key_value", "dense_h_to_4h"]))
    ids = c.ids(500, c.size(8, 1), c.size(512, 32))
    return c.train(model, lambda m: m(input_ids=ids, labels=ids).loss)


@fresh
def point_cloud(c):
    """Graphs of nearest points, made anew in each layer (DGCNN)."""
    def edge(a, b):
        return nn.Sequential(nn.Conv2d(2 * a, b, 1, bias=False), nn.BatchNorm2d(b), nn.LeakyReLU(0.2))
    model = nn.ModuleDict({"a": edge(3, 64), "b": edge(64, 64), "c": edge(64, 128), "out": nn.Sequential(nn.Linear(256, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 40))})
    x, y, near = c.randn(c.size(8, 2), 3, c.size(1024, 64)), c.ids(40, c.size(8, 2)), c.size(20, 4)

    def around(h):
        with torch.no_grad():
            ids = torch.cdist(h.transpose(1, 2), h.transpose(1, 2)).topk(near, largest=False).indices
        rows = h.transpose(1, 2).reshape(-1, h.shape[1])
        flat = (ids + torch.arange(h.shape[0], device=h.device)[:, None, None] * h.shape[2]).flatten()
        beside = rows[flat].view(h.shape[0], h.shape[2], near, h.shape[1]).permute(0, 3, 1, 2)
        own = h[..., None].expand_as(beside)
        return torch.cat([beside - own, own], 1)

    def loss(m):
        h, kept = x, []
        for name in "abc":
            h = m[name](around(h)).amax(-1)
            kept.append(h)
        return F.cross_entropy(m["out"](torch.cat(kept, 1).amax(-1)), y)
    return c.train(model, loss, base.momentum)


@fresh
def drug(c):
    """Attention over atoms and bonds with gated updates (AttentiveFP)."""
    from torch_geometric.nn.models import AttentiveFP
    atoms, width = c.size(8000, 60), c.size(200, 8)
    model = AttentiveFP(39, width, 1, 10, num_layers=2, num_timesteps=2)
    x, edges, bonds = c.randn(atoms, 39), c.ids(atoms, 2, 2 * atoms + atoms // 5), c.randn(2 * atoms + atoms // 5, 10)
    batch = torch.arange(atoms, device=c.device) // 20
    y = c.randn(int(batch.max()) + 1, 1)
    return c.train(model, lambda m: F.mse_loss(m(x, edges, bonds, batch), y), lambda p: torch.optim.Adam(p, lr=1e-3))


# Compiled --------------------------------------------------------------------------------------------

@fresh
def compiled_messages(c):
    """Messages along edges, added up at the nodes; compiled."""
    nodes, width = c.size(20000, 60), c.size(128, 8)
    model = nn.ModuleList(nn.ModuleDict({"send": nn.Linear(width, width), "stay": nn.Linear(width, width), "norm": nn.LayerNorm(width)}) for _ in range(3))
    x, source, target, weight = c.randn(nodes, width), c.ids(nodes, 8 * nodes), c.ids(nodes, 8 * nodes), c.randn(8 * nodes, 1)

    def forward(x):
        for layer in model:
            sent = layer["send"](x)[source] * weight
            x = layer["norm"](F.gelu(layer["stay"](x) + torch.zeros_like(x).index_add(0, target, sent))) + x
        return x.square().mean()
    run = torch.compile(forward) if not c.tiny else forward
    return c.train(model, lambda m: run(x), base.fused_adamw)


@fresh
def compiled_masked(c):
    """An autoencoder that sees a quarter of the patches, compiled in mixed precision."""
    width, patches, heads = c.size(512, 32), c.size(196, 16), c.size(8, 2)

    def block():
        return nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    model = nn.ModuleDict({"enter": nn.Linear(768, width), "encoder": nn.ModuleList(block() for _ in range(3)), "decoder": nn.ModuleList(block() for _ in range(2)),
                           "leave": nn.Linear(width, 768)})
    place, blank = nn.Parameter(torch.zeros(1, patches, width, device=c.device)), nn.Parameter(torch.zeros(1, 1, width, device=c.device))
    model.register_parameter("place", place)
    model.register_parameter("blank", blank)
    x = c.randn(c.size(32, 2), patches, 768)
    order = torch.rand(x.shape[:2], device=c.device).argsort(1)
    seen, back = order[:, :patches // 4], order.argsort(1)

    def forward(x):
        h = model["enter"](x) + place
        h = h.gather(1, seen[..., None].expand(-1, -1, width))
        for layer in model["encoder"]:
            h = layer(h)
        h = torch.cat([h, blank.to(h.dtype).expand(x.shape[0], patches - h.shape[1], -1)], 1)
        h = h.gather(1, back[..., None].expand(-1, -1, width)) + place
        for layer in model["decoder"]:
            h = layer(h)
        return (model["leave"](h) - x).square().mean()
    run = torch.compile(forward) if not c.tiny else forward
    return c.train(model, lambda m: run(x), base.fused_adamw, torch.bfloat16)
