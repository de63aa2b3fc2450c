#!/usr/bin/env python3
"""No C++ file of programs/ names a family of models or decides by a label of a kernel or tensor.

What a family needs stands in programs/families/, what a software makes of it in programs/software/rules/.
Names are the values of model_types and the names of the files; comments may mention them. A decision by
a label compares a name with a text. Usage: family-names.py [ROOT]
"""
import pathlib
import re
import sys

# The common base, the format of hand-written models, and kinds of layers that are operations too.
NEUTRAL = {"decoder", "sequential", "toml", "gated_delta", "mamba2"}
COMMENT = re.compile(r"//.*?$|/\*.*?\*/", re.DOTALL | re.MULTILINE)
LABEL = re.compile(r'\b(?:name|label)(?:\(\))?\s*[!=]=\s*(?:std::string_view\()?"|'
                   r'\b(?:name|label)\.(?:starts_with|ends_with|find)\("|"\s*==\s*\w*\.?name\b')
ROOMS = ["programs/software", "programs/configs", "programs/families"]


def names_of(root):
    names = set()
    for path in (root / "programs/families").glob("*.toml"):
        names.add(path.stem)
        match = re.search(r"^model_types = \[(.*?)\]", path.read_text(encoding="utf-8"), re.MULTILINE)
        names.update(re.findall(r'"([^"]+)"', match.group(1)) if match else [])
    return names - NEUTRAL


def problems(root):
    names = re.compile("|".join(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])" for name in sorted(names_of(root))))
    files = [path for room in ROOMS for path in sorted((root / room).glob("*.[ch]*")) if path.suffix in (".h", ".cpp")]
    for path in files + sorted((root / "programs").glob("*.cpp")) + sorted((root / "programs").glob("*.h")):
        code = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), path.read_text(encoding="utf-8"))
        for number, line in enumerate(code.splitlines(), 1):
            for what, pattern in (("names a family", names), ("decides by a label", LABEL)):
                if pattern is LABEL and path.parent.name in ("configs", "families"):
                    continue  # names there are those of fields and of the language
                if pattern.search(line):
                    yield f"{path.relative_to(root)}:{number}: {what}: {line.strip()}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    found = list(problems(root))
    print("\n".join(found) if found else "no file names a family or decides by a label")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
