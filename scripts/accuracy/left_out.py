"""Errors and coverage for GPUs that nothing was fitted to: part "Left out" of `accuracy.py`.

Each GPU with public measurements is described again without any parameter that depends on its own measurements: by its data sheet, and
by the parameters of another measured GPU. Those are marked as estimates, so that ridge carries them over by the laws of docs/model.md (L1
to L5, L9 to L11 and L13; this script applies L7, L8 and L12, as the files of families that nobody measured do) and gives them the bands of
a GPU that nobody measured. Parameters that a family takes from the left-out GPU are dropped. Parameters that were fitted to both GPUs of a
pair are fitted again to the other GPU alone. Within one architecture, the other GPU's residual corrections are used too (K5), fitted again
to its rows alone. An implementation that the other GPU does not have takes the costs of the one that it has (L10, L11).

    python3 scripts/accuracy/left_out.py RIDGE TABLES      # prints only the table

Limits: the form of the model and the laws were chosen with all GPUs known; only the parameters are left out.
"""
import collections
import csv
import io
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from errors import Judged

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPUS = ROOT / "hardware" / "gpus"
ARCHITECTURES = ROOT / "hardware" / "architectures"
CALIBRATION = ROOT / "calibration"
CARRY_OVER = CALIBRATION / "carry-over.toml"
#: Software whose costs do not depend on the chip, beside those of PyTorch's newest kernels.
OLDER = ROOT / "software" / "pytorch-2.1" / "software.toml"

#: For each GPU, the GPU that stands in for it, and the programs of `ridge fit` that fit the stand-in again alone.
DONORS = {
    "h100-sxm": ("h200-sxm", ()),
    "h200-sxm": ("h100-sxm", ()),
    "b200": ("h200-sxm", ()),
    "a100-sxm-80gb": ("h200-sxm", ()),
    "a100-pcie-40gb": ("v100-pcie", ("memory",)),
    "v100-pcie": ("a100-pcie-40gb", ("memory",)),
}
#: The names of GPUs in notes and sources of families.
NAMES = {
    "h100-sxm": "H100",
    "h200-sxm": "H200",
    "b200": "B200",
    "a100-sxm-80gb": "A100 SXM",
    "a100-pcie-40gb": "A100 PCIe",
    "v100-pcie": "V100 PCIe",
}
#: Fields of a measured GPU that do not carry over; a law replaces them (L3, L5).
LAWS = (("model.matmul.tensor", "store_bytes_per_clock"), ("model.matmul.fma", "issue_fraction"))
#: Shares that a file states for its own GPU are kept; those of a relative follow its power limit (L2).
POWERED = ("burst_fraction", "sustained_fraction")
#: The compute capability from which GPUs have wgmma, and fields of its kernels that mma.sync kernels do not take over (L13).
WGMMA = 90
WIDE = (("model.matmul.tensor", "quantisation"), ("model.matmul.tensor", "multicast"), ("model.matmul.tensor", "straddle"))
SIZES = {"half": 2, "int8": 1}
#: Times of a kernel of a replayed graph and of a read of DRAM, in us: the parts of kernel starts (L7, L8).
NODE = {"h200-sxm": 1.26, "b200": 0.58, "a100-sxm-80gb": 1.34}
DRAM_LATENCY = {"h200-sxm": 688 / 1980, "b200": 838 / 1587, "a100-sxm-80gb": 552 / 1410}
#: Boost clocks in MHz, and the fields of collectives that scale with DRAM latency, with clocks, or with both (L12).
CLOCK = {"h200-sxm": 1980, "b200": 1965, "a100-sxm-80gb": 1410}
BY_LATENCY = ("ll.start", "ll.hop", "peer_ll.start", "peer_ll.peer")
BY_CLOCK = ("ll.start", "peer_ll.start", "simple.start", "simple.hop", "engage.time", "peer.start")
QUANTISING_KERNELS = 2
HEAD = """| class | GPU | parameters of | rows | mean | p90 | bias | in band | interval score |
|---|---|---|---:|---:|---:|---:|---:|---:|
"""


class Description:
    """The sections of a TOML description and of calibrations, each a table of raw values with their notes."""

    def __init__(self, path, *calibrations):
        self.head = {}
        self.sections = {}
        self.tables = ""  # tolerances, as they are written
        for each in calibrations:
            self.add(each)
        self.head = {}
        self.add(path)

    def add(self, path):
        section = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("[["):
                section = None
            found = re.fullmatch(r"\[([\w.]+)\]", line)
            if found:
                section = found.group(1)
            if section is None:
                self.tables += line + "\n"
                continue
            field = re.match(r'(\w+) = \{ value = ("[^"]*"|[^,}]+?)(,.*)? \}$', line)
            if field and section and section != "sources":
                self.sections.setdefault(section, {})[field.group(1)] = (field.group(2), field.group(3) or "")
            elif not section and " = " in line and not line.startswith("#"):
                key, value = line.split(" = ", 1)
                self.head[key] = value


def description_of(name):
    """The file of a GPU or of an architecture, with its calibrations."""
    calibrations = sorted((CALIBRATION / name).glob("*.toml"))
    return next(Description(folder / f"{name}.toml", *calibrations) for folder in (GPUS, ARCHITECTURES) if (folder / f"{name}.toml").exists())


def fill(sections, others, path="model"):
    """Adds the fields under a path that are not there yet."""
    for section, fields in others.items():
        for key, field in fields.items():
            if f"{section}.{key}.".startswith(f"{path}."):
                sections.setdefault(section, {}).setdefault(key, field)


def architecture_of(gpu):
    """An architecture with what it carries over, and with the parameters of older versions of PyTorch."""
    name = gpu.head["inherits"].strip('"')
    description = description_of(name)
    rules = CARRY_OVER.read_text(encoding="utf-8")
    for source, paths in re.findall(rf'to = "{name}"\nfrom = "(.+?)"\nparameters = \[(.+?)\]', rules, re.S):
        origin = description_of(source).sections
        if source in NAMES:  # a field of a GPU's own file does not name the GPU
            origin = {section: {key: (value, NAMES[source]) for key, (value, _) in fields.items()} for section, fields in origin.items()}
        for path in re.findall(r'"(.+?)"', paths):
            fill(description.sections, origin, path)
    fill(description.sections, Description(OLDER).sections)
    return description


def capability_of(gpu):
    return int(gpu.head["inherits"].strip('"').removeprefix("sm_"))


def without(sections, name):
    """The model's fields that do not depend on the GPU of this name."""
    return {section: {key: value for key, (value, note) in fields.items() if name not in note}
            for section, fields in sections.items() if section.startswith("model.")}


def fitted_alone(ridge, tables, donor, programs):
    """Fields from fits to the donor's rows alone; none without tables."""
    fields = {}
    for program in programs if tables else ():
        text = subprocess.run([ridge, "fit", program, "--data", tables, "--gpu", donor], capture_output=True,
                              text=True, check=True).stdout
        fields.update(re.findall(r'^(model\.[\w.]+) = \{ value = ("[^"]*"|[^,]+), source', text, re.M))
    return fields


def starts(name, donor, guesses):
    """Scales fixed times of kernels in a replayed graph by their parts on both GPUs. (L7, L8)"""
    if donor not in NODE or name not in NODE:
        return
    tensor, fp8 = guesses["model.matmul.tensor"], guesses["model.matmul.fp8"]
    launch = float(tensor["launch"].strip('"').split()[0])
    tensor["launch"] = f'"{launch + NODE[name] - NODE[donor]:.3f} us"'
    if name in DRAM_LATENCY:
        reads = (float(fp8["quantise"].strip('"').split()[0]) - QUANTISING_KERNELS * NODE[donor]) / DRAM_LATENCY[donor]
        fp8["quantise"] = f'"{QUANTISING_KERNELS * NODE[name] + reads * DRAM_LATENCY[name]:.3f} us"'


def links(name, donor, guesses):
    """Scales times of collectives by DRAM latency and clock of both GPUs. (L12)"""
    if related(name) or donor not in CLOCK or name not in CLOCK:
        return
    for fields, ratio in ((BY_LATENCY, DRAM_LATENCY[name] / DRAM_LATENCY[donor]), (BY_CLOCK, CLOCK[donor] / CLOCK[name])):
        for field in fields:
            section, key = f"model.collective.{field}".rsplit(".", 1)
            value, unit = guesses[section][key].strip('"').split()
            guesses[section][key] = f'"{float(value) * ratio:.4g} {unit}"'


def related(name):
    """Whether the stand-in is of the same architecture."""
    return len({Description(GPUS / f"{gpu}.toml").head["inherits"] for gpu in (name, DONORS[name][0])}) == 1


def corrections(ridge, tables, name, scratch):
    """The stand-in's corrections, fitted to its rows alone, as an overlay of the left-out GPU; None without a relative."""
    if not related(name):
        return None
    donor = DONORS[name][0]
    done = subprocess.run([ridge, "fit", "residual", "--data", tables, "--gpu", donor, "-o", scratch], capture_output=True, text=True)
    file = pathlib.Path(scratch) / f"{donor}.residual.toml"
    if done.returncode or not file.exists():
        return None
    file.write_text(file.read_text(encoding="utf-8").replace(f'"{donor}', f'"{name}'), encoding="utf-8")
    return str(file)


def described(ridge, tables, name):
    """A description of the GPU from its data sheet and another GPU's parameters."""
    donor_name, programs = DONORS[name]
    gpu, donor = description_of(name), description_of(donor_name)
    facts, guesses = {}, {}
    for description in (architecture_of(gpu), gpu):
        for section, fields in description.sections.items():
            if not section.startswith("model."):
                facts.setdefault(section, {}).update({key: value for key, (value, _) in fields.items()})
    facts.pop("measured.gemm", None)
    narrow = capability_of(gpu) < WGMMA <= capability_of(donor)
    for section, key in LAWS:
        donor.sections.get(section, {}).pop(key, None)
    for description in (architecture_of(donor), donor):
        for section, fields in without(description.sections, NAMES[name]).items():
            for key in {key for of, key in (WIDE if narrow else ()) if of == section}:
                fields.pop(key, None)
            guesses.setdefault(section, {}).update(fields)
    for field, value in fitted_alone(ridge, tables, donor_name, programs).items():
        section, key = field.rsplit(".", 1)
        guesses.setdefault(section, {})[key] = value
    starts(name, donor_name, guesses)
    links(name, donor_name, guesses)
    kind = "derived" if gpu.head["inherits"] == donor.head["inherits"] else "estimate"
    # The costs of kernel code, which hold for every GPU, stay.
    text = 'inherits = "bundled"\n' + "".join(f"{key} = {value}\n" for key, value in gpu.head.items() if key != "inherits")
    text += ('[sources]\nOWN = { kind = "vendor", text = "the description of the GPU" }\n'
             f'DONOR = {{ kind = "{kind}", text = "{donor_name}" }}\n'
             f'POWERED = {{ kind = "estimate", text = "{donor_name}" }}\n')
    for source, sections in (("OWN", facts), ("DONOR", guesses)):
        for section, fields in sections.items():
            text += f"[{section}]\n"
            for key, value in fields.items():
                text += f'{key} = {{ value = {value}, source = "{"POWERED" if key in POWERED else source}" }}\n'
    return text + gpu.tables


def class_of(row):
    if row["op"] == "attention":
        return f"attention {'prefill' if row['causal'] == '1' else 'decode'} {row['impl']}"
    if "bytes" in row:
        return "collectives"
    return f"{row['op']} {row['dtype']}" if row["op"] == "matmul" else row["op"]


def too_short(row):
    """Whether the call is mostly launch, as in `accuracy.py`."""
    return float(row["measured_us"]) <= 20 and (row["op"] == "elementwise" or row.get("causal") == "1")


def rows_of(tables, name):
    for path in sorted(pathlib.Path(tables).glob("*.csv")):
        if not path.name.startswith(("matmul", "attention_prefill", "attention_decode", "collectives", "elementwise",
                                     "softmax", "layernorm")):
            continue
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["gpu"] == name and not too_short(row)]
        for row in rows:
            if "bytes" in row:  # the tables count elements
                row["bytes"] = str(int(row["bytes"]) * SIZES[row["dtype"]])
        if rows:
            yield rows


def results(ridge, tables):
    """What each class of each left-out GPU was predicted and measured at."""
    classes = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        for name in DONORS:
            file = pathlib.Path(scratch) / f"{name}.toml"
            file.write_text(described(ridge, tables, name), encoding="utf-8")
            # The GPU's own corrections depend on its rows, so they are not used.
            carried = corrections(ridge, tables, name, scratch)
            how = ["--gpu-file", carried] if carried else ["--analytic"]
            for rows in rows_of(tables, name):
                table = pathlib.Path(scratch) / "rows.csv"
                with open(table, "w", newline="", encoding="utf-8") as out:
                    writer = csv.DictWriter(out, rows[0].keys())
                    writer.writeheader()
                    writer.writerows(rows)
                answer = subprocess.run([ridge, "predict", "--from", str(table), "--gpu", name, "--gpu-file", str(file), *how],
                                        capture_output=True, text=True)
                for row in csv.DictReader(io.StringIO(answer.stdout)):
                    if one := Judged.of(row):
                        classes[(class_of(row), name)].append(one)
    return classes


def part(ridge, tables):
    """The table, in Markdown."""
    text = HEAD
    for (kind, name), judged in sorted(results(ridge, tables).items()):
        errors = sorted(abs(one.error) for one in judged)
        signed = sorted(one.error for one in judged)
        text += (f"| {kind} | {name} | {DONORS[name][0]} | {len(judged)} | {100 * sum(errors) / len(errors):.1f} % | "
                 f"{100 * errors[int(0.9 * (len(errors) - 1))]:.1f} % | {100 * signed[len(signed) // 2]:+.1f} % | "
                 f"{100 * sum(one.inside for one in judged) / len(judged):.0f} % | {statistics.fmean(one.score() for one in judged):.2f} |\n")
    return text


if __name__ == "__main__":
    print(part(sys.argv[1], sys.argv[2]), end="")
