"""Any output as a row of numbers, so that one learner serves every mechanism.

Numbers stay as they are; what is not a number (None, text, a missing position of a shorter answer) becomes
NaN in its column and a tag in a column beside it.  Nested tuples, dictionaries and frozen values are laid out
flat.  The layout is learned from the first outputs; whatever does not fit it later is cut or padded, which is
post-processing and can only hide a violation, never invent one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from math import nan
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

Matrix = NDArray[np.float64]

NUMBER, ABSENT = 0.0, -1.0
"""The tags of a number and of a position that an output does not have."""

VOCABULARY = 1024
"""Words of one position that a layout remembers; a tag beyond them is shown as something else."""

LONGEST = 48
"""Characters of a word that are shown."""

WIDEST = 256
"""Positions beyond this are not looked at."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What came of a run that raised: an output like any other, since whoever asked has seen it."""

    kind: str
    where: str

    def __repr__(self) -> str:
        return f"raised {self.kind}"


def atoms(output: Any) -> Iterator[Any]:
    """Yield the numbers and other leaves of an output, in a fixed order."""
    match output:
        case Failure():
            yield output
        case bool() | int() | float() | str() | bytes() | None | Fraction() | Decimal():
            yield output
        case np.ndarray():
            yield from (
                (atom for item in output.tolist() for atom in atoms(item))
                if output.ndim
                else atoms(output.item())
            )
        case Mapping():
            for key in sorted(output, key=repr):
                yield key
                yield from atoms(output[key])
        case set() | frozenset():
            yield from (atom for item in sorted(output, key=repr) for atom in atoms(item))
        case _ if is_dataclass(output) and not isinstance(output, type):
            yield type(output).__name__
            for part in fields(output):
                yield from atoms(getattr(output, part.name))
        case Iterable():
            yield from (atom for item in output for atom in atoms(item))
        case _ if hasattr(output, "item"):  # a NumPy scalar
            yield output.item()
        case _:
            yield repr(output)


@dataclass(frozen=True, slots=True)
class Layout:
    """How outputs become rows: `width` positions, with a tag for each when some were not numbers.

    `words` says of each position what its tags stand for.
    """

    width: int
    tagged: bool
    words: tuple[Mapping[float, str], ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(cls, *samples: Any) -> "Layout":
        """Return the layout that holds all outputs of these samples."""
        if all(_plain(sample) for sample in samples):
            widths = {sample.reshape(len(sample), -1).shape[1] for sample in samples if len(sample)}
            return cls(min(max(widths, default=1), WIDEST), tagged=False)
        rows = [list(atoms(output)) for sample in samples for output in sample]
        lengths = {len(row) for row in rows} or {1}
        odd = len(lengths) > 1 or any(not _number(atom) for row in rows for atom in row)
        width = max(1, min(max(lengths), WIDEST))
        return cls(width, odd, tuple(_vocabulary(rows, place) for place in range(width)) if odd else ())

    @property
    def columns(self) -> int:
        """Return the number of columns of a row."""
        return self.width * (2 if self.tagged else 1)

    def name(self, column: int) -> str:
        """Return what a column shows."""
        place = column % self.width
        return "output" if self.width == 1 else f"output[{place}]"

    def wording(self, column: int) -> Mapping[float, str] | None:
        """Return what the values of a column stand for, where they are tags."""
        return self.words[column - self.width] if column >= self.width else None

    def text(self, row: NDArray[np.float64]) -> str:
        """Return in words what a row was made of."""
        tags = row[self.width :] if self.tagged else np.zeros(self.width)
        shown = [
            f"{value:g}" if tag == NUMBER else self.words[place].get(float(tag), "something else")
            for place, (value, tag) in enumerate(zip(row[: self.width], tags, strict=True))
            if tag != ABSENT
        ]
        shown = shown[:16] + (["..."] if len(shown) > 16 else [])
        return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"

    def rows(self, sample: Any) -> Matrix:
        """Return one row per output."""
        if _plain(sample) and not self.tagged:
            flat = np.asarray(sample, dtype=np.float64).reshape(len(sample), -1)
            return _fit(flat, self.width)
        table = np.full((len(sample), self.columns), nan)
        if self.tagged:
            table[:, self.width :] = ABSENT
        for place, output in enumerate(sample):
            for column, atom in zip(range(self.width), atoms(output), strict=False):
                number = _number(atom)
                if number:
                    table[place, column] = _float(atom)
                if self.tagged:
                    table[place, self.width + column] = NUMBER if number else _tag(atom)
        return table


def _vocabulary(rows: Sequence[Sequence[Any]], place: int) -> dict[float, str]:
    known: dict[float, str] = {}
    for row in rows:
        if place >= len(row):
            known.setdefault(ABSENT, "absent")
        elif _number(row[place]):
            known.setdefault(NUMBER, "a number")
        elif len(known) < VOCABULARY:
            known.setdefault(_tag(row[place]), word(row[place]))
    return known


def _fit(flat: Matrix, width: int) -> Matrix:
    if flat.shape[1] == width:
        return flat
    out = np.full((len(flat), width), nan)
    shared = min(width, flat.shape[1])
    out[:, :shared] = flat[:, :shared]
    return out


def _plain(sample: Any) -> bool:
    return isinstance(sample, np.ndarray) and sample.dtype.kind in "biuf" and sample.ndim >= 1


def _number(atom: Any) -> bool:
    return isinstance(atom, int | float | Fraction | Decimal)


def _float(atom: int | float | Fraction | Decimal) -> float:
    try:
        return float(atom)
    except OverflowError:
        return float("inf") if atom > 0 else float("-inf")


def _tag(atom: Any) -> float:
    # The same everywhere and at any time, so that workers need to share no dictionary.
    return float(1 + crc32(word(atom, None).encode(errors="surrogatepass")))


def word(atom: Any, longest: int | None = LONGEST) -> str:
    """Return what a leaf of an output looks like, cut to a length."""
    # An address says where an object lay in memory, not what it was.
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(atom))
    return text if longest is None or len(text) <= longest else f"{text[: longest - 3]}..."


def concatenate(parts: Sequence[Any]) -> Any:
    """Return several samples as one."""
    if not parts:
        raise ParameterError("there must be at least one run")
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [output for part in parts for output in part]
