"""Packs records into the files of records/, and reads both kinds (docs/measuring.md).

    for number, record in records_of(pathlib.Path("records/h200-sxm/matmul.jsonl.gz")): ...
    for path in files_in(pathlib.Path("records/h200-sxm")): ...

Every record comes in full, with its statistics. Reading is that of the Python package (python/ridge/_record_lines.py).
"""
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/ridge"))
from _record_lines import HEADER, OWN, files_in, records_of, steady_times, summary_of  # noqa: E402, F401

sys.path.pop(0)


def software_of(record):
    """NAME-VERSION of what ran, from what the record says; as in measure/record/record.cpp."""
    tool = record["tool"]
    if ", PyTorch " in tool:
        return "pytorch-" + tool.split(", PyTorch ")[1].split("+")[0]
    if record["implementation"] == "library" and tool.startswith("ridge "):
        if record["op"].startswith("matmul "):
            return "cublaslt-" + record["device"]["cuda"]
        collective = record.get("geometry", {}).get("collective", {})
        return collective.get("library", "").lower().replace(" ", "-")
    return "bundled-" + tool.removeprefix("ridge ") if tool.startswith("ridge ") else ""


def packed(records):
    """The lines of a packed file."""
    yield text_of(HEADER)
    before = {}
    for record in records:
        record = {name: value for name, value in record.items() if name != "schema"}
        if software_of(record):
            record.setdefault("software", software_of(record))
        if "timing" in record:
            record["timing"] = packed_timing(record)
        line = {name: value for name, value in record.items() if name in OWN or before.get(name) != value}
        line |= {name: None for name in before if name not in record and name not in OWN}
        yield text_of(line)
        before = record


def packed_timing(record):
    timing = dict(record["timing"])
    steady = steady_times(record)
    if steady:
        found = summary_of(steady)
        own = {name: value for name, value in timing.pop("statistics").items() if found[name] != value}
        if own:
            timing["statistics"] = own
    if "clock_hz" in timing:
        timing["clock_hz"] = seven_digits(timing["clock_hz"])
    if "clocks_hz" in timing:
        timing["clocks_hz"] = [None if clock is None else seven_digits(clock) for clock in timing["clocks_hz"]]
    return timing


def seven_digits(value):
    return float(f"{value:.7g}")


def text_of(value):
    """Compact JSON with the shortest numbers that read back exactly."""
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(name) + ":" + text_of(item) for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    if isinstance(value, float):
        return number_of(value)
    return json.dumps(value, ensure_ascii=False)


def number_of(value):
    """4.4416e-05 as 44416e-9, 1980000000.0 as 198e7: the same double, and it stays a number with an exponent."""
    if value == 0.0 or not math.isfinite(value):
        return json.dumps(value)
    shortest = repr(value)
    digits, _, exponent = shortest.partition("e")
    whole, _, part = digits.partition(".")
    power = int(exponent or 0) - len(part)
    figures = (whole + part).replace("-", "").lstrip("0")
    power += len(figures) - len(figures.rstrip("0"))
    sign = "-" if value < 0 else ""
    short = f"{sign}{figures.rstrip('0')}e{power}"
    return min((shortest, short), key=len)
