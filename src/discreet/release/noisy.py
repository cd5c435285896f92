"""The moment of release: exact integers go in, noisy ones come out, and nothing else does.

Each exact integer meets its mechanism once.  What comes out, a `Noisy`, is all that anything later may see:
group keys that are public or were selected privately, and one released value for each key and
measurement.  Its stored form is canonical, so the same release is always the same bytes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from discreet.engines.exact import Exact
from discreet.errors import LedgerError
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.mechanisms.key_weight import KeyWeight
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.staircase import Staircase
from discreet.query.check.formula import Public
from discreet.query.check.measurement import (
    Classes,
    Declared,
    Joint,
    Keys,
    Measurement,
    ModeChoice,
    Private,
    QuantileChoice,
    RunningGroups,
    Sets,
)
from discreet.query.check.tables import cells as cells_of
from discreet.query.check.tables import output as output_of
from discreet.query.check.tables import tables
from discreet.query.price.expected import Quote
from discreet.query.price.mechanism import MeasurementShare
from discreet.query.price.sparse import Sparse
from discreet.query.price.together import Together

Key = tuple[Public, ...]


@dataclass(frozen=True, slots=True)
class Noisy:
    """Released values: for each measurement, one for each key, in natural units.

    Where cells were measured in blocks of like ones, `widths` say for each key how many cells its block has.
    Of several questions with one price each has its `parts`, and there is nothing else.
    """

    keys: tuple[Key, ...]
    values: tuple[tuple[Public, ...], ...]
    widths: tuple[int, ...] = ()
    parts: tuple["Noisy", ...] = ()

    def at(self, row: int) -> dict[int, Public]:
        """Return the released value of each measurement for one key."""
        return {position: column[row] for position, column in enumerate(self.values)}


def in_blocks(priced: Quote) -> tuple[int, Sparse] | None:
    """Return the scale of a histogram whose cells may be measured in blocks, and how; None for all others."""
    match priced.shares:
        case (MeasurementShare(Measurement(scale=scale), Sparse() as blocks),):
            return scale, blocks
    return None


def draw(priced: Quote, exact: Exact) -> Noisy:
    """Draw the noise, once."""
    keys, counts = _keys(priced, exact)
    sparse = in_blocks(priced)
    if sparse is not None:
        scale, blocks = sparse
        integers: NDArray[Any] = np.array(exact.integers("m0", keys), dtype=object)  # type: ignore[arg-type]
        shown, widths = blocks.release(integers)
        return Noisy(keys, (tuple(_natural(value, scale) for value in shown),), widths)
    return Noisy(
        keys,
        tuple(
            counts[position] if position in counts else _values(priced, position, keys, exact)
            for position in range(len(priced.shares))
        ),
    )


def _keys(priced: Quote, exact: Exact) -> tuple[tuple[Key, ...], dict[int, tuple[Public, ...]]]:
    """Return the group keys, and the counts of people, or weights, that were drawn to find them."""
    match priced.checked.keys:
        case Declared() | Sets() | RunningGroups() | Classes() as declared:
            return declared.product(), {}
        case Private(_, people):
            mechanism = priced.shares[people].mechanism
            if not isinstance(mechanism, KeyCount | KeyGaussian | KeyWeight):
                raise TypeError("group keys found in the data need a threshold")
            found = exact.groups(f"m{people}")
            kept, counts = mechanism.sample(np.array(exact.integers(f"m{people}", found), dtype=np.int64))
            scale = priced.shares[people].measured.scale
            shown = [
                (key, _natural(int(n), scale))
                for key, keep, n in zip(found, kept, counts, strict=True)
                if keep
            ]
            return tuple(key for key, _ in shown), {people: tuple(n for _, n in shown)}
        case never:
            assert_never(never)


def _values(priced: Quote, position: int, keys: tuple[Key, ...], exact: Exact) -> tuple[Public, ...]:
    share, output = priced.shares[position], f"m{position}"
    match share.measured, share.mechanism:
        case Measurement(scale=scale), Together() as joint:
            return joint.release(_tables(priced.checked.keys, position, exact), scale)
        case Measurement(scale=scale), (Geometric() | Staircase() | Gaussian()) as noise:
            cells = exact.integers(output, keys)  # type: ignore[arg-type]
            if len(cells) == 1:
                return (_natural(int(noise.sample(cells[0])), scale),)
            # One array, one call: every cell gets noise of its own.
            noisy = noise.sample(np.array(cells, dtype=object))
            return tuple(_natural(int(value), scale) for value in noisy)
        case QuantileChoice() as choice, Exponential() as mechanism:
            return tuple(
                choice.pick(mechanism, share.offset, exact.weights(output, key))  # type: ignore[arg-type]
                for key in keys
            )
        case ModeChoice() as choice, (Exponential() | PermuteAndFlip()) as mechanism:
            return tuple(choice.pick(mechanism, exact.weights(output, key)) for key in keys)  # type: ignore[arg-type]
        case _:
            raise TypeError("this mechanism cannot release this measurement")


def _tables(overlapping: Keys, position: int, exact: Exact) -> dict[tuple[int, ...], NDArray[Any]]:
    """Return the exact integers of every table that is measured, one axis for each of its columns."""
    if not isinstance(overlapping, Joint):
        raise TypeError("only groups that overlap are measured together")
    found = {}
    for place, chosen in enumerate(tables(overlapping)):
        cells = cells_of(overlapping, chosen)
        integers = exact.integers(output_of(position, place), cells.product())  # type: ignore[arg-type]
        counts: NDArray[Any] = np.array(integers, dtype=object)
        found[chosen] = counts.reshape([len(column.values or ()) for column in cells.columns])
    return found


def _natural(value: int | Fraction, scale: int) -> int | Fraction:
    if isinstance(value, int) and value % scale == 0:
        return value // scale
    natural = Fraction(value, scale)
    return natural.numerator if natural.denominator == 1 else natural


def together(parts: Sequence[Noisy]) -> Noisy:
    """Return what several questions with one price release; one alone is itself."""
    return parts[0] if len(parts) == 1 else Noisy((), (), parts=tuple(parts))


FORMAT, PARTED, SEVERAL = "release/1", "release/2", "release/3"


def encode(noisy: Noisy) -> bytes:
    """Return the one stored form of released values."""
    return _body(_form(noisy) if not noisy.parts else [SEVERAL, [_form(part) for part in noisy.parts]])


def _form(noisy: Noisy) -> list[Any]:
    return [
        PARTED if noisy.widths else FORMAT,
        [[_write(v) for v in key] for key in noisy.keys],
        [[_write(v) for v in c] for c in noisy.values],
        *([list(noisy.widths)] if noisy.widths else []),
    ]


def _body(body: list[Any]) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def decode(payload: bytes) -> Noisy:
    """Return the released values that were stored."""
    match json.loads(payload):
        case ["release/3", [_, _, *_] as parts]:
            return Noisy((), (), parts=tuple(_single(part) for part in parts))
        case form:
            return _single(form)


def _single(form: Any) -> Noisy:
    match form:
        case ["release/1", list(keys), list(values)]:
            return Noisy(
                tuple(tuple(_read(v) for v in key) for key in keys),
                tuple(tuple(_read(v) for v in c) for c in values),
            )
        case ["release/2", list(keys), list(values), list(widths)] if _in_blocks(widths, len(keys)):
            return replace(_single([FORMAT, keys, values]), widths=tuple(widths))
    raise LedgerError("the ledger holds an answer in a form this version does not know; upgrade discreet")


def _in_blocks(widths: list[Any], cells: int) -> bool:
    """Whether numbers can be the widths of the blocks that so many cells lie in."""
    place = 0
    while place < len(widths):
        width = widths[place]
        if type(width) is not int or width < 1 or widths[place : place + width] != [width] * width:
            return False
        place += width
    return 0 < len(widths) == cells


SHORT = 4096
_decoded_before = lru_cache(maxsize=64)(decode)


def decoded(payload: bytes) -> Noisy:
    """Return the released values that were stored; of short ones the newest are not read twice."""
    return _decoded_before(payload) if len(payload) <= SHORT else decode(payload)


def _write(value: Public) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int():
            return {"n": str(value)}
        case Fraction():
            return {"q": str(value)}
        case datetime():
            return {"t": value.isoformat()}
        case date():
            return {"d": value.isoformat()}
        case _:
            assert_never(value)


_READ: Mapping[str, Callable[[str], Public]] = {
    "n": int,
    "q": lambda text: Fraction(*map(int, text.split("/"))),
    "t": datetime.fromisoformat,
    "d": date.fromisoformat,
}


def _read(stored: Any) -> Public:
    if stored is None or isinstance(stored, bool | str):
        return stored
    if isinstance(stored, dict) and len(stored) == 1:
        ((kind, text),) = stored.items()
        if kind in _READ and isinstance(text, str):
            return _READ[kind](text)
    raise LedgerError("the ledger holds a value in a form this version does not know; upgrade discreet")
