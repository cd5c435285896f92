"""The house stays readable: one thing to a class name, modules and functions that fit in a head."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[2] / "src" / "discreet"
MODULE, FUNCTION = 450, 80
"""The longest module and the longest function, in lines."""

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Found(NamedTuple):
    """A class or a function, without its tree: half a million nodes would keep the collector busy."""

    place: str
    name: str
    is_class: bool
    lines: int


@cache
def definitions() -> list[Found]:
    """Return every class and function."""
    return [
        Found(
            path.relative_to(SOURCE).as_posix(),
            node.name,
            isinstance(node, ast.ClassDef),
            (node.end_lineno or 0) - node.lineno + 1,
        )
        for path in sorted(SOURCE.rglob("*.py"))
        for node in _inside(ast.parse(path.read_text(encoding="utf-8")))
    ]


def _inside(node: ast.AST) -> Iterator[Definition]:
    # Definitions stand in blocks only; expressions, nine nodes in ten, need not be looked at.
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        parts = getattr(node, field, [])
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, Definition):
                yield part
            yield from _inside(part)


def test_no_two_classes_share_a_name():
    """A reader who finds a name in a traceback, or by searching, finds one thing."""
    classes = [(found.name, found.place) for found in definitions() if found.is_class]
    taken = Counter(name for name, _ in classes)
    shared = {
        name: sorted(place for own, place in classes if own == name) for name in taken if taken[name] > 1
    }
    assert shared == {}


def test_no_module_is_longer_than_one_reading():
    lengths = {path: len(path.read_bytes().splitlines()) for path in SOURCE.rglob("*.py")}
    assert len(lengths) > 100
    assert {path.name: length for path, length in lengths.items() if length > MODULE} == {}


def test_no_function_is_longer_than_a_page():
    functions = [found for found in definitions() if not found.is_class]
    assert len(functions) > 1000
    assert [found for found in functions if found.lines > FUNCTION] == []
