"""A text file is read record by record: as specified, whatever the size of blocks and the neighbours."""

import gzip
import io
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.engines import records
from discreet.engines.duckdb.engine import open_tables
from discreet.engines.exact import EngineRequest
from discreet.engines.protocol import Origin
from discreet.engines.records import RFC_4180, Dialect

Row = tuple[bytes | None, ...]
WIDTH = 4
NAMES = ("a", "b", "c", "d")


def specified(data: bytes, dialect: Dialect) -> list[list[bytes]]:
    """Read a file byte by byte: the specification, which shares no code with what it judges."""
    quote, escape, delimiter = (sign.encode() for sign in (dialect.quote, dialect.escape, dialect.delimiter))
    rows: list[list[bytes]] = []
    row: list[bytes] = []
    cell, state, filled, place = b"", "begin", False, 0
    while place < len(data):
        byte, following = data[place : place + 1], data[place + 1 : place + 2]
        line = byte in b"\r\n"
        literal = escape == byte and following and (dialect.multiline or following not in b"\r\n")
        if state == "quoted" and not (line and not dialect.multiline):
            if literal and escape:
                cell, place = cell + following, place + 2
            elif byte == quote and following == quote:
                cell, place = cell + quote, place + 2
            elif byte == quote:
                state, place = "plain", place + 1
            else:
                cell, place = cell + byte, place + 1
        elif line:
            place += 2 if byte + following == b"\r\n" else 1
            if filled:
                rows.append([*row, cell])
            row, cell, state, filled = [], b"", "begin", False
        elif byte == delimiter:
            row, cell, state, filled, place = [*row, cell], b"", "begin", True, place + 1
        elif state == "begin" and quote and byte == quote:
            state, filled, place = "quoted", True, place + 1
        elif literal and escape:
            cell, state, filled, place = cell + following, "plain", True, place + 2
        else:
            cell, state, filled, place = cell + byte, "plain", True, place + 1
    return [*rows, [*row, cell]] if filled else rows


def padded(rows: list[list[bytes]]) -> list[Row]:
    return [tuple([*row, *[None] * WIDTH][:WIDTH]) for row in rows]


def found(data: bytes, dialect: Dialect, size: int = records.BLOCK) -> list[Row]:
    file = records.read(io.BytesIO(data), replace(dialect, header=NAMES), size)
    return [
        tuple(None if cell is None else cell.encode() for cell in row)
        for batch in file.batches(range(WIDTH))
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


def any_bytes(choose: random.Random) -> bytes:
    return bytes(choose.choices(b'ab",\n\r\\"\x00', k=choose.randrange(30)))


def well_formed(choose: random.Random, cells: int | None = None) -> bytes:
    """Return one record of RFC 4180 without its end."""
    written = []
    for _ in range(cells or choose.randrange(1, 6)):
        cell = bytes(choose.choices(b"ab\",\n\r\\'\x00;", k=choose.randrange(4)))
        if set(cell) & set(b'",\n\r') or choose.random() < 0.2:
            cell = b'"' + cell.replace(b'"', b'""') + b'"'
        written.append(cell)
    return b",".join(written)


def file_of(choose: random.Random) -> bytes:
    ends = choose.choice([[b"\n"], [b"\r\n"], [b"\n", b"\r", b"\r\n"]])
    data = b"".join(well_formed(choose) + choose.choice(ends) for _ in range(choose.randrange(6)))
    return data.rstrip(b"\r\n") if choose.random() < 0.3 else data


def dialects(choose: random.Random) -> Dialect:
    return Dialect(
        quote=choose.choice(['"', '"', '"', ""]),
        escape=choose.choice(["", "", "\\"]),
        multiline=choose.random() < 0.7,
    )


def files(seed: int, number: int) -> Iterator[tuple[bytes, Dialect, int]]:
    choose = random.Random(seed)
    for _ in range(number):
        data = any_bytes(choose) if choose.random() < 0.5 else file_of(choose)
        yield data, dialects(choose), choose.choice([1, 2, 3, 5, 8, 13, records.BLOCK])


def agrees(seed: int, number: int) -> None:
    for data, dialect, size in files(seed, number):
        assert found(data, dialect, size) == padded(specified(data, dialect)), (data, dialect, size)


def test_every_file_means_what_the_specification_says() -> None:
    agrees(seed=1, number=400)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(2, 10))
def test_many_files_mean_what_the_specification_says(seed: int) -> None:
    agrees(seed, number=25_000)


def neighbours(seed: int, number: int) -> None:
    choose = random.Random(seed)
    for _ in range(number):
        kept = [well_formed(choose, WIDTH) + choose.choice([b"\n", b"\r\n", b"\r"]) for _ in range(6)]
        victim = [well_formed(choose, WIDTH) + b"\n" for _ in range(choose.randrange(1, 4))]
        where = sorted(choose.randrange(len(kept) + 1) for _ in victim)
        mixed = list(kept)
        for place, record in reversed(list(zip(where, victim, strict=True))):
            mixed.insert(place, record)
        size = choose.choice([4, 20, records.BLOCK])
        # A bare CR in front of a record that begins with LF would be one line end; no record here begins so.
        apart = [row for record in mixed for row in found(record, RFC_4180)]
        assert found(b"".join(mixed), RFC_4180, size) == apart, (mixed, size)
        others = [row for record in kept for row in found(record, RFC_4180)]
        assert found(b"".join(kept), RFC_4180, size) == others, (kept, size)


def test_adding_a_persons_records_changes_no_other_record() -> None:
    neighbours(seed=3, number=25)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(4))
def test_adding_a_persons_records_changes_no_other_record_in_many_files(seed: int) -> None:
    neighbours(1_000 + seed, number=2_500)


@pytest.mark.parametrize(
    ("written", "cells"),
    [
        (b'x,"p"q,r', (b"x", b"pq", b"r")),
        (b'x,p"q,r', (b"x", b'p"q', b"r")),
        (b'x,"p"q"r,s', (b"x", b'pq"r', b"s")),
        (b'x,"p" ,r', (b"x", b"p ", b"r")),
        (b"x,y", (b"x", b"y", None)),
        (b"x,y,z,w,v", (b"x", b"y", b"z")),
        (b"x,\xff,z", (b"x", None, b"z")),
        (b"x,\x00,z", (b"x", b"\x00", b"z")),
        (b',"",', (b"", b"", b"")),
    ],
)
def test_a_malformed_record_is_its_own_business(written: bytes, cells: Row) -> None:
    data = b"1,2,3\n" + written + b"\n7,8,9\n7,8,9\n"
    rows = [row[:3] for row in found(data, RFC_4180)]
    assert rows == [(b"1", b"2", b"3"), cells, *[(b"7", b"8", b"9")] * 2]


def test_where_no_cell_breaks_a_line_an_open_quote_ends_with_its_line() -> None:
    data = b'1,"2,3\n4,5,6\n'
    assert len(found(data, RFC_4180)) == 1
    lines = [row[:3] for row in found(data, replace(RFC_4180, multiline=False))]
    assert lines == [(b"1", b"2,3", None), (b"4", b"5", b"6")]


def counted(folder: Path, file: str, dialect: Dialect = RFC_4180) -> dict[tuple[object, ...], int]:
    columns = (("person", "identifier"), ("note", "text"))
    with open_tables({"t": Origin(file, columns, dialect)}, folder=folder) as engine:
        sql = 'SELECT person AS "k0", note AS "k1", count(*) AS "m0" FROM t GROUP BY ALL'
        return dict(engine._exact([EngineRequest(sql, 2, ("m0",))], 1)._totals["m0"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "odd",
    ["\\", "'", '"', "say\nhi", "a\r\nb", "k" * 3_000_000, "\x00", "\ufeff", ",;|\t", 'say ""hi""', "n/a?"],
)
def test_one_persons_cell_never_touches_another_row(odd: str, tmp_path: Path) -> None:
    rows = "".join(f'{person},"say ""hi"""\r\n' for person in range(3_000))
    # Quoted only where RFC 4180 needs it: a bare backslash or apostrophe must not look like a dialect.
    cell = '"' + odd.replace('"', '""') + '"' if set(odd) & set(',"\r\n') else odd
    (tmp_path / "t.csv").write_bytes(f"person,note\r\n{rows}".encode())
    (tmp_path / "u.csv").write_bytes(f"person,note\r\nvictim,{cell}\r\n{rows}".encode())
    without, with_victim = counted(tmp_path, "t.csv"), counted(tmp_path, "u.csv")
    assert len(without) == 3_000
    assert {**without, ("victim", odd): 1} == with_victim


def test_encodings_are_declared_and_cells_that_are_no_text_are_missing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"person,note\n1,caf\xe9\n2,\x80\n3,\x81\n")
    assert counted(tmp_path, "t.csv") == {("1", None): 1, ("2", None): 1, ("3", None): 1}
    latin, windows = (replace(RFC_4180, encoding=name) for name in ("latin-1", "windows-1252"))
    assert counted(tmp_path, "t.csv", latin) == {("1", "café"): 1, ("2", "\x80"): 1, ("3", "\x81"): 1}
    assert counted(tmp_path, "t.csv", windows) == {("1", "café"): 1, ("2", "€"): 1, ("3", None): 1}


def test_dialect_marks_and_compression(tmp_path: Path) -> None:
    expected = {("1", "a;b"): 1, ("2", None): 1}
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfperson;note\r1;'a;b'\r2;NA")
    assert counted(tmp_path, "t.csv", Dialect(delimiter=";", quote="'", null=("NA",))) == expected
    (tmp_path / "u.tsv").write_bytes(b"1\ta;b\n2\t\n\n\n")
    assert counted(tmp_path, "u.tsv", Dialect(delimiter="\t", header=("person", "note"))) == expected
    (tmp_path / "v.csv.gz").write_bytes(gzip.compress(b'note,person\n"a;b",1\n,2\n'))
    assert counted(tmp_path, "v.csv.gz") == expected


def test_cells_beyond_the_longest_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LONGEST", 5)
    assert [row[:2] for row in found(b"12345,123456\n1,2\n", RFC_4180)] == [(b"12345", None), (b"1", b"2")]
