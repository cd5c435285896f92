"""A manifest that is wrong is refused by naming the key; one that is right says exactly what it says."""

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import CatalogError
from discreet.privacy.adjacency import Adjacency
from discreet.query.catalog.kind import Day, Real, Text, Whole
from discreet.query.catalog.manifest import DeclaredBudget, declare, load
from discreet.release.draft import candidates, draft

MANIFEST = """
[dataset]
name = "clinic"
ledger = "clinic.ledger"
[budget]
epsilon = 3
delta = "1e-9"
[tables.visits]
source = "visits.parquet"
unit = "patient_id"
neighbours = "replace"
rows_per_unit = 8
groups_per_unit = 4
[tables.visits.columns]
age  = { type = "integer", low = 0, high = 120 }
ward = { type = "text", values = ["A", "B", "C"] }
cost = { type = "decimal", low = 0, high = 5000, step = "0.01" }
day  = { type = "date", low = 2024-01-01, high = 2024-12-31 }
note = "text"
[tables.wards]
source = "wards.csv"
public = true
"""


def test_a_manifest_is_read_exactly(tmp_path: Path) -> None:
    path = tmp_path / "clinic.toml"
    path.write_text(MANIFEST, encoding="utf-8")
    catalog = load(path)
    assert catalog.budget == DeclaredBudget(Fraction(3), Fraction(1, 10**9))
    assert catalog.folder == tmp_path
    visits = catalog.table("VISITS")
    assert visits is not None
    assert visits.adjacency is Adjacency.REPLACE
    assert (visits.rows_per_unit, visits.groups_per_unit) == (8, 4)
    kinds = {column.name: column.kind for column in visits.columns}
    assert kinds == {
        "age": Whole(0, 120),
        "ward": Text(("A", "B", "C")),
        "cost": Real(Fraction(0), Fraction(5000), Fraction(1, 100)),
        "day": Day(date(2024, 1, 1), date(2024, 12, 31)),
        "note": Text(),
    }
    assert visits.offered[-1] == ("patient_id", "identifier")


def table(**changes: Any) -> dict[str, Any]:
    return {"tables": {"t": {"unit": "u", "columns": {"x": "integer"}, **changes}}}


def column(**spec: Any) -> dict[str, Any]:
    return table(columns={"x": {"type": "integer", **spec}})


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ({}, "no table"),
        ({"tables": {}}, "no table"),
        ({"tabels": {}}, "did you mean tables"),
        (table(units="u"), "did you mean unit"),
        (table(rows_per_unit=0), "rows_per_unit"),
        (table(rows_per_unit=True), "rows_per_unit"),
        (table(rows_per_unit="8"), "rows_per_unit"),
        (table(unit=None, rows_per_unit=3), "declare unit"),
        (table(neighbours="add"), "neighbours"),
        (table(public=True), "public table protects nobody"),
        (table(public="yes"), "public must be true or false"),
        (table(prepared=True), "rows_per_unit"),
        (table(unit="__u"), "two underscores"),
        (table(columns={"__x": "integer"}), "two underscores"),
        (table(columns={"x": "integer", "X": "text"}), "differ only by case"),
        (table(columns={"x": "int"}), "type must be one of"),
        (table(columns=[1]), "section"),
        (column(low=0), "both low and high"),
        (column(low=5, high=1), "must not exceed"),
        (column(low=0, high="1.5"), "whole numbers"),
        (column(low="zero", high=1), "low"),
        (column(low=0, high=2**60), "2\\*\\*53"),
        (column(step="0.1"), "does not apply"),
        (column(values=["a"]), "does not apply"),
        (column(bounds="automatic"), "auto"),
        (column(bounds="auto", low=0, high=1), "without low and high"),
        (table(columns={"x": {"type": "decimal", "low": 0, "high": 1, "step": "0.3"}}), "1 divided by"),
        (table(columns={"x": {"type": "decimal", "low": 0, "high": 10**9, "step": "1e-12"}}), "too fine"),
        (table(columns={"x": {"type": "text", "values": []}}), "non-empty"),
        (table(columns={"x": {"type": "text", "values": ["a", "a"]}}), "repeat"),
        (table(columns={"x": {"type": "text", "values": [1]}}), "strings"),
        (table(columns={"x": {"type": "date", "low": "2024-02-30", "high": "2024-03-01"}}), "date such as"),
        ({**table(), "budget": {}}, "budget.epsilon is missing"),
        ({**table(), "budget": {"epsilon": 0}}, "greater than 0"),
        ({**table(), "budget": {"epsilon": 1, "delta": 2}}, "delta"),
        ({**table(), "dataset": {"nmae": "x"}}, "did you mean name"),
        ({**table(), "dataset": {"version": [1]}}, "dataset.version"),
        ({**table(), "dataset": {"version": True}}, "dataset.version"),
        ({**table(), "budget": {"epsilon": 1, "delta": "0.5"}}, "at most 0.001"),
        ({**table(), "budget": {"epsilon": 1, "delta": "0.0011"}}, "at most 0.001"),
        (column(nullable="no"), "nullable must be true or false"),
        (column(nullable=0), "nullable must be true or false"),
        (column(nullable=None), "nullable must be true or false"),
        (column(unique="yes"), "unique must be true or false"),
        (table(unit=None, columns={"x": {"type": "text", "unique": True}}), "every row is its own person"),
        (table(unit="row", columns={"Row": "integer"}), "a column of that name"),
        (table(unit="row", rows_per_unit=3), "every row is its own person"),
        (table(columns={"U": "decimal"}), "cannot be a decimal"),
        (table(columns={"u": {"type": "decimal", "low": 0, "high": 9, "step": 1}}), "cannot be a decimal"),
        (table(columns={"a": "integer", "A": "integer"}), "differ only by case"),
    ],
)
def test_a_wrong_manifest_names_the_key(document: dict[str, Any], names: str) -> None:
    with pytest.raises(CatalogError, match=names):
        declare(document)


FORGOTTEN = {"columns": {"y": "integer"}}


def test_a_table_that_forgot_its_unit_is_refused_beside_tables_with_one() -> None:
    """Opened without a word, its rows would be protected one by one although people have several."""
    named = {"unit": "u", "columns": {"x": "integer"}}
    for tables in ({"a": named, "b": FORGOTTEN}, {"b": FORGOTTEN, "a": named}):
        with pytest.raises(CatalogError, match=r'tables.b.unit is missing.*unit = "row".*public = true'):
            declare({"tables": tables})
    for said in ({"unit": "row"}, {"unit": "u"}, {"public": True}):
        catalog = declare({"tables": {"a": named, "b": {**FORGOTTEN, **said}}})
        assert catalog.tables[1].unit == (said["unit"] if said.get("unit") == "u" else None)
    rows = {"unit": "row", "columns": {"x": "integer"}}
    for fine in ({"b": FORGOTTEN}, {"b": FORGOTTEN, "c": FORGOTTEN}, {"b": FORGOTTEN, "c": rows}):
        assert all(table.unit is None for table in declare({"tables": fine}).tables)


def test_the_unit_is_the_declared_column_however_it_is_written() -> None:
    (only,) = declare(table(unit="PERSON", columns={"person": "integer"})).tables
    assert only.unit == "person"
    assert only.offered == (("person", "integer"),)


def test_an_unreadable_manifest_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="discreet init"):
        load(tmp_path / "absent.toml")
    (tmp_path / "bad.toml").write_text("[dataset", encoding="utf-8")
    with pytest.raises(CatalogError, match="not valid TOML"):
        load(tmp_path / "bad.toml")


def test_a_drafted_manifest_can_be_read_and_holds_no_cell(tmp_path: Path) -> None:
    data = tmp_path / "visits.csv"
    data.write_text(
        "visit_id,patient_id,age,odd name,joined\n1,CANARY,73,4.5,2024-01-01\n2,x,81,4.5,2024-01-02\n"
    )
    text = draft([str(data)])
    assert 'unit = "patient_id"' in text
    for cell in ("CANARY", "73", "81", "4.5"):
        # The folder's name may have such digits of its own.
        assert cell not in text.replace(str(tmp_path), "")
    path = tmp_path / "discreet.toml"
    path.write_text(text, encoding="utf-8")
    (visits,) = load(path).tables
    assert visits.unit == "patient_id"
    assert [c.name for c in visits.columns] == ["visit_id", "age", "odd name", "joined"]


def test_likely_identifiers_of_people_come_first() -> None:
    assert candidates(["order_id", "age", "customer_id", "id"]) == ["customer_id", "order_id", "id"]
    assert candidates(["x", "y"]) == []
