"""A draft says what was looked at, holds no cell, and opens, whatever the file is like."""

import random
import tomllib
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app
from discreet.release.draft import GUESSED, draft
from discreet.release.sources import kind_of


def drafted(folder: Path, data: bytes, name: str = "people.csv") -> str:
    (folder / name).write_bytes(data)
    text = draft([name], folder)
    (folder / "m.toml").write_text(text, encoding="utf-8")
    (folder / "people.ledger").unlink(missing_ok=True)
    with dp.open(folder / "m.toml", ledger=folder / f"{random.random()}.ledger") as session:
        assert session.quote("SELECT COUNT(*) AS n FROM people", epsilon=1).cost
    return text


def test_types_of_a_text_file_are_guessed_and_the_draft_says_so(tmp_path: Path) -> None:
    rows = (
        b"person_id;age;cost;zip;day;at;ok;name\n1;30;1.5;01234;2024-01-31;2024-01-31 10:00:00;true;Zo\xeb\n"
    )
    text = drafted(tmp_path, rows + b"2;;2;04321;;;false;x;further;cells\n3\n")
    assert GUESSED in text
    table = tomllib.loads(text)["tables"]["people"]
    assert table["csv"] == {"encoding": "windows-1252", "delimiter": ";"}
    assert table["unit"] == "person_id"
    assert {name: spec["type"] for name, spec in table["columns"].items()} == {
        "age": "integer",
        "cost": "decimal",
        "zip": "text",
        "day": "date",
        "at": "timestamp",
        "ok": "boolean",
        "name": "text",
    }
    assert not any(cell in text for cell in ("01234", "Zo", "1.5"))


def test_a_file_with_a_schema_is_not_looked_at(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people (id INTEGER, coin ENUM('MINT', 'INT'), many INT[], span INTERVAL)"
        )
    text = draft(["people.duckdb#people"], tmp_path)
    assert GUESSED not in text
    assert tomllib.loads(text)["tables"]["people"]["columns"] == {"coin": {"type": "text"}}


@pytest.mark.parametrize(
    ("physical", "kind"),
    [
        ("ENUM('MINT')", "text"),
        ("INTEGER[]", None),
        ("STRUCT(a INTEGER)", None),
        ("INTERVAL", None),
        ("HUGEINT", "integer"),
        ("UTINYINT", "integer"),
        ("DECIMAL(18,3)", "decimal"),
        ("DECIMAL(18,3)[]", None),
        ("TIMESTAMP_NS", "timestamp"),
        ("TIMESTAMP[]", None),
        ("MAP(VARCHAR, INTEGER)", None),
        ("UNION(num INTEGER)", None),
        (None, "text"),
    ],
)
def test_only_plain_types_have_a_kind(physical: str | None, kind: str | None) -> None:
    assert kind_of(physical) == kind


@pytest.mark.parametrize(
    "data",
    [
        b"id,a,b\n1\n2,3\n4,5,6,7,8\n",
        b"id,a,a,A,__b,,\x07c\n1,2,3,4,5,6,7\n",
        b"id,a\n",
        b'id,"x\ny","say ""hi"""\n1,2,3\n',
        b'a\r"open',
        b"\xef\xbb\xbfid\tage\n1\t2\n",
        b"only\n\n\n1\n",
        b'id,note\n1,"a\nb"\n2,\\\n3,\'\n\x00,\xff\n',
    ],
)
def test_the_draft_of_any_file_opens(data: bytes, tmp_path: Path) -> None:
    drafted(tmp_path, data)


def test_the_command_says_that_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id,age\n1,2\n")
    done = CliRunner().invoke(app, ["init", "people.csv"])
    assert done.exit_code == 0
    assert "by looking at their cells" in " ".join(done.output.split())
