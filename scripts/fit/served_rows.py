"""Published servers as questions to `ridge serve`: which model, deployment and load a row stands for.

Used by engine_host.py, which fits an engine's host, and by ../accuracy/published_serving.py, which compares. The tables
are those of docs/reference-tables.md (serving_steady.csv, serving_requests.csv); they are not part of the project.
Prompt lengths are not published. PROMPTS has what is assumed for each task: mean tokens of text and their deviation over the
mean, drawn lognormal. The mean of chats is the one with which the H100's unsteady chats have no bias. VISION has the tokens of
images besides, and the frames that they are of. They are bounded by what caches held: Qwen3-VL 235B in fp8 kept 1889 sequences
of image chats on four B200, which leaves 640 tokens for a prompt; servers of video chats kept 3066, with at most some 700.
"""
import csv
import io
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPTS = {"lm-arena-chat": "lognormal:250:1.5", "gpqa": "lognormal:250:0.6", "sourcegraph-fim": "lognormal:1500:1",
           "image-chat": "lognormal:100:1", "video-chat": "lognormal:50:1"}
VISION = {"image-chat": ("lognormal:500:0.6", 1), "video-chat": ("lognormal:1000:0.4", 16)}
# Encoders that make as many tokens of any image.
FIXED_IMAGES = {"google/gemma-3": "256"}
TEXT = ("lm-arena-chat", "gpqa")
# Models whose own defaults draw from all tokens; the others name top-k or top-p.
PLAIN = ("openai/",)
# Suffixes of published names that say nothing about the architecture.
SUFFIXES = ("-Instruct-2507", "-Thinking-2507", "-Instruct", "-it")


def read(path):
    return list(csv.DictReader(line for line in pathlib.Path(path).read_text().splitlines() if not line.startswith("#")))


def family_of(model):
    """The model without its format and its training: what is left out as one."""
    name = model.removesuffix("-FP8")
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def config_of(model, configs):
    """The preset or file of a published name, and the format of its weights if that is not the checkpoint's own."""
    name = model.split("/")[1]
    quantised = name.endswith("-FP8")
    bare = family_of(model).split("/")[1].lower()
    presets = ROOT / "programs/presets"
    for word in ((bare + "-fp8", bare) if quantised else (bare, name.lower())):
        if (presets / f"{word}.json").exists():
            own = quantised and word.endswith("-fp8")
            return word, None if own or not quantised else format_of(model)
    for path in sorted(pathlib.Path(configs).glob("*_config.json")) if configs else ():
        if path.name.lower().split("--")[-1].startswith((bare + "_config", bare + "-instruct_config")):
            return str(path), format_of(model) if quantised else None
    return None, None


def format_of(model):
    """FP8 checkpoints have scales of blocks, but for those of Meta, which have one per row."""
    return "fp8" if model.startswith("meta-llama/") else "fp8_block"


def groups_of(rows):
    """Rows that differ in their batch alone."""
    groups = {}
    for row in rows:
        key = tuple(row[name] for name in ("model", "gpu", "gpus", "tp", "ep", "dp", "dtype", "task"))
        groups.setdefault(key, []).append(row)
    return groups


def host_of(row):
    """The name of a slow host: single-GPU servers of a B200, by the task that they ran; None for others."""
    return f"b200 {row['task']}" if row["gpu"] == "b200" and row["gpus"] == "1" else None


def fixed_images(model):
    return next((tokens for name, tokens in FIXED_IMAGES.items() if model.startswith(name)), None)


def vision_tokens(model, task):
    """The mean tokens of images of a request."""
    if task not in VISION:
        return 0.0
    return float(fixed_images(model) or VISION[task][0].split(":")[1])


def images_of(model, task, factor=1.0):
    """The words that say which images a request has."""
    if task not in VISION:
        return []
    text, frames = VISION[task]
    law, mean, spread = text.split(":")
    return ["--vision", fixed_images(model) or f"{law}:{factor * float(mean):g}:{spread}", "--images", str(frames)]


def scaled(text, factor):
    law, mean, spread = text.split(":")
    return f"{law}:{factor * float(mean):g}:{spread}"


def ask(ridge, group, config, quantise, factor=1.0, sampling=None, steady=False):
    """The answer of `ridge serve` for each batch of a group, by batch; a message instead of rows that cannot be served. `steady`: the
    steady state (of texts, one copy) instead of runs."""
    first = group[0]
    batches = sorted({int(row["max_batch"]) for row in group})
    answers = sorted(float(row["answer_tokens"]) for row in group)
    plain = first["model"].startswith(PLAIN)
    words = [ridge, "serve", config, "--gpu", first["gpu"], "--tp", first["tp"], "--format", "csv",
             "--concurrency", ",".join(map(str, batches)), *(["--steady"] if steady else ["--count", "20", "--batch", str(batches[-1])]),
             "--prompt", scaled(PROMPTS[first["task"]], factor), "--answer", f"lognormal:{answers[len(answers) // 2]:.0f}:0.7",
             "--sampling", sampling or ("plain" if plain else "top")]
    words += images_of(first["model"], first["task"], factor)
    if int(first["dp"]) > 1:
        words += ["--dp", first["dp"]]
    if int(first["ep"]) > 1:
        words += ["--ep", first["ep"]]
    if quantise:
        words += ["--quantise", quantise]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if run.returncode:
        return run.stderr.strip()
    return {int(row["batch" if steady else "concurrency"]): row for row in csv.DictReader(io.StringIO(run.stdout))}
