"""Questions as people write them, each with its outcome: answered, one with another, or refused so.

Every answered question is checked, priced and proved.  A refusal is given with a rewriting, and that one is
answered; no refusal uses a word of the parser.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from tests.query.questions import clinic
from tests.query.words import parser_words

from discreet.errors import QueryError
from discreet.query.check.identity import identity
from discreet.query.check.measurement import Checked
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.proving import proof_of
from discreet.query.price.quote import quote

FOLDER = Path(__file__).parent / "corpus"
CATALOG = clinic()
SLACK = Fraction(1, 10**9)


@dataclass(frozen=True)
class Case:
    """A question, the question that it equals, or the words of its refusal and a question that works."""

    question: str
    same: str = ""
    words: str = ""
    instead: str = ""


def cases(path: Path) -> Iterator[Case]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("--"):
            continue
        question, sign, outcome = re.split(r" (==|->) (?!.* (?:==|->) )", line, maxsplit=1)
        if sign == "==":
            yield Case(question, same=outcome)
        elif outcome == "answered":
            yield Case(question)
        else:
            words, _, instead = outcome.removeprefix("refused: ").partition(" >> ")
            yield Case(question, words=words, instead=instead)


CASES = [
    pytest.param(case, id=case.question[:90]) for path in sorted(FOLDER.glob("*.sql")) for case in cases(path)
]


def answered(question: str) -> Checked:
    checked = check(read(question), CATALOG)
    proof_of(quote(checked, epsilon=1, conversion=SLACK, delta=SLACK), CATALOG)
    return checked


@pytest.mark.parametrize("case", CASES)
def test_every_question_has_its_outcome(case: Case) -> None:
    if not case.words:
        found = answered(case.question)
        if case.same:
            assert identity(found) == identity(check(read(case.same), CATALOG))
        return
    with pytest.raises(QueryError) as refused:
        answered(case.question)
    assert case.words in str(refused.value)
    assert not parser_words(str(refused.value), case.question)
    answered(case.instead)


UNANSWERED = (
    *("PERCENT ROWS", "IYYY-IW", "MEDIAN(n) FROM (SELECT person"),
    *("RANGE BETWEEN 2", "TRUNC(cost, 1)", "PERCENT_RANK", "ANY_VALUE", "MAD(age)"),
    *("SUM(DISTINCT age) AS s FROM visits GROUP BY person", "'^[a-z]+@"),
    *(
        "STRING_AGG(ward, ',') OVER",
        "ARRAY_AGG(ward) FROM (SELECT",
        "COUNT(*) AS n FROM visits v WHERE",
    ),
    *("REGEXP_REPLACE(city, '[^0-9]'", "REGEXP_EXTRACT(city", "(VALUES ('A'", "city ~ '[a-z][a-f]'"),
    *("ENTROPY(ward), ", "REVERSE(city)", "~ '^[^a]+$'", "'ab', 'ba'"),
)
"""Parts of questions that could be answered privately, and are refused; others are refused rightly."""


def test_the_corpus_is_large_and_mostly_answered() -> None:
    """Refused questions stand here to show their messages; beside them the answered ones are many."""
    found = {case.question: case for path in FOLDER.glob("*.sql") for case in cases(path)}.values()
    assert len(found) >= 400
    answered = sum(not case.words for case in found)
    missing = [case.question for case in found if case.words and any(p in case.question for p in UNANSWERED)]
    share = answered / (answered + len(missing))
    print(f"{answered} questions are answered, {share:.1%} of those that could be; missing: {len(missing)}")
    assert answered >= 280
    assert share >= 0.95
