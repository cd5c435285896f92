"""Columns of pandas, cell by cell: the declared type decides, and a cell that does not fit it is NULL.

What pandas says about the type of a column depends on its cells: one missing number makes floating-point
numbers of all others, one odd cell makes objects of them.  So nothing is learnt from it here.  Each cell has
one meaning under each declared type, whatever company it keeps; the quicker ways for columns of one plain
type agree with that.

Where pandas has already turned whole numbers above 2**53 into floating-point numbers their last digits are
lost before they come here; ids of that size belong into a column of text or a nullable type.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from numbers import Integral, Real
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from discreet.engines.records import decoded

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
_DIGITS = re.compile(r"\s*[+-]?\d{1,30}\s*", re.ASCII)
_SAID = dict.fromkeys(("true", "t", "yes", "y", "1"), True) | dict.fromkeys(
    ("false", "f", "no", "n", "0"), False
)
_LARGE = 2**63


def column(series: Any, kind: str) -> pa.Array:
    """Return a pandas column as cells of the declared type."""
    quick = _quick(series, kind)
    if quick is not None:
        return quick
    meaning, stored = _MEANINGS[kind]
    return pa.array([_cell(cell, meaning) for cell in _objects(series)], stored)


def _objects(series: Any) -> Iterable[Any]:
    """Return the cells of a column; one that cannot be had is missing, and the others are there."""
    try:
        return list(series.astype(object))
    except Exception:
        return [_at(series, place) for place in range(len(series))]


def _at(series: Any, place: int) -> Any:
    try:
        return series.iloc[place]
    except Exception:
        return None


def cell(value: Any, kind: str) -> Any:
    """Return what one cell means under a declared type."""
    return _cell(value, _MEANINGS[kind][0])


def _cell(cell: Any, meaning: Callable[[Any], Any]) -> Any:
    try:
        if isinstance(cell, np.datetime64):
            # As in a column of nothing else, where pandas has made moments of its own of them.
            cell = _stamp(cell)
        elif isinstance(cell, np.bool_ | np.number):
            cell = cell.item()
        if isinstance(cell, complex) and cell.imag == 0:
            cell = cell.real
        return None if cell is None or cell != cell else meaning(cell)
    except Exception:
        # A cell may be any object; one that cannot say what it is says nothing.
        return None


def _stamp(cell: Any) -> Any:
    import pandas

    return pandas.Timestamp(cell)


def _whole(cell: Any) -> int | None:
    match cell:
        case Integral():
            value = int(cell)
        case str() if _DIGITS.fullmatch(cell):
            value = int(cell)
        case _:
            number = _number(cell)
            if number is None:
                return None
            value = round(number)
    return value if -_LARGE <= value < _LARGE else None


def _number(cell: Any) -> float | None:
    match cell:
        case Integral():
            value = float(int(cell))
        case Real() | Decimal():
            value = float(cell)
        case str() if _NUMBER.fullmatch(cell):
            value = float(cell)
        case _:
            return None
    return value if abs(value) < float("inf") else None


def _text(cell: Any) -> str | None:
    match cell:
        case str():
            # The characters it holds: a label of an enumeration would print its own name instead.
            text = str.__str__(cell)
        case bytes() | bytearray() | memoryview():
            text = bytes(cell).decode("utf-8")
        case bool():
            text = "true" if cell else "false"
        case Integral():
            text = str(int(cell))
        case Real() | Decimal():
            number = float(cell)
            if number.is_integer() and abs(number) < _LARGE:
                text = str(int(number))
            else:
                text = str(cell) if isinstance(cell, Decimal) else repr(number)
            if abs(number) == float("inf"):
                return None
        case datetime():
            text = _moment(cell).isoformat(" ")
        case date() | time() | UUID():
            text = str(cell)
        case _:
            return None
    text.encode("utf-8")
    return text


def _truth(cell: Any) -> bool | None:
    if isinstance(cell, str):
        return _SAID.get(cell.strip().lower())
    number = _number(cell)
    return None if number is None else number != 0


def _moment(cell: Any) -> datetime:
    match cell:
        case datetime():
            moment = cell.to_pydatetime(warn=False) if hasattr(cell, "to_pydatetime") else cell
        case date():
            moment = datetime.combine(cell, time())
        case _:
            moment = datetime.fromisoformat(cell.strip())
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _day(cell: Any) -> date:
    return _moment(cell).date()


_MEANINGS: dict[str, tuple[Callable[[Any], Any], pa.DataType]] = {
    "integer": (_whole, pa.int64()),
    "decimal": (_number, pa.float64()),
    "text": (_text, pa.large_string()),
    "identifier": (_text, pa.large_string()),
    "boolean": (_truth, pa.bool_()),
    "date": (_day, pa.date32()),
    "timestamp": (_moment, pa.timestamp("us")),
}


def _quick(series: Any, kind: str) -> pa.Array | None:
    """Return a column of one plain type at once, or nothing where cells have to be looked at one by one."""
    try:
        match kind, _plain(series.dtype):
            case "integer", "i":
                return _one(series).cast(pa.int64())
            case "integer" | "decimal", "f":
                numbers = series.to_numpy(np.float64, na_value=np.nan)
                return _rounded(numbers) if kind == "integer" else _finite(numbers)
            case "decimal", "i":
                return _one(series).cast(pa.float64(), safe=False)
            case "text" | "identifier", "i":
                return _one(series).cast(pa.large_string())
            case "text" | "identifier", "s":
                # Where Arrow keeps the texts of pandas, nobody has looked whether they are any.
                return decoded(_one(series).cast(pa.large_binary()))
            case "text" | "identifier", "f":
                return _printed(series.to_numpy(np.float64, na_value=np.nan))
            case "text" | "identifier", "O":
                return pa.array(series.to_numpy(), pa.large_string(), from_pandas=True)
            case "boolean", "b":
                return _one(series).cast(pa.bool_())
            case "timestamp" | "date", "M":
                return _moments(series.to_numpy(), kind)
    except Exception:
        return None
    return None


def _plain(dtype: Any) -> str:
    """Return a letter where all cells are of one kind: i, f, b, s, M; O for objects; otherwise nothing."""
    import pandas

    if isinstance(dtype, pandas.StringDtype):
        return "s"
    kind = str(getattr(dtype, "kind", ""))
    if isinstance(dtype, np.dtype):
        return {"i": "i", "f": "f" if dtype.itemsize == 8 else "", "b": "b", "M": "M", "O": "O"}.get(kind, "")
    if isinstance(dtype, pandas.ArrowDtype):
        text = pa.types.is_string(dtype.pyarrow_dtype) or pa.types.is_large_string(dtype.pyarrow_dtype)
        return "s" if text else {"i": "i"}.get(kind, "")
    return {"i": "i", "b": "b"}.get(kind, "") if pandas.api.types.is_extension_array_dtype(dtype) else ""


def _one(series: Any) -> pa.Array:
    made = pa.array(series, from_pandas=True)
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made


def _finite(numbers: Any) -> pa.Array:
    return pa.array(numbers, pa.float64(), mask=~np.isfinite(numbers))


def _rounded(numbers: Any) -> pa.Array:
    rounded = np.rint(numbers)
    fits = (rounded >= -float(_LARGE)) & (rounded < float(_LARGE))
    return pa.array(np.where(fits, rounded, 0).astype(np.int64), pa.int64(), mask=~fits)


def _moments(moments: Any, kind: str) -> pa.Array | None:
    days = moments.astype("datetime64[D]")
    # Far outside of the calendar a day or second has no number here, and would come back as another one.
    far = (days < np.datetime64("0001-01-01")) | (days > np.datetime64("9999-12-31"))
    if far.any():
        return None
    if kind == "date":
        return pa.array(days, pa.date32())
    return pa.array(moments.astype("datetime64[us]"), pa.timestamp("us"))


def _printed(numbers: Any) -> pa.Array | None:
    whole = np.isfinite(numbers) & (numbers == np.rint(numbers)) & (np.abs(numbers) < float(_LARGE))
    if not (whole | np.isnan(numbers)).all():
        return None
    return pa.array(np.where(whole, numbers, 0).astype(np.int64), pa.int64(), mask=~whole).cast(
        pa.large_string()
    )
