"""Every refusal of the planner, read from its source: the clause, the reason and the way out.

The pages that list refusals are built from this, so none can be missing and none can be out of date.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import discreet.query

ROOM = Path(next(iter(discreet.query.__path__)))


class Refusal(NamedTuple):
    """One refusal; an ellipsis stands for a part that depends on the question."""

    module: str
    clause: str
    reason: str
    instead: str


def refusals() -> Iterator[Refusal]:
    """Yield the refusals that are raised with their words in place, module by module."""
    for path in sorted(ROOM.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="QueryError"), args=[clause, reason, instead, *_]):
                    words = [_text(part) for part in (clause, reason, instead)]
                    if words[1] != "…":
                        yield Refusal(path.stem, *words)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) if isinstance(part, ast.Constant) else "…" for part in parts)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _text(left) + _text(right)
        case _:
            return "…"
