"""One name for one person: no spelling escapes a limit, and no look-alike is accepted."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ledger.world import Place, ask

from discreet.errors import BudgetError, ParameterError
from discreet.ledger import Scope
from discreet.ledger.name import one_name
from discreet.privacy.filter import PureBudget

SAME = ["ben", "Ben", "BEN", " ben ", "\uff22\uff25\uff2e", "b\uff45n", "BeN"]
ALIKE = [
    "b\u0435n",  # a Cyrillic letter among Latin ones
    "\u0441\u043e\u0440\u0435",  # Cyrillic throughout, and looks like Latin
    "\u03bf\u03bd",  # Greek that looks like Latin
    "ben\u0301\u0301",
    "ben\u0436",  # of two scripts, though the foreign letter looks like no other
    "b\u026an",  # a phonetic letter
    "d\u0131",
    "be\u200dn",
    "ben\u0000",
    "b\u0435\u0578",
    "",
    "   ",
]
DIFFERENT = [
    "ben2",
    "bén",
    "ben-a",
    "мария",
    "александр",
    "ελένη",
    "田中",
    "山田さん",
    "אבי",
    "b.en@ward.example",
]


@pytest.mark.parametrize("spelling", SAME)
def test_spellings_of_a_name_are_one_name(spelling: str):
    assert one_name(spelling, "analyst") == "ben"


@pytest.mark.parametrize("name", ALIKE)
def test_names_that_look_like_others_are_refused(name: str):
    with pytest.raises(ParameterError, match="analyst"):
        one_name(name, "analyst")


def test_names_that_people_can_tell_apart_stay_apart():
    found = {one_name(name, "analyst") for name in DIFFERENT}
    assert len(found) == len(DIFFERENT)
    assert all(unicodedata.normalize("NFKC", name) == name for name in found)


@given(st.text(max_size=30))
def test_the_one_form_is_its_own(text: str):
    try:
        name = one_name(text, "analyst")
    except ParameterError:
        return
    assert one_name(name, "analyst") == name
    assert one_name(name.upper(), "analyst") in (name, one_name(name.upper().casefold(), "analyst"))


@pytest.mark.parametrize("spelling", SAME)
def test_no_spelling_of_a_limited_name_escapes_the_limit(file: Place, spelling: str):
    with file.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.set_limit("clinic", Scope(analyst="Ben"), PureBudget("0.2"), reason="a trainee")
        ledger.reserve(ask("a", analyst="ben", epsilon="0.2"))
        with pytest.raises(BudgetError, match="limit on analyst ben"):
            ledger.reserve(ask("b", analyst=spelling, epsilon="0.1"))


@pytest.mark.parametrize("name", [7, None, ["ben"]])
def test_what_is_not_text_is_no_name(name):
    with pytest.raises(ParameterError):
        one_name(name, "analyst")
