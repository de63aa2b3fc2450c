#!/usr/bin/env python3
"""Refuses numbers in code that look fitted: decimal literals with three or more digits that are no whole number.

    scripts/lint/fitted-literals.py ROOT

Rounded shares (0.95, 1.5) and sizes (128.0) may stand in code; 1.178 is what a fit writes, and belongs into a file of data with its
source. Looks at model/, programs/, kernel/ and answers/, without comments and texts. REASONS has the few that stay, each with what
it is; one that no code has any more is an error too. `tidy.py` counts the shorter literals with clang-tidy 19, where it is to be had.
"""
import pathlib
import re
import sys

FOLDERS = ("model", "programs", "kernel", "answers")
NUMBER = re.compile(r"(?<![\w.'])(\d[\d']*\.\d[\d']*(?:[eE][-+]?\d+)?|\d[\d']*[eE][-+]?\d+)")
REASONS = {
    ("model/advice.cpp", "1.25"): "a rule of advice: padding of at most a quarter",
    ("model/advice.cpp", "1.002"): "a rule of advice: times that print alike",
    ("model/advice.h", "1.05"): "a rule of advice: what is worth saying",
    ("model/attention/predict.cpp", "1.005"): "when a note is worth a line",
    ("model/expression/functions.cpp", "0.044715"): "definition of GELU's tanh form (Hendrycks and Gimpel 2016)",
    ("model/matmul/time.cpp", "1.001"): "times that count as equal",
    ("model/moe/load.cpp", "2.515517"): "quantile of the normal distribution (Abramowitz and Stegun 26.2.23)",
    ("model/moe/load.cpp", "0.802853"): "the same",
    ("model/moe/load.cpp", "0.010328"): "the same",
    ("model/moe/load.cpp", "1.432788"): "the same",
    ("model/moe/load.cpp", "0.189269"): "the same",
    ("model/moe/load.cpp", "0.001308"): "the same",
    ("model/moe/load.cpp", "0.375"): "plotting position of the expected maximum (Blom 1958)",
    ("model/moe/time.cpp", "0.995"): "all but rounding",
    ("model/residual/features_kernels.cpp", "0.125"): "an eighth: rate of fp32 beside 16 bits",
    ("programs/advice.cpp", "1.03"): "a rule of advice: what is worth saying",
    ("programs/report/operator_rows.cpp", "0.125"): "an eighth of the L2: what fits beside other tensors (S10)",
    ("programs/report/trace_report.cpp", "1.005"): "rounding of printed times",
    ("programs/traffic/histogram.cpp", "1.96"): "95 % of the normal distribution",
    ("programs/traffic/random.cpp", "0.693147180559945309417"): "natural logarithm of two",
    ("programs/traffic/random.cpp", "0.707106781186547524401"): "root of a half",
    ("programs/traffic/summary.cpp", "1.96"): "95 % of the normal distribution",
    ("kernel/causes/latency.cpp", "1.75"): "a rule of KC13",
    ("kernel/causes/latency.cpp", "1.25"): "a rule of KC13",
    ("kernel/code/code_model.cpp", "1.15"): "when a limit is worth a line",
    ("answers/diagnose.h", "1.15"): "definition of a slow row (docs/diagnose.md)",
    ("answers/gate.cpp", "1.4826"): "deviation from the median absolute deviation of a normal distribution",
    ("answers/gate.cpp", "1.57"): "error of a median (McGill, Tukey and Larsen 1978)",
}


def without_texts(code):
    code = re.sub(r"/\*.*?\*/", lambda found: "\n" * found.group().count("\n"), code, flags=re.S)
    code = re.sub(r'R"\((.*?)\)"', '""', code, flags=re.S)
    return re.sub(r"//[^\n]*", "", re.sub(r'"(?:\\.|[^"\\\n])*"', '""', code))


def looks_fitted(text):
    text = text.replace("'", "").lower()
    return not float(text).is_integer() and len(text.split("e")[0].replace(".", "").strip("0")) >= 3


def main():
    root = pathlib.Path(sys.argv[1])
    used, bad = set(), []
    for path in sorted(each for folder in FOLDERS for each in (root / folder).rglob("*") if each.suffix in (".cpp", ".h")):
        name = path.relative_to(root).as_posix()
        for number, line in enumerate(without_texts(path.read_text(encoding="utf-8")).splitlines(), 1):
            for text in filter(looks_fitted, NUMBER.findall(line)):
                used.add((name, text))
                if (name, text) not in REASONS:
                    bad.append(f"{name}:{number}: {text} looks fitted: put it into a file of data, or say in {pathlib.Path(__file__).name} what it is")
    bad += [f"{name}: {text} has a reason and no use" for name, text in REASONS if (name, text) not in used]
    print("\n".join(bad) if bad else f"{len(used)} literals of three digits, each with a reason")
    sys.exit(1 if bad else 0)


main()
