"""The list of planted faults is kept up to date, and the planting notices what it must notice."""

from pathlib import Path

import pytest
from tests.mutants.__main__ import SECONDS, Fate, chosen, fate, rooms
from tests.mutants.fault import ROOT, Fault
from tests.mutants.trial import run

GUARD = "tests/mechanisms/test_price.py"
HARMLESS = Fault("errors.py", '"""', '"""', (GUARD,), "changes nothing")


def test_every_listed_fault_can_be_planted():
    """A fault whose place was rewritten must be planted anew, not forgotten."""
    assert [reason for faults in rooms().values() for fault in faults if (reason := fault.wrong())] == []


def test_no_fault_is_listed_twice():
    changes = [(fault.file, fault.old, fault.new) for faults in rooms().values() for fault in faults]
    assert len(changes) == len(set(changes))


def test_what_every_answer_rests_on_is_planted_without_asking():
    listed = rooms()
    foundation = chosen([], "", listed)
    assert {fault.file.split("/")[0] for fault in foundation} == {
        *("exact", "privacy", "mechanisms", "ledger", "release")
    }
    assert len(foundation) >= 150
    assert {*foundation} < {*chosen(["all"], "", listed)} == {*sum(listed.values(), ())}
    assert chosen(["core"], "", listed) == [*listed["core"]]


@pytest.mark.parametrize(
    "fault",
    [
        Fault("nowhere.py", "a", "b", (GUARD,), "no file"),
        Fault("errors.py", "this text is nowhere", "b", (GUARD,), "no place"),
        HARMLESS,
        Fault("errors.py", "class DiscreetError(Exception)", "class Other", ("tests/nowhere.py",), "no test"),
        Fault("errors.py", "class DiscreetError(Exception)", "class Other", (), "no test named"),
    ],
)
def test_a_fault_that_cannot_be_planted_says_why(fault: Fault):
    assert fault.wrong() is not None


def test_a_fault_is_noticed_in_the_copy_that_runs():
    """The tests must read the changed copy: if they read the sound sources nothing would ever be noticed."""
    broken = Fault(
        "errors.py",
        "class DiscreetError(Exception)",
        "raise SystemError\n\n\nclass DiscreetError(Exception)",
        (GUARD,),
        "",
    )
    assert broken.wrong() is None
    assert fate(broken)[0] is Fate.KILLED


def test_tests_that_are_not_run_notice_nothing():
    """A guard that was moved to the long searches guards nothing here."""
    place = "tests/house/test_odd_arguments.py"
    long = f"{place}::test_a_hundred_thousand_odd_arguments_are_answered_or_refused_soon"
    assert run(ROOT / "src", (long,), SECONDS) == (True, "exit status 5")


def test_tests_that_could_not_begin_have_noticed_nothing():
    assert run(ROOT / "src", (f"{GUARD}::test_that_is_nowhere",), SECONDS) == (True, "exit status 4")


def test_sound_sources_pass_and_are_left_alone(tmp_path: Path):
    before = (ROOT / "src/discreet/errors.py").read_bytes()
    assert run(ROOT / "src", (GUARD,), SECONDS)[0]
    assert (ROOT / "src/discreet/errors.py").read_bytes() == before
