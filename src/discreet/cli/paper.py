"""What a command has to say, as people or programs want it: sentences and tables, one JSON object, or CSV.

A command states facts and tables once.  Standard output carries them in the format that was asked for, and
nothing else; what only a person wants to know (a sentence, progress, where a picture went) goes to standard
error whenever a program reads the rest.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from discreet.release.sheet import sheet

if TYPE_CHECKING:
    from rich.console import Console


class Format(StrEnum):
    """How to print what a command found."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


Output: TypeAlias = Annotated[Format, typer.Option("--format", help="How to print it.")]
"""The option that every command has."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value for programs and the words for people."""

    value: object
    words: str

    def __str__(self) -> str:
        return self.words


@dataclass(slots=True)
class Paper:
    """Facts and tables of one command: people read them as they come, programs get them when all is said."""

    output: Format
    _body: dict[str, Any] = field(default_factory=dict)
    _tables: int = 0

    def __enter__(self) -> "Paper":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        if self.output is Format.CSV and self._body and self._tables:
            typer.echo()
        if self.output is not Format.TABLE:
            print_body(self._body, self.output)

    @property
    def console(self) -> "Console":
        """Where people read: standard output, or standard error while a program reads that."""
        from rich.console import Console

        return Console(stderr=self.output is not Format.TABLE, highlight=False, markup=False)

    def say(self, sentence: str, style: str = "") -> None:
        """Say something that only people want to know."""
        from rich.text import Text

        self.console.print(Text(sentence, style))

    def fact(self, name: str, value: object, sentence: str | None = None) -> None:
        """State one fact; people read the sentence, or else the name and the value."""
        from rich.text import Text

        self._body[_key(name)] = plain(value)
        if self.output is Format.TABLE:
            words = str(value) if sentence is None else sentence
            self.console.print(Text.assemble((name, "bold"), " ", words), soft_wrap=True)

    def facts(self, title: str, stated: Iterable[tuple[str, object]]) -> None:
        """State several facts, which people see as a table without a head."""
        from rich.table import Table
        from rich.text import Text

        listed = list(stated)
        self._body |= {_key(name): plain(value) for name, value in listed}
        if self.output is Format.TABLE:
            grid = Table(show_header=False, title=Text(title), title_justify="left")
            for name, value in listed:
                grid.add_row(Text(name), Text(str(value)))
            self.console.print(grid)

    def table(
        self, title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], *, name: str | None = None
    ) -> None:
        """State a table; programs find it under its name, or else under its title."""
        from rich.table import Table
        from rich.text import Text

        listed = [tuple(row) for row in rows]
        keys = [_key(head) for head in heads]
        records = [dict(zip(keys, map(plain, row), strict=True)) for row in listed]
        match self.output:
            case Format.JSON:
                self._body[_key(name or title)] = records
            case Format.CSV:
                if self._tables:
                    typer.echo()
                print_csv(keys, records)
                self._tables += 1
            case Format.TABLE:
                grid = Table(
                    title=Text(title) if title else None,
                    title_justify="left",
                    title_style="bold",
                    box=None,
                    padding=(0, 3, 0, 0),
                )
                for head, numeric in zip(heads, _numeric(listed, len(heads)), strict=True):
                    grid.add_column(Text(head), justify="right" if numeric else "left")
                for row in listed:
                    grid.add_row(*(Text(str(cell)) for cell in row))
                self.console.print(grid)
                self.console.print()


@contextmanager
def waiting(words: str) -> Iterator[Any]:
    """Show that work goes on, on standard error, for whoever watches."""
    from rich.console import Console

    with Console(stderr=True).status(words) as status:
        yield status


def plain(value: object) -> object:
    """Return what a program reads: numbers as numbers, the rest as text."""
    match value:
        case Cell(inner, _):
            return plain(inner)
        case None | bool() | int() | float() | str() | list() | dict():
            return value
        case _:
            return str(value)


def print_body(body: Mapping[str, Any], output: Format) -> None:
    """Print facts for a program: as one JSON object, or as names and values."""
    if output is Format.JSON:
        typer.echo(json.dumps(body, indent=2, ensure_ascii=False))
    elif body:
        print_csv(("name", "value"), [{"name": name, "value": value} for name, value in _flat(body)])


def print_csv(names: Sequence[str], records: Sequence[Mapping[str, object]]) -> None:
    """Print records as CSV that no spreadsheet will run."""
    sys.stdout.write(sheet(names, records))


def _key(name: str) -> str:
    return name.replace(" ", "_")


def _flat(body: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield facts one by one, the parts of a fact under its name."""
    for name, value in body.items():
        match value:
            case dict():
                yield from _flat({f"{name}.{part}": inner for part, inner in value.items()})
            case list():
                yield name, " ".join(map(str, value))
            case _:
                yield name, value


def _numeric(rows: Sequence[Sequence[object]], width: int) -> list[bool]:
    """Return which columns hold numbers, which are read best when they end below each other."""
    return [
        any(isinstance(plain(row[place]), int | float) for row in rows)
        and all(plain(row[place]) is None or isinstance(plain(row[place]), int | float) for row in rows)
        for place in range(width)
    ]
