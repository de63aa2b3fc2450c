#!/usr/bin/env python3
"""Measures the encoders of images and sound of transformers' models with random weights, and their energy.

    scripts/measure/torch-encoders.py --csv out.csv [--seconds 150] [--models qwen3-vl-8b-instruct,gemma-3-12b] [--check]
    scripts/measure/torch-encoders.py --csv out.csv --operators o.jsonl --no-energy

Each encoder with its projector is built from its preset in programs/presets (no download; the text model is cut to one layer), in
bf16, with transformers' eager code and SDPA, and encodes images of a size or chunks of 30 s of sound. A row holds what
`ridge model MODEL --image WxH --images N` and `--audio S` predict in their module `encoder`: kernels (no memsets, no copies),
the sum of their times, and the time between synchronisations, which the prediction does not know apart; and power and energy by
NVML's counter over three seconds of repeated calls (method in energy_counter.py), unless --no-energy.
--operators keeps every distinct kernel of a call with its operator's shapes, count and time, as in torch-models.py; --traces a trace
of each call that `ridge trace` reads.
--check runs one call of each model on the CPU with two layers: it tells whether the model's code takes these inputs.
Limits: all images of a row have one size; a model that is not built or does not run is a row with the reason.
"""
import argparse
import contextlib
import csv
import inspect
import json
import pathlib
import platform
import statistics
import time

import torch
import transformers
from transformers import AutoConfig, AutoModel

from energy_counter import Counter, mean_of, window_of
from siblings import sibling

MODELS = sibling("torch-models.py")
# width, height, images; or seconds of sound and prompts. A multiple of what the encoder makes of one token.
CASES = {
    "qwen3-vl-8b-instruct": [(1024, 768, 1), (1024, 768, 8), (448, 448, 4), (1920, 1088, 2)],
    "qwen2.5-vl-7b": [(1036, 756, 1), (1036, 756, 8), (448, 448, 4), (1932, 1092, 2)],
    "qwen2-vl-7b": [(1036, 756, 1), (448, 448, 8), (1932, 1092, 2)],
    "gemma-3-12b": [(896, 896, 1), (896, 896, 8), (896, 896, 24)],
    "mistral-small-3.1-24b-instruct-2503": [(1036, 756, 1), (1036, 756, 4), (1540, 1540, 2)],
    "llama-4-scout-17b-16e": [(336, 336, 1), (336, 336, 8), (336, 336, 32)],
    "qwen2-audio-7b": [(30, 1), (30, 8), (30, 24)],
    "voxtral-mini-3b-2507": [(30, 1), (30, 8)],
}
FIELDS = ["model", "width", "height", "images", "audio", "batch", "kernels", "time_us", "memsets", "copies", "wall_us", "power_w", "energy_j",
          "energy_error", "temperature_celsius", "clock_hz", "problem"]


def config_of(name, layers=None):
    fields = json.loads((MODELS.PRESETS / f"{name}.json").read_text(encoding="utf-8"))
    fields = {key: value for key, value in fields.items() if not key.startswith("ridge_")}
    kind = fields.pop("model_type")
    if kind.endswith("_text"):  # the preset of a text model states its encoder beside its own fields
        encoder = {"vision_config": fields.pop("vision_config"), "mm_tokens_per_image": fields.pop("mm_tokens_per_image", 256)}
        kind, fields = kind.removesuffix("_text"), {"text_config": fields, **encoder}
    config = AutoConfig.for_model(kind, **fields)
    text = config.get_text_config()
    text.num_hidden_layers, text.vocab_size = 1, 1024
    for field in ("num_local_experts", "num_experts"):
        if getattr(text, field, None) is not None:
            setattr(text, field, 1)
    for field in ("pad_token_id", "bos_token_id", "eos_token_id"):
        setattr(text, field, 0)
    if getattr(text, "layer_types", None):
        text.layer_types = text.layer_types[:1]
    if layers:
        encoder = getattr(config, "vision_config", None) or config.audio_config
        for field in ("depth", "num_hidden_layers", "encoder_layers"):
            if hasattr(encoder, field):
                setattr(encoder, field, layers)
        for field in ("deepstack_visual_indexes", "fullatt_block_indexes"):
            if getattr(encoder, field, None):
                setattr(encoder, field, [layers - 1])
    config._attn_implementation = "sdpa"
    return config


def build(name, device, layers):
    with torch.device(device):
        return AutoModel.from_config(config_of(name, layers), dtype=torch.bfloat16).eval().requires_grad_(False)


def patches(model, width, height, images, device):
    """Input of the encoders that take patches of any number of images as rows."""
    vision = model.config.vision_config
    patch = vision.patch_size
    grid = torch.tensor([[1, height // patch, width // patch]] * images)
    columns = getattr(vision, "in_channels", 3) * vision.temporal_patch_size * patch * patch
    rows = int(grid.prod(1).sum())
    return torch.randn(rows, columns, device=device, dtype=torch.bfloat16), grid.to(device)


def call_of(model, case, device):
    """What encodes this case: a function without arguments."""
    if len(case) == 2:
        seconds, prompts = case
        mels = model.config.audio_config.num_mel_bins
        sound = torch.randn(prompts * ((seconds + 29) // 30), mels, 3000, device=device, dtype=torch.bfloat16)
        if hasattr(model, "get_audio_features"):
            names = inspect.signature(model.get_audio_features).parameters
            more = {"feature_attention_mask": torch.ones(sound.shape[0], 3000, dtype=torch.long, device=device)} if "feature_attention_mask" in names else {}
            return lambda: model.get_audio_features(sound, **more)
        return lambda: model.multi_modal_projector(model.audio_tower(sound).last_hidden_state)
    width, height, images = case
    if hasattr(model, "visual"):
        pixels, grid = patches(model, width, height, images, device)
        return lambda: model.visual(pixels, grid_thw=grid)
    pixels = torch.randn(images, 3, height, width, device=device, dtype=torch.bfloat16)
    names = inspect.signature(model.get_image_features).parameters
    more = {"image_sizes": torch.tensor([[height, width]] * images)} if "image_sizes" in names else {}
    for field, usual in (("vision_feature_layer", -1), ("vision_feature_select_strategy", "default")):
        if field in names:
            more[field] = getattr(model.config, field, usual)
    return lambda: model.get_image_features(pixels, **more)


class Repeated:
    """A call as the profiler of torch-models.py takes it."""

    def __init__(self, call):
        self.call = call

    def step(self):
        return self.call()

    def after(self):
        pass


def energy_of(call, counter):
    """Power, joules of one call, and their error, over three seconds."""
    torch.cuda.synchronize()
    counter.restart()
    start = time.monotonic()
    calls = 0
    while time.monotonic() - start < 3.2:
        call()
        calls += 1
        counter.poll()
        if calls % 4 == 0:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    end = time.monotonic()
    window = window_of(counter.readings, start + 0.2, end)
    if window is None:
        return {}
    return {"power_w": round(window["power_w"], 1), "energy_j": round(window["power_w"] * (end - start) / calls, 5), "energy_error": round(window["error"], 4),
            "temperature_celsius": mean_of(counter.states, "temperature_celsius", start, end), "clock_hz": mean_of(counter.states, "sm_clock_hz", start, end)}


def measure(call, counter, operators, label):
    for _ in range(3):
        call()
    walls, _ = MODELS.timed(call)
    kernels, total, memsets, copies = MODELS.profile(Repeated(call), operators, label)
    energy = energy_of(call, counter) if counter else {}
    return {"kernels": kernels, "time_us": round(total, 2), "memsets": memsets, "copies": copies, "wall_us": round(statistics.median(walls), 2), **energy}


def trace(call, folder, label):
    """Writes the trace of one call, with shapes and types."""
    folder.mkdir(parents=True, exist_ok=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU], record_shapes=True) as run:
        call()
        torch.cuda.synchronize()
    run.export_chrome_trace(str(folder / ("-".join(str(each) for each in label.values()) + ".json.gz")))


def leaves(value):
    """The tensors of an answer of any structure."""
    if torch.is_tensor(value):
        yield value
    elif value is not None:
        for each in value.values() if hasattr(value, "values") else value:
            yield from leaves(each)


def row_of(name, case):
    if len(case) == 2:
        return {"model": name, "audio": case[0], "batch": case[1]}
    return {"model": name, "width": case[0], "height": case[1], "images": case[2], "batch": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", required=True)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--operators", type=pathlib.Path, help="a file for the kernels of each call, JSON lines")
    parser.add_argument("--traces", type=pathlib.Path, help="a folder for a trace of each call")
    parser.add_argument("--no-energy", action="store_true")
    options = parser.parse_args()
    device, layers = ("cpu", 2) if options.check else ("cuda", None)
    counter = None if options.check or options.no_energy else Counter()
    end = time.monotonic() + options.seconds
    with open(options.csv, "w", encoding="utf-8", newline="") as file, \
            open(options.operators, "w", encoding="utf-8") if options.operators else contextlib.nullcontext() as operators:
        where = "CPU" if options.check else f"{torch.cuda.get_device_name()}, {MODELS.cpu_name()}, {platform.node() and 'Linux'}"
        file.write(f"# {where}, torch {torch.__version__}, transformers {transformers.__version__}\n")
        rows = csv.DictWriter(file, FIELDS)
        rows.writeheader()
        for name in options.models.split(","):
            model = None
            for case in CASES[name][:1] if options.check else CASES[name]:
                row = row_of(name, case)
                if time.monotonic() > end:
                    row["problem"] = "the seconds were used up"
                else:
                    try:
                        model = build(name, device, layers) if model is None else model
                        with torch.inference_mode():
                            call = call_of(model, case, device)
                            row.update({} if options.check else measure(call, counter, operators, dict(row)))
                            if options.traces:
                                trace(call, options.traces, row_of(name, case))
                            if options.check:
                                print(torch.as_tensor(next(each for each in leaves(call()))).shape, flush=True)
                    except Exception as error:  # the reason is the row's answer
                        row["problem"] = f"{type(error).__name__}: {error}"[:200]
                rows.writerow(row)
                file.flush()
                print(row, flush=True)


if __name__ == "__main__":
    main()
