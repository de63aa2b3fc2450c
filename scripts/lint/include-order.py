#!/usr/bin/env python3
"""Checks the rules of docs/architecture.md: what each room may include, and how large files may be.

A room is a folder. Its headers and sources may include headers of its own room and of the rooms that
ROOMS lists for it. The arrows between rooms form no circle, so no operation's room includes
another's. The modules of the Python package do not import each other in circles either. CUDA and CUPTI
headers belong to measure/cuda/, and each library that is slow to compile is included by one file only.
Files, including tests, scripts and Python, have at most 500 lines unless they are tables. Usage: include-order.py [ROOT]
"""
import ast
import pathlib
import re
import sys

HARDWARE = ["hardware"]
MODEL_CORE = ["model/core", "model/expression"]
MODEL_BASE = HARDWARE + MODEL_CORE + ["model/machine", "model/roof", "model/bundled"]
MODEL = MODEL_BASE + ["model", "model/catalogue", "model/engine", "model/matmul", "model/attention", "model/mla", "model/sparse", "model/moe", "model/recurrence", "model/token_wise", "model/streams", "model/access", "model/own",
                      "model/collectives", "model/footprint", "model/allocator", "model/residual", "model/energy"]
RECORD = MODEL + ["measure/statistics", "measure/record"]
CUDA = "measure/cuda/"

ROOMS = {
    "hardware": [],
    "model/expression": HARDWARE,
    "model/core": HARDWARE + ["model/expression"],
    "model/bundled": HARDWARE + MODEL_CORE,
    "model/machine": HARDWARE + MODEL_CORE,
    "model/catalogue": HARDWARE + MODEL_CORE + ["model/machine"],
    "model/roof": HARDWARE + MODEL_CORE + ["model/machine"],
    "model/engine": HARDWARE + MODEL_CORE + ["model/machine", "model/roof", "model/attention", "model/moe", "model/recurrence", "model/sparse"],
    "model/matmul": MODEL_BASE,
    "model/attention": MODEL_BASE,
    "model/mla": MODEL_BASE,
    "model/moe": MODEL_BASE,
    "model/recurrence": MODEL_BASE,
    "model/sparse": MODEL_BASE,
    "model/token_wise": MODEL_BASE,
    "model/streams": MODEL_BASE,
    "model/access": MODEL_BASE,
    "model/own": MODEL_BASE,
    "model/collectives": MODEL_BASE,
    "model/allocator": HARDWARE,
    "model/residual": MODEL_BASE,
    "model/energy": MODEL_BASE,
    "model/footprint": MODEL_BASE + ["model/attention", "model/allocator", "model/recurrence", "model/sparse", "model/token_wise"],
    "model": MODEL,
    "measure/statistics": HARDWARE,
    "measure/record": MODEL + ["measure/statistics"],
    "measure/run": RECORD,
    "measure/ranks": RECORD + ["measure/run"],
    "measure/judge": RECORD,
    "measure/fit": RECORD,
    CUDA + "kernels": HARDWARE + ["model/bundled"],
    CUDA + "memory": RECORD + [CUDA + "kernels"],
    CUDA + "libraries": RECORD + ["measure/ranks"] + [CUDA + room for room in ("kernels", "memory")],
    CUDA + "clocks": RECORD + ["measure/run"] +
                     [CUDA + room for room in ("kernels", "memory", "libraries")],
    CUDA + "counters": RECORD + [CUDA + room for room in ("kernels", "memory", "libraries")],
    CUDA + "plans": RECORD + ["measure/run"] +
                    [CUDA + room for room in ("kernels", "memory", "libraries", "clocks")],
    CUDA + "ranks": RECORD + ["measure/run", "measure/ranks"] +
                    [CUDA + room for room in ("kernels", "memory", "libraries", "clocks", "plans")],
    "measure/cuda": RECORD + ["measure/run"] +
                    [CUDA + room for room in ("kernels", "memory", "libraries", "clocks",
                                              "counters", "plans")],
    CUDA + "inject": RECORD + ["programs/recording"] +
                     [CUDA + room for room in ("kernels", "libraries", "counters")],
    "kernel/pipes": HARDWARE,
    "kernel/causes": MODEL + ["kernel/pipes"],
    "kernel/code": MODEL + ["kernel/pipes", "kernel/causes"],
    "programs/aten": MODEL + ["programs/graph"],
    "programs/recording": [],
    "programs/replay": HARDWARE,
    "programs/traces": HARDWARE + ["programs/recording"],
    "programs/report": MODEL + ["kernel/causes", "programs/aten", "programs/traces"],
    "programs/families": HARDWARE,
    "programs/configs": HARDWARE + ["programs/families"],
    "programs/graph": MODEL,
    "programs/software": MODEL + ["programs/families", "programs/configs", "programs/graph"],
    "programs": MODEL + ["programs/families", "programs/configs", "programs/graph", "programs/software", "programs/replay"],
    "programs/traffic": MODEL + ["programs/families", "programs/configs", "programs/graph", "programs/software", "programs"],
    "plot": HARDWARE,
}
PROGRAMS = ["programs", "programs/families", "programs/configs", "programs/graph", "programs/software", "programs/aten",
            "programs/recording", "programs/replay", "programs/traces", "programs/report", "programs/traffic"]
KERNEL = ["kernel/pipes", "kernel/causes", "kernel/code"]
EFFECTS = RECORD + PROGRAMS + ["plot"]
ROOMS["effects/core"] = EFFECTS
ROOMS["effects/lessons"] = EFFECTS + ["effects/core"]
ROOMS["effects"] = EFFECTS + ["effects/core", "effects/lessons"]
ROOMS["answers"] = RECORD + PROGRAMS
LIBRARIES = RECORD + KERNEL + PROGRAMS + [
    "measure/run", "measure/ranks", "measure/judge", "measure/fit", "plot", "effects", "answers"
]
for room, below in {
    "console": [],
    "input": ["console"],
    "views": ["console", "input"],
    "options": ["console", "input", "views"],
    "charts": ["console", "input", "views", "options"],
    "commands": ["console", "input", "views", "options", "charts"],
}.items():
    ROOMS["cli/" + room] = LIBRARIES + ["cli/" + each for each in below]
ROOMS["cli"] = LIBRARIES + ["cli/commands", "cli/options", "cli/input", "cli/console"]
ROOMS["explorer"] = ["cli", "cli/console", "cli/input"]

LONGEST = 500
TABLES = {"hardware/schema.cpp"}  # one row per field

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
CUDA_HEADER = re.compile(r"^(cuda|cupti|cublas|nccl|nvrtc|nvml|nvperf|mma\.h|cooperative_groups)")
# Libraries whose headers take seconds to compile, and the one file that includes each; of Protocol Buffers a file for each schema.
HEAVY = {"CLI": ["cli/options/command_line.cpp"], "fast_float": ["hardware/number_text.cpp"], "nlohmann": ["hardware/json.cpp"],
         "toml++": ["hardware/document.cpp"], "protozero": ["programs/traces/hlo.cpp", "programs/traces/xplane.cpp"]}
# What the standard library of the WebAssembly compiler lacks (docs/architecture.md); measure/cuda/ and measure/fit/ are not compiled for it.
LACKING = re.compile(r"std::(ranges::|views::|jthread|stop_token|bit_cast|format\()|<(stop_token|format|ranges|source_location)>")
SOURCES = {".h", ".cpp", ".cu", ".cuh"}
OTHER_CODE = {".py", ".js", ".css", ".cmake"}  # not subject to the rules of inclusion
LAYERS = ("hardware", "model", "kernel", "measure", "programs", "plot", "effects", "answers", "cli", "explorer")


def too_long(root, path):
    count = len(path.read_text(encoding="utf-8").splitlines())
    if count > LONGEST and path.relative_to(root).as_posix() not in TABLES:
        yield f"{path}: {count} lines; at most {LONGEST} are allowed"


def problems_of(root, path):
    room = path.parent.relative_to(root).as_posix()
    if room not in ROOMS:
        yield f"{path}: the room {room}/ has no rule; add it to scripts/lint/include-order.py"
        return
    yield from too_long(root, path)
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        lacking = LACKING.search(line.split("//")[0])
        if lacking and not room.startswith((CUDA.rstrip("/"), "measure/fit")):
            yield f"{path}:{number}: the WebAssembly build has no {lacking.group(0)}; see hardware/algorithms.h, hardware/number_text.h"
        match = INCLUDE.match(line)
        if not match:
            continue
        header = match.group(1)
        target = header.rpartition("/")[0]
        if target.split("/")[0] in LAYERS and target not in ROOMS[room] + [room]:
            yield f"{path}:{number}: {room}/ must not include {header}"
        payers = HEAVY.get(header.split("/")[0])
        if payers and path.relative_to(root).as_posix() not in payers:
            yield f"{path}:{number}: only {' and '.join(payers)} may include {header}"
        if CUDA_HEADER.match(header) and not room.startswith("measure/cuda"):
            yield f"{path}:{number}: only measure/cuda/ may include {header}"


def circles(arrows):
    """The starts of arrows that lead back to themselves; `arrows` maps a name to names."""
    for start in arrows:
        seen, ahead = set(), [each for each in arrows[start] if each != start]
        while ahead:
            name = ahead.pop()
            if name == start:
                yield start
                break
            if name not in seen:
                seen.add(name)
                ahead += [further for further in arrows.get(name, ()) if further != name]


def python_imports(root):
    """The modules of the Python package, each with those that it imports, also inside functions."""
    modules = {}
    for path in sorted((root / "python/ridge").glob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1]
        modules[path.stem] = {node.module or alias.name for node in imports for alias in node.names}
    return modules


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = [f"ROOMS: {room}/ may include itself through other rooms" for room in circles(ROOMS)]
    found += [f"python/ridge/{name}.py imports itself through other modules" for name in circles(python_imports(root))]
    for layer in LAYERS:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in SOURCES:
                found += problems_of(root, path)
    for folder in LAYERS + ("tests", "bench", "cmake", "python", "scripts"):
        for path in sorted((root / folder).rglob("*")):
            script = folder == "scripts" and path.is_file() and path.suffix == ""
            if script or path.suffix in OTHER_CODE or (folder not in LAYERS and path.suffix in SOURCES):
                found += too_long(root, path)
    print("\n".join(found) if found else f"includes follow the rules of {len(ROOMS)} rooms")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
