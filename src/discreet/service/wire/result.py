"""What a statement returns, and how it is written: columns, rows, and a word for what was done."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.service.wire import frame, types
from discreet.service.wire.fault import PROTOCOL, Fault

Column = tuple[str, str]
"""A name and a type."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement returns: columns and rows, or neither, a word for what was done, and notices."""

    tag: str
    columns: tuple[Column, ...] | None = None
    rows: Sequence[Sequence[types.Cell]] = ()
    said: bytes = b""

    @property
    def done(self) -> str:
        """Return the word for what was done, with the number of rows where clients expect it."""
        return f"SELECT {len(self.rows)}" if self.tag == "SELECT" else self.tag


def read(columns: Any) -> tuple[Column, ...]:
    """Return the columns that a worker sent."""
    return tuple((str(name), str(kind)) for name, kind in columns)


def agreed(described: tuple[Column, ...] | None, found: tuple[Column, ...] | None) -> None:
    """Refuse an answer of other types than were described, before a row of it is sent."""
    if described is not None and [kind for _, kind in described] != [kind for _, kind in found or ()]:
        raise Fault("0A000", "the columns changed since they were described", "prepare the statement again")


def each(forms: Sequence[int], count: int) -> tuple[int, ...]:
    """Return the format of each value: none means text, one is for all."""
    if len(forms) == 1:
        return tuple(forms) * count
    return tuple(forms) if forms else (0,) * count


def _forms(forms: Sequence[int], columns: Sequence[Column]) -> tuple[int, ...]:
    if len(forms) not in (0, 1, len(columns)):
        raise Fault(PROTOCOL, f"there are {len(columns)} columns and {len(forms)} formats for them")
    return each(forms, len(columns))


def described(columns: tuple[Column, ...] | None, forms: Sequence[int]) -> bytes:
    """Return what a client is told about columns, or that there are none."""
    if columns is None:
        return frame.NO_DATA
    chosen = _forms(forms, columns)
    return frame.description(
        (name, types.TYPES[kind].number, types.TYPES[kind].size, form)
        for (name, kind), form in zip(columns, chosen, strict=True)
    )


def rows_of(columns: Sequence[Column], rows: Sequence[Sequence[types.Cell]], forms: Sequence[int]) -> bytes:
    """Return rows as they are sent."""
    chosen = _forms(forms, columns)
    try:
        return b"".join(
            frame.row(
                [
                    types.written(cell, kind, form)
                    for cell, (_, kind), form in zip(row, columns, chosen, strict=True)
                ]
            )
            for row in rows
        )
    except types.Misfit as misfit:
        raise Fault(
            "22003", f"{misfit}; the answer is recorded", "ask for it again as text, which is free"
        ) from None


def whole(result: Result) -> bytes:
    """Return a result as it is sent to whoever asked in a plain query."""
    if result.columns is None:
        return result.said + frame.complete(result.done)
    return (
        result.said
        + described(result.columns, ())
        + rows_of(result.columns, result.rows, ())
        + frame.complete(result.done)
    )
