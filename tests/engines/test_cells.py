"""A pandas cell means the same in any company: no other cell, missing or odd, changes it."""

import random
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines import cells


class Ward(str, Enum):  # noqa: UP042 - prints its own name, where a StrEnum would print what it holds
    """Text that is also a label."""

    FIRST = "A"
    SECOND = "1"


KINDS = ("integer", "decimal", "text", "identifier", "boolean", "date", "timestamp")
FAMILIES: dict[str, list[Any]] = {
    "whole": [0, 1, -3, 7, 2**31, 2**53],
    "number": [0.0, 1.0, 2.5, -2.5, 3.5, 0.1, 1e300, -0.0],
    "truth": [True, False],
    "text": ["A", "B", "", "1", "01", "2.5", "true", "2024-02-29", "é", "1e3", " 4 "],
    "moment": [
        datetime(2024, 2, 29, 13, 5, 7, 250_000),
        datetime(1925, 1, 1, 23, 59, 59),
        pd.Timestamp("1969-12-31 23:59:59.999999"),
    ],
    "day of numpy": [np.datetime64("2024-02-29"), np.datetime64("0900-05-05"), np.datetime64("NaT")],
    "moment of numpy": [np.datetime64("2024-02-29T13:05"), np.datetime64("1969-12-31T23:59:59.999999999")],
    "far moment": [np.datetime64(seconds, "s") for seconds in (0, 2**62 + 5, 18446744073709)],
    "label": list(Ward),
    "bytes": [b"A", bytearray(b"A"), memoryview(b"1")],
}
ODD: list[Any] = [
    None,
    float("nan"),
    float("inf"),
    pd.NA,
    pd.NaT,
    "n/a?",
    "x" * 50,
    [1, 2],
    {"a": 1},
    b"\xff",
    b"ok",
    "\ud800",
    object(),
    Decimal("1.5"),
    Decimal("sNaN"),
    date(2024, 1, 1),
    datetime(2024, 1, 1, tzinfo=UTC),
    10**400,
    np.int8(3),
    np.float32(0.5),
    np.bool_(True),
    1 + 2j,
]


def meanings(values: list[Any], kind: str, dtype: Any = None) -> list[Any]:
    try:
        series = pd.Series(values) if dtype is None else pd.Series(values, dtype=dtype)
    except UnicodeEncodeError:
        series = pd.Series(values, dtype=object)
    return cells.column(series, kind).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_no_cell_changes_the_meaning_of_another(family: str, kind: str) -> None:
    choose = random.Random(f"{family} {kind}")
    values = FAMILIES[family]
    alone = meanings(values, kind)
    assert meanings(values, kind, object) == alone
    for odd in ODD:
        place = choose.randrange(len(values) + 1)
        mixed = meanings([*values[:place], odd, *values[place:]], kind)
        assert mixed[:place] + mixed[place + 1 :] == alone, odd
        assert meanings([odd], kind, object) == [mixed[place]] or odd in (10**400, np.int8(3))


def test_quick_ways_agree_with_cell_by_cell() -> None:
    columns = {
        "int64": [1, 2, -5],
        "Int64": [1, None, 3],
        "int8": [1, 2, 3],
        "float64": [1.0, 2.5, None],
        "bool": [True, False, True],
        "boolean": [True, None, False],
        "string": ["a", None, "1"],
        "category": ["a", "b", "a"],
        "datetime64[ns]": ["2024-01-01", None, "1900-05-05 03:04:05.123456789"],
        "datetime64[s]": ["2024-01-01", None, "0900-05-05"],
        "uint64": [1, 2**64 - 1, 3],
    }
    for dtype, values in columns.items():
        series = pd.Series(values, dtype=dtype)
        for kind in KINDS:
            slowly = [cells._cell(cell, cells._MEANINGS[kind][0]) for cell in series.astype(object)]
            assert cells.column(series, kind).equals(pa.array(slowly, cells._MEANINGS[kind][1])), (
                dtype,
                kind,
            )


def test_whole_numbers_beyond_64_bits_are_missing() -> None:
    assert meanings([2**63 - 1, -(2**63)], "integer", object) == [2**63 - 1, -(2**63)]
    assert meanings([2**63, -(2**63) - 1, 1e300, 2.0**63], "integer", object) == [None] * 4
    assert meanings([2.0**63, -(2.0**63)], "integer") == [None, -(2**63)]


QUESTIONS = (
    "SELECT COUNT(*) AS n FROM t GROUP BY CLAMP(k, 0, 3)",
    "SELECT SUM(CLAMP(k, 0, 9)) AS s FROM t",
    "SELECT COUNT(DISTINCT k) AS n FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE k = '1'",
    "SELECT AVG(CLAMP(CAST(k AS INTEGER), 0, 9)) AS a FROM t",
)


def quoted(values: list[Any], columns: dict[str, Any]) -> list[str]:
    """Return everything that is free to see about a frame: quotes and refusals."""
    frame = pd.DataFrame({"person": range(len(values)), "k": values})
    seen = []
    with dp.open(t=frame, unit="person", rows_per_unit=1, epsilon=1, columns=columns) as data:
        for question in QUESTIONS:
            try:
                seen.append(repr(data.quote(question, epsilon=1)))
            except dp.DiscreetError as refusal:
                seen.append(f"{type(refusal)}: {refusal}")
    return seen


@pytest.mark.parametrize("columns", [{}, {"k": "integer"}, {"k": "decimal"}, {"k": "text"}])
@pytest.mark.parametrize("odd", [None, "n/a", 2.5, [1], b"\xff"])
def test_a_quote_on_a_frame_does_not_tell_whose_cell_is_odd(odd: Any, columns: dict[str, Any]) -> None:
    assert quoted([1, 2, 3, odd], columns) == quoted([1, 2, 3], columns)


def test_numbers_without_a_type_are_refused_with_what_to_say() -> None:
    frame = pd.DataFrame({"person": [1], "age": [30]})
    with pytest.raises(dp.CatalogError, match='"type": "integer"'):
        dp.open(t=frame, unit="person", rows_per_unit=1, epsilon=1, columns={"age": {"low": 0, "high": 9}})
    declared = {"a": {"age": "integer"}, "b": {"day": {"low": "2024-01-01", "high": "2024-12-31"}}}
    other = pd.DataFrame({"person": [1], "day": ["2024-05-05"]})
    with dp.open(a=frame, b=other, unit="person", rows_per_unit=1, epsilon=1, columns=declared) as data:
        assert [[word for _, word in t.offered] for t in data.catalog.tables] == [
            ["integer", "identifier"],
            ["date", "identifier"],
        ]
    with pytest.raises(dp.CatalogError, match="goes by table"):
        dp.open(a=frame, b=other, unit="person", rows_per_unit=1, epsilon=1, columns={"age": "integer"})


def test_identifiers_of_a_frame_with_one_missing_id_still_meet_those_of_another() -> None:
    one = pd.DataFrame({"person": [1, 2, None]})
    two = pd.DataFrame({"person": [1, 2, 3]})
    with dp.open(a=one, b=two, unit="person", rows_per_unit=1, epsilon=10**6) as data:
        answer = data.query("SELECT COUNT(*) AS n FROM a JOIN b ON a.person = b.person", epsilon=10**6)
    assert answer.value == 2


@pytest.mark.parametrize("far", [1, 2**63 - 1])
@pytest.mark.parametrize("kind", [pa.duration("s"), pa.duration("ms"), pa.struct([("a", pa.duration("s"))])])
def test_a_frame_has_no_person_whom_one_cell_makes_unreadable(kind: pa.DataType, far: int) -> None:
    held = pa.array([1, far], pa.int64())
    nested = pa.types.is_struct(kind)
    cells = held.view(kind.field(0).type if nested else kind)
    column = pa.StructArray.from_arrays([cells], ["a"]) if nested else cells
    with pytest.raises(dp.CatalogError, match="tells nobody apart"):
        dp.open(t=pa.table({"who": column}), unit="who", rows_per_unit=1, epsilon=1)


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")])
@pytest.mark.parametrize("stored", [False, True])
def test_a_time_outside_of_a_day_is_nobody_and_spoils_no_other(
    kind: pa.DataType, stored: bool, tmp_path: Path
) -> None:
    day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    plain = pa.int32() if pa.types.is_time32(kind) else pa.int64()
    most = 2 ** (plain.bit_width - 1)
    column = pa.array([0, day - 1, day, -1, most - 1, -most], plain).view(kind)
    rows: Any = pa.table({"WHO": column})
    if stored:
        pq.write_table(rows, tmp_path / "t.parquet")
        rows = tmp_path / "t.parquet"
    with dp.open(t=rows, unit="who", rows_per_unit=1, epsilon=10**6) as data:
        assert data.query("SELECT COUNT(*) AS n FROM t", epsilon=10**5).value == 2
