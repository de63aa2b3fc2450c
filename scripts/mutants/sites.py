"""Places in C++ sources where one small change makes a mutant: found by libclang, so that a change is always an expression."""
import bisect
import dataclasses
import os
import pathlib
import re

try:
    import clang.cindex as clang
    Kind = clang.CursorKind
except ImportError:  # only sites_of needs it
    clang = Kind = None

SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "/", "/": "*", "&&": "||", "||": "&&"}
ASSIGNMENTS = ("+=", "-=", "*=", "/=")
BODIES = Kind and (Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.LAMBDA_EXPR, Kind.FUNCTION_TEMPLATE, Kind.CONVERSION_FUNCTION)
CONSTANT = re.compile(r"\b(constexpr|consteval|constinit|static_assert)\b")


@dataclasses.dataclass(frozen=True)
class Site:
    """Bytes begin to end of a file become `text` if the mutant lives; `kind` says what is changed."""
    file: str
    line: int
    begin: int
    end: int
    kind: str
    text: str       # the expression of the mutant
    original: str
    code: str       # the line that it begins in
    statement: bool = False


class Reader:
    """The sites of one file, from the declarations of a unit that includes it."""

    def __init__(self, root, name, cursors):
        self.name = name
        self.source = (root / name).read_bytes()
        self.cursors = cursors
        self.lines = [0]
        for match in re.finditer(rb"\n", self.source):
            self.lines.append(match.end())
        self.found = []

    def text(self, begin, end):
        return self.source[begin:end].decode("utf-8")

    def add(self, begin, end, kind, text, statement=False):
        line = bisect.bisect_right(self.lines, begin)
        code = self.source[self.lines[line - 1]:].split(b"\n", 1)[0].decode("utf-8").strip()
        self.found.append(Site(self.name, line, begin, end, kind, text, self.text(begin, end), code, statement))

    def extent(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def binary(self, cursor):
        children = list(cursor.get_children())
        if len(children) != 2:
            return
        (begin, left_end), (right_begin, end) = self.extent(children[0]), self.extent(children[1])
        if not begin < left_end <= right_begin < end:
            return  # from a macro
        operator = self.text(left_end, right_begin).strip()
        left, right = self.text(begin, left_end), self.text(right_begin, end)
        if operator in SWAPS and cursor.type.kind != clang.TypeKind.POINTER:
            self.add(begin, end, f"{operator} to {SWAPS[operator]}", f"{left} {SWAPS[operator]} {right}")

    def call(self, cursor):
        begin, end = self.extent(cursor)
        text = self.text(begin, end)
        for name, other in (("std::min", "std::max"), ("std::max", "std::min")):
            if re.match(rf"{name}\b(?!_)", text):
                self.add(begin, end, f"{name} to {other}", other + text[len(name):])

    def literal(self, cursor):
        begin, end = self.extent(cursor)
        text = self.text(begin, end)
        if cursor.kind == Kind.INTEGER_LITERAL and re.fullmatch(r"[0-9']+[uUlLzZ]*", text):
            self.add(begin, end, "integer + 1", f"{text} + 1")
        if cursor.kind == Kind.FLOATING_LITERAL and re.fullmatch(r"[0-9'.]+(e[-+]?\d+)?[fF]?", text):
            self.add(begin, end, "number doubled" if float(text.replace("'", "").rstrip("fF")) else "0 to 1", f"{text} * 2" if float(text.replace("'", "").rstrip("fF")) else "1.0")

    def condition(self, cursor):
        children = list(cursor.get_children())
        if not children or children[0].kind in (Kind.DECL_STMT, Kind.VAR_DECL):
            return
        begin, end = self.extent(children[0])
        before = self.text(cursor.extent.start.offset, begin)
        if begin < end and (begin, end) != self.extent(cursor) and not CONSTANT.search(before) and re.fullmatch(r"(if\s*\(\s*)?", before):
            self.add(begin, end, "condition negated", f"!({self.text(begin, end)})")

    def visit(self, cursor, inside):
        """Sites below a cursor; outside of bodies only bodies are looked for."""
        kind = cursor.kind
        if kind == Kind.STATIC_ASSERT or (kind == Kind.VAR_DECL and CONSTANT.search(self.text(*self.extent(cursor)).split("=")[0])):
            return
        if kind == Kind.CASE_STMT:
            children = list(cursor.get_children())
            for child in children[1:]:
                self.visit(child, inside)
            return
        if inside:
            if kind == Kind.BINARY_OPERATOR:
                self.binary(cursor)
            elif kind == Kind.CALL_EXPR:
                self.call(cursor)
            elif kind in (Kind.INTEGER_LITERAL, Kind.FLOATING_LITERAL):
                self.literal(cursor)
            elif kind in (Kind.IF_STMT, Kind.CONDITIONAL_OPERATOR):
                self.condition(cursor)
            elif kind == Kind.COMPOUND_ASSIGNMENT_OPERATOR and inside == "block":
                self.add(*self.extent(cursor), "assignment removed", "", statement=True)
        for child in cursor.get_children():
            if child.kind == Kind.COMPOUND_STMT and kind in BODIES:
                head = self.text(cursor.extent.start.offset, child.extent.start.offset)
                if not CONSTANT.search(head):
                    self.visit(child, "block")
            elif inside:
                self.visit(child, "block" if kind == Kind.COMPOUND_STMT else "expression")
            elif not inside and kind not in BODIES:
                self.visit(child, None)

    def sites(self):
        for cursor in self.cursors:
            self.visit(cursor, None)
        return self.found


def sites_of(root, names, arguments):
    """The sites of some files, read as one unit, so that their headers are parsed once; in halves if names clash."""
    if clang is None:
        raise SystemExit("mutants: libclang for Python is missing: apt-get install python3-clang")
    root, unit = pathlib.Path(root), "unit.cpp"
    text = "".join(f'#include "{root / name}"\n' for name in names)
    parsed = clang.Index.create().parse(unit, args=[*arguments, f"-I{root}"], unsaved_files=[(unit, text)])
    wrong = next((each for each in parsed.diagnostics if each.severity >= clang.Diagnostic.Error), None)
    if wrong and len(names) > 1:
        half = len(names) // 2
        return sites_of(root, names[:half], arguments) + sites_of(root, names[half:], arguments)
    if wrong:
        raise SystemExit(f"mutants: {wrong.location.file}:{wrong.location.line}: {wrong.spelling}")
    cursors = {str(root / name): [] for name in names}
    for cursor in parsed.cursor.get_children():
        name = cursor.location.file and os.path.normpath(os.path.join(root, cursor.location.file.name))
        if name in cursors:
            cursors[name].append(cursor)
    return [site for name in names for site in Reader(root, name, cursors[str(root / name)]).sites()]


def rewritten(source, chosen):
    """The file's bytes with the chosen (number, site) put in; they must not overlap."""
    parts, at = [], 0
    for number, site in sorted(chosen, key=lambda each: each[1].begin):
        alive = f"::ridge_mutants::alive({number})"
        new = f"({alive} ? ({site.text}) : ({site.original}))" if not site.statement else f"if (!{alive}) {site.original}"
        if site.kind == "condition negated":
            new = f"({alive} != static_cast<bool>({site.original}))"
        parts += [source[at:site.begin], new.encode()]
        at = site.end
    return b"".join([*parts, source[at:]])
