"""Frames as Arrow tables of their declared columns: names and types only where only those are asked for.

Arrow and Polars tables carry a schema that no cell can change; text in them is checked cell by cell, and what
is not UTF-8 is NULL.  Moments become microseconds (in UTC, where they have a time zone) of the years 1 to
9999, NULL outside, and so do times outside of a day: an engine that converted them itself would fail at a
single cell.  The types of pandas
depend on the cells, so there the declared types decide; see `cells`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.engines import cells
from discreet.engines.records import decoded
from discreet.errors import CatalogError
from discreet.query.name import same

BATCH = 2**13
"""Rows of a file that are converted at a time."""

_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}

FIRST, AFTER = -62_135_596_800, 253_402_300_800
"""The seconds at which the year 1 begins and the year 9999 has ended."""


def schema(rows: Any) -> tuple[tuple[str, ...], pa.Schema | None]:
    """Return the names of a frame's columns, and their types unless these depend on cells."""
    frame = _opened(rows)
    if isinstance(frame, pa.Table):
        return tuple(frame.column_names), pa.schema([_plain(column) for column in frame.schema])
    if _is_pandas(frame):
        return tuple(name for name in frame.columns if isinstance(name, str)), None
    known = []
    for name in frame.columns:
        try:
            known.append(frame.select(name).head(0).to_arrow().schema.field(0))
        except Exception:
            # A type that Arrow does not have; a null type cannot be asked about either.
            known.append(pa.field(name, pa.null()))
    return tuple(frame.columns), pa.schema([_plain(column) for column in known])


def table(rows: Any, wanted: Mapping[str, str]) -> pa.Table:
    """Return the wanted columns, given with their declared types, as an Arrow table."""
    frame = _opened(rows)
    if isinstance(frame, pa.Table):
        made = {name: _checked(frame.column(name)) for name in wanted}
    elif _is_pandas(frame):
        native = frame.to_pandas()
        made = {name: cells.column(native[name], kind) for name, kind in wanted.items()}
    else:
        made = {name: _checked(frame.select(name).to_arrow().column(0)) for name in wanted}
    # Where no column is declared, rows can still be counted.
    return pa.table(made) if made else pa.table({"nothing": pa.nulls(len(frame), pa.int8())})


def _opened(rows: Any) -> Any:
    import narwhals

    if isinstance(rows, pa.Table):
        return rows
    try:
        frame = narwhals.from_native(rows)
    except TypeError:
        frame = None
    if frame is None:
        raise CatalogError("give a path, or a pandas, Polars or Arrow table")
    return frame.collect() if isinstance(frame, narwhals.LazyFrame) else frame


def _is_pandas(frame: Any) -> bool:
    return bool(frame.implementation.is_pandas_like())


def _bare(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the cells of a column themselves: what stands in a dictionary, or under somebody's own type."""
    while True:
        kind = column.type
        if pa.types.is_dictionary(kind):
            # Few long labels make more text than other types can hold.
            own = _LARGE.get(kind.value_type, kind.value_type)
            spelt = (chunk.dictionary.cast(own).take(chunk.indices) for chunk in column.chunks)
            column = pa.chunked_array(spelt, own)
        elif isinstance(kind, pa.BaseExtensionType) and kind != pa.uuid():
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        else:
            return column


def _plain(column: pa.Field) -> pa.Field:
    """Return a field without the labels of its dictionary: which there are depends on cells."""
    return pa.field(column.name, _bare(pa.chunked_array([], column.type)).type)


def parquet_names(place: Path) -> list[str]:
    """Return the columns of a Parquet file."""
    import pyarrow.parquet as pq

    return list(pq.read_schema(place).names)


def parquet(place: Path, names: Sequence[str]) -> pa.RecordBatchReader:
    """Return columns of a Parquet file batch by batch, with cells that no engine fails to convert."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(place, coerce_int96_timestamp_unit="us")
    # Without a name the rows themselves are wanted, and the first column has as many.
    chosen = list(names) or parquet_names(place)[:1]
    empty = (pa.chunked_array([], file.schema_arrow.field(name).type) for name in chosen)
    schema = pa.schema([(name, _checked(none).type) for name, none in zip(chosen, empty, strict=True)])

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in file.iter_batches(BATCH, columns=chosen):
            made = (_checked(pa.chunked_array([batch.column(name)])) for name in chosen)
            yield pa.record_batch([column.combine_chunks() for column in made], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def has_odd_cells(place: Path, names: Sequence[str]) -> bool:
    """Whether columns of a Parquet file, by its schema, hold what an engine's reader may fail to convert.

    Those are moments other than microseconds without a time zone, times of day, texts that should be JSON,
    and lists and structures, inside of which nothing can be looked at.
    """
    import pyarrow.parquet as pq

    columns = pq.ParquetFile(place).schema
    found = (columns.column(number) for number in range(len(columns)))
    return any(
        _odd(column) or not same(column.path, name)
        for column in found
        for name in names
        if _within(column.path, name)
    )


def _within(path: str, name: str) -> bool:
    """Whether a path of a schema is a column of this name, or lies inside of it."""
    parts = path.split(".")
    return any(same(".".join(parts[:last]), name) for last in range(1, len(parts) + 1))


def _odd(column: Any) -> bool:
    meaning = str(column.logical_type)
    plain = "isAdjustedToUTC=false" in meaning and "timeUnit=microseconds" in meaning
    timed = meaning.startswith("Time(") or (meaning.startswith("Timestamp") and not plain)
    return timed or meaning == "JSON" or column.physical_type == "INT96"


def _of_day(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times of day, NULL where they lie outside of a day."""
    import pyarrow.compute as pc

    kind = column.type
    stored = pa.int32() if pa.types.is_time32(kind) else pa.int64()
    day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    raw = pa.chunked_array([chunk.view(stored) for chunk in column.chunks], stored)
    inside = pc.and_(pc.greater_equal(raw, 0), pc.less(raw, day))
    return pc.if_else(inside, raw, pa.scalar(None, stored)).cast(kind)


def _calendar(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return moments as microseconds of the calendar's years."""
    import pyarrow.compute as pc

    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
    raw = pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())
    low, high = max(FIRST * per, -(2**63)), min(AFTER * per - 1, 2**63 - 1)
    inside = pc.and_(pc.greater_equal(raw, low), pc.less_equal(raw, high))
    raw = pc.if_else(inside, raw, pa.scalar(None, pa.int64()))
    if per <= 10**6:
        return pc.multiply(raw, 10**6 // per).cast(pa.timestamp("us"))
    # Division is towards zero; before 1970 that would be up.
    near = pc.divide(raw, per // 10**6)
    above = pc.greater(pc.multiply(near, per // 10**6), raw)
    return pc.subtract(near, above.cast(pa.int64())).cast(pa.timestamp("us"))


def _checked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    column = _bare(column)
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
        # An engine that converted a length of time beyond its own range would fail at that cell.
        raise CatalogError(f"a column of type {kind} tells nobody apart; offer a number, a date or a text")
    if pa.types.is_timestamp(kind):
        return _calendar(column)
    if pa.types.is_time(kind):
        return _of_day(column)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        return column
    return pa.chunked_array(
        [decoded(chunk.cast(pa.large_binary())) for chunk in column.chunks], pa.large_string()
    )
