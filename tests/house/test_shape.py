"""The house stays readable: one thing to a class name, modules and functions that fit in a head."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "discreet"
MODULE, FUNCTION = 450, 80
"""The longest module and the longest function, in lines."""

TWICE = {
    "Cost": {"privacy/filter.py", "service/schema.py"},
    "Identity": {"ledger/store.py", "workload/linear.py"},
    "Joined": {"ledger/entry.py", "query/statement.py"},
    "Kind": {"query/proof/value.py", "service/problem.py"},
    "Limits": {"query/check/question.py", "service/schema.py"},
    "Line": {"privacy/compose.py", "service/line.py"},
    "Patient": {"ledger/postgres.py", "ledger/remote.py"},
    "Problem": {"service/problem.py", "service/schema.py", "utility/problem.py"},
    "Proved": {"service/schema.py", "verify/verdict.py"},
    "Replay": {"audit/replay.py", "ledger/check.py"},
    "Row": {"ledger/store.py", "privacy/fourier.py"},
    "Stored": {"ledger/entry.py", "query/statement.py"},
}
"""Names that two classes still share, with where: this list may only become shorter."""


@cache
def nodes() -> list[tuple[str, ast.AST]]:
    """Return every node of every module, with the module."""
    return [
        (path.relative_to(SOURCE).as_posix(), node)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]


def test_no_two_classes_share_a_name_but_those_that_are_listed():
    """A reader who finds a name in a traceback, or by searching, finds one thing."""
    classes = [(node.name, place) for place, node in nodes() if isinstance(node, ast.ClassDef)]
    taken = Counter(name for name, _ in classes)
    shared = {
        name: sorted(place for own, place in classes if own == name) for name in taken if taken[name] > 1
    }
    assert shared == {name: sorted(places) for name, places in TWICE.items()}


def test_no_module_is_longer_than_one_reading():
    lengths = {path: len(path.read_bytes().splitlines()) for path in SOURCE.rglob("*.py")}
    assert len(lengths) > 100
    assert {path.name: length for path, length in lengths.items() if length > MODULE} == {}


def test_no_function_is_longer_than_a_page():
    functions = [
        (f"{place}:{node.name}", (node.end_lineno or 0) - node.lineno + 1)
        for place, node in nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert len(functions) > 1000
    assert {name: length for name, length in functions if length > FUNCTION} == {}
