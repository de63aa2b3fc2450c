"""The parts of docs/accuracy.md and docs/accuracy/torch.md about PyTorch's kernels: errors on the judging seeds of an H200 and an H100."""
import csv
import io
import subprocess

FOLDERS = (("H200", "records/h200-sxm-torch-judge"), ("H100", "records/h100-sxm-torch-judge"))
SUMMARY = """| kernels | GPU | records | mean | p90 | in band |
|---|---|---:|---:|---:|---:|
"""
HEAD = """`scripts/measure/torch-kernels.py` draws shapes log-uniformly, including small and odd ones, and times the kernels by CUPTI activity with a cold, warm or dirty L2. The fits saw
`records/h200-sxm-torch` (seeds 21, 23 to 27, 61 to 64, 71 to 74, 81, 82 and 93 to 98; for products, 51 to 57, 59, 83, 84 and 86) and `h100-sxm-torch` (31, 34 to 36, 66, 75, 76, 77, 91 and 92; for products, 61 to 65, 67, 69 and, in fp32, 68). These tables are for seeds 28, 43, 45, 47, 49 and 50 on the H200 and 42, 44, 46 and 48 on the H100. Each seed first judged after the constants of its day were fixed.

| GPU | operation | implementation | records | mean % | median % | p90 % | bias % | in band % |
|---|---|---|---:|---:|---:|---:|---:|---:|
"""


def quantile(ordered, share):
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def row_of(gpu, operation, implementation, rows):
    errors = sorted(100.0 * float(row["error"]) for row in rows)
    sizes = sorted(abs(error) for error in errors)
    inside = share_inside(rows)
    return (f"| {gpu} | {operation} | {implementation} | {len(rows)} | {sum(sizes) / len(sizes):.1f} | "
            f"{quantile(sizes, 0.5):.1f} | {quantile(sizes, 0.9):.1f} | {quantile(errors, 0.5):+.1f} | "
            f"{inside:.0f} |\n")


def name_of(row):
    """The operation; for a product also its type, since each type runs its own kernels."""
    fields = dict(word.split("=", 1) for word in row["op"].split() if "=" in word)
    if row["operation"] == "matmul":
        return f"matmul {fields['dtype']} {fields['l2']}"
    return row["operation"] + (" backward" if fields.get("direction") == "backward" else "")


def family_of(row):
    operation = row["operation"]
    if operation == "attention":
        return "attention, backward" if "direction=backward" in row["op"] else "attention, forward"
    if operation in ("matmul", "adamw"):
        return {"matmul": "products", "adamw": "optimizers"}[operation]
    if operation in ("elementwise", "copy", "cat", "gather", "transpose", "cast", "access"):
        return "elementwise, copies, cat, gather"
    return "softmax, norms, reductions, scans"


def share_inside(rows):
    return 100.0 * sum(row["in_band"] in ("1", "true") for row in rows) / len(rows)


def outside_line(groups):
    """Names the classes whose bands hold too few or too many of their records."""
    least, most, enough = 72.0, 90.0, 40
    names = [f"{operation} {implementation} on an {gpu} {share_inside(rows):.0f} % of {len(rows)}"
             for (gpu, operation, implementation), rows in sorted(groups.items())
             if len(rows) >= enough and not least <= share_inside(rows) <= most]
    return (f"\nOf the {sum(len(rows) >= enough for rows in groups.values())} classes of {enough} records or more, "
            f"{len(names)} have less than {least:.0f} or more than {most:.0f} % in band: {'; '.join(names) or 'none'}.\n")


def summary_line(family, gpu, rows):
    sizes = sorted(abs(100.0 * float(row["error"])) for row in rows)
    inside = share_inside(rows)
    return (f"| {family} | {gpu} | {len(rows)} | {sum(sizes) / len(sizes):.1f} % | {quantile(sizes, 0.9):.1f} % | "
            f"{inside:.0f} % |\n")


EDGES = (("< 5 us", 5.0), ("5 to 10", 10.0), ("10 to 30", 30.0), ("30 to 100", 100.0), ("100 to 1000", 1000.0), ("longer", float("inf")))
BY_TIME = """
Shapes are drawn log-uniformly, so half of these kernels take less than 5 us, where the launch is most of the time and easily known; sets of usual sizes hold few of
them. Mean error and share in band, by the measured time:

| kernels | """ + " | ".join(name for name, _ in EDGES) + " |\n" + "|---" * (len(EDGES) + 1) + "|\n"


def kind_of(row):
    """Rows of the table by time; none for other kernels."""
    if row["operation"] == "matmul":
        found = next((name for name in ("tf32", "int8") if f"dtype={name} " in row["op"]), "other types")
        return f"products, {found}"
    rows = row["operation"] in ("softmax", "layernorm", "rmsnorm", "sum", "mean", "max", "argmax")
    return "softmax, norms, reductions" if rows and row["implementation"] == "torch" and "direction=backward" not in row["op"] else None


def by_time(rows):
    """The table of errors by how long a kernel takes."""
    groups = {}
    for row in rows:
        column = next(i for i, (_, most) in enumerate(EDGES) if float(row["measured_us"]) < most)
        groups.setdefault((kind_of(row), column), []).append(row)
    text = BY_TIME
    for kind in sorted({kind for kind, _ in groups if kind}):
        cells = []
        for column in range(len(EDGES)):
            found = groups.get((kind, column), [])
            mean = sum(abs(100.0 * float(row["error"])) for row in found) / len(found) if found else 0.0
            cells.append(f"{mean:.1f} %, {share_inside(found):.0f} % of {len(found)}" if len(found) >= 10 else "")
        text += f"| {kind} | " + " | ".join(cells) + " |\n"
    return text


def part(ridge):
    """Every class, and a summary by families of kernels, in Markdown."""
    text = HEAD
    families, classes = {}, {}
    for gpu, folder in FOLDERS:
        out = subprocess.run([ridge, "validate", folder, "--format", "csv"], capture_output=True, text=True,
                             check=True).stdout
        groups = {}
        for row in csv.DictReader(io.StringIO(out)):
            groups.setdefault((name_of(row), row["implementation"]), []).append(row)
            families.setdefault((family_of(row), gpu), []).append(row)
        for (operation, implementation), rows in sorted(groups.items()):
            text += row_of(gpu, operation, implementation, rows)
            classes[gpu, operation, implementation] = rows
    lines = "".join(summary_line(*key, rows) for key, rows in sorted(families.items()))
    every = [row for rows in classes.values() for row in rows]
    return text, SUMMARY + lines + outside_line(classes) + by_time(every)
