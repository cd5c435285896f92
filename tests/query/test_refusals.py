"""Refusals: each is shown with a rewriting that works, and a mistaken text meets nothing else."""

import logging
import re
from fractions import Fraction
from random import Random

import pytest
from sqlglot import exp
from tests.attacks.test_sql_refused import CORPUS
from tests.query.questions import clinic
from tests.query.test_corpus import FOLDER, cases
from tests.query.test_dialects import REFUSED
from tests.query.words import parser_words

from discreet.errors import DiscreetError, QueryError
from discreet.query.check.question import check
from discreet.query.language.date import BUILDERS
from discreet.query.language.dialect import DIALECTS
from discreet.query.language.distribution import DISTRIBUTIONS
from discreet.query.language.spelling import _BUILDERS
from discreet.query.language.sql import read
from discreet.query.price.quote import quote
from refusal import refusals

CATALOG = clinic()
SLACK = Fraction(1, 10**9)

ELSEWHERE = {
    "batch": "tests/query/test_together.py",
    "conditions": "tests/query/test_together.py",
    "bounds": "tests/query/test_bounds.py",
    "coding": "tests/workload",
    "column": "tests/query/test_frame.py",
    "constant": "tests/query/test_frame.py",
    "posed": "tests/query/test_frame.py",
    "relation": "tests/query/test_frame.py",
    "asked": "tests/query/test_frame.py",
    "ibis": "tests/query/test_ibis.py",
    "parameter": "tests/query/test_spelling.py",
    "limits": "tests/query/test_check.py",
    "people": "tests/query/test_check.py",
    "quote": "tests/query/test_assumed.py",
    "wellformed": "tests/query/test_check.py",
    "day": "tests/query/test_frame.py",
}
"""Refusals of what is no text in SQL about this clinic: other declarations, faces, batches, prices."""

RARE = (
    *("bounds are too wide to be useful", "are still to be found", "without a unit nothing bounds them"),
    *(
        "every row is its own person here",
        "asks for nothing that depends on the data",
        "subsets, all of which",
    ),
    *(
        "this function cannot be applied",
        "cannot be applied to released values so",
        "needs a column of declared",
    ),
    *("with these constants", "an aggregate is not allowed here", "inside a comment can be read"),
    *("has a part that cannot be read", "needs at least one constant", "has no truth value in Python"),
    *("is no column, expression or piece", "is not a kind of value", "belongs to an aggregate here"),
    *("needs an order", "needs a sum, mean", "cannot be read", "belongs to a whole question"),
    *(
        "mixes tables with a unit",
        "mixes an identifier and",
        "declare different neighbours",
        "takes one expression",
        "no place of its own",
    ),
    *("has more than … parts", "levels deep", "is longer than"),
)
"""Refusals that other declarations, the dataframe face or sheer size are needed for."""


@pytest.mark.fuzz
def test_every_refusal_of_a_question_in_sql_is_shown_with_one_that_works() -> None:
    questions = [(case.question, None) for path in FOLDER.glob("*.sql") for case in cases(path) if case.words]
    questions += [(text, None) for text, _ in CORPUS] + [(text, dialect) for dialect, text, *_ in REFUSED]
    seen = []
    for text, dialect in questions:
        with pytest.raises(QueryError) as refused:
            quote(check(read(text, dialect=dialect), CATALOG), epsilon=1, conversion=SLACK, delta=SLACK)
        seen.append((refused.value.clause, refused.value.reason))

    def shown(clause: str, reason: str) -> bool:
        words = [".*".join(map(re.escape, part.split("…"))) for part in (clause, reason)]
        return any(
            all(re.fullmatch(*pair, re.DOTALL) for pair in zip(words, one, strict=True)) for one in seen
        )

    missing = [
        one
        for one in refusals()
        if one.module not in ELSEWHERE
        and not any(words in one.reason for words in RARE)
        and not shown(one.clause, one.reason)
    ]
    assert missing == []


POOL = (
    *("age", "city", "day", "flag", "cost", "3", "'x'", "-1", "0.5", "NULL", "'month'", "MONTH", "1e30", "*"),
    *(
        "INTERVAL 1 DAY",
        "TRUE",
        "DATE '2024-01-01'",
        "DISTINCT age",
        "person",
        "COUNT(*)",
        "[0.5]",
        "age > 3",
    ),
    *("(SELECT 1)", "'%Y'", "?", "age ORDER BY cost", "moment"),
)
OURS = sorted(
    {name.upper() for name in (*_BUILDERS, *BUILDERS, *DISTRIBUTIONS)} | {"MAX", "CORR", "SUBSTRING"}
)


def hunt(names: list[str], seed: int, counts: range) -> None:
    """Ask for functions with arguments that they may not take: whatever is wrong is refused in our words."""
    random = Random(seed)
    for name in names:
        for count in counts:
            inside = ", ".join(random.choice(POOL) for _ in range(count))
            dialect = random.choice((None, *DIALECTS))
            for text in (
                f"SELECT {name}({inside}) FROM visits",
                f"SELECT COUNT(*) FROM visits WHERE {name}({inside}) = 3",
            ):
                said = ""
                try:
                    check(read(text, dialect=dialect), CATALOG)
                except DiscreetError as refused:
                    said = str(refused)
                assert not parser_words(said, text), (text, dialect)


def test_functions_with_other_arguments_than_they_take_are_refused() -> None:
    hunt(OURS[::4], 0, range(3))


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(4))
def test_any_function_with_any_arguments_is_answered_or_refused(seed: int) -> None:
    hunt(sorted({*OURS, *exp.FUNCTION_BY_NAME}), seed, range(5))


def test_the_parser_remarks_nothing_while_a_question_is_read(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in ("EXPLAIN SELECT 1", "SELECT COUNT(*) FROM visits FOR UPDATE", "LOAD httpfs"):
            with pytest.raises(QueryError):
                read(text)
    assert not caplog.records
    logging.getLogger("sqlglot").warning("heard by others")
    assert caplog.records
