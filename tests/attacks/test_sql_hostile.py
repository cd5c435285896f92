"""Hostile strings against the newer parts of the language: refused while that is free, or proved and kept to.

What is answered is played against a neighbour: one worst-case person more moves exact integers no further
than what the noise is for.
"""

import re
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from tests.attacks.test_sql_spellings import moved
from tests.query.questions import clinic
from tests.query.test_units_through_keys import shop
from tests.query.words import parser_words
from tests.query.worlds import extreme, row

from discreet.errors import QueryError
from discreet.query.check.measurement import Checked, Declared, Measurement, questions_of
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.proving import proof_of
from discreet.query.price.quote import quote

SLACK = Fraction(1, 10**9)
CATALOGS = {"shop": shop(), "": clinic()}


def corpus() -> list[tuple[str, str, str]]:
    """Return the strings, each with its dialect or world, and what becomes of it."""
    lines = Path(__file__).with_name("hostile.sql").read_text(encoding="utf-8").splitlines()
    found = []
    for line in lines:
        if line and not line.startswith("-- "):
            tag, question, outcome = re.fullmatch(r"(?:\[(\w+)\] )?(.*) -> (.*)", line).groups("")  # type: ignore[union-attr]
            found.append((tag, question, outcome))
    return found


CORPUS = corpus()
ANSWERED = [(tag, question) for tag, question, outcome in CORPUS if outcome == "answered"]
REFUSED = [case for case in CORPUS if case[2] != "answered"]


def asked(tag: str, question: str) -> Checked:
    """Return the checked question, priced and proved."""
    catalog = CATALOGS.get(tag, CATALOGS[""])
    checked = check(read(question, dialect=None if tag in CATALOGS else tag), catalog)
    proof_of(quote(checked, epsilon=1, conversion=SLACK, delta=SLACK), catalog)
    return checked


def test_the_corpus_is_large() -> None:
    assert len({(tag, question) for tag, question, _ in CORPUS}) >= 80


@pytest.mark.parametrize(("tag", "question", "words"), REFUSED)
def test_a_hostile_string_is_refused_before_anything_is_paid(tag: str, question: str, words: str) -> None:
    with pytest.raises(QueryError) as refused:
        asked(tag, question)
    assert words == "refused" or words.lower() in str(refused.value).lower()
    assert refused.value.instead
    assert not parser_words(str(refused.value), question)


def played(checked: Checked, question: str, seeds: range) -> None:
    """Let one worst-case person come and go, as often as there are seeds."""
    for part in questions_of(checked):
        added = all(isinstance(one, Measurement) for one in part.measurements)
        for seed in seeds if isinstance(part.keys, Declared) and added else ():
            random = Random(f"{question} {seed}")
            others = [row(random, name) for name in ("ann", "bob", "bob", None)]
            assert max(moved(part, (others, [*others, *extreme(random, "eve")]), seed)) <= 1


@pytest.mark.parametrize(("tag", "question"), ANSWERED)
def test_what_is_answered_is_proved_and_one_person_moves_it_no_further(tag: str, question: str) -> None:
    checked = asked(tag, question)
    if tag != "shop" and ANSWERED.index((tag, question)) % 3 == 0:
        played(checked, question, range(1))


@pytest.mark.fuzz
@pytest.mark.parametrize(("tag", "question"), [case for case in ANSWERED if case[0] != "shop"])
def test_one_person_moves_what_is_answered_no_further_in_a_long_search(tag: str, question: str) -> None:
    played(asked(tag, question), question, range(40))
