"""The programs of `torch_programs.py` that work on text, speech, graphs and tables. Method and limits there.

    more()      # adds them to torch_programs.PROGRAMS
"""
import torch
import torch.nn.functional as F
from torch import nn

import torch_programs as base


def more():
    for build in (bert_scaled, lora, gemma, mamba, experts, t5_decode, llama_compiled, convnet_compiled, lstm_language,
                  gru_packed, conformer, speech_encoder, recogniser, graph_attention, graph_isomorphism, molecules,
                  recommender, gaussian_process, physics, radiance, diffusion_transformer, decode_graph):
        base.program(build)


def bert_scaled(c):
    from transformers import BertConfig, BertForMaskedLM
    model = BertForMaskedLM(BertConfig(num_hidden_layers=c.size(4, 1)))
    ids, labels = c.ids(30522, c.size(16, 1), 256), c.ids(30522, c.size(16, 1), 256)
    mask = (torch.arange(256, device=c.device) < c.ids(256, c.size(16, 1), 1) + 1).long()
    return c.train(model, lambda m: m(input_ids=ids, attention_mask=mask, labels=labels).loss, dtype=torch.float16,
                   scaled=True, clip=1.0)


def small_llama(c, layers=2, **options):
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(hidden_size=c.size(2048, 64), intermediate_size=c.size(5632, 128),
                                        num_hidden_layers=layers, num_attention_heads=c.size(32, 4),
                                        num_key_value_heads=c.size(8, 2), vocab_size=32000, **options))


def lora(c):
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(small_llama(c, 3).to(torch.bfloat16),
                           LoraConfig(r=16, target_modules=["q_proj", "v_proj", "down_proj"], lora_dropout=0.05))
    model.gradient_checkpointing_enable()
    model.enable_input_require_grads()
    ids = c.ids(32000, 2, c.size(1024, 32))
    return c.train(model, lambda m: m(input_ids=ids, labels=ids).loss)


def gemma(c):
    from transformers import Gemma2Config, Gemma2ForCausalLM
    model = Gemma2ForCausalLM(Gemma2Config(hidden_size=c.size(1152, 64), intermediate_size=c.size(6912, 128),
                                           num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                                           head_dim=c.size(256, 16), vocab_size=c.size(65536, 1000)))
    return c.infer(model, c.ids(1000, 2, c.size(1024, 32)), dtype=torch.bfloat16)


class Scan(nn.Module):
    """A selective state-space layer in plain PyTorch, its recurrence in chunks with cumulative sums."""

    def __init__(self, width, state=16, chunk=64):
        super().__init__()
        inner = 2 * width
        self.inner, self.state, self.chunk = inner, state, chunk
        self.enter, self.leave = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
        self.parts = nn.Linear(inner, 2 * state + 1, bias=False)
        self.log = nn.Parameter(torch.zeros(inner))
        self.norm = nn.RMSNorm(width)

    def forward(self, x):
        h, gate = self.enter(self.norm(x)).chunk(2, -1)
        h = F.silu(self.conv(h.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
        b, c, dt = self.parts(h).split((self.state, self.state, 1), -1)
        decay = F.softplus(dt) * -self.log.exp()
        n, steps = x.shape[0], x.shape[1] // self.chunk
        run = decay.view(n, steps, self.chunk, self.inner).cumsum(2)
        u = (h * F.softplus(dt)).view(n, steps, self.chunk, self.inner)
        b, c = (each.view(n, steps, self.chunk, self.state) for each in (b, c))
        scores = torch.einsum("ntis,ntjs->ntij", c, b).tril()
        y = torch.einsum("ntij,ntjd->ntid", scores, u * (-run).exp().clamp(max=1e4)) * run.exp()
        return x + self.leave(y.reshape(n, -1, self.inner) * F.silu(gate))


def mamba(c):
    model = nn.Sequential(nn.Embedding(8000, c.size(768, 32)), *(Scan(c.size(768, 32)) for _ in range(3)),
                          nn.Linear(c.size(768, 32), 8000))
    ids = c.ids(8000, 4, c.size(1024, 64))
    return c.train(model, lambda m: F.cross_entropy(m(ids).flatten(0, 1), ids.flatten()), dtype=torch.bfloat16)


class Experts(nn.Module):
    """A layer of experts: a loop over them with index_add, as many repositories write it."""

    def __init__(self, width, hidden, count=8, top=2):
        super().__init__()
        self.router, self.top, self.norm = nn.Linear(width, count, bias=False), top, nn.LayerNorm(width)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
                                     for _ in range(count))

    def forward(self, x):
        h = self.norm(x).flatten(0, 1)
        weights, chosen = self.router(h).softmax(-1).topk(self.top)
        out = torch.zeros_like(h)
        for number, expert in enumerate(self.experts):
            token, place = torch.where(chosen == number)
            out.index_add_(0, token, (expert(h[token]) * weights[token, place, None]).to(out.dtype))
        return x + out.view_as(x)


def experts(c):
    model = nn.Sequential(nn.Embedding(16000, c.size(1024, 32)), *(Experts(c.size(1024, 32), c.size(2816, 64)) for _ in range(2)),
                          nn.Linear(c.size(1024, 32), 16000))
    ids = c.ids(16000, 4, c.size(1024, 32))
    return c.train(model.to(torch.bfloat16), lambda m: F.cross_entropy(m(ids).flatten(0, 1), ids.flatten()), base.fused_adamw)


def t5_decode(c):
    from transformers import T5Config, T5ForConditionalGeneration
    model = T5ForConditionalGeneration(T5Config(d_model=c.size(768, 32), d_ff=c.size(3072, 64), num_layers=3, num_heads=12,
                                                d_kv=c.size(64, 8), decoder_start_token_id=0)).to(c.device).eval()
    ids = c.ids(32000, c.size(16, 1), c.size(256, 16))

    def step():
        with torch.inference_mode():
            return model.generate(ids, max_new_tokens=4, do_sample=False)
    return step


def llama_compiled(c):
    model = small_llama(c).to(c.device, torch.bfloat16)
    ids = c.ids(32000, 2, c.size(1024, 32))
    compiled = torch.compile(model) if not c.tiny else model
    return c.train(model, lambda m: compiled(input_ids=ids, labels=ids).loss)


def convnet_compiled(c):
    import timm
    model = timm.create_model("efficientnet_b0").to(c.device)
    compiled = torch.compile(model) if not c.tiny else model
    x, y = c.randn(c.size(32, 2), 3, 224, 224), c.ids(1000, c.size(32, 2))
    return c.train(model, lambda m: F.cross_entropy(compiled(x), y), base.momentum, torch.bfloat16)


class Tagger(nn.Module):
    def __init__(self, kind, words, width, hidden, layers, **options):
        super().__init__()
        self.words, self.net = nn.Embedding(words, width), kind(width, hidden, layers, batch_first=True, **options)
        self.out = nn.Linear(hidden * (2 if options.get("bidirectional") else 1), words)

    def forward(self, ids, lengths=None):
        x = self.words(ids)
        if lengths is not None:
            x = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        x, _ = self.net(x)
        if lengths is not None:
            x, _ = nn.utils.rnn.pad_packed_sequence(x, batch_first=True)
        return self.out(x)


def lstm_language(c):
    ids = c.ids(10000, c.size(64, 2), c.size(70, 8))
    model = Tagger(nn.LSTM, 10000, c.size(650, 16), c.size(650, 16), 2, dropout=0.5)
    return c.train(model, lambda m: F.cross_entropy(m(ids).flatten(0, 1), ids.flatten()),
                   lambda p: torch.optim.SGD(p, lr=1.0), clip=0.25)


def gru_packed(c):
    ids = c.ids(5000, c.size(32, 2), c.size(120, 8))
    lengths = torch.randint(c.size(60, 8), c.size(120, 8) + 1, (c.size(32, 2),))
    lengths[0] = c.size(120, 8)
    model = Tagger(nn.GRU, 5000, c.size(256, 16), c.size(512, 16), 2, bidirectional=True)
    return c.train(model, lambda m: F.cross_entropy(m(ids, lengths).flatten(0, 1), ids.flatten()), dtype=torch.float16, scaled=True)


class ConformerBlock(nn.Module):
    """Feed-forward, attention, convolution, feed-forward: a block of a Conformer."""

    def __init__(self, width, heads=4, kernel=31):
        super().__init__()
        self.first, self.last = (nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Dropout(0.1),
                                               nn.Linear(4 * width, width)) for _ in range(2))
        self.norm, self.mix = nn.LayerNorm(width), nn.MultiheadAttention(width, heads, batch_first=True)
        self.before = nn.LayerNorm(width)
        self.conv = nn.Sequential(nn.Conv1d(width, 2 * width, 1), nn.GLU(1), nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width),
                                  nn.BatchNorm1d(width), nn.SiLU(), nn.Conv1d(width, width, 1))

    def forward(self, x):
        x = x + 0.5 * self.first(x)
        h = self.norm(x)
        x = x + self.mix(h, h, h, need_weights=False)[0]
        x = x + self.conv(self.before(x).transpose(1, 2)).transpose(1, 2)
        return x + 0.5 * self.last(x)


def conformer(c):
    model = nn.Sequential(nn.Linear(80, c.size(256, 32)), *(ConformerBlock(c.size(256, 32)) for _ in range(3)), nn.Linear(c.size(256, 32), 128))
    x, targets = c.randn(c.size(16, 1), c.size(400, 40), 80), c.ids(127, c.size(16, 1), 30) + 1
    into = torch.full((x.shape[0],), x.shape[1], dtype=torch.long)
    out = torch.full((x.shape[0],), 30, dtype=torch.long)
    return c.train(model, lambda m: F.ctc_loss(m(x).log_softmax(-1).float().transpose(0, 1), targets, into, out), dtype=torch.bfloat16)


def speech_encoder(c):
    from transformers import HubertConfig, HubertModel
    model = HubertModel(HubertConfig(num_hidden_layers=c.size(3, 1), hidden_size=c.size(768, 48), intermediate_size=c.size(3072, 64),
                                     num_attention_heads=12, mask_time_prob=0.0, layerdrop=0.0))
    x = c.randn(c.size(4, 1), c.size(64000, 4000))
    return c.train(model, lambda m: m(x).last_hidden_state.square().mean())


def recogniser(c):
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    model = WhisperForConditionalGeneration(WhisperConfig(d_model=c.size(512, 32), encoder_layers=2, decoder_layers=2, encoder_attention_heads=8,
                                                          decoder_attention_heads=8, encoder_ffn_dim=c.size(2048, 64), decoder_ffn_dim=c.size(2048, 64)))
    x, labels = c.randn(c.size(4, 1), 80, 3000), c.ids(50000, c.size(4, 1), 64)
    return c.train(model, lambda m: m(input_features=x, labels=labels).loss, dtype=torch.bfloat16)


def graph(c, nodes, edges):
    return c.ids(nodes, 2, edges)


def graph_attention(c):
    from torch_geometric.nn import GATv2Conv
    nodes, width = c.size(20000, 50), c.size(64, 8)
    first, second = GATv2Conv(128, width, heads=4), GATv2Conv(4 * width, 40, heads=1)
    model, x, edges = nn.ModuleList([first, second]), c.randn(nodes, 128), graph(c, nodes, 12 * nodes)
    y = c.ids(40, nodes)
    return c.train(model, lambda m: F.cross_entropy(m[1](F.elu(F.dropout(m[0](x, edges), 0.3)), edges), y))


def graph_isomorphism(c):
    from torch_geometric.nn import GINConv, SAGEConv, global_mean_pool
    nodes, width = c.size(60000, 60), c.size(128, 8)
    mlp = nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width))
    model = nn.ModuleList([SAGEConv(32, width), GINConv(mlp), nn.Linear(width, 2)])
    x, edges, batch = c.randn(nodes, 32), graph(c, nodes, 8 * nodes), torch.arange(nodes, device=c.device) // 30
    y = c.ids(2, int(batch.max()) + 1)
    return c.train(model, lambda m: F.cross_entropy(m[2](global_mean_pool(m[1](F.relu(m[0](x, edges)), edges), batch)), y))


def molecules(c):
    """Continuous-filter convolutions over the distances of atoms, with forces by a second gradient (as SchNet)."""
    atoms, pairs, width = c.size(4000, 40), c.size(120000, 200), c.size(128, 16)
    filters = nn.Sequential(nn.Linear(50, width), nn.Softplus(), nn.Linear(width, width))
    model = nn.ModuleDict({"kind": nn.Embedding(100, width), "filters": filters, "mix": nn.Linear(width, width), "out": nn.Linear(width, 1)})
    places, ends, kinds = c.randn(atoms, 3), graph(c, atoms, pairs), c.ids(100, atoms)
    centres = torch.linspace(0, 5, 50, device=c.device)

    def loss(m):
        r = places.clone().requires_grad_()
        away = (r[ends[0]] - r[ends[1]]).norm(dim=-1)
        h = m["kind"](kinds)
        for _ in range(2):
            weight = m["filters"](torch.exp(-10 * (away[:, None] - centres) ** 2))
            h = h + F.softplus(m["mix"](torch.zeros_like(h).index_add(0, ends[0], h[ends[1]] * weight)))
        energy = m["out"](h).sum()
        return torch.autograd.grad(energy, r, create_graph=True)[0].nan_to_num().square().mean() + energy * 0.01
    return c.train(model, loss, lambda p: torch.optim.Adam(p, lr=1e-4))


def recommender(c):
    class Net(nn.Module):
        def __init__(self, tables=16, rows=c.size(100000, 100), width=c.size(64, 8)):
            super().__init__()
            self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
            self.dense = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU())
            pairs = (tables + 1) * tables // 2
            self.top = nn.Sequential(nn.Linear(pairs + width, 512), nn.ReLU(), nn.Linear(512, 1))
            self.register_buffer("places", torch.tril_indices(tables + 1, tables + 1, -1), persistent=False)

        def forward(self, dense, bags):
            x = self.dense(dense)
            z = torch.stack([x, *(table(bag) for table, bag in zip(self.tables, bags))], 1)
            crossed = torch.bmm(z, z.mT)[:, self.places[0], self.places[1]]
            return self.top(torch.cat([x, crossed], 1))
    batch = c.size(4096, 8)
    dense, bags = c.randn(batch, 13), [c.ids(c.size(100000, 100), batch, 8) for _ in range(16)]
    y = torch.rand(batch, 1, device=c.device).round()
    return c.train(Net(), lambda m: F.binary_cross_entropy_with_logits(m(dense, bags), y), lambda p: torch.optim.Adagrad(p, lr=0.01))


def gaussian_process(c):
    points, y = c.randn(c.size(2048, 32), 8), c.randn(c.size(2048, 32))
    model = nn.ParameterDict({"scale": nn.Parameter(torch.ones(8)), "noise": nn.Parameter(torch.tensor(0.1))})

    def loss(m):
        z = points * m["scale"]
        kernel = torch.exp(-0.5 * torch.cdist(z, z).square()) + (m["noise"].square() + 1e-2) * torch.eye(z.shape[0], device=z.device)
        lower = torch.linalg.cholesky(kernel)
        half = torch.linalg.solve_triangular(lower, y[:, None], upper=False)
        return half.square().sum() / 2 + lower.diagonal().log().sum()
    return c.train(model, loss, lambda p: torch.optim.Adam(p, lr=0.01))


def physics(c):
    """A network trained on a differential equation: second derivatives of its output by its input."""
    model = nn.Sequential(nn.Linear(2, 128), nn.Tanh(), *(layer for _ in range(4) for layer in (nn.Linear(128, 128), nn.Tanh())), nn.Linear(128, 1))
    points = c.randn(c.size(50000, 64), 2)

    def loss(m):
        x = points.clone().requires_grad_()
        u = m(x)
        first = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first[:, 0].sum(), x, create_graph=True)[0]
        return (first[:, 1] + u[:, 0] * first[:, 0] - 0.01 * second[:, 0]).square().mean()
    return c.train(model, loss, lambda p: torch.optim.Adam(p, lr=1e-3))


def radiance(c):
    """A radiance field: positions encoded by sines, samples sorted along rays, composited by cumulative products."""
    model = nn.Sequential(nn.Linear(63, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 4))
    rays, samples = c.size(2048, 16), 64
    origins, ways, wanted = c.randn(rays, 1, 3), c.randn(rays, 1, 3), torch.rand(rays, 3, device=c.device)
    powers = 2.0 ** torch.arange(10, device=c.device)

    def loss(m):
        depth = torch.sort(torch.rand(rays, samples, device=c.device), -1).values
        x = origins + ways * depth[..., None]
        angles = (x[..., None] * powers).flatten(-2)
        out = m(torch.cat([x, angles.sin(), angles.cos()], -1))
        gaps = torch.diff(depth, dim=-1, append=torch.ones_like(depth[:, :1]))
        alpha = 1 - torch.exp(-F.relu(out[..., 3]) * gaps)
        kept = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        return F.mse_loss(((alpha * kept)[..., None] * out[..., :3].sigmoid()).sum(1), wanted)
    return c.train(model, loss, lambda p: torch.optim.Adam(p, lr=5e-4))


class Conditioned(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm, self.heads = nn.LayerNorm(width, elementwise_affine=False), heads
        self.shift, self.qkv, self.out = nn.Linear(width, 6 * width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

    def forward(self, x, t):
        a, b, gate, d, e, last = self.shift(F.silu(t))[:, None].chunk(6, -1)
        n, s, w = x.shape
        q, k, v = self.qkv(self.norm(x) * (1 + a) + b).view(n, s, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        x = x + gate * self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, s, w))
        return x + last * self.mlp(self.norm(x) * (1 + d) + e)


def diffusion_transformer(c):
    width = c.size(768, 48)
    model = nn.ModuleList([nn.Conv2d(4, width, 2, 2), *(Conditioned(width, 12) for _ in range(4)), nn.Linear(width, 16)])
    x, t = c.randn(c.size(16, 1), 4, 32, 32), c.randn(c.size(16, 1), width)

    def loss(m):
        h = m[0](x).flatten(2).transpose(1, 2)
        for block in m[1:-1]:
            h = block(h, t)
        return F.mse_loss(m[-1](h), torch.zeros(h.shape[0], h.shape[1], 16, device=h.device, dtype=h.dtype))
    return c.train(model, loss, dtype=torch.bfloat16)


def decode_graph(c):
    """One decoding step of a small model, replayed from a CUDA graph."""
    model = small_llama(c).to(c.device, torch.float32 if c.tiny else torch.bfloat16).eval()
    ids = c.ids(32000, 8, c.size(128, 8))

    def forward():
        with torch.inference_mode():
            return model(ids).logits[:, -1].argmax(-1)
    if c.device == "cpu":
        return forward
    held = []

    def capture():
        held[:] = [torch.cuda.CUDAGraph()]
        with torch.cuda.graph(held[0]):
            forward()

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        forward()
    torch.cuda.synchronize()
    capture()

    def replay():
        held[0].replay()
    replay.capture = capture
    return replay


# Programs made wrong on purpose: what they lack, and the program of the tables that has it.

def wrong_layout(c):
    import torchvision
    x, y = c.randn(c.size(32, 2), 3, 224, 224), c.ids(1000, c.size(32, 2))
    return c.train(torchvision.models.resnet50(), lambda m: F.cross_entropy(m(x), y), base.momentum, torch.bfloat16)


def vit(c, batch=64, dtype=None, optimizer=None):
    import timm
    model = timm.create_model("vit_small_patch16_224", depth=c.size(6, 1))
    x, y = c.randn(c.size(batch, 2), 3, 224, 224), c.ids(1000, c.size(batch, 2))
    return c.train(model, lambda m: F.cross_entropy(m(x), y), optimizer, dtype)


def wrong_precision(c):
    return vit(c)


def wrong_batch(c):
    return vit(c, 4, torch.bfloat16)


def wrong_optimizer(c):
    return vit(c, 64, torch.bfloat16, lambda p: torch.optim.AdamW(p, lr=1e-4, foreach=False))


def right_optimizer(c):
    return vit(c, 64, torch.bfloat16, base.fused_adamw)


def attention_layer(c, mix):
    width, heads = c.size(768, 48), 12
    model = nn.ModuleList([nn.Linear(width, 3 * width), nn.Linear(width, width)])
    x = c.randn(c.size(16, 1), c.size(1024, 16), width)

    def loss(m):
        q, k, v = m[0](x).view(*x.shape[:2], 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        return m[1](mix(q, k, v).transpose(1, 2).reshape(x.shape)).square().mean()
    return c.train(model, loss, dtype=torch.bfloat16)


def wrong_attention(c):
    """Scores, softmax and their product with the values as kernels of their own."""
    return attention_layer(c, lambda q, k, v: ((q @ k.mT) * q.shape[-1] ** -0.5).softmax(-1) @ v)


def right_attention(c):
    return attention_layer(c, F.scaled_dot_product_attention)


def wrong_eager(c):
    model = small_llama(c).to(c.device, torch.float32 if c.tiny else torch.bfloat16).eval()
    ids = c.ids(32000, 8, c.size(128, 8))

    def forward():
        with torch.inference_mode():
            return model(ids).logits[:, -1].argmax(-1)
    return forward


PAIRS = {"wrong_layout": "resnet_last", "wrong_precision": "vit_amp", "wrong_batch": "vit_amp",
         "wrong_optimizer": "right_optimizer", "wrong_attention": "right_attention", "wrong_eager": "decode_graph"}
BESIDE = {each.__name__: each for each in (wrong_layout, wrong_precision, wrong_batch, wrong_optimizer, right_optimizer,
                                           wrong_attention, right_attention, wrong_eager)}
