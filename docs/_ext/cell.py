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

LIVE = re.compile(r"\{live\}(?:\s+.*)?")
OPTIONS = re.compile(r"(?::[a-z-]+:[^\n]*\n)*")


@dataclass(frozen=True, slots=True)
class Cell:
    """One Python block of a page.

    `line` is that of its first line of code, counted from 1; `place` holds the lines of the whole block, from
    the first to just after the last, counted from 0.
    """

    line: int
    code: str
    live: bool
    options: frozenset[str]
    place: tuple[int, int]


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
        start, end = token.map
        info = token.info.strip()
        if info == "python":
            yield Cell(start + 2, token.content, live=False, options=frozenset(), place=(start, end))
        elif LIVE.fullmatch(info):
            # The options of the directive stand before the code, one a line.
            head = OPTIONS.match(token.content)
            skipped = head.group() if head else ""
            options = frozenset(line.strip(":") for line in skipped.split())
            code = token.content[len(skipped) :]
            yield Cell(start + 2 + skipped.count("\n"), code, live=True, options=options, place=(start, end))


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
