"""The cases that `torch-kernels.py` measures: what a seed draws, and the PyTorch calls for it.

    from torch_plan import cases_of
    for case in cases_of(21, []):             # every class; or the names of some
        case.op, case.implementation, case.states   # "softmax dtype=bf16 rows=64 cols=1000", "torch", ("cold", "warm")
        run = case.make()                     # makes the tensors; run() is the call

Method. A class of cases is a function that draws `count` cases. Each class of a seed has its own generator, so
that more cases of one class do not change the others. Shapes are drawn log-uniformly, including small and odd ones.

Limits: add a new class at the end of `CLASSES`, or the seeds of the classes after it change.
"""
import random

import torch
import torch.nn.functional as F

from torch_streams import (DEVICE, SIZES, Case, Draw, backward_of, casts, cats, compiled,
                           compiled_rows, copies, embeddings, gathers, lessons, masks, normal, once,
                           optimizers, pointwise, reductions, row_function, row_gradients,
                           row_operations, scans, transposes, views)

MOST_FLOP = {"bf16": 1.5e12, "fp16": 1.5e12, "tf32": 8e11, "fp32": 1e11, "int8": 2e12, "fp8": 2e12}


def product_shape(draw, dtype, form):
    multiple = {"int8": 8, "fp8": 16}.get(dtype, 1)
    m, n, k = (draw.edge(16, 16384) for _ in range(3))
    if form == "decode":
        m, n, k = draw.random.randint(1, 16), draw.edge(256, 32768), draw.edge(256, 16384)
        n, k = max(8, n // 8 * 8), max(8, k // 8 * 8)
    elif form == "small":
        m, n, k = draw.size(1, 256), draw.size(16, 2048, 8), draw.size(16, 2048, 8)
    elif form == "odd":
        n, k = draw.size(100, 60000) | 1, draw.size(64, 8192, 64)
        m = draw.edge(1, 4096)
    elif draw.chance(0.7):
        m, n, k = (max(8, each // 8 * 8) for each in (m, n, k))
    if multiple > 1:
        m = max(m, 17) if dtype == "int8" else m
        n, k = (max(multiple, each // multiple * multiple) for each in (n, k))
    while 2.0 * m * n * k > MOST_FLOP[dtype] or (n * k + m * k + m * n) > 4e8:
        if m >= max(n, k) and m > 32:
            m //= 2
        elif n >= k:
            n = n // 2 // multiple * multiple | (1 if form == "odd" else 0)
        else:
            k = k // 2 // multiple * multiple
    return m, n, k


def product(dtype, m, n, k, column, bias, batch):
    if dtype == "int8":
        a = torch.randint(-9, 9, (m, k), device=DEVICE, dtype=torch.int8)
        b = torch.randint(-9, 9, (n, k) if column else (k, n), device=DEVICE, dtype=torch.int8)
        return once(torch._int_mm, a, b.t() if column else b)
    if dtype == "fp8":
        one = torch.ones((), device=DEVICE)
        a, b = (normal(shape, "bf16").to(torch.float8_e4m3fn) for shape in ((m, k), (n, k)))
        return lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one,
                                        out_dtype=torch.bfloat16)
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    lead = (batch,) if batch > 1 else ()
    a = normal(lead + (m, k), dtype)
    b = normal(lead + ((n, k) if column else (k, n)), dtype)
    b = b.transpose(-1, -2) if column else b
    tf32 = dtype == "tf32"

    def run(function, *arguments):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        return function(*arguments)
    if batch > 1:
        return once(run, torch.bmm, a, b)
    if bias:
        return once(run, torch.addmm, normal((n,), dtype), a, b)
    return once(run, torch.mm, a, b)


PRODUCT_TYPES = ("bf16",) * 6 + tuple(dtype for dtype in ("fp16", "fp32", "tf32", "int8", "fp8")
                                      for _ in range(3))


def product_case(shape, states):
    """The case for the arguments that `product` takes."""
    dtype, m, n, k, column, bias, batch = shape
    text = f"matmul dtype={dtype}" + (f" batch={batch}" if batch > 1 else "") + \
        f" m={m} n={n} k={k}" + (" out_dtype=int32" if dtype == "int8" else "") + \
        (" b_layout=column" if column else "") + (" epilogue=bias" if bias else "")
    return Case(text, "torch", lambda: product(*shape), states)


def rare_products(draw, count):
    """More products of fp32 and tf32, and of 16 bits with odd rows; only if asked for by name."""
    def is_rare(case):
        fields = dict(word.split("=", 1) for word in case.op.split()[1:])
        size = SIZES[fields["dtype"]]
        return size == 4 or any(size * int(fields[edge]) % 16 for edge in "nk")
    types = ("fp32",) * 3 + ("tf32",) * 2 + ("bf16",) * 6 + ("fp16",) * 2
    return [case for case in products(draw, 3 * count, types) if is_rare(case)][:count]


def few_odd_products(draw, count):
    """16-bit products of up to 16 rows with odd n or k; only if asked for by name."""
    for _ in range(count):
        dtype = draw.pick(["bf16", "bf16", "fp16"])
        m = 1 if draw.chance(0.25) else draw.random.randint(2, 16)
        n, k = draw.edge(16, 32768), draw.edge(16, 16384)
        if draw.chance(0.4):
            n |= 1
        elif draw.chance(0.6) or (n % 8 == 0 and k % 8 == 0):
            k |= 1
        column, bias = draw.chance(0.5), draw.chance(0.15)
        batch = draw.size(2, 32) if not bias and n * k < 1 << 24 and draw.chance(0.15) else 1
        yield product_case((dtype, m, n, k, column, bias, batch), ("cold",) +
                           (("warm",) if draw.chance(0.4) else ()) + (("dirty",) if draw.chance(0.15) else ()))


def warm_products(draw, count):
    """Products of bf16, and some of int8, cold and warm; only if asked for by name."""
    for case in products(draw, count, ("bf16",) * 4 + ("int8",)):
        case.states = ("cold", "warm")
        yield case


def epilogue_function(epilogue, batch):
    """The function for torch.compile; the weights have the layout that the product takes."""
    if batch > 1:
        return torch.bmm
    if epilogue == "none":
        return torch.mm
    after = {"bias": lambda y: y, "bias_relu": F.relu,
             "bias_gelu": lambda y: F.gelu(y, approximate="tanh")}[epilogue]
    return lambda a, b, bias: after(torch.addmm(bias, a, b))


def compiled_product(dtype, m, n, k, column, epilogue, batch):
    torch._dynamo.reset()
    tf32 = dtype == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    lead = (batch,) if batch > 1 else ()
    b = normal(lead + ((n, k) if column else (k, n)), dtype)
    operands = [normal(lead + (m, k), dtype), b.transpose(-1, -2) if column else b]
    operands += [] if epilogue == "none" else [normal((n,), dtype)]
    function = torch.compile(epilogue_function(epilogue, batch), dynamic=False)

    def run():
        torch.backends.cuda.matmul.allow_tf32 = tf32
        return function(*operands)
    return run


def compiled_products(draw, count):
    """Products by torch.compile, and the same products by eager PyTorch; only if asked for by name."""
    for _ in range(count):
        dtype = draw.pick(("bf16",) * 5 + ("fp16", "fp32", "tf32"))
        m, n, k = product_shape(draw, dtype, draw.pick(["plain", "plain", "decode", "small", "odd"]))
        if draw.chance(0.08):
            m = 1
        column = draw.chance(0.7)
        epilogue = draw.pick(["none", "none", "bias", "bias_relu", "bias_gelu", "bias_gelu"])
        batch = draw.size(2, 64) if epilogue == "none" and draw.chance(0.3) else 1
        while batch > 1 and (2.0 * batch * m * n * k > MOST_FLOP[dtype] or
                             batch * (n * k + m * k + m * n) > 4e8):
            batch //= 2
        states = draw.states(dirty=0.2, warm=0.4)
        text = f"matmul dtype={dtype}" + (f" batch={batch}" if batch > 1 else "") + f" m={m} n={n} k={k}" + \
            (" b_layout=column" if column else "") + (f" epilogue={epilogue}" if epilogue != "none" else "")
        yield Case(text, "compiled", lambda a=(dtype, m, n, k, column, epilogue, batch): compiled_product(*a), states)
        if epilogue in ("none", "bias"):
            yield product_case((dtype, m, n, k, column, epilogue == "bias", batch), states)


def float_products(draw, count):
    """Only products of fp32 and tf32; only if asked for by name."""
    return products(draw, count, ("fp32",) * 3 + ("tf32",) * 2)


def products(draw, count, types=PRODUCT_TYPES):
    for _ in range(count):
        dtype = draw.pick(types)
        forms = ["plain", "plain", "decode", "small", "odd"]
        form = draw.pick(forms[:4] if dtype in ("int8", "fp8") else forms)
        m, n, k = product_shape(draw, dtype, form)
        column = True if dtype == "fp8" else draw.chance(0.6)
        plain = dtype not in ("int8", "fp8")
        bias = plain and draw.chance(0.2)
        batch = draw.size(2, 64) if plain and not bias and draw.chance(0.15) else 1
        while batch > 1 and (2.0 * batch * m * n * k > MOST_FLOP[dtype] or
                             batch * (n * k + m * k + m * n) > 4e8):
            batch //= 2
        yield product_case((dtype, m, n, k, column, bias, batch),
                           draw.states(dirty=0.8 if form == "decode" else 0.25, warm=0.4))


def attentions(draw, count):
    from torch.nn.attention import SDPBackend
    backends = {"torch-flash": SDPBackend.FLASH_ATTENTION,
                "torch-efficient": SDPBackend.EFFICIENT_ATTENTION,
                "torch-cudnn": SDPBackend.CUDNN_ATTENTION, "torch-math": SDPBackend.MATH}
    for _ in range(count):
        name = draw.pick(backends)
        dtype = "fp32" if name in ("torch-efficient", "torch-math") and draw.chance(0.2) else \
            draw.pick(["bf16", "bf16", "fp16"])
        dim = draw.pick([64, 64, 128, 128, 128, 96, 32, 256] if name != "torch-cudnn"
                        else [64, 64, 128, 128, 128, 96, 32])
        heads = draw.pick([1, 2, 4, 8, 12, 16, 32, 40, 64])
        group = draw.pick([1, 1, 2, 4, 8]) if name in ("torch-flash", "torch-cudnn") else 1
        heads = max(heads, group) // group * group
        batch = draw.size(1, 64)
        decode = draw.chance(0.3)
        backward = not decode and draw.chance(0.4)
        keys = draw.edge(16, 16384)
        queries = 1 if decode else keys
        if not decode and draw.chance(0.2):
            queries = draw.edge(16, 4096)
        causal = queries == keys and draw.chance(0.5)
        limit = 6e11 if name in ("torch-flash", "torch-cudnn") else 8e10 if dtype != "fp32" else 2e10
        while 4.0 * batch * heads * queries * keys * dim > limit or \
                batch * heads * keys * dim > 1 << 28 or \
                (name == "torch-math" and batch * heads * queries * keys > 1 << 26):
            if batch > 1:
                batch //= 2
            else:
                keys //= 2
                queries = keys if causal else min(queries, keys) if queries > 1 else 1
        queries = keys if causal else queries

        def make(backend=backends[name], dtype=dtype, q_shape=(batch, heads, queries, dim),
                 kv_shape=(batch, heads // group, keys, dim), causal=causal, backward=backward):
            from torch.nn.attention import sdpa_kernel
            q, k, v = normal(q_shape, dtype), normal(kv_shape, dtype), normal(kv_shape, dtype)

            def forward(q, k, v):
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(
                        q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])
            torch.backends.cuda.matmul.allow_tf32 = False
            return backward_of(forward, [q, k, v]) if backward else once(forward, q, k, v)
        text = f"attention dtype={dtype}" + (f" batch={batch}" if batch > 1 else "") + \
            f" heads={heads}" + (f" kv_heads={heads // group}" if group > 1 else "") + \
            f" seq_q={queries} seq_kv={keys} head_dim={dim}" + (" causal=1" if causal else "") + \
            (" direction=backward" if backward else "")
        yield Case(text, name, make, draw.states(dirty=0.1, warm=0.5))


def gradients(draw, count):
    """More backward passes of the efficient and the flash backend; only if asked for by name."""
    names = ("torch-efficient", "torch-flash")
    found = [case for case in attentions(draw, 40 * count)
             if "backward" in case.op and case.implementation in names]
    flash = [case for case in found if case.implementation == "torch-flash"]
    others = [case for case in found if case.implementation != "torch-flash"]
    return others[:count] + flash[:count // 3]


def dropouts(draw, count):
    """Attention with dropout on its scores, as in training; only if asked for by name."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backends = {"torch-flash": SDPBackend.FLASH_ATTENTION, "torch-efficient": SDPBackend.EFFICIENT_ATTENTION,
                "torch-cudnn": SDPBackend.CUDNN_ATTENTION}
    for _ in range(count):
        name, dtype, dim = draw.pick(backends), draw.pick(["bf16", "fp16"]), draw.pick([64, 64, 128])
        batch, heads, tokens = draw.size(1, 32), draw.pick([4, 12, 16, 32]), draw.edge(64, 4096)
        causal, backward = draw.chance(0.6), draw.chance(0.5)
        while 4.0 * batch * heads * tokens * tokens * dim > 2e11:
            batch, tokens = max(1, batch // 2), tokens if batch > 1 else tokens // 2

        def make(backend=backends[name], dtype=dtype, shape=(batch, heads, tokens, dim), causal=causal,
                 backward=backward):
            inputs = [normal(shape, dtype) for _ in range(3)]

            def forward(q, k, v):
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=causal)
            return backward_of(forward, inputs) if backward else once(forward, *inputs)
        yield Case(f"attention dtype={dtype} batch={batch} heads={heads} seq_q={tokens} seq_kv={tokens} "
                   f"head_dim={dim}" + (" causal=1" if causal else "") + " dropout=1" +
                   (" direction=backward" if backward else ""), name, make, draw.states(0.0, 0.3))


# Of current models, read from programs/presets: width of the residual stream and of the MLP, of all queries and of all keys, and the vocabulary.
MODELS = {"llama-3.1-8b": (4096, 14336, 4096, 1024, 128256), "llama-3.3-70b": (8192, 28672, 8192, 1024, 128256),
          "qwen3-4b": (2560, 9728, 4096, 1024, 151936), "qwen3-32b": (5120, 25600, 8192, 1024, 151936),
          "qwen2.5-7b": (3584, 18944, 3584, 512, 152064), "gemma-3-12b": (3840, 15360, 4096, 2048, 262208),
          "gemma-3-27b": (5376, 21504, 4096, 2048, 262208), "mistral-small-24b": (5120, 32768, 4096, 1024, 131072),
          "phi-4": (5120, 17920, 5120, 1280, 100352), "smollm2-1.7b": (2048, 8192, 2048, 2048, 49152),
          "c4ai-command-a-03-2025": (12288, 36864, 12288, 1024, 256000), "modernbert-large": (1024, 2624, 1024, 1024, 50368)}

# The same of models that judge: no fit sees their shapes.
JUDGES = {"llama-3.2-3b": (3072, 8192, 3072, 1024, 128256), "qwen3-14b": (5120, 17408, 5120, 1024, 151936),
          "mistral-nemo-12b": (5120, 14336, 4096, 1024, 131072), "olmo-2-7b": (4096, 11008, 4096, 4096, 100352),
          "seed-oss-36b": (5120, 27648, 10240, 1024, 155136), "bert-base-uncased": (768, 3072, 768, 768, 30522)}


def usual_tokens(draw, most):
    """Rows of a product of a model: sequences that decode, a prompt, or a batch of prompts."""
    if draw.chance(0.3):
        return min(most, draw.pick([1, 2, 4, 8, 16, 32, 64, 128, 256]))
    return min(most, draw.pick([512, 1024, 2048, 4096, 8192, 16384]) if draw.chance(0.6) else draw.size(64, most))


def usual_products(draw, count, models=MODELS):
    """Products of models: forward, the gradients of the input and of the weights, on 1 to 8 GPUs; only if asked for by name."""
    while count > 0:
        hidden, inner, queries, keys, vocabulary = models[draw.pick(models)]
        ranks, dtype = draw.pick([1, 1, 1, 2, 4, 8]), draw.pick(("tf32",) * 3 + ("int8",) * 3 + ("bf16",) * 3 + ("fp16", "fp8", "fp8"))
        outputs, inputs = draw.pick([((queries + 2 * keys) // ranks, hidden), (hidden, queries // ranks), (2 * inner // ranks, hidden),
                                     (inner // ranks, hidden), (hidden, inner // ranks), (hidden, inner // ranks), (vocabulary // ranks, hidden)])
        tokens = usual_tokens(draw, 16384)
        kind = draw.pick(["forward", "forward", "forward", "input", "weights"])
        if dtype == "fp8" or kind == "forward":
            m, n, k, column = tokens, outputs, inputs, True
        elif kind == "input":
            m, n, k, column = tokens, inputs, outputs, False
        else:
            m, n, k, column = outputs, inputs, 1024 << draw.random.randint(0, 5), False
        multiple = {"int8": 8, "fp8": 16}.get(dtype, 1)
        m, n, k = max(m, 17) if dtype == "int8" else m, n // multiple * multiple, k // multiple * multiple
        if 2.0 * m * n * k <= MOST_FLOP[dtype] and n * k + m * k + m * n <= 4e8:
            count -= 1
            yield product_case((dtype, m, n, k, column, False, 1), draw.states(dirty=0.5, warm=0.4))


def usual_rows(draw, count, models=MODELS):
    """Softmax, norms, losses and reductions along rows as wide as models are; only if asked for by name."""
    functions = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax, "argmax": torch.argmax}
    for _ in range(count):
        hidden, inner, _, _, vocabulary = models[draw.pick(models)]
        name = draw.pick(["softmax", "softmax", "layernorm", "layernorm", "rmsnorm", "rmsnorm", "cross_entropy", *functions])
        dtype = draw.pick(["bf16", "bf16", "bf16", "fp16", "fp32", "fp32"])
        tokens, cols = usual_tokens(draw, 65536), hidden
        if name == "softmax":
            cols = draw.pick([128, 256, 512, 577, 1024, 1500, 2048, 4096, 8192, 32768])
            tokens *= draw.pick([1, 8, 16, 32])
        elif name == "cross_entropy":
            cols = vocabulary
        elif name == "rmsnorm" and draw.chance(0.3):
            cols, tokens = 128, tokens * draw.pick([8, 32, 64])
        elif name in functions:
            cols = draw.pick([hidden, inner, vocabulary])
        rows = max(1, min(tokens, (1 << 28) // cols))
        backward = name not in functions and draw.chance(0.2)

        def make(name=name, dtype=dtype, rows=rows, cols=cols, backward=backward):
            if name in functions:
                return once(functions[name], normal((rows, cols), dtype), 1)
            function, inputs = row_function(name, rows, cols, dtype)
            return backward_of(function, inputs) if backward else once(function, *inputs)
        yield Case(f"{name} dtype={dtype} rows={rows} cols={cols}" + (" direction=backward" if backward else ""), "torch", make,
                   draw.states(dirty=0.5, warm=0.4))


def judging_products(draw, count):
    """usual_products of other models; only if asked for by name."""
    return usual_products(draw, count, JUDGES)


def judging_rows(draw, count):
    """usual_rows of other models; only if asked for by name."""
    return usual_rows(draw, count, JUDGES)


CLASSES = {pointwise: 150, casts: 30, masks: 36, copies: 40, transposes: 55, cats: 45, gathers: 45,
           scans: 28, reductions: 110, row_operations: 130, optimizers: 22, compiled: 48,
           products: 260, attentions: 170, views: 40}
COMPILING = {"compiled", "compiled_rows", "compiled_products"}
NAMED = {gradients: 150, embeddings: 60, dropouts: 60, lessons: 0, compiled_rows: 80,
         row_gradients: 60, few_odd_products: 800, warm_products: 600, compiled_products: 170,
         usual_products: 420, usual_rows: 260, judging_products: 260, judging_rows: 160}  # only if asked for by name


def cases_of(seed, names):
    """All cases of a seed, in the order of measurement."""
    cases = []
    for number, (draws, count) in enumerate(CLASSES.items()):
        if not names or draws.__name__ in names:
            cases += draws(Draw(1000 * seed + number), count)
    for number, (draws, count) in enumerate(NAMED.items()):
        if draws.__name__ in names:
            cases += draws(Draw(1000 * seed + 999 - number), count)
    if rare_products.__name__ in names:
        cases += rare_products(Draw(1000 * seed + 998), 520)
    if float_products.__name__ in names:
        cases += float_products(Draw(1000 * seed + 995), 1500)
    random.Random(seed).shuffle(cases)
    return cases
