"""Reads and writes files of records: plain JSON lines, and the packed ones of records/ (docs/measuring.md).

    for number, record in records_of(pathlib.Path("records/h200-sxm/matmul.jsonl.gz")): ...
    for path in files_in(pathlib.Path("records/h200-sxm")): ...

Every record comes in full, with its statistics. The rules are those of measure/record/record_file.cpp.
"""
import gzip
import json
import math

HEADER = {"schema": 2, "records": "differences"}
OWN = ("timing", "failure")  # members that a record never takes over from the one before it


def files_in(folder):
    """The files of records of a folder, sorted as ridge sorts them."""
    return sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")], key=str)


def lines_of(path):
    """(line, JSON value) of a file, packed or not."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with (gzip.open if packed else open)(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, json.loads(line)


def records_of(path):
    """(line, record) of a file, packed or not."""
    before, differences = {}, False
    for number, record in lines_of(path):
        if record == HEADER:
            differences = True
            continue
        if differences:
            before = {name: value for name, value in before.items() if name not in OWN} | record
            before = {name: value for name, value in before.items() if value is not None}
            record = {"schema": 1} | before
        yield number, with_statistics(record)


def with_statistics(record):
    steady = steady_times(record)
    if not steady:
        return record
    timing = record["timing"]
    return record | {"timing": timing | {"statistics": summary_of(steady) | timing.get("statistics", {})}}


def steady_times(record):
    timing = record.get("timing") or {}
    throttled = set(timing.get("throttled", ()))
    return [time for at, time in enumerate(timing.get("times_s", ())) if at not in throttled]


def quantile(ordered, q):
    position = q * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def coverage(count, k):
    """The probability that the order statistics k from either end enclose the median."""
    log_half, total, log_choose = count * math.log(0.5), 0.0, 0.0
    for i in range(k + 1):
        total += math.exp(log_choose + log_half)
        log_choose += math.log((count - i) / (i + 1))
    return 1.0 - 2.0 * min(total, 1.0)


def median_interval(count, confidence=0.95):
    """As in measure/record/statistics.cpp."""
    if count == 1:
        return 0, 0, 0.0
    enough, narrow = 0, (count + 1) // 2
    while narrow - enough > 1:
        middle = (enough + narrow) // 2
        if coverage(count, middle) >= confidence:
            enough = middle
        else:
            narrow = middle
    return enough, count - 1 - enough, coverage(count, enough)


def drift_of(times):
    if len(times) < 4:
        return 0.0
    half = len(times) // 2
    first, second = (quantile(sorted(part), 0.5) for part in (times[:half], times[-half:]))
    return second / first - 1.0


def summary_of(times):
    """The statistics of measure/record/statistics.h."""
    ordered = sorted(times)
    low, high, confidence = median_interval(len(ordered))
    return {"count": len(ordered), "median_s": quantile(ordered, 0.5), "p5_s": quantile(ordered, 0.05),
            "p95_s": quantile(ordered, 0.95), "low_s": ordered[low], "high_s": ordered[high],
            "confidence": confidence, "drift": drift_of(times)}


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
