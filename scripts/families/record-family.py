#!/usr/bin/env python3
"""Records what a model of transformers runs, compares it with ridge's family file, and drafts one.

    scripts/families/record-family.py record config.json -o recording.json [--phase decode --batch 2 --seq 64]
    scripts/families/record-family.py compare recording.json [--ridge build/dev/ridge] [--family my.toml]
    scripts/families/record-family.py draft recording.json -o my.toml

`record` needs PyTorch and transformers, no GPU and no weights. It builds a small instance of the
config (sizes shrunk, see SMALL; --whole keeps them), runs one step on meta tensors (--device cpu: on
real ones, for models that branch on values), and writes the kernels in order, with shapes, types and
module, and the bytes of every tensor with the kernels between which it lived.
`compare` and `draft` need neither. `compare` asks `ridge model` for the same step of the same config
and compares: products, attention, lookups and the number of parameters one by one, the other kernels by
their number, and the peak of living bytes (within a tenth, or 32 blocks). It prints what differs, and exits with 1.
`draft` writes a family file that starts from decoder.toml: the options that the modules show (biases,
norms of q and k, fused projections, experts), and as comments what a person must still look at: weights
that no option explains and fields of the config that nothing reads.

Method: a TorchDispatchMode sees each ATen call. A call whose results share memory with its inputs
launches nothing; every other one counts as one kernel. Scaled dot product attention is one call, as
flash attention is on a GPU. Tensors live until their storage has no owner.
Limits: forward passes; what CUDA alone does (kernels that one call splits into, workspaces) is not seen.
"""

import argparse
import collections
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

# Sizes of the small instance. They differ from each other, so that a shape tells its fields.
SMALL = {
    "hidden_size": 96, "n_embd": 96, "d_model": 96, "intermediate_size": 208, "n_inner": 208, "moe_intermediate_size": 56,
    "shared_expert_intermediate_size": 72, "num_hidden_layers": 2, "n_layer": 2, "num_attention_heads": 6, "n_head": 6,
    "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 320, "max_position_embeddings": 256, "n_positions": 256,
    "num_experts": 8, "n_routed_experts": 8, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 128,
}
# ATen calls that PyTorch runs as more than one CUDA kernel.
CUDA_KERNELS = {"topk": 2, "sort": 2, "histc": 2, "cumsum": 2, "_grouped_mm": 2}
LISTS = ("layer_types", "mlp_layer_types", "no_rope_layers")


def shrunk(config):
    small = dict(config)
    small["pad_token_id"] = None  # may lie beyond the small vocabulary
    for name, value in SMALL.items():
        if isinstance(small.get(name), int) and not isinstance(small[name], bool):
            small[name] = value
    layers = next((small[n] for n in ("num_hidden_layers", "n_layer") if n in small), 2)
    kinds = []
    for name in LISTS:
        if isinstance(small.get(name), list):
            kinds += [i for i, each in enumerate(small[name]) if each not in small[name][:i]]
    wanted = sorted({0, 1, *kinds})
    for name in LISTS:
        if isinstance(small.get(name), list):
            small[name] = [small[name][i] for i in wanted if i < len(small[name])]
            layers = len(small[name])
    for name in ("num_hidden_layers", "n_layer"):
        if name in small:
            small[name] = layers
    return small


class Recorder:
    """The calls, modules and living bytes of one step."""

    def __init__(self, torch):
        from torch.multiprocessing.reductions import StorageWeakRef

        self.torch, self.weak = torch, StorageWeakRef
        self.kernels, self.tensors, self.alive, self.known = [], [], {}, set()
        self.path = [""]

    def keep(self, tensor):
        """A tensor that was there before the step."""
        reference = self.weak(tensor.untyped_storage())
        self.known.add(reference.cdata)
        self.alive[reference.cdata] = (reference, len(self.tensors))
        self.tensors.append({"bytes": tensor.untyped_storage().nbytes(), "taken": -1, "given": -1})

    def saw(self, name, inputs, outputs, mutates):
        torch = self.torch
        tensors = [t for t in inputs if isinstance(t, torch.Tensor)]
        results = [t for t in outputs if isinstance(t, torch.Tensor)]
        self.sweep()
        fresh = []
        for each in results:
            reference = self.weak(each.untyped_storage())
            if reference.cdata not in self.known:
                fresh.append((reference, each))
        if not fresh and not mutates:
            return
        for reference, each in fresh:
            if reference.cdata in self.known:
                continue
            self.known.add(reference.cdata)
            self.alive[reference.cdata] = (reference, len(self.tensors))
            self.tensors.append({"bytes": each.untyped_storage().nbytes(), "taken": len(self.kernels), "given": -1})
        if name.startswith(("aten.empty", "aten.new_empty")):
            return
        if name.startswith(("aten._unsafe_view", "aten.view", "aten.lift", "aten.detach", "aten.alias")):
            return
        self.kernels.append({
            "call": name, "module": self.path[-1],
            "in": [[list(t.shape), str(t.dtype)[6:]] for t in tensors],
            "out": [[list(t.shape), str(t.dtype)[6:]] for t in results]})

    def sweep(self):
        gone = [key for key, (reference, _) in self.alive.items() if reference.expired()]
        for key in gone:
            self.tensors[self.alive.pop(key)[1]]["given"] = len(self.kernels)
            self.known.discard(key)


def flat(values):
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from flat(value)
        elif isinstance(value, dict):
            yield from flat(value.values())
        else:
            yield value


def watch(torch, model, recorder):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, call, types, args=(), kwargs=None):
            result = call(*args, **(kwargs or {}))
            mutates = call._schema.is_mutable
            outputs = result if isinstance(result, (tuple, list)) else (result,)
            recorder.saw(str(call).removesuffix(".default"), list(flat((args, kwargs or {}))), list(flat(outputs)), mutates)
            return result

    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda m, a, name=name: recorder.path.append(name))
        module.register_forward_hook(lambda m, a, r: (recorder.path.pop(), None)[1])
    return Watch()


def one_call_attention(torch, recorder):
    """Stands for scaled_dot_product_attention: one kernel, whose result lies in memory as the queries do."""
    def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        order = sorted(range(4), key=lambda d: (-query.stride(d), d))
        shape = [*query.shape[:3], value.shape[-1]]
        with torch.utils._python_dispatch._disable_current_modes():
            out = torch.empty_permuted(shape, order, dtype=query.dtype, device=query.device)
            if out.device.type != "meta":
                out.zero_()
        recorder.saw("attention.causal" if is_causal else "attention.masked" if attn_mask is not None else "attention",
                     [query, key, value, attn_mask], [out], False)
        return out
    return attention


def record(options):
    import torch
    import transformers
    from transformers import AutoConfig, AutoModelForCausalLM

    raw = json.loads(pathlib.Path(options.config).read_text())
    raw = raw if options.whole else shrunk(raw)
    raw = {k: v for k, v in raw.items() if not k.startswith("ridge_")}
    config = AutoConfig.for_model(raw["model_type"], **{k: v for k, v in raw.items() if k != "model_type"})
    config._attn_implementation = "sdpa"
    with torch.device(options.device):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
        length = 1 if options.phase == "decode" else options.seq
        ids = torch.zeros(options.batch, length, dtype=torch.long)
        before = torch.zeros(options.batch, options.seq, dtype=torch.long)
    recorder = Recorder(torch)
    torch.nn.functional.scaled_dot_product_attention = one_call_attention(torch, recorder)
    arguments = {"use_cache": True}
    with torch.no_grad():
        if options.phase == "decode":
            arguments["past_key_values"] = model(before, use_cache=True).past_key_values
        else:
            arguments["logits_to_keep"] = 1
        recorder.__init__(torch)
        for tensor in [ids, before, *model.parameters(), *model.buffers()]:
            recorder.keep(tensor)
        if "past_key_values" in arguments:
            for layer in arguments["past_key_values"].layers:
                for tensor in (layer.keys, layer.values):
                    recorder.keep(tensor)
        with watch(torch, model, recorder), torch.device(options.device):
            result = model(ids, **arguments)
        recorder.sweep()
    names = {id(p): n for n, p in model.named_parameters()}
    parameters = [[n, list(p.shape)] for n, p in model.named_parameters()]
    modules = sorted({type(m).__name__: None for m in model.modules()})
    del result
    document = {
        "schema": "ridge/family-recording/1", "torch": torch.__version__.split("+")[0],
        "transformers": transformers.__version__, "phase": options.phase, "batch": options.batch, "seq": options.seq,
        "config": raw, "classes": modules, "parameters": parameters, "tied": len(names) < len(list(model.state_dict())) and
        bool(getattr(config, "tie_word_embeddings", False)),
        "kernels": recorder.kernels,
        "tensors": [[t["bytes"], t["taken"], t["given"]] for t in recorder.tensors if t["taken"] >= 0 or t["given"] >= 0]}
    lines = json.dumps(document, separators=(",", ":")).replace('{"call"', '\n{"call"')
    pathlib.Path(options.output).write_text(lines + "\n") if options.output else print(lines)
    print(f"{len(recorder.kernels)} kernels, {len(recorder.tensors)} tensors", file=sys.stderr)


# ---- what both sides say about a step -------------------------------------------------------------


def size(shape):
    return math.prod(shape)


def call_of(kernel):
    return kernel["call"].removeprefix("aten.").split(".")[0]


def kernels_of(kernel):
    return CUDA_KERNELS.get(call_of(kernel), 1)


def kinds_of(kernel):
    """A call's class with what must agree one by one, and the kernels that it launches besides."""
    yield kind_of(kernel), 1
    if kernels_of(kernel) > 1:
        yield ("other", ""), kernels_of(kernel) - 1


def kind_of(kernel):
    call = call_of(kernel)
    shapes = [shape for shape, _ in kernel["in"]]
    out = kernel["out"][0][0] if kernel["out"] else []
    if call == "bmm" and shapes[0][-1] == 1:  # the angles of a rotary embedding, an outer product
        return "other", ""
    if call in ("mm", "addmm", "linear"):
        left = shapes[1] if call == "addmm" else shapes[0]
        return "matmul", f"{size(left[:-1])} x {out[-1]} x {left[-1]}"
    if call in ("bmm", "baddbmm"):
        left = shapes[1] if call == "baddbmm" else shapes[0]
        return "matmul", f"{out[0] * out[1]} x {out[2]} x {left[-1]}"
    if call == "_grouped_mm":  # how many rows each expert has depends on the data
        return "grouped product", f"{out[-1]} x {shapes[0][-1]}"
    if call == "attention":
        q, k = shapes[0], shapes[1]
        return "attention", f"{q[0]} x {q[1]}/{k[1]} x {q[2]} x {k[2]} x {q[3]}"
    if call == "embedding":
        return "gather", f"{size(shapes[1])} x {out[-1]}"
    return "other", ""


def fields_of(text):
    return dict(word.split("=", 1) for word in text.split()[1:] if "=" in word)


def kind_of_operation(entry):
    text = entry["operation"]
    name, fields = text.split(" ", 1)[0], fields_of(text)
    whole = {key: int(value) for key, value in fields.items() if re.fullmatch(r"\d+", value)}
    if name == "matmul" and entry["name"].startswith("experts ") and entry["module"] == "experts":
        return "grouped product", f"{whole['n']} x {whole['k']}"
    if name == "matmul":
        return "matmul", f"{whole.get('batch', 1) * whole['m']} x {whole['n']} x {whole['k']}"
    if name == "attention":
        heads = whole["heads"]
        return "attention", (f"{whole.get('batch', 1)} x {heads}/{whole.get('kv_heads', heads)} x "
                             f"{whole.get('seq_q', whole.get('seq'))} x "
                             f"{whole.get('seq_kv') or whole.get('seq_q', whole.get('seq'))} x "
                             f"{whole['head_dim']}")
    if name == "gather" and entry["module"] == "embedding":
        return "gather", f"{whole['rows']} x {whole['cols']}"
    return "other", ""


def peak_of(recording):
    """Most bytes alive at once beyond those before the step, in blocks of 512 as PyTorch's allocator gives them."""
    change = collections.Counter()
    for bytes_, taken, given in recording["tensors"]:
        block = (bytes_ + 511) // 512 * 512
        if taken >= 0:
            change[2 * taken] += block
        if given >= 0:
            change[2 * given - 1] -= block
    level = peak = 0
    for moment in sorted(change):
        level += change[moment]
        peak = max(peak, level)
    return peak


def asked(recording, options, family=None):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        config.write_text(json.dumps(recording["config"]))
        command = [options.ridge, "model", str(config), "--phase", recording["phase"], "--batch", str(recording["batch"]),
                   "--seq", str(recording["seq"]), "--all", "--format", "json"]
        if family:
            command += ["--family", family]
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode != 0:
            raise SystemExit(answer.stderr.strip())
        return json.loads(answer.stdout)


def counted(pairs):
    found = collections.defaultdict(collections.Counter)
    for (kind, text), times in pairs:
        found[kind][text] += times
    return found


def differences(recording, step):
    run = counted(pair for kernel in recording["kernels"] for pair in kinds_of(kernel))
    told = counted((kind_of_operation(entry), entry["kernels"]) for entry in step["operations"])
    lines = []
    for kind in ("matmul", "grouped product", "attention", "gather"):
        for text in sorted({*run[kind], *told[kind]}):
            if run[kind][text] != told[kind][text]:
                lines.append(f"{kind} {text}: {run[kind][text]} recorded, {told[kind][text]} in the family file")
    others = (sum(run["other"].values()), sum(told["other"].values()))
    if others[0] != others[1]:
        lines.append(f"other kernels: {others[0]} recorded, {others[1]} in the family file")
    parameters = sum(size(shape) for _, shape in recording["parameters"])
    if parameters != step["parameters"]:
        lines.append(f"parameters: {parameters} recorded, {step['parameters']} in the family file")
    peak = peak_of(recording)
    if abs(peak - step["peak_extra_bytes"]) > most_difference(step):
        lines.append(f"peak of living bytes: {peak} recorded, {step['peak_extra_bytes']} in the family file")
    return lines


def most_difference(step):
    """A small instance has many tensors of one block, which a frame of Python may hold a little longer."""
    return max(32 * 512, step["peak_extra_bytes"] // 10)


def compare(options):
    recording = json.loads(pathlib.Path(options.recording).read_text())
    step = asked(recording, options, options.family)
    lines = differences(recording, step)
    kernels = sum(kernels_of(kernel) for kernel in recording["kernels"])
    print(f"{recording['config']['model_type']}, {recording['phase']}, transformers {recording['transformers']}: "
          f"{kernels} kernels recorded, {step['kernels']} in the family file")
    for line in lines:
        print("  " + line)
    if options.verbose:
        for kernel in recording["kernels"]:
            print("   ", kernel["module"], kernel["call"], kernel["out"])
    return 1 if lines else 0


# ---- drafting a family file ------------------------------------------------------------------------


def of_layers(recording):
    """Shapes of a layer's parameters by their names below the layer, and of the others."""
    layer, rest = collections.OrderedDict(), collections.OrderedDict()
    for name, shape in recording["parameters"]:
        found = re.match(r".*?\.(?:layers|h|blocks)\.(\d+)\.(.*)", name)
        (layer if found else rest).setdefault(found.group(2) if found else name, shape)
    return layer, rest


def first(layer, *words):
    return next((name for name in layer if all(word in name for word in words)), None)


def options_shown(recording, layer, rest):
    """Lines of the family file, by section, that the modules show."""
    config = recording["config"]
    hidden, head = config.get("hidden_size", 0), config.get("head_dim", 0)
    heads = config.get("num_attention_heads", 1)
    head = head or hidden // heads
    lines = {"fields": [], "model": [], "kinds": [], "layer": []}

    def model(text):
        lines["model"].append(text)

    if any("LayerNorm" in name for name in recording["classes"]) and first(layer, "norm", ".bias"):
        model("norm = 'layer'")
    biases = {"qkv_bias": bool(first(layer, "q_proj", "bias") or first(layer, "qkv", "bias")),
              "output_bias": bool(first(layer, "o_proj", "bias")), "mlp_bias": bool(first(layer, "mlp.", "bias"))}
    stated = {"qkv_bias": "attention_bias", "mlp_bias": "mlp_bias"}
    for option, there in biases.items():
        if stated.get(option) in config:
            lines["fields"].append(f'{option} = flag(0) as "{stated[option]}"')
        elif option == "output_bias" and there == biases["qkv_bias"]:
            continue  # as the queries
        elif there or option == "output_bias":
            model(f"{option} = {int(there)}")
    if name := first(layer, "q_norm", "weight"):
        model("qk_norm = 'head'" if size(layer[name]) == head else "qk_norm = 'whole'")
    if first(layer, "qkv_proj"):
        model("projection = 'fused'")
    if first(layer, "gate_up_proj") and not first(layer, "experts"):
        model("fused_gate = 1")
    elif not first(layer, "gate_proj") and not first(layer, "gate_up_proj"):
        model("gated = 0")
    norms = [n for n, shape in layer.items() if "norm" in n and n.endswith("weight") and shape == [hidden] and "attn." not in n]
    if len(norms) != 2:
        model(f"norms = {len(norms)}                  # {', '.join(norms)}: place them in `layer(x)`")
    experts = next((n for n in ("num_experts", "num_local_experts", "n_routed_experts") if n in config), None)
    if first(layer, "experts") and experts:
        lines["fields"] += [f'expert_count = count() as "{experts}"', 'chosen = count() as "num_experts_per_tok"']
        if "moe_intermediate_size" in config:
            lines["fields"].append('expert_inner = count() as "moe_intermediate_size"')
            lines["layer"].append("inner = expert_inner if experts else intermediate")
        lines["kinds"].append("dense = 0")
        lines["layer"] += ["experts = 0 if dense else expert_count", "active = chosen"]
    if "layer_types" in config:
        lines["fields"].append("kinds_of_layers = words('full_attention', 'sliding_attention') as \"layer_types\"")
        if "sliding_window" in config:
            lines["fields"].append('sliding_window = count(0) as "sliding_window"')
            lines["kinds"].append("sliding = kinds_of_layers[i] == 'sliding_attention'")
            lines["layer"].append("window = sliding_window if sliding else 0")
    return lines


def draft(options):
    recording = json.loads(pathlib.Path(options.recording).read_text())
    config = recording["config"]
    layer, rest = of_layers(recording)
    lines = options_shown(recording, layer, rest)
    text = [f"# Drafted from a recording of transformers {recording['transformers']}; review what the comments name.",
            f'model_types = ["{config["model_type"]}"]', 'base = "decoder"']
    for section, stated in lines.items():
        if stated:
            text += [f"{section} = '''", *dict.fromkeys(stated), "'''"]
    text += ["# Parameters of a layer, as recorded:"]
    text += [f"#   {name} {shape}" for name, shape in layer.items()]
    text += ["# Other parameters:"] + [f"#   {name} {shape}" for name, shape in rest.items()]
    path = pathlib.Path(options.output or f"{config['model_type']}.toml")
    path.write_text("\n".join(text) + "\n")
    # Fields that nothing reads are ignored until a person has looked at them.
    unread = []
    while True:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps(config))
            file.flush()
            answer = subprocess.run([options.ridge, "model", file.name, "--family", str(path), "--seq", "64", "--format", "json"],
                                    capture_output=True, text=True)
        found = re.search(r"(?:unknown field '?|: )([A-Za-z_0-9]+)'?.*may change", answer.stderr) or \
            re.search(r"unknown field '([A-Za-z_0-9.]+)'", answer.stderr)
        if answer.returncode == 0 or not found or found.group(1) in unread:
            break
        unread.append(found.group(1))
        listed = ", ".join(f'"{name}"' for name in unread)
        path.write_text("\n".join([*text, f"ignored = [{listed}]   # look: do they change the cost?"]) + "\n")
    print(f"{path}: a draft. Fields to look at: {', '.join(unread) or 'none'}")
    if answer.returncode != 0:
        print("  ridge does not read it yet: " + answer.stderr.strip())
        return 1
    for line in differences(recording, asked(recording, options, str(path))):
        print("  " + line)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ways = parser.add_subparsers(dest="way", required=True)
    way = ways.add_parser("record", help="run a small instance and write what it ran")
    way.add_argument("config")
    way.add_argument("-o", "--output")
    way.add_argument("--phase", choices=["prefill", "decode"], default="prefill")
    way.add_argument("--batch", type=int, default=2)
    way.add_argument("--seq", type=int, default=64)
    way.add_argument("--device", choices=["meta", "cpu"], default="meta")
    way.add_argument("--whole", action="store_true", help="keep the sizes of the config")
    for name, text in (("compare", "compare a recording with a family file"), ("draft", "write a family file")):
        way = ways.add_parser(name, help=text)
        way.add_argument("recording")
        way.add_argument("--ridge", default="build/dev/ridge")
        if name == "compare":
            way.add_argument("--family")
            way.add_argument("--verbose", action="store_true", help="list the kernels")
        else:
            way.add_argument("-o", "--output")
    options = parser.parse_args()
    sys.exit({"record": record, "compare": compare, "draft": draft}[options.way](options) or 0)


if __name__ == "__main__":
    main()
