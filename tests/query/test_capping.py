"""What a limit of rows takes away is counted and allowed for, and everything about that is proved."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from random import Random
from typing import Any

import pyarrow
import pytest

import discreet as dp
from discreet.errors import ProofError, QueryError
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.catalog.manifest import Catalog, declare
from discreet.query.check.measurement import WEIGHT, Sort
from discreet.query.check.question import Limits, check
from discreet.query.language.sql import read
from discreet.query.plan import Call, Literal
from discreet.query.price.expected import Quote
from discreet.query.price.proving import declarations, proof_of
from discreet.query.price.quote import quote
from discreet.query.proof import Claim, Noised, prove
from discreet.query.rewrite.statements import statements
from discreet.release.noisy import draw
from discreet.release.session import proved
from discreet.release.table import rows
from discreet.service.wire.fault import Fault
from discreet.service.wire.setting import SessionSettings

TOP = 9
COLUMNS = {
    "x": {"type": "integer", "low": 0, "high": TOP, "nullable": False},
    "y": {"type": "integer", "low": -3, "high": 5},
    "w": {"type": "integer", "low": 0, "high": 2},
}
GROUPED = (
    "SELECT w, COUNT(*) AS n, SUM(y) AS s, AVG(x) AS a, VAR_POP(x) AS v, VARIANCE(x) AS d FROM t GROUP BY w"
)

Row = tuple[int, int, int | None, int]


def catalog(neighbours: str = "add-remove", **limits: int) -> Catalog:
    given = {"rows_per_unit": 4} | limits
    table = {"unit": "p", "neighbours": neighbours, "columns": COLUMNS, **given}
    return declare({"tables": {"t": table}})


def priced(question: str, most: int = 30, held: Catalog | None = None, epsilon: str = "1") -> Quote:
    checked = check(read(question), held or catalog(), Limits(rows_at_most=most))
    return quote(checked, epsilon=epsilon)


def opened(found: list[Row], limit: int = 4) -> dp.Session:
    table = pyarrow.table({name: [row[place] for row in found] for place, name in enumerate("pxyw")})
    given: dict[str, Any] = {"unit": "p", "rows_per_unit": limit, "columns": COLUMNS, "epsilon": 10**9}
    return dp.open(t=table, **given)


def people(random: Random, most: int) -> list[Row]:
    return [
        (person, random.randrange(TOP + 1), random.choice((None, -3, 0, 5)), random.randrange(3))
        for person in range(random.randrange(1, 25))
        for _ in range(random.choice((1, 2, 4, 5, 9, most)))
    ]


def truths(found: list[Row], ward: int) -> dict[str, Fraction | None]:
    """Return the statistics of all rows of a ward, no limit applied."""
    xs = [Fraction(x) for _, x, _, w in found if w == ward]
    n = len(xs)
    mean = sum(xs) / n if n else None
    squares = sum((x - mean) ** 2 for x in xs) if mean is not None else Fraction(0)
    return {
        "n": Fraction(n),
        "s": Fraction(sum(y or 0 for *_, y, w in found if w == ward)),
        "a": mean,
        "v": squares / n if n else None,
        "d": squares / (n - 1) if n > 1 else None,
        "people_over_limit": Fraction(len({p for p, *_, w in found if w == ward} & above(found, 4))),
    }


def above(found: list[Row], limit: int) -> set[int]:
    return {person for person, n in Counter(p for p, *_ in found).items() if n > limit}


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.fuzz) for n in range(2, 60))])
def test_without_noise_every_interval_holds_what_all_rows_say(seed: int) -> None:
    """At an epsilon so large that noise is nothing, only the theorems about what is lost are left."""
    found = people(Random(seed), 30)
    with opened(found) as data:
        answer = data.query(GROUPED, epsilon=10**8, limits=Limits(rows_at_most=30))
    for row in answer.rows:
        exact = truths(found, int(row.key[0]))  # type: ignore[arg-type]
        for name, (low, high) in zip(answer.columns[1:], row.spans[1:], strict=True):
            assert exact[name] is None or low <= exact[name] <= high, (name, row.key)  # type: ignore[operator]


@pytest.mark.parametrize("limit", [1, 3, 4, 7])
def test_what_a_person_loses_is_bounded_and_rounding_is_needed(limit: int) -> None:
    """Against the definition of the weights; the twin that forgets how they are rounded is caught."""
    most = 30
    held = catalog(rows_per_unit=8) if limit != 1 else catalog(rows_per_unit=2)
    own = Limits(rows_per_unit=limit, rows_at_most=most)
    capping = check(read("SELECT COUNT(*) FROM t"), held, own).capping
    assert capping is not None
    lost = [n - Fraction(n * min(WEIGHT, WEIGHT * limit // n), WEIGHT) for n in range(1, most + 1)]
    assert all(loss == 0 for loss in lost[:limit])
    assert max(lost) <= capping.lost[0][1] <= max(lost) + Fraction(most, WEIGHT)
    assert capping.lost[0][0] == 0
    if limit in (4, 7):
        assert max(lost) > most - limit


def test_sums_of_both_signs_lose_both_ways_and_a_count_of_people_at_most_one() -> None:
    capping = check(read("SELECT SUM(y) FROM t"), catalog(), Limits(rows_at_most=10)).capping
    each = 6 + Fraction(10, WEIGHT)
    assert capping is not None
    assert capping.lost == ((-3 * each, 5 * each), (0, 0))
    few = check(
        read("SELECT w, COUNT(DISTINCT p) FROM t GROUP BY w"),
        catalog(rows_per_unit=2),
        Limits(rows_at_most=10),
    )
    assert few.capping is not None
    assert few.capping.lost == ((0, 1), (0, 0))
    alone = check(read("SELECT COUNT(DISTINCT p) FROM t"), catalog(rows_per_unit=2), Limits(rows_at_most=10))
    assert alone.capping is not None
    assert alone.capping.lost == ((0, 0), (0, 0))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("question", ["SELECT COUNT(*) FROM t", GROUPED])
def test_the_checker_derives_how_far_the_count_moves_and_no_less(question: str, neighbours: str) -> None:
    held = catalog(neighbours)
    asked = priced(question, held=held)
    assert proof_of(asked, held)
    groups = 3 if "GROUP" in question else 1
    moves = asked.shares[-1].measured.sensitivity
    assert moves.l1 == groups * (2 if neighbours == "replace" and groups > 1 else 1)
    statement = statements(asked.checked)[-1]
    keys = ((0, 1, 2),) if groups == 3 else ()
    output = statement.outputs[0]

    def claimed(claim: Sensitivity, changed: Any = statement) -> Any:
        return prove([changed], declarations(held), [Claim(keys, (Noised(output, claim),))])

    assert claimed(moves)
    with pytest.raises(ProofError, match="further than claimed"):
        claimed(Sensitivity.of(moves.l1 - Fraction(1, 2)))
    if groups == 3:
        # Whoever counts rows of theirs, and not people, is found out.
        body = statement.body
        inner = body.source.query  # type: ignore[union-attr]
        loose = replace(body, source=replace(body.source, query=replace(inner, group=())))
        with pytest.raises(ProofError):
            claimed(moves, replace(statement, body=loose))
    # A condition that looks at other people is not about one person.
    (first, rows_of), (second, many) = statement.parts
    everybody = replace(many, items=(*many.items[:0], ("u", Literal(1))), group=())
    with pytest.raises(ProofError):
        claimed(moves, replace(statement, parts=((first, rows_of), (second, everybody))))
    assert many.having == Call("gt", (Call("count_rows", ()), Literal(4)))


def test_one_person_moves_the_exact_counts_by_no_more_than_claimed() -> None:
    found = people(Random(5), 30) + [(99, 1, 1, ward) for ward in (0, 1, 2, 2, 2)]
    with_all = _counts(found)
    assert sum(with_all.values()) == sum(
        len({w for p, *_, w in found if p == person}) for person in above(found, 4)
    )
    for person in (min(above(found, 4)), 0):
        without = _counts([row for row in found if row[0] != person])
        moved = [with_all[key] - without[key] for key in with_all]
        assert all(0 <= by <= 1 for by in moved)
    without = _counts(found[:-5])
    assert all(with_all[key] - without[key] == 1 for key in with_all)


def _counts(found: list[Row]) -> dict[Any, int]:
    with opened(found) as data:
        asked = data.quote("SELECT w, COUNT(*) FROM t GROUP BY w", epsilon=1, limits=Limits(rows_at_most=30))
        place = len(asked.shares) - 1
        assert asked.shares[place].measured.sort is Sort.ABOVE  # type: ignore[union-attr]
        exact = data.engine.run(proved(asked), 1)
        return {key: exact.integers(f"m{place}", [key])[0] for key in asked.checked.keys.product()}  # type: ignore[union-attr]


def coverage(asked: Quote, exact: Any, truth: Fraction, runs: int) -> float:
    spans = [rows(asked, draw(asked, exact))[0].spans[0] for _ in range(runs)]
    return sum(low <= truth <= high for low, high in spans) / runs  # type: ignore[operator]


@pytest.mark.parametrize(
    ("question", "epsilon"),
    [("SELECT COUNT(*) FROM t", "0.5"), ("SELECT SUM(y) FROM t", "1"), ("SELECT AVG(x) FROM t", "2")],
)
def test_intervals_hold_in_the_worst_case_and_those_that_forget_the_limit_do_not(
    question: str, epsilon: str
) -> None:
    """Everybody above the limit has as many rows as is assumed, all of them at an end."""
    found: list[Row] = [(person, 0, 5, 0) for person in range(40) for _ in range(2)]
    found += [(person, TOP, 5, 0) for person in range(40, 60) for _ in range(12)]
    xs = [x for _, x, *_ in found]
    truth = {
        "COUNT": Fraction(len(found)),
        "SUM(y": Fraction(5 * len(found)),
        "AVG(x": Fraction(sum(xs), len(xs)),
    }
    runs = 150
    with opened(found) as data:
        asked = data.quote(question, epsilon=epsilon, limits=Limits(rows_at_most=12))
        exact = data.engine.run(proved(asked), 1)
    least = 0.95 - 5.4 * sqrt(0.95 * 0.05 / runs)
    assert coverage(asked, exact, truth[question[7:12]], runs) >= least
    forgetful = replace(asked, checked=replace(asked.checked, capping=None))
    assert coverage(forgetful, exact, truth[question[7:12]], runs) < least


def test_the_noise_of_the_count_is_allowed_for() -> None:
    """A twin that believes the noisy count is caught, so the one above would have caught it."""
    found: list[Row] = [(person, TOP, 5, 0) for person in range(20) for _ in range(40)]
    with opened(found, limit=2) as data:
        asked = data.quote("SELECT COUNT(*) FROM t", epsilon="0.5", limits=Limits(rows_at_most=40))
        exact = data.engine.run(proved(asked), 1)
    least = 0.95 - 5.4 * sqrt(0.95 * 0.05 / 150)
    assert coverage(asked, exact, Fraction(800), 150) >= least
    sharp = asked.shares[-1].mechanism.calibrate(epsilon=50, sensitivity=1)  # type: ignore[union-attr, call-arg]
    credulous = replace(asked, shares=(asked.shares[0], replace(asked.shares[1], mechanism=sharp)))
    held = 0
    for _ in range(150):
        # Drawn as it is, read as if the count were exact.
        low, high = rows(credulous, draw(asked, exact))[0].spans[0]
        held += low <= 800 <= high  # type: ignore[operator]
    assert held / 150 < least


def test_another_assumption_is_free_and_the_price_is_the_one_asked() -> None:
    with opened([(person, 1, 1, 0) for person in range(30) for _ in range(6)]) as data:
        first = data.query("SELECT COUNT(*) AS n FROM t", epsilon=1, limits=Limits(rows_at_most=10))
        again = data.query("SELECT COUNT(*) AS m FROM t", epsilon=1, limits=Limits(rows_at_most=20))
        said = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, rows_at_most = 30) COUNT(*) FROM t"
        assert [first.free, again.free, data.query(said).free] == [False, True, True]
        assert data.budget.limits[0].spent.epsilon == 1
        assert again.rows[0].spans[0][1] > first.rows[0].spans[0][1]  # type: ignore[operator]
        assert first.columns == ("n", "people_over_limit")
        assert first.columns[1] in repr(first)
        assert "if nobody has more than 10" in first.card()
        assert "intervals allow up to 10 rows" in repr(
            data.quote("SELECT COUNT(*) FROM t", epsilon=1, limits=Limits(rows_at_most=10))
        )
        taken = data.quote(
            "SELECT COUNT(*) AS people_over_limit FROM t", epsilon=1, limits=Limits(rows_at_most=9)
        )
        assert [one.name for one in taken.checked.columns] == ["people_over_limit", "people_over_limit_"]


@pytest.mark.parametrize(
    ("question", "limits", "declared", "reason"),
    [
        ("SELECT COUNT(*) FROM t", Limits(rows_at_most=4), {}, "above the limit of rows"),
        ("SELECT COUNT(*) FROM t", Limits(rows_at_most=9.5), {}, "must be a whole number"),  # type: ignore[arg-type]
        ("SELECT CDF(x, 4) FROM t", Limits(rows_at_most=9), {}, "do not overlap"),
        ("SELECT w, COUNT(*) FROM t GROUP BY CUBE (w)", Limits(rows_at_most=9), {}, "do not overlap"),
        (
            "SELECT COUNT(*) FROM (SELECT p, COUNT(*) AS n FROM t GROUP BY p)",
            Limits(rows_at_most=9),
            {},
            "by construction",
        ),
        (
            "SELECT w, COUNT(*) FROM t GROUP BY w",
            Limits(rows_at_most=9),
            {"rows_per_group": 1},
            "under rows_per_unit alone",
        ),
        (
            "SELECT w, COUNT(DISTINCT p) FROM t GROUP BY w",
            Limits(rows_at_most=9),
            {"groups_per_unit": 1},
            "under rows_per_unit alone",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rows_at_most = 8) COUNT(*) FROM t",
            Limits(rows_at_most=9),
            {},
            "in one place",
        ),
    ],
)
def test_what_cannot_be_allowed_for_is_refused(
    question: str, limits: Limits, declared: dict[str, int], reason: str
) -> None:
    with pytest.raises(QueryError, match=reason):
        check(read(question), catalog(**declared), limits)


def test_an_error_that_depends_on_the_answer_is_not_promised_beforehand() -> None:
    asked = priced("SELECT COUNT(*) AS n FROM t")
    assert [one.radius is None for one in asked.expected] == [True, False]
    with pytest.raises(QueryError, match="depends on the people above the limit"):
        quote(asked.checked, within=5)
    with opened([(1, 1, 1, 1)]) as data, pytest.raises(QueryError, match="leave it out of the batch"):
        data.batch(["SELECT COUNT(*) FROM t"], epsilon=1, limits=Limits(rows_at_most=9))


def test_a_setting_of_a_connection_says_it_too_and_takes_whole_numbers_only() -> None:
    settings = SessionSettings({})
    settings.set("discreet.rows_at_most", "30")
    assert settings.price["limits"] == {"rows_at_most": 30}
    with pytest.raises(Fault):
        settings.set("discreet.rows_at_most", "many")
