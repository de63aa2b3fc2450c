"""Defines a case of `torch-kernels.py`, and the cases that stream their data: elementwise operations, copies,
reductions, operations along rows, optimizers, and the same compiled by torch.compile.

    from torch_streams import Draw, pointwise
    for case in pointwise(Draw(21000), 150):
        case.op, case.implementation, case.states   # "elementwise dtype=bf16 elements=65536 expr=exp(x)", "torch", ("cold",)
        run = case.make()                            # makes the tensors; run() is the call

Method and limits: those of `torch_plan.py`, which sets how many cases of a class a seed has.
"""
import math
import random

import torch
import torch.nn.functional as F

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16,
          "tf32": torch.float32}
SIZES = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1}
DEVICE = "cuda"

UNARY = {"relu(x)": F.relu, "gelu(x)": lambda x: F.gelu(x, approximate="tanh"),
         "gelu_erf(x)": F.gelu, "silu(x)": F.silu, "exp(x)": torch.exp, "tanh(x)": torch.tanh,
         "sigmoid(x)": torch.sigmoid, "abs(x)": torch.abs, "-x": torch.neg,
         "x^2": torch.square, "rsqrt(x)": lambda x: torch.rsqrt(x), "log(x)": torch.log,
         "sin(x)": torch.sin, "cos(x)": torch.cos, "erf(x)": torch.erf, "x * 2": lambda x: x * 2,
         "x + 1": lambda x: x + 1, "sqrt(x)": torch.sqrt, "x^3": lambda x: x**3}
BINARY = {"x + y": torch.add, "x - y": torch.sub, "x * y": torch.mul, "x / y": torch.div,
          "max(x, y)": torch.maximum}
SEVERAL = {"silu(x) * y": (2, lambda x, y: F.silu(x) * y),
           "x * y + z": (3, lambda x, y, z: x * y + z),
           "x * y + z * w": (4, lambda x, y, z, w: x * y + z * w),
           "tanh(x) + y * 2": (2, lambda x, y: torch.tanh(x) + y * 2),
           "x + y + z": (3, lambda x, y, z: x + y + z)}
VECTOR = {"x + bias": lambda x, b: x + b, "x * gamma": lambda x, b: x * b,
          "gelu(x + bias)": lambda x, b: F.gelu(x + b, approximate="tanh")}
COMPILED = {"gelu(x + bias)": None, "silu(x) * y": None, "x * y + z * w": None, "gelu(x)": None,
            "x + y": None, "tanh(x) + y * 2": None}


class Case:
    """One operation with its implementation: `make` returns the function that runs it."""

    def __init__(self, op, implementation, make, states=("cold",)):
        self.op, self.implementation, self.make, self.states = op, implementation, make, states


class Draw:
    """Random shapes of one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def size(self, low, high, multiple=1):
        value = math.exp(self.random.uniform(math.log(low), math.log(high)))
        return max(multiple, int(round(value / multiple)) * multiple)

    def edge(self, low, high):
        """An edge of a tensor: a power of two, a multiple of 64 or 8, or any number."""
        value = self.size(low, high)
        kind = self.random.random()
        if kind < 0.3:
            return 1 << max(0, round(math.log2(value)))
        if kind < 0.5 and value >= 64:
            return value // 64 * 64
        if kind < 0.75 and value >= 8:
            return value // 8 * 8
        return value

    def pick(self, choices):
        return self.random.choice(list(choices))

    def chance(self, share):
        return self.random.random() < share

    def dtype(self):
        return self.random.choice(["bf16", "bf16", "fp16", "fp32", "fp32"])

    def states(self, dirty=0.3, warm=0.5):
        return ("cold",) + (("warm",) if self.chance(warm) else ()) + \
            (("dirty",) if self.chance(dirty) else ())


def normal(shape, dtype):
    return torch.randn(shape, device=DEVICE, dtype=DTYPES[dtype])


def positive(shape, dtype):
    return normal(shape, dtype).abs_().add_(0.1)


def quoted(expression):
    return f'"{expression}"' if " " in expression else expression


def once(function, *arguments):
    return lambda: function(*arguments)


# Classes of cases. Each function draws `count` cases.

def pointwise(draw, count):
    for _ in range(count):
        dtype = draw.dtype()
        form = draw.random.random()
        elements = draw.size(256, 1 << 28)
        if draw.chance(0.5):
            elements = max(256, elements // 256 * 256)
        inputs, expression, cols = 1, draw.pick(UNARY), 0
        function = UNARY[expression]
        if form > 0.45:
            expression = draw.pick(BINARY)
            inputs, function = 2, BINARY[expression]
        if form > 0.7:
            expression = draw.pick(SEVERAL)
            inputs, function = SEVERAL[expression]
        if form > 0.85:
            expression = draw.pick(VECTOR)
            inputs, function = 1, VECTOR[expression]
            cols = draw.edge(64, 16384)
            elements = max(1, elements // cols) * cols
        limit = int(1.2e9) // SIZES[dtype] // (inputs + 2)
        if elements > limit:
            elements = limit // max(cols, 1) * max(cols, 1)

        def make(function=function, inputs=inputs, elements=elements, dtype=dtype, cols=cols):
            shape = (elements // cols, cols) if cols else (elements,)
            tensors = [positive(shape, dtype) for _ in range(inputs)]
            if cols:
                tensors.append(normal((cols,), dtype))
            return once(function, *tensors)
        yield Case(f"elementwise dtype={dtype} elements={elements} expr={quoted(expression)}",
                   "torch", make, draw.states())


def casts(draw, count):
    pairs = [("bf16", "fp32"), ("fp32", "bf16"), ("fp16", "fp32"), ("fp32", "fp16"),
             ("bf16", "fp16")]
    for _ in range(count):
        source, target = draw.pick(pairs)
        elements = draw.size(256, 1 << 27)
        yield Case(f"elementwise dtype={source} out_dtype={target} elements={elements} expr=x",
                   "torch", lambda s=source, t=target, n=elements:
                   once(lambda x: x.to(DTYPES[t]), normal((n,), s)), draw.states())


def masks(draw, count):
    for _ in range(count):
        dtype, elements = draw.dtype(), draw.size(256, 1 << 27)

        def fill(dtype=dtype, n=elements):
            mask = torch.rand((n,), device=DEVICE) < 0.2
            return once(lambda x: x.masked_fill(mask, 0.0), normal((n,), dtype))

        def drop(dtype=dtype, n=elements):
            return once(lambda x: torch.native_dropout(x, 0.1, True), normal((n,), dtype))
        expression, make = draw.pick([("masked_fill(x, m)", fill), ("dropout(x)", drop)])
        yield Case(f"elementwise dtype={dtype} elements={elements} expr={quoted(expression)}",
                   "torch", make, draw.states())


def copies(draw, count):
    for _ in range(count):
        dtype = draw.dtype()
        stride = 1 if draw.chance(0.4) else draw.pick([2, 3, 4, 5, 8, 16, 32, 100])
        elements = draw.size(256, (1 << 28) // stride)

        def make(dtype=dtype, n=elements, stride=stride):
            return once(lambda x: x[::stride].clone() if stride > 1 else x.clone(),
                        normal((n * stride,), dtype))
        text = f" stride={stride}" if stride > 1 else ""
        yield Case(f"copy dtype={dtype} elements={elements}{text}", "torch", make, draw.states())


def transposes(draw, count):
    for _ in range(count):
        dtype = draw.dtype()
        rows, cols = draw.edge(4, 8192), draw.edge(4, 8192)
        batch = 1 if draw.chance(0.4) else draw.size(2, 64)
        inner = 1 if draw.chance(0.5) else draw.pick([2, 8, 32, 64, 80, 128, 256])
        while batch * rows * cols * inner > 1 << 27:
            rows, batch, cols = max(2, rows // 2), max(1, batch // 2), max(2, cols // 2)

        def make(dtype=dtype, shape=(batch, rows, cols, inner)):
            return once(lambda x: x.transpose(1, 2).contiguous(), normal(shape, dtype))
        text = f"transpose dtype={dtype}" + (f" batch={batch}" if batch > 1 else "")
        text += f" rows={rows} cols={cols}" + (f" inner={inner}" if inner > 1 else "")
        yield Case(text, "torch", make, draw.states())


def cats(draw, count):
    for _ in range(count):
        dtype, inputs = draw.dtype(), draw.size(2, 16)
        rows, cols, axis = draw.edge(1, 16384), draw.edge(4, 16384), draw.pick(["rows", "columns"])
        while inputs * rows * cols > 1 << 27:
            rows, cols = max(1, rows // 2), max(4, cols // 2)

        def make(dtype=dtype, inputs=inputs, rows=rows, cols=cols, axis=axis):
            tensors = [normal((rows, cols), dtype) for _ in range(inputs)]
            return once(torch.cat, tensors, 0 if axis == "rows" else 1)
        yield Case(f"cat dtype={dtype} rows={rows} cols={cols} inputs={inputs}" +
                   (" axis=rows" if axis == "rows" else ""), "torch", make, draw.states())


def views(draw, count):
    """Joins attention heads that are stored token by token: rotary halves, prompts' keys, a cache and new keys."""
    for number in range(count):
        dtype, batch, heads = draw.dtype(), draw.size(1, 32), draw.size(2, 64)
        tokens, run = draw.size(16, 4096), draw.pick([16, 32, 64, 80, 128])
        while batch * heads * tokens * run > 1 << 26:
            batch, heads, tokens = max(1, batch // 2), max(2, heads // 2), max(16, tokens // 2)
        halves = number % 2 == 0

        def make(dtype=dtype, shape=(batch, tokens, heads, run), halves=halves):
            parts = [normal(shape, dtype).transpose(1, 2) for _ in range(2 if halves else 1)]
            return once(torch.cat, parts if halves else [normal((0,), dtype), *parts], -1 if halves else -2)
        rows, cols = (batch * heads * tokens, run) if halves else (batch * heads, tokens * run)
        yield Case(f"cat dtype={dtype} rows={rows} cols={cols} inner={run} inputs={2 if halves else 1}",
                   "torch", make, draw.states())


def gathers(draw, count):
    for _ in range(count):
        dtype, rows, cols = draw.dtype(), draw.size(16, 1 << 19), draw.edge(8, 8192)
        table = draw.size(100, 400000)
        while rows * cols > 1 << 27:
            rows = max(1, rows // 2)
        while table * cols > 1 << 27:
            table = max(2, table // 2)

        def make(dtype=dtype, rows=rows, cols=cols, table=table):
            index = torch.randint(table, (rows,), device=DEVICE)
            return once(F.embedding, index, normal((table, cols), dtype))
        yield Case(f"gather dtype={dtype} rows={rows} cols={cols} table_rows={table}", "torch",
                   make, draw.states())


def matrix(draw, rows=(1, 1 << 17), cols=(4, 65536), limit=1 << 27):
    rows, cols = draw.edge(*rows), draw.edge(*cols)
    while rows * cols > limit:
        rows = max(1, rows // 2)
        cols = max(4, cols // 2) if rows == 1 else cols
    return rows, cols


def scans(draw, count):
    for _ in range(count):
        dtype = draw.pick(["fp32", "bf16"])
        rows, cols = matrix(draw, (1, 16384), (4, 1 << 18), 1 << 25)
        yield Case(f"scan dtype={dtype} rows={rows} cols={cols}", "torch",
                   lambda d=dtype, r=rows, c=cols: once(torch.cumsum, normal((r, c), d), 1),
                   draw.states())


def reductions(draw, count):
    functions = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax, "argmax": torch.argmax}
    for _ in range(count):
        name, dtype = draw.pick(functions), draw.dtype()
        rows, cols = matrix(draw)
        axis = draw.pick(["rows", "rows", "columns", "columns", "all"])

        def make(function=functions[name], dtype=dtype, rows=rows, cols=cols, axis=axis):
            x = normal((rows, cols), dtype)
            return once(function, x) if axis == "all" else \
                once(function, x, 1 if axis == "rows" else 0)
        yield Case(f"{name} dtype={dtype} rows={rows} cols={cols}" +
                   (f" axis={axis}" if axis != "rows" else ""), "torch", make, draw.states())


def row_function(name, rows, cols, dtype):
    """The operation along rows, its differentiable inputs and all arguments."""
    x = normal((rows, cols), dtype)
    if name == "softmax":
        return lambda x: torch.softmax(x, 1), [x]
    if name == "layernorm":
        return lambda x, w, b: F.layer_norm(x, (cols,), w, b), \
            [x, normal((cols,), dtype), normal((cols,), dtype)]
    if name == "rmsnorm":
        return lambda x, w: F.rms_norm(x, (cols,), w, 1e-5), [x, normal((cols,), dtype)]
    target = torch.randint(cols, (rows,), device=DEVICE)
    return lambda x: F.cross_entropy(x, target), [x]


def backward_of(function, inputs):
    for each in inputs:
        each.requires_grad_(True)
    out = function(*inputs)
    gradient = torch.randn_like(out)
    return lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)


def row_operations(draw, count):
    kinds = {"softmax": ((1, 1 << 17), (4, 65536)), "layernorm": ((1, 1 << 17), (16, 16384)),
             "rmsnorm": ((1, 1 << 17), (16, 16384)), "cross_entropy": ((1, 32768), (10, 160000))}
    for _ in range(count):
        name, dtype = draw.pick(kinds), draw.dtype()
        rows, cols = matrix(draw, *kinds[name])
        backward = draw.chance(0.25)

        def make(name=name, dtype=dtype, rows=rows, cols=cols, backward=backward):
            function, inputs = row_function(name, rows, cols, dtype)
            return backward_of(function, inputs) if backward else once(function, *inputs)
        yield Case(f"{name} dtype={dtype} rows={rows} cols={cols}" +
                   (" direction=backward" if backward else ""), "torch", make, draw.states())


def optimizers(draw, count):
    for _ in range(count):
        dtype, elements = draw.pick(["fp32", "fp32", "bf16"]), draw.size(4096, 1 << 27)
        fused, tensors = draw.chance(0.5), draw.size(1, 24)
        elements = max(1, elements // tensors) * tensors

        def make(dtype=dtype, elements=elements, tensors=tensors, fused=fused):
            parameters = [normal((elements // tensors,), dtype) for _ in range(tensors)]
            for each in parameters:
                each.requires_grad_(True)
                each.grad = torch.randn_like(each)
            return torch.optim.AdamW(parameters, lr=1e-3, fused=fused, foreach=not fused).step
        yield Case(f"adamw dtype={dtype} elements={elements} inputs={tensors}",
                   "fused" if fused else "torch", make,
                   draw.states())


def compiled(draw, count):
    for _ in range(count):
        dtype = draw.pick(["bf16", "fp32"])
        if draw.chance(0.5):
            expression = draw.pick(COMPILED)
            function = {**UNARY, **BINARY, **VECTOR}.get(expression)
            inputs, function = (SEVERAL[expression] if expression in SEVERAL
                                else (2 if expression in BINARY else 1, function))
            cols = draw.edge(64, 8192)
            elements = max(1, draw.size(4096, 1 << 26) // cols) * cols

            def make(function=function, inputs=inputs, dtype=dtype, elements=elements, cols=cols,
                     vector=expression in VECTOR):
                tensors = [positive((elements // cols, cols), dtype) for _ in range(inputs)]
                tensors += [normal((cols,), dtype)] if vector else []
                torch._dynamo.reset()
                return once(torch.compile(function, dynamic=False), *tensors)
            text = f"elementwise dtype={dtype} elements={elements} expr={quoted(expression)}"
        else:
            name = draw.pick(["softmax", "layernorm", "rmsnorm", "sum", "mean", "cross_entropy"])
            rows, cols = matrix(draw, (16, 1 << 16), (64, 32768), 1 << 26)
            axis = draw.pick(["rows", "columns"]) if name in ("sum", "mean") else "rows"

            def make(name=name, dtype=dtype, rows=rows, cols=cols, axis=axis):
                torch._dynamo.reset()
                if name in ("sum", "mean"):
                    dim = 1 if axis == "rows" else 0
                    function, inputs = (lambda x: getattr(torch, name)(x, dim)), \
                        [normal((rows, cols), dtype)]
                else:
                    function, inputs = row_function(name, rows, cols, dtype)
                return once(torch.compile(function, dynamic=False), *inputs)
            text = f"{name} dtype={dtype} rows={rows} cols={cols}" + \
                (" axis=columns" if axis == "columns" else "")
        yield Case(text, "compiled", make, draw.states())


def compiled_rows(draw, count):
    """Operations along rows, compiled by torch.compile; only if asked for by name."""
    return [case for case in compiled(draw, 3 * count) if not case.op.startswith("elementwise")][:count]


def row_gradients(draw, count):
    """More gradients of operations along rows; only if asked for by name."""
    return [case for case in row_operations(draw, 8 * count) if "backward" in case.op][:count]


def embeddings(draw, count):
    """Gradients of embedding tables: tokens drawn evenly, or as unevenly as words; only if asked for by name."""
    for _ in range(count):
        dtype, tokens, cols = draw.dtype(), draw.size(16, 1 << 17), draw.edge(32, 8192)
        table, uneven = draw.size(100, 260000), draw.chance(0.5)
        while tokens * cols > 1 << 27:
            tokens = max(2, tokens // 2)
        while table * cols > 1 << 28:
            table = max(2, table // 2)

        def make(dtype=dtype, tokens=tokens, cols=cols, table=table, uneven=uneven):
            index = torch.rand((tokens,), device=DEVICE)
            index = (table ** index - 1.0 if uneven else table * index).long().clamp_(0, table - 1)
            gradient = normal((tokens, cols), dtype)
            return once(torch.ops.aten.embedding_dense_backward, gradient, index, table, -1, False)
        yield Case(f"gather dtype={dtype} rows={tokens} cols={cols} table_rows={table} direction=backward",
                   "torch", make, draw.states(0.0, 0.4))


def tanh_gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


LESSONS = {"sin(x)^2 + cos(x)^2": ("x", lambda x: torch.sin(x)**2 + torch.cos(x)**2),
           "gelu_tanh(x + y)": ("xy", lambda x, y: F.gelu(x + y, approximate="tanh")),
           "0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x^3)))": ("x", tanh_gelu),
           "dropout(x + bias) + r": ("xbr", lambda x, b, r: F.dropout(x + b, 0.1, True) + r)}


def lessons(draw, count):
    """The operations that `ridge effect` needs from PyTorch; no shape is drawn. Only if asked for by name."""
    rows, cols = 16384, 4096
    for how in ("torch", "compiled"):
        def prepared(function, how=how):
            return torch.compile(function, dynamic=False) if how == "compiled" else function
        for expression, (names, function) in LESSONS.items():
            def make(names=names, function=function, prepared=prepared):
                shapes = [(cols,) if name == "b" else (rows, cols) for name in names]
                return once(prepared(function), *[normal(shape, "fp32") for shape in shapes])
            yield Case(f"elementwise dtype=fp32 elements={rows * cols} expr=\"{expression}\"", how, make,
                       ("warm",))

        def norm(prepared=prepared):
            weight, bias = normal((cols,), "fp32"), normal((cols,), "fp32")
            return once(prepared(lambda x: F.layer_norm(x, (cols,), weight, bias)),
                        normal((rows, cols), "fp32"))
        yield Case(f"layernorm dtype=fp32 rows={rows} cols={cols}", how, norm, ("warm",))
