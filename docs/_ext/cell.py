"""A page of the documentation is a notebook: its Python blocks run in order and share one namespace.

The site and the tests both run pages through `run`, so what the tests saw is what the reader sees.
"""

import ast
import contextlib
import io
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

LIVE = re.compile(r"\{live\}(?:\s+(?P<caption>.*))?")
OPTIONS = re.compile(r"(?::[a-z-]+:[^\n]*\n)*")


@dataclass(frozen=True, slots=True)
class Cell:
    """One Python block of a page; `line` is that of its first line of code, counted from 1."""

    line: int
    code: str
    live: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a cell left behind: printed text and the value of its last expression, if any."""

    cell: Cell
    printed: str
    value: Any


class PageError(Exception):
    """A cell failed; says on which line of the page, and why."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line, self.reason = line, reason


def cells(text: str) -> Iterator[Cell]:
    """Return the Python blocks of a page: plain ones and live ones, in order."""
    for token in MarkdownIt("commonmark").parse(text):
        if token.type != "fence" or token.map is None:
            continue
        first = token.map[0] + 2
        info = token.info.strip()
        if info == "python":
            yield Cell(first, token.content, live=False)
        elif LIVE.fullmatch(info):
            # The options of the directive stand before the code, one a line.
            options = OPTIONS.match(token.content)
            skipped = options.group() if options else ""
            yield Cell(first + skipped.count("\n"), token.content[len(skipped) :], live=True)


def run(text: str, path: Path) -> Iterator[Outcome]:
    """Run the cells of a page in an empty folder, and yield what each live one leaves to be shown."""
    found = list(cells(text))
    if not found:
        return
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        for cell in found:
            with _inside(folder), warnings.catch_warnings():
                warnings.simplefilter("error")
                outcome = _run(cell, path, names)
            if cell.live:
                yield outcome


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _run(cell: Cell, path: Path, names: dict[str, Any]) -> Outcome:
    printed = io.StringIO()
    value = None
    try:
        # Padded so that tracebacks, and whoever reads a function's source, find the line in the page itself.
        tree = ast.parse("\n" * (cell.line - 1) + cell.code, str(path))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, str(path), "exec"), names)  # noqa: S102
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), str(path), "eval"), names)  # noqa: S307
    except (Exception, SystemExit) as problem:
        raise PageError(_line(problem, cell, path), f"{type(problem).__name__}: {problem}") from problem
    return Outcome(cell, printed.getvalue(), value)


def _line(problem: BaseException, cell: Cell, path: Path) -> int:
    if isinstance(problem, SyntaxError):
        return problem.lineno or cell.line
    line, trace = cell.line, sys.exc_info()[2]
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
