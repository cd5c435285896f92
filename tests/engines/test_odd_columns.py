"""Columns of types that hold others, and texts that are none: no cell of them fails a question."""

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pandas.arrays import ArrowExtensionArray, ArrowStringArray

from discreet.engines.cells import column
from discreet.engines.duckdb.engine import fetch, open_tables, prepare
from discreet.engines.duckdb.schema import describe
from discreet.engines.exact import EngineRequest
from discreet.engines.frame import _bare
from discreet.engines.protocol import Origin, Preparation
from discreet.engines.shelter import shelter
from discreet.errors import CatalogError
from discreet.query.catalog.manifest import declare
from discreet.query.price.proving import preparation

KINDS = ("identifier", "integer", "decimal", "text", "boolean", "date", "timestamp")


def texts(*cells: bytes) -> pa.Array:
    """Return texts that nobody has looked at, as readers of files make them."""
    raw = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


def held(rows: Any, kind: str, name: str = "x") -> list[Any]:
    with open_tables({"t": Origin(shelter(rows), ((name, kind),))}, threads=1) as engine:
        found = engine.legibly(lambda: engine.connection.execute(f"SELECT {name} FROM t").fetchall())
    return [cell for (cell,) in found]


@pytest.mark.parametrize(
    "made",
    [
        "TIMETZ '01:00:00+01'",
        "{'a': d}",
        "[d]",
        "MAP {'a': d}",
        "union_value(a := d)",
        "d::VARIANT",
        "array_value(d)",
        "INTERVAL 1 DAY",
    ],
)
def test_a_stored_column_of_columns_is_refused_before_a_cell_of_it_can_fail(
    made: str, tmp_path: Path
) -> None:
    """A moment before all others failed every question about such a column, and all others after it."""
    place = tmp_path / "t.duckdb"
    first = pa.table({"d": pa.array([-(2**63)], pa.int64()).view(pa.timestamp("us"))})
    with duckdb.connect(str(place)) as database:
        database.register("first", first)
        database.execute(f"CREATE TABLE t AS SELECT {made} AS x, 1 AS y FROM first")
    for kind in ("identifier", "integer"):
        with pytest.raises(CatalogError, match="tells nobody apart"):
            open_tables({"t": Origin(f"{place}#t", (("x", kind),))})
    assert held(f"{place}#t", "integer", "y") == [1]


class Own(pa.ExtensionType):  # type: ignore[misc]
    """Somebody's own name for a type."""

    def __init__(self, stored: pa.DataType) -> None:
        super().__init__(stored, "tests.own")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, stored: pa.DataType, serialized: bytes) -> "Own":
        return cls(stored)


@pytest.mark.parametrize(
    ("stored", "kind"),
    [(pa.duration("s"), None), (pa.timestamp("s"), "timestamp"), (pa.time64("us"), "text")],
)
def test_a_type_of_ones_own_is_read_as_what_it_is_stored_as(stored: pa.DataType, kind: str | None) -> None:
    cells = pa.array([7, 2**62], pa.int64()).view(stored)
    rows = pa.table({"x": pa.ExtensionArray.from_storage(Own(stored), cells)})
    if kind is None:
        with pytest.raises(CatalogError, match="tells nobody apart"):
            held(rows, "identifier")
    else:
        one, other = held(rows, kind)
        assert one is not None
        assert other is None


def test_labels_of_a_dictionary_are_looked_at_as_texts_are() -> None:
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1, 0]), texts(b"A", b"\xff"))
    assert held(pa.table({"x": labels}), "text") == ["A", None, None, None, "A"]
    numbers = pa.array([7, None, 7]).dictionary_encode()
    assert held(pa.table({"x": numbers}), "integer") == [7, None, 7]


@pytest.mark.fuzz
def test_few_long_labels_make_much_text() -> None:
    """Together they are longer than what Arrow keeps in one array of texts: opening failed."""
    label = pa.array(["x" * 2**28])
    column = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0] * 8, pa.int8()), label)])
    assert len(_bare(column)) == 8


def test_texts_that_should_be_json_are_texts(tmp_path: Path) -> None:
    """Whoever reads one as JSON fails where it is none, and nobody looks before it is stored."""
    rows = pa.table({"x": pa.ExtensionArray.from_storage(pa.json_(), texts(b"7", b"{", b"\xff"))})
    pq.write_table(rows, tmp_path / "t.parquet")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.register("rows", rows.slice(0, 2))
        database.execute("CREATE TABLE t AS SELECT * FROM rows")
    assert describe(f"{tmp_path / 't.duckdb'}#t") == (("x", "JSON"),)
    sources = (rows, tmp_path / "t.parquet", f"{tmp_path / 't.duckdb'}#t")
    for source in sources:
        assert held(source, "integer")[:2] == [7, None]
        assert held(source, "text")[:2] == ["7", "{"]
    assert [held(source, "text")[2:] for source in sources] == [[None], [None], []]


@pytest.mark.parametrize("behind", [0, 38])
def test_a_decimal_with_more_digits_than_its_type_is_missing(behind: int, tmp_path: Path) -> None:
    """The smallest number of 128 bits has no size in 128 bits: an engine that told it failed."""
    cells = (7, 10**38 - 1, 1 - 10**38, 10**38, -(2**127))
    raw = pa.py_buffer(b"".join(cell.to_bytes(16, "little", signed=True) for cell in cells))
    rows = pa.table({"x": pa.Array.from_buffers(pa.decimal128(38, behind), len(cells), [None, raw])})
    pq.write_table(rows, tmp_path / "t.parquet")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.register("rows", rows)
        database.execute("CREATE TABLE t AS SELECT * FROM rows")
    for source in (rows, tmp_path / "t.parquet", f"{tmp_path / 't.duckdb'}#t"):
        for kind in ("identifier", "decimal", "text"):
            assert [cell is None for cell in held(source, kind)] == [False] * 3 + [True] * 2


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_a_stored_time_outside_of_a_day_is_missing(unit: str, tmp_path: Path) -> None:
    day = 86_400 * {"us": 10**6, "ns": 10**9}[unit]
    cells = pa.array([0, day - 1, day, -1, 2**63 - 1, -(2**63)], pa.int64()).view(pa.time64(unit))
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.register("rows", pa.table({"x": cells}))
        database.execute("CREATE TABLE t AS SELECT * FROM rows")
    for kind in ("identifier", "text"):
        found = held(f"{tmp_path / 't.duckdb'}#t", kind)
        assert [cell is None for cell in found] == [False] * 2 + [True] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_of_pandas_that_is_none_is_missing_and_the_others_are_there(kind: str) -> None:
    """pandas keeps what Arrow read, and Arrow does not look at texts."""
    cells = pa.chunked_array([texts(b"1", b"\xff", b"0")])
    whole = column(pd.Series(["1", None, "0"]), kind).to_pylist()
    for array in (ArrowExtensionArray(cells), ArrowStringArray(cells.cast(pa.large_string()))):
        assert column(pd.Series(array), kind).to_pylist() == whole


ENCODINGS: tuple[dict[str, Any], ...] = (
    {},
    {"use_dictionary": False},
    {"use_dictionary": False, "column_encoding": "DELTA_LENGTH_BYTE_ARRAY"},
    {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
)
COUNTED = EngineRequest("SELECT who, ward, count(*) AS m0 FROM v GROUP BY ALL", 2, ("m0",))
VISITS = (("who", "identifier"), ("ward", "text"))


def stored(place: Path, who: tuple[bytes, ...], ward: tuple[bytes, ...], **how: Any) -> Path:
    pq.write_table(pa.table({"who": texts(*who), "ward": texts(*ward)}), place, **how)
    return place


@pytest.mark.parametrize("how", ENCODINGS)
def test_a_text_of_a_file_that_is_no_text_is_missing_and_fails_nothing(
    how: dict[str, Any], tmp_path: Path
) -> None:
    """The halves of one letter in two cells are two cells without a meaning."""
    who, ward = (b"1", b"2", b"3\xc3", b"\xa94"), (b"A", b"\xffB", b"A", b"A")
    place = stored(tmp_path / "v.parquet", who, ward, **how)
    with open_tables({"v": Origin(place, VISITS)}, threads=1) as engine:
        for _ in range(2):
            found = dict(engine._exact([COUNTED], 1)._totals["m0"])
            assert found == {("1", "A"): 1, ("2", None): 1, (None, "A"): 2}
    columns = fetch("v", Origin(place, VISITS))
    assert columns == {"who": ["1", "2", None, None], "ward": ["A", None, "A", "A"]}


@pytest.mark.parametrize("how", ENCODINGS)
def test_a_text_that_is_no_text_is_missing_before_any_is_read(how: dict[str, Any], tmp_path: Path) -> None:
    """Counting what is there needs no text; what it counts may not depend on what was asked before."""
    place = stored(tmp_path / "v.parquet", (b"1", b"2", b"3"), (b"A", b"\xff", b"\xfe"), **how)
    for sql in (
        'SELECT count("ward") AS "m0" FROM "v"',
        'SELECT count(*) AS "m0" FROM "v" WHERE NOT ("ward" IS NULL)',
    ):
        with open_tables({"v": Origin(place, VISITS)}, threads=1) as engine:
            request = EngineRequest(sql, 0, ("m0",))
            assert [dict(engine._exact([request], 1)._totals["m0"]) for _ in range(2)] == [{(): 1}] * 2


def test_a_text_without_a_meaning_fails_no_preparation(tmp_path: Path) -> None:
    limits = {"unit": "who", "rows_per_unit": 1, "prepared": True, "columns": {"ward": "text"}}
    table = declare({"tables": {"v": limits}}).tables[0]
    place = stored(tmp_path / "v.parquet", (b"1", b"1", b"\xff", b"2"), (b"A", b"A", b"B", b"\xfe"))
    asked = Preparation("v", Origin(place, table.offered), preparation(table), "who", 5)
    prepare(asked, tmp_path / "made.duckdb")
    with open_tables({"v": Origin(tmp_path / "made.duckdb", table.offered)}, threads=1) as engine:
        found = dict(engine._exact([COUNTED], 1)._totals["m0"])
    assert found == {("1", "A"): 1, ("2", None): 1}
