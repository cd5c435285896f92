"""The page on TPC-H is true: its manifest is declared, its questions are asked, and the answers are right."""

import re
import tomllib
from fractions import Fraction
from functools import cache
from pathlib import Path

import duckdb
import pytest
from tests.query.tpch import generated

from discreet.errors import QueryError
from discreet.privacy.filter import ApproximateBudget
from discreet.query.catalog.manifest import declare
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.proving import proof_of
from discreet.query.price.quote import quote
from discreet.release.opening import open_catalog
from discreet.release.session import Session

PAGE = (Path(__file__).parents[2] / "docs/how-to/tpch.md").read_text(encoding="utf-8")
_, AS_THEY_ARE, REWRITTEN, REFUSED = re.split(r"^## .*$", PAGE, flags=re.MULTILINE)
MANIFEST = tomllib.loads(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0])
SMALL = Fraction(1, 10**9)


def questions(section: str) -> list[tuple[str, str]]:
    """Return the questions of a section with their numbers; one that takes two has two."""
    found = re.findall(r"^\*\*(\d+)\.\*\*|```sql\n(.*?)```", section, re.DOTALL | re.MULTILINE)
    number, listed = "", []
    for named, text in found:
        number = named or number
        if text:
            listed.append((number, text))
    return listed


ANSWERED = questions(AS_THEY_ARE) + questions(REWRITTEN)


def test_all_twenty_two_are_on_the_page_and_most_are_answered() -> None:
    rows = dict(re.findall(r"^\| ([\d, ]+) \| (\w+)", PAGE, re.MULTILINE))
    listed = [number for numbers in rows for number in numbers.split(", ")]
    assert sorted(map(int, listed)) == list(range(1, 23))
    assert {n for n, _ in ANSWERED} == {
        n for row, word in rows.items() if word == "answered" for n in row.split(", ")
    }
    assert len({n for n, _ in ANSWERED}) >= 16


def test_what_is_refused_is_refused_for_the_reason_given() -> None:
    ((_, question),) = questions("**11.**" + REFUSED)
    with pytest.raises(QueryError, match="only public tables"):
        check(read(question), declare(MANIFEST))


@pytest.mark.parametrize(("number", "question"), ANSWERED)
def test_every_answered_question_is_priced_and_proved(number: str, question: str) -> None:
    catalog = declare(MANIFEST)
    checked = check(read(question), catalog)
    proof_of(quote(checked, epsilon=1, conversion=SMALL, delta=SMALL), catalog)
    assert checked.rows.rows is None or checked.rows.rows <= 120


@pytest.mark.parametrize(("number", "within"), [("4", 90), ("12", 719)])
def test_a_join_along_the_path_errs_as_the_page_says(number: str, within: int) -> None:
    """The page's own budget pays: noise is of the kind that errs less for it."""
    checked = check(read(dict(ANSWERED)[number]), declare(MANIFEST))
    budget = ApproximateBudget(Fraction(10), SMALL)
    priced = quote(checked, epsilon=1, conversion=SMALL, delta=SMALL, budget=budget)
    assert {round(found.radius) for found in priced.expected if found.radius} == {within}
    assert f"within {within}" in PAGE.replace("\n", " ")


@cache
def opened() -> tuple[Session, duckdb.DuckDBPyConnection]:
    tables = generated(0.003)
    plain = duckdb.connect()
    for name, table in tables.items():
        plain.register(name, table)
    budget = {"budget": {"epsilon": 10**7, "delta": "1e-3"}}
    return open_catalog(declare({**MANIFEST, **budget}), tables), plain


@pytest.mark.parametrize(("number", "question"), ANSWERED)
def test_the_answers_are_those_of_an_engine_but_for_noise(number: str, question: str) -> None:
    """Limits cut nothing off, so what an engine says lies in the intervals, but once in a billion times."""
    data, plain = opened()
    unlimited = re.sub(r"LIMIT \d+", "", question)
    rows = plain.execute(unlimited).fetchall()
    truth = [dict(zip((named[0] for named in plain.description), row, strict=True)) for row in rows]
    keys = [name for name in (truth[0] if truth else ()) if name in _keys(question)]
    known = {tuple(row[key] for key in keys): row for row in truth}
    met = 0
    for row in data.query(unlimited, epsilon=2_000).intervals(1 - SMALL):
        wanted = known.get(tuple(row[key] for key in keys), {})
        for name in [name for name in wanted if name not in keys]:
            low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
            if low is not None and wanted[name] is not None:
                slack = 1 + abs(float(wanted[name])) / 10_000
                assert float(low) - slack <= float(wanted[name]) <= float(high) + slack, (name, row, wanted)
                met += 1
    assert met >= 1


def _keys(question: str) -> list[str]:
    found = re.findall(r"^GROUP BY (.*)$", question, re.MULTILINE)
    return found[-1].split(", ") if found else []
