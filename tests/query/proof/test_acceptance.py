"""What is fine is accepted: every legitimate question is derived again, with the planner's own numbers."""

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from tests.flow.test_flow import CASES as FLOW
from tests.flow.test_flow import clinic as flow_clinic
from tests.query.questions import Wider, clinic, hospital

from discreet.errors import QueryError
from discreet.query.check.measurement import weighs_keys
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price import proving
from discreet.query.price.expected import Quote
from discreet.query.price.proving import proof_of
from discreet.query.price.quote import quote
from discreet.query.proof import Blended, Noised, Reached, Swapped, SwappedAmong
from discreet.query.proof.blend import Corners
from discreet.query.proof.reach import Reach

SMALL = Fraction(1, 10**9)


def legitimate(seed: int) -> tuple[Quote, object] | None:
    random = Random(seed)
    catalog, unit = hospital(random)
    question = Wider(random, unit=unit).question()
    bell = random.random() < 0.3 or "city" in question
    try:
        checked = check(read(question), catalog)
        return quote(checked, epsilon=1, conversion=SMALL if bell else None, delta=SMALL), catalog
    except QueryError:
        return None


def accept(seeds: range) -> Counter[str]:
    """Prove the random questions of some seeds; nothing legitimate may be refused."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        found = legitimate(seed)
        if found is None:
            seen["refused by the planner"] += 1
            continue
        proof = proof_of(*found)  # type: ignore[arg-type]
        assert len(proof.statements) >= 1
        seen["proved"] += 1
    return seen


def test_random_legitimate_questions_are_all_proved() -> None:
    seen = accept(range(180))
    assert seen["proved"] >= 150, seen


def test_groups_in_which_nobody_can_be_are_proved() -> None:
    """What is asked for is known to be outside of its declared bounds, so nobody has any row."""
    question = (
        "SELECT c, COUNT(DISTINCT person) FROM (SELECT DISTINCT person, NULLIF(CLAMP(age, 0, 2), 1) AS c "
        "FROM (SELECT DISTINCT person, CLAMP(age, 5, 9) AS age FROM visits WHERE age IN (0, 1))) "
        "WHERE c = 1 GROUP BY c"
    )
    catalog, _ = hospital(Random(1))
    priced = quote(check(read(question), catalog), epsilon=1)
    assert proof_of(priced, catalog).statements


def test_one_truth_value_that_a_condition_leaves_is_proved_beside_a_limit_per_group() -> None:
    question = "SELECT flag, score, COUNT(age) FROM visits WHERE NOT flag GROUP BY flag, score"
    catalog = clinic(rows=2, groups=None, per_group=1)
    assert proof_of(quote(check(read(question), catalog), epsilon=1), catalog).statements


@pytest.mark.fuzz
@pytest.mark.timeout(0)
def test_ten_thousand_random_legitimate_questions_are_all_proved() -> None:
    assert accept(range(10_000, 21_500))["proved"] >= 10_000


@pytest.mark.parametrize("pair", FLOW)
def test_the_questions_that_document_the_rewriting_are_proved(pair) -> None:  # type: ignore[no-untyped-def]
    catalog = flow_clinic()
    checked = check(read(pair.question), catalog)
    # Weights of keys have Gaussian noise alone.
    for conversion in (SMALL,) if weighs_keys(checked) else (None, SMALL):
        priced = quote(checked, epsilon=1, conversion=conversion, delta=SMALL)
        text = str(proof_of(priced, catalog))
        assert text.startswith("statement: ")
        assert "private table: " in text


def reached(release: Noised | Reached | Swapped | SwappedAmong | Blended) -> Fraction:
    match release:
        case Reached(_, reach) | Swapped(_, reach) | SwappedAmong(_, reach) | Blended(_, int(reach)):
            return Fraction(reach)
        case Noised(_, claimed) | Blended(_, claimed):
            return claimed.l1


def test_what_is_derived_is_what_the_planner_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two computations share no code, and differ only where the checker knows more."""
    tight: Counter[str] = Counter()
    derived: list[Fraction] = []

    def noting(moves):  # type: ignore[no-untyped-def]
        def noted(*arguments):  # type: ignore[no-untyped-def]
            found = moves(*arguments)
            derived.append(found.l1)
            return found

        return noted

    monkeypatch.setattr(Reach, "moves", noting(Reach.moves))
    monkeypatch.setattr(Corners, "moves", noting(Corners.moves))
    prove = proving.prove

    def compared(statements, declarations, claims):  # type: ignore[no-untyped-def]
        derived.clear()
        found = prove(statements, declarations, claims)
        claimed = [
            reached(r)
            for claim in claims
            for r in claim
            if isinstance(r, Noised | Reached | Swapped | SwappedAmong | Blended)
        ]
        if len(claimed) == len(derived):
            tight.update("equal" if a == b else "tighter" for a, b in zip(derived, claimed, strict=True))
        return found

    monkeypatch.setattr(proving, "prove", compared)
    accept(range(400, 500))
    assert tight["equal"] >= 9 * tight["tighter"], tight
    assert tight["equal"] >= 60, tight


@pytest.mark.parametrize(
    "question",
    [
        # NULL has no interval that a difference could leave.
        "SELECT SUM(CLAMP(CASE WHEN temp <> cost THEN 3 END - ROUND(-2, 9), -3, 40)) FROM visits",
        # The ends of an interval may be reckoned beyond 64 bits, where no whole number lies.
        "SELECT COUNT(FLOOR(EXP(cost)) % 7) FROM visits",
        "SELECT COUNT(*) FROM (SELECT person, SUM(CLAMP(huge, 0, 9007199254740992)) % 7 AS s "
        "FROM visits GROUP BY person) WHERE s > 2",
        # A few listed numbers are also at least something, of which there are 2**63.
        "SELECT COUNT(*) FROM (SELECT person, MAX(huge) AS m FROM visits WHERE huge IN (0, 1, 7) "
        "GROUP BY person) WHERE m BETWEEN 0 AND 2",
    ],
)
def test_questions_that_were_once_refused_or_never_ended_are_proved(question: str) -> None:
    catalog = clinic(rows=5_000)
    assert proof_of(quote(check(read(question), catalog), epsilon=1), catalog)


@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) FROM (SELECT DISTINCT person, 5 AS c FROM visits)",
        "SELECT COUNT(*) FROM (SELECT person, 2 AS c, COUNT(*) AS n FROM visits GROUP BY person, 2)",
        "SELECT COUNT(*) FROM (SELECT DISTINCT person, 'x' AS c FROM visits)",
    ],
)
def test_a_constant_among_group_keys_is_not_the_number_of_a_column(question: str) -> None:
    catalog = clinic()
    priced = quote(check(read(question), catalog), epsilon=1)
    proof_of(priced, catalog)
    assert priced.shares[0].measured.sensitivity.l1 >= 1
