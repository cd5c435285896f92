"""Text files of records (CSV), read record by record: what one record says never depends on another.

A file is read by an automaton of bytes that is in its first state wherever a record begins:

- a cell that begins with the quote runs to the next quote that is not doubled (or escaped); whatever stands
  between that quote and the end of the cell is kept as it is written;
- any other cell is kept as it is written, quotes included;
- outside quotes the delimiter ends a cell, and LF, CR or CR LF end a record; the end of the file ends both;
- a line without a single byte is no record.

Theorem.  Call a record complete if the automaton is back in its first state right after it and not before;
that is a property of its bytes alone.  A file of complete records means their meanings in their order, so
adding or removing complete records changes no other.  Every record of RFC 4180 is complete.

A record is malformed in one of four ways, and what then happens is decided by that record alone: cells that
are missing are NULL, cells beyond the header are ignored, a cell that is not text in the declared encoding is
NULL, and so is one of more than `LONGEST` bytes.  A quote that is opened and never closed makes one cell of
what follows it, as the format says; where no cell contains a line break, `multiline = false` ends every
record with its line.

Blocks are cut at the ends of records and read by arithmetic on whole arrays, as long as every quote stands
where RFC 4180 puts it; a block with any other quote is read by the automaton itself, written as an
expression.
"""

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

BLOCK = 2**23
"""Bytes read at a time; a longer record grows its block."""

LONGEST = 2**28
"""A longer cell is NULL: engines measure text in 32 bits."""

LF, CR = 10, 13
BOM = codecs.BOM_UTF8

Positions = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file is written; by default as RFC 4180 says, in UTF-8.

    `header` is True where the first record names the columns, or their names where it does not.  An empty
    `quote` or `escape` means that there is none.  Cells whose text is one of `null` are missing.
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    header: bool | tuple[str, ...] = True
    encoding: str = "utf-8"
    null: tuple[str, ...] = ("",)
    multiline: bool = True


RFC_4180 = Dialect()


class Utf8Stream:
    """A stream of bytes as UTF-8, whatever its encoding, without a byte order mark."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._encoding = None if encoding == "utf-8" else encoding
        self._begun = False

    def read(self, size: int) -> bytes:
        """Return about `size` bytes; fewer than asked, but not none, before the end."""
        data = bytes(self._stream.read(size))
        if not self._begun:
            self._begun = True
            data += bytes(self._stream.read(len(BOM))) if data else b""
            if self._encoding is None:
                data = data.removeprefix(BOM)
        if self._encoding is None:
            return data or bytes(self._stream.read(size))
        # A byte without meaning in a one-byte encoding stays as it is, and is not UTF-8.
        return data.decode(self._encoding, "surrogateescape").encode("utf-8", "surrogateescape")


@dataclass(repr=False)
class Records:
    """The records of one open file; `names` are its columns."""

    dialect: Dialect
    names: tuple[str, ...]
    _text: Utf8Stream
    _size: int
    _held: bytes

    def batches(self, wanted: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Return the cells of the wanted columns as text, a batch for every block."""
        labels = [f"c{position}" for position in range(len(wanted))]
        final = False
        while not final:
            more = self._text.read(max(self._size, len(self._held)))
            final = not more
            self._held += more
            columns, end = take(self._held, self.dialect, wanted, final=final)
            self._held = self._held[end:]
            if end:
                yield pa.RecordBatch.from_arrays([decoded(column) for column in columns], names=labels)


def read(stream: IO[bytes], dialect: Dialect, size: int = BLOCK) -> Records:
    """Begin to read a file: its column names first."""
    text = Utf8Stream(stream, dialect.encoding)
    if isinstance(dialect.header, tuple):
        return Records(dialect, dialect.header, text, size, b"")
    held, more = b"", b"first"
    while more:
        more = text.read(max(size, len(held)))
        held += more
        for row, end in split(held, dialect, final=not more):
            names = tuple(cell.decode("utf-8", "replace") for cell in row)
            return Records(dialect, names, text, size, held[end:])
    return Records(dialect, (), text, size, b"")


def take(data: bytes, dialect: Dialect, wanted: Sequence[int], *, final: bool) -> tuple[list[pa.Array], int]:
    """Return the wanted cells of the complete records that `data` begins with, and how many bytes these are.

    Cells are bytes, or NULL where a record is too short.  With `final` nothing follows, so all is complete.
    """
    cut = None if dialect.escape else _cut(np.frombuffer(data, np.uint8), dialect, final=final)
    if cut is not None:
        return [cut.column(position) for position in wanted], cut.taken
    rows, end = [], 0
    for row, end in split(data, dialect, final=final):  # noqa: B007 - the last end is returned
        rows.append(row)
    return [
        pa.array([row[position] if position < len(row) else None for row in rows], pa.large_binary())
        for position in wanted
    ], len(data) if final else end


def split(data: bytes, dialect: Dialect, *, final: bool) -> Iterator[tuple[list[bytes], int]]:
    """Return each record's cells and where it ends: the automaton itself.

    Unless `final`, what could still change with the bytes that follow is not returned.
    """
    cell, meaning, delimiter = _expression(dialect), _meaning(dialect), dialect.delimiter.encode()
    row: list[bytes] = []
    begun = place = 0
    while place < len(data) or row:
        found = cell.match(data, place)
        if found is None:
            raise AssertionError("every text begins with a cell")
        place = found.end()
        if not final and place == len(data) and found[4] != b"\n":
            return
        row.append(meaning(found))
        if found[4] == delimiter:
            continue
        if place - begun > len(found[4]):
            yield row, place
        row, begun = [], place


def _expression(dialect: Dialect) -> re.Pattern[bytes]:
    """Return the expression of a cell: what is quoted, what follows it, or plain text; then what ends it."""
    delimiter, quote, escape = (
        re.escape(sign.encode()) for sign in (dialect.delimiter, dialect.quote, dialect.escape)
    )
    line = b"" if dialect.multiline else rb"\r\n"
    next_one = b"." if dialect.multiline else rb"[^\r\n]"
    pair = rb"|%s%s?+" % (escape, next_one) if escape else b""
    plain = rb"((?:[^%s\r\n%s]++%s)*+)" % (delimiter, escape, pair)
    ends = rb"(%s|\r\n|\r|\n|\Z)" % delimiter
    if not quote:
        return re.compile(rb"(?:(?!)()()|%s)%s" % (plain, ends), re.DOTALL)
    inside = rb"((?:[^%s%s%s]++|%s%s%s)*+)" % (quote, escape, line, quote, quote, pair)
    close = rb"(?:%s|(?=[\r\n])|\Z)" % quote
    return re.compile(rb"(?:%s%s%s%s|%s)%s" % (quote, inside, close, plain, plain, ends), re.DOTALL)


def _meaning(dialect: Dialect) -> Callable[[re.Match[bytes]], bytes]:
    escaped = [re.escape(dialect.escape.encode()) + b"."] if dialect.escape else []
    in_plain = re.compile(b"|".join(escaped) or b"(?!)", re.DOTALL)
    in_quotes = re.compile(b"|".join([re.escape(dialect.quote.encode() * 2) or b"(?!)", *escaped]), re.DOTALL)

    def meaning(found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            return in_plain.sub(_second, found[3])
        return in_quotes.sub(_second, found[1]) + in_plain.sub(_second, found[2])

    return meaning


def _second(pair: re.Match[bytes]) -> bytes:
    return pair[0][1:]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Cut:
    """Records cut into cells: where cells begin and end, each record's first cell and how many it has."""

    data: Bytes
    begins: Positions
    ends: Positions
    first: Positions
    number: Positions
    quote: int
    taken: int

    def column(self, position: int) -> pa.Array:
        """Return one cell of each record."""
        present = position < self.number
        cell = np.where(present, self.first + position, 0) if len(self.ends) else self.first
        begins, ends = self.begins[cell], np.where(present, self.ends[cell], self.begins[cell])
        quoted = ends > begins
        quoted[quoted] = self.data[begins[quoted]] == self.quote
        begins, ends = begins + quoted, ends - quoted
        offsets = np.zeros(len(cell) + 1, np.int64)
        np.cumsum(ends - begins, out=offsets[1:])
        places = np.repeat(begins - offsets[:-1], ends - begins)
        places += np.arange(len(places))
        return pa.Array.from_buffers(
            pa.large_binary(),
            len(cell),
            [
                pa.py_buffer(np.packbits(present, bitorder="little")),
                pa.py_buffer(offsets),
                pa.py_buffer(self.data[places]),
            ],
        )


def _cut(data: Bytes, dialect: Dialect, *, final: bool) -> _Cut | None:
    """Cut records by counting quotes, or return nothing where a quote is not where RFC 4180 puts it.

    Before a byte outside quotes stands an even number of quotes.  That is what the automaton finds as long as
    each quote that opens stands where a cell begins or right behind one that closed (the two are one doubled
    quote), and each that closes stands before the end of its cell or before another quote.
    """
    quote = ord(dialect.quote) if dialect.quote else -1
    signs = [ord(dialect.delimiter), LF, CR, *([quote] if dialect.quote else [])]
    special = np.zeros(256, np.bool_)
    special[signs] = True
    places = np.flatnonzero(special[data])
    kinds = data[places]
    doubled = places[:0]
    quoting = kinds == quote
    if quoting.any():
        odd = (np.cumsum(quoting) & 1).astype(np.bool_)
        opens, closes = places[quoting & odd], places[quoting & ~odd]
        behind = data[np.maximum(opens - 1, 0)]
        if not (special[behind] | (opens == 0)).all():
            return None
        if not (special[data[np.minimum(closes + 1, len(data) - 1)]] | (closes == len(data) - 1)).all():
            return None
        if (final and odd[-1]) or (not dialect.multiline and (odd & ((kinds == LF) | (kinds == CR))).any()):
            return None
        doubled = opens[(behind == quote) & (opens > 0)]
        outside = ~(quoting | odd)
        places, kinds = places[outside], kinds[outside]
    return _records(data, places, kinds, doubled, quote, ord(dialect.delimiter), final=final)


def _records(
    data: Bytes,
    places: Positions,
    kinds: Bytes,
    doubled: Positions,
    quote: int,
    delimiter: int,
    *,
    final: bool,
) -> _Cut:
    """Group the bytes that end cells into records; lines without a byte are none."""
    lone = ~((kinds == LF) & (places > 0) & (data[np.maximum(places - 1, 0)] == CR))
    places, kinds = places[lone], kinds[lone]
    # A CR that ends the data may be half of a line end; the other half is then a line without a byte.
    ended = kinds != delimiter
    widths = 1 + ((kinds == CR) & (data[np.minimum(places + 1, len(data) - 1)] == LF))
    last = np.flatnonzero(ended)
    taken = int(places[last[-1]] + widths[last[-1]]) if len(last) else 0
    if final and taken < len(data):
        places, widths = np.append(places, len(data)), np.append(widths, 0)
        last, taken = np.append(last, len(places) - 1), len(data)
    cells = int(last[-1]) + 1 if len(last) else 0
    ends = places[:cells]
    begins = np.zeros(cells, np.int64)
    begins[1:] = (ends + widths[:cells])[:-1]
    first = np.zeros(len(last), np.int64)
    first[1:] = last[:-1] + 1
    number = last - first + 1
    filled = (number > 1) | (ends[last] > begins[first])
    if len(doubled):
        kept = np.ones(len(data), np.bool_)
        kept[doubled] = False
        data = data[kept]
        begins = begins - np.searchsorted(doubled, begins)
        ends = ends - np.searchsorted(doubled, ends)
    return _Cut(data, begins, ends, first[filled], number[filled], quote, taken)


def decoded(column: pa.Array) -> pa.Array:
    """Return cells as text, NULL where they are no text or too long."""
    import pyarrow.compute as pc

    column = pc.if_else(pc.less_equal(pc.binary_length(column), LONGEST), column, None)
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([_legible(cell) for cell in column.to_pylist()], pa.large_string())


def _legible(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode("utf-8")
    except UnicodeDecodeError:
        return None
