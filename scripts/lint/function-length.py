#!/usr/bin/env python3
"""Checks the length of functions: a body has at most 60 lines, from its opening brace to its closing brace.
Lines of a raw string (the text of a lesson, a script) are data and do not count. A lambda or a local class counts as part of
the function around it. LONGER names functions that may be longer, each with its reason.

Method. Comments, literals and preprocessor lines are blanked. A brace outside any function that follows a parameter list opens
a function; const, noexcept, override, a trailing return type or initialisers of members may stand between.
clang-tidy (readability-function-size) counts the lines of raw strings and does not read CUDA, so it cannot say this.
Limits: both branches of an #if are read. Usage: function-length.py [ROOT]
"""
import pathlib
import re
import sys

LONGEST = 60
LONGER = {
    ("model/core/operation_from_fields.cpp", "make_operation"): "a case for each operation",
    ("model/expression/functions.cpp", "value_of"): "a case for each function, one line long",
    ("measure/cuda/plans/elementwise_plan.cpp", "code_of"): "a case for each function, one line long",
    ("programs/software/gradients.cpp", "Recorder::run_backward"): "a case for each step of the tape",
    ("tests/model/random_operation.cpp", "random_operation"): "a case for each operation",
}
PLACES = ("hardware", "model", "measure", "programs", "plot", "effects", "cli", "python", "tests", "bench")
SOURCES = {".h", ".cpp", ".cu", ".cuh"}

BLANKED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)
NO_FUNCTION = re.compile(r"^\s*(?:\[\[\w+\]\]\s*)?(?:(?:inline\s+|export\s+)?namespace|class|struct|union|enum|extern)\b|=\s*$")
NAME = re.compile(r"([~\w:]+|operator\W{1,3})\s*(?:<[^<>]*>)?\s*\(")


def prose_of(text):
    return [(text.count("\n", 0, match.start()) + 1, match.group().count("\n"))
            for match in BLANKED.finditer(text) if match.group().startswith("R")]


def text_lines(prose, first, last):
    return sum(lines for at, lines in prose if first <= at <= last)


def functions(text):
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    code = BLANKED.sub(blank, text)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, code, flags=re.M)
    prose = prose_of(text)
    stack = []  # (kind, name, line)
    start = 0   # of the statement
    line = 1
    inside = 0  # depth of function bodies
    parens = 0
    for at, letter in enumerate(code):
        if letter == "\n":
            line += 1
        elif letter == "(":
            parens += 1
        elif letter == ")":
            parens -= 1
        elif letter == "{":
            head = code[start:at].strip()
            head = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", head)
            head = re.sub(r"^template\s*<[^{}]*?>\s*(?=\w|\[)", "", head)
            opens = (not inside and parens == 0 and ")" in head and not NO_FUNCTION.search(head))
            # the braces of a member's initialiser: name{...}, before the body
            initialiser = opens and re.search(r"\)\s*(?:noexcept\s*)?:\s.*[\w>]$", head, re.S) and not head.endswith(")")
            if opens and not initialiser:
                found = NAME.search(head)
                stack.append(("function", found.group(1) if found else head[:40], line, parens))
                inside += 1
            else:
                stack.append(("initialiser" if initialiser else "other", "", line, parens))
            parens = 0
            if not initialiser:
                start = at + 1
        elif letter == "}":
            kind, name, first, outer = stack.pop() if stack else ("other", "", line, 0)
            parens = outer
            if kind == "function":
                inside -= 1
                yield name, first, line - first + 1 - text_lines(prose, first, line)
            if kind != "initialiser":
                start = at + 1
        elif letter == ";" and parens == 0:
            start = at + 1


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found, count, unused = [], 0, set(LONGER)
    for place in PLACES:
        for path in sorted((root / place).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            for name, line, lines in functions(path.read_text(encoding="utf-8")):
                count += 1
                known = (path.relative_to(root).as_posix(), name)
                if lines <= LONGEST:
                    continue
                unused.discard(known)
                if known not in LONGER:
                    found.append(f"{path}:{line}: {name} has {lines} lines; at most {LONGEST} are allowed")
    found += [f"LONGER names {name} of {path}, which has at most {LONGEST} lines or is gone" for path, name in sorted(unused)]
    if count < 1000:
        found.append(f"only {count} functions found: is {root} the repository?")
    print("\n".join(found) if found else f"{count} functions have at most {LONGEST} lines or a reason")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
