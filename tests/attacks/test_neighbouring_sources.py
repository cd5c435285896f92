"""What is free to see is the same on neighbouring data, however it is kept and whatever one person's cells.

Refusals, quotes, columns, rows of declared keys and their order, error texts and exit statuses, of files and
frames that differ in one person's records.
"""

import csv
import io
import random
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app

KINDS = ("csv", "parquet", "duckdb", "pandas", "polars", "arrow")
SCHEMA = pa.schema(
    [("person", pa.string()), ("ward", pa.string()), ("age", pa.int64()), ("cost", pa.float64())]
)
COLUMNS = {
    "ward": {"type": "text", "values": ["A", "B", "C"]},
    "age": {"type": "integer", "low": 0, "high": 120},
    "cost": {"type": "decimal", "low": 0, "high": 50, "step": "0.5"},
}
QUESTIONS = (
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM t GROUP BY ward",
    "SELECT AVG(age) AS a, COUNT(DISTINCT person) AS p FROM t WHERE cost > 3",
    "SELECT CLAMP(age, 0, 3) AS k, COUNT(*) AS n FROM t GROUP BY CLAMP(age, 0, 3)",
    "SELECT MEDIAN(age) AS m FROM t WHERE ward LIKE '%A'",
    "SELECT SUM(CAST(ward AS INTEGER)) AS s FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE nobody = 3",
    "SELECT person, COUNT(*) AS n FROM t GROUP BY person",
    "SELECT * FROM t",
)
ODD_TEXT = (
    "",
    "\\",
    "'",
    '"',
    '""',
    "a\nb",
    "\r",
    "\r\n",
    ",",
    ";",
    "\t",
    "\x00",
    "n/a",
    "NULL",
    "\ufeff",
    "A",
    "1e999",
    "é",
)
ODD_WHOLE = (0, -1, 10**12, 2**53, 2**62, None)
ODD_REAL = (0.0, -1.5, 1e300, float("nan"), float("inf"), None)
ANY = (*ODD_TEXT, *ODD_WHOLE, *ODD_REAL, [1], b"\xff", object())

Record = tuple[Any, ...]


def others(choose: random.Random, people: int = 12) -> list[Record]:
    return [
        (f"p{person}", choose.choice("ABC"), choose.randrange(120), choose.randrange(100) / 2)
        for person in range(people)
        for _ in range(choose.randrange(1, 3))
    ]


def victim(choose: random.Random, kind: str) -> list[Record]:
    """Return one person's records, with any cell that this kind of source can hold."""
    name = choose.choice([cell for cell in ODD_TEXT if cell]) + "victim"
    wild = ANY if kind == "pandas" else ODD_TEXT
    age, cost = (wild, wild) if kind in ("pandas", "csv") else (ODD_WHOLE, ODD_REAL)
    return [
        (name, choose.choice(wild), choose.choice(age), choose.choice(cost))
        for _ in range(choose.randrange(1, 5))
    ]


def mixed(choose: random.Random, rows: list[Record], more: list[Record]) -> list[Record]:
    made = list(rows)
    for record in more:
        made.insert(choose.randrange(len(made) + 1), record)
    return made


def kept(kind: str, rows: list[Record], folder: Path) -> Any:
    """Return a source that holds these records."""
    names = SCHEMA.names
    if kind == "csv":
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerows([names, *rows])
        (folder / "t.csv").write_bytes(text.getvalue().encode())
        return folder / "t.csv"
    if kind == "pandas":
        return pd.DataFrame({name: [row[place] for row in rows] for place, name in enumerate(names)})
    columns = [[row[place] for row in rows] for place in range(len(names))]
    table = pa.table(columns, SCHEMA)
    if kind == "parquet":
        pyarrow.parquet.write_table(table, folder / "t.parquet")
        return folder / "t.parquet"
    if kind == "duckdb":
        (folder / "t.duckdb").unlink(missing_ok=True)
        with duckdb.connect(str(folder / "t.duckdb")) as connection:
            connection.register("rows", table)
            connection.execute("CREATE TABLE t AS SELECT * FROM rows")
        return f"{folder / 't.duckdb'}#t"
    return pl.from_arrow(table) if kind == "polars" else table


def seen(kind: str, rows: list[Record], folder: Path, columns: Any) -> list[str]:
    """Return all that is free to see, and of what is paid for all that is not noise."""
    said = []
    try:
        data = dp.open(
            t=kept(kind, rows, folder),
            unit="person",
            rows_per_unit=2,
            epsilon=10**4,
            columns=columns,
            name="t",
        )
    except dp.DiscreetError as refusal:
        return [f"{type(refusal).__name__}: {refusal}"]
    with data:
        said.append(repr(data.catalog.tables[0].columns))
        for question in QUESTIONS:
            try:
                said.append(repr(data.quote(question, epsilon=1)))
                answer = data.query(question, epsilon=1)
                said.append(f"{answer.columns} {[row.key for row in answer.rows]}")
            except dp.DiscreetError as refusal:
                said.append(f"{type(refusal).__name__}: {refusal}")
    return said


def indistinguishable(kind: str, seed: int, pairs: int, folder: Path, columns: Any = COLUMNS) -> None:
    choose = random.Random(f"{kind} {seed}")
    for _ in range(pairs):
        rows = others(choose)
        more = victim(choose, kind)
        without, with_victim = (
            seen(kind, rows, folder, columns),
            seen(kind, mixed(choose, rows, more), folder, columns),
        )
        assert without == with_victim, more
        assert len(without) > len(QUESTIONS), without


@pytest.mark.parametrize("kind", KINDS)
def test_one_person_changes_nothing_that_is_free_to_see(kind: str, tmp_path: Path) -> None:
    indistinguishable(kind, seed=1, pairs=1, folder=tmp_path)


@pytest.mark.parametrize("kind", ["csv", "pandas"])
def test_one_person_changes_nothing_where_no_type_is_declared(kind: str, tmp_path: Path) -> None:
    indistinguishable(kind, seed=2, pairs=1, folder=tmp_path, columns={})


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", KINDS)
def test_one_person_changes_nothing_that_is_free_to_see_in_many_pairs(
    kind: str, seed: int, tmp_path: Path
) -> None:
    indistinguishable(kind, 100 + seed, pairs=200 if kind == "csv" else 40, folder=tmp_path)


def test_the_comparison_would_notice_a_type_taken_from_cells(tmp_path: Path) -> None:
    rows = others(random.Random(5))
    typed = seen("csv", rows, tmp_path, COLUMNS)
    guessed = seen("csv", rows, tmp_path, {**COLUMNS, "age": "text"})
    assert typed != guessed


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
def test_one_person_changes_neither_output_nor_status_of_a_command(kind: str, tmp_path: Path) -> None:
    choose = random.Random(kind)
    rows = others(choose)
    outcomes = []
    for data in (rows, mixed(choose, rows, victim(choose, kind))):
        source = kept(kind, data, tmp_path)
        lines = ["[budget]", "epsilon = 9", "[tables.t]", f"source = '{source}'", "unit = 'person'"]
        lines += ["rows_per_unit = 2", "[tables.t.columns]", "age = { type = 'integer', low = 0, high = 9 }"]
        (tmp_path / "t.toml").write_text("\n".join(lines))
        for question in ("SELECT SUM(age) AS s FROM t", "SELECT SUM(cost) AS s FROM t"):
            arguments = ["query", str(tmp_path / "t.toml"), question, "--epsilon", "1", "--dry-run"]
            done = CliRunner().invoke(app, arguments)
            outcomes.append((question, done.exit_code, done.output, repr(done.exception)))
    assert outcomes[:2] == outcomes[2:]
    assert outcomes[0][1] == 0 != outcomes[1][1]
