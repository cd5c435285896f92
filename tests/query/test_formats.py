"""Dates as text and patterns as people write them mean what they say, cell by cell."""

import re
from datetime import date, datetime

import duckdb
import pytest

from discreet.engines.duckdb.render import scalar_text
from discreet.query.catalog.kind import Text
from discreet.query.check.scope import Lineage, resolve
from discreet.query.language.sql import fragment
from discreet.query.statement import StoredTable

NOWHERE = Lineage(StoredTable("t", "t0"), (), (), private=False)


def value(text: str) -> object:
    found = resolve(fragment(text), NOWHERE, "SELECT")
    row = duckdb.execute(f"SELECT {scalar_text(found.scalar)}").fetchone()
    assert row is not None
    if isinstance(found.kind, Text) and found.kind.values is not None and row[0] is not None:
        assert row[0] in found.kind.values
    return row[0]


DAYS = (date(2024, 1, 1), date(2024, 2, 29), date(2023, 12, 31), date(999, 7, 4))
FORMS = ("%Y-%m-%d", "%Y-%m", "%Y", "%m", "%d/%m/%Y", "%B %Y", "%b", "%A", "%a %d", "%Y%m", "(%Y)")
WORDS = {"%Y": "YYYY", "%m": "MM", "%d": "DD", "%B": "FMMonth", "%b": "Mon", "%A": "FMDay", "%a": "Dy"}


@pytest.mark.parametrize("form", FORMS)
def test_formats_of_dates_are_those_of_the_calendar(form: str) -> None:
    words = re.sub("%.", lambda mark: WORDS[mark.group()], form)
    for day in DAYS:
        wanted = day.strftime(form.replace("%Y", f"{day.year:04}"))
        assert value(f"STRFTIME(DATE '{day}', '{form}')") == wanted
        assert value(f"FORMAT_DATE('{form}', DATE '{day}')") == wanted
        assert value(f"TO_CHAR(DATE '{day}', '{words}')") == wanted


def test_formats_of_moments_have_hours_and_minutes() -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9)
    assert value(f"STRFTIME(TIMESTAMP '{moment}', '%Y-%m-%d %H:%M:%S')") == "2024-05-06 07:08:09"
    assert value(f"TO_CHAR(TIMESTAMP '{moment}', 'YYYY-MM-DD HH24:MI')") == "2024-05-06 07:08"
    assert value(f"DATE_FORMAT(TIMESTAMP '{moment}', '%H:%i')") == "07:08"


TEXTS = ("", "a", "ab", "ba", "a.b", "axb", "10%", "10_", "a!b", "A", "aab", "b", "cab", "a$", "^a", "a|b")
EXPRESSIONS = (
    *("a", "^a", "a$", "^a$", "a.b", r"a\.b", "^a.*b$", "a.+b", "10%", "10_", "a!b", "a|b", "^(a|b)$"),
    *("^(?:ab|ba)", "(a|b)$", r"a\$", r"\^a", r"a\|b", "", "^$", "x|", ".", "^.$", "%", "_"),
)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_that_is_a_pattern_matches_what_it_matches(expression: str) -> None:
    for text in TEXTS:
        wanted = re.search(expression, text) is not None
        assert value(f"'{text}' ~ '{expression}'") == wanted, text
        folded = re.search(expression, text, re.IGNORECASE) is not None
        assert value(f"'{text}' ~* '{expression}'") == folded, text
        assert value(f"REGEXP_FULL_MATCH('{text}', '{expression}')") == (
            re.fullmatch(expression, text) is not None
        )
