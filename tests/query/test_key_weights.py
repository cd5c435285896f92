"""Keys found by weights, from the question to the answer: what is measured, paid, proved and shown."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import isqrt, log
from random import Random

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.errors import ParameterError, ProofError, QueryError
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.mechanisms.key_weight import KeyWeight
from discreet.privacy.filter import ApproximateBudget
from discreet.query.catalog.manifest import Catalog, declare
from discreet.query.check.identity import identity
from discreet.query.check.measurement import WEIGHT, Checked, Measurement, Private, Sort
from discreet.query.check.question import Limits, check
from discreet.query.language.sql import read
from discreet.query.price.expected import Quote
from discreet.query.price.proving import proof_of
from discreet.query.price.quote import quote
from discreet.query.rewrite import integers
from discreet.release.noisy import draw
from discreet.release.session import Session, proved
from discreet.service.wire.setting import SessionSettings

KEYS = "SELECT city FROM t GROUP BY city"
COUNTS = "SELECT city, COUNT(DISTINCT p) AS n FROM t GROUP BY city"
SAID = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = WEIGHTED_THRESHOLD) "
WEIGHTED = Limits(weighted_keys=True)
SMALL = Fraction(1, 10**7)


def catalog(**limits: object) -> Catalog:
    columns = {"city": "text", "ward": {"type": "text", "values": ["a", "b"]}, "p": "integer"}
    table = {"unit": "p", "rows_per_unit": 40, "groups_per_unit": 9, "columns": columns, **limits}
    return declare({"tables": {"t": table}})


def asked(text: str, limits: Limits | None = WEIGHTED, held: Catalog | None = None) -> Checked:
    return check(read(text), held or catalog(), limits)


def priced(checked: Checked, **terms: object) -> Quote:
    return quote(checked, **{"epsilon": 1, "delta": SMALL, "conversion": SMALL, **terms})  # type: ignore[arg-type]


def weighing(checked: Checked) -> Measurement:
    keys = checked.keys
    assert isinstance(keys, Private)
    found = checked.measurements[keys.people]
    assert isinstance(found, Measurement)
    return found


def test_weights_are_measured_where_they_are_asked_for() -> None:
    checked = asked(KEYS)
    found = weighing(checked)
    assert (found.sort, found.scale, found.sensitivity.l0) == (Sort.KEY_WEIGHTS, WEIGHT, 9)
    assert found.sensitivity.l2_squared == WEIGHT**2
    assert len(checked.measurements) == 1
    assert weighing(asked(KEYS, None)).sort is Sort.PEOPLE


@pytest.mark.parametrize("groups", [2, 9, 40])
def test_weights_have_gaussian_noise_where_counts_would_not(groups: int) -> None:
    budget = ApproximateBudget(1, "1e-6")
    terms = {"conversion": None, "budget": budget, "delta": SMALL}
    limits = Limits(groups_per_unit=groups, weighted_keys=True)
    (share,) = priced(asked(KEYS, limits, catalog(groups_per_unit=40)), **terms).shares
    assert isinstance(share.mechanism, KeyWeight)
    (counted,) = priced(
        asked(KEYS, Limits(groups_per_unit=groups), catalog(groups_per_unit=40)), **terms
    ).shares
    assert isinstance(counted.mechanism, KeyCount if groups == 2 else KeyGaussian)


def test_a_weight_is_no_count_so_counts_are_measured_apart() -> None:
    checked = asked(COUNTS)
    assert [m.sort for m in checked.measurements if isinstance(m, Measurement)] == [
        Sort.PEOPLE,
        Sort.KEY_WEIGHTS,
    ]
    shares = priced(checked).shares
    assert isinstance(shares[0].mechanism, Gaussian)
    assert isinstance(shares[1].mechanism, KeyWeight)
    (counted,) = priced(asked(COUNTS, None)).shares
    assert isinstance(counted.mechanism, KeyGaussian)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("SELECT ward, COUNT(*) FROM t GROUP BY ward", {}),
        (KEYS, {"groups_per_unit": 1}),
        (KEYS, {"rows_per_unit": 1}),
        ("SELECT COUNT(*) FROM t", {}),
    ],
)
def test_nothing_changes_where_there_is_nothing_to_weigh(text: str, limits: dict[str, object]) -> None:
    held = catalog(**limits)
    assert asked(text, WEIGHTED, held) == asked(text, None, held)


def test_rows_that_are_people_have_nothing_to_weigh() -> None:
    held = declare({"tables": {"t": {"unit": "row", "columns": {"city": "text"}}}})
    assert asked(KEYS, WEIGHTED, held) == asked(KEYS, None, held)


def test_it_is_said_in_python_in_sql_and_in_a_setting() -> None:
    settings = SessionSettings()
    assert settings.price["limits"] is None
    settings.set("discreet.weighted_keys", "true")
    found = identity(asked(KEYS))
    assert identity(asked(f"{SAID}city FROM t GROUP BY city", None)) == found
    assert identity(asked(KEYS, Limits(**settings.price["limits"]))) == found
    assert identity(asked(KEYS, None)) != found
    with pytest.raises(ParameterError, match="weighted_keys"):
        asked(KEYS, Limits(weighted_keys="yes"))  # type: ignore[arg-type]


def test_a_clause_and_a_limit_that_contradict_each_other_are_refused() -> None:
    plain = SAID.replace("WEIGHTED", "LAPLACE")
    with pytest.raises(QueryError, match="say it in one place"):
        asked(f"{plain}city FROM t GROUP BY city")
    assert identity(asked(f"{plain}city FROM t GROUP BY city", None)) == identity(asked(KEYS, None))
    found = identity(asked(KEYS))
    assert identity(asked(f"{SAID}city FROM t GROUP BY city")) == found
    # Another option says nothing about it.
    other = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 9) city FROM t GROUP BY city"
    assert identity(asked(other)) == found


def test_the_identities_of_other_questions_are_what_they_were() -> None:
    """Stored answers are found by these texts; a change of one would make everybody pay again."""
    form = json.loads(identity(asked(COUNTS, None)))
    assert list(form["measurements"][0]) == ["moves", "people"]
    assert form["keys"]["people"] == 0
    assert "weights" not in identity(asked(COUNTS, None))
    (weighed,) = json.loads(identity(asked(KEYS)))["measurements"]
    assert sorted(weighed) == ["moves", "weights of keys"]


def test_more_groups_than_can_be_looked_at_are_refused() -> None:
    with pytest.raises(QueryError, match="at most 4096 groups"):
        asked(KEYS, WEIGHTED, catalog(rows_per_unit=10**5, groups_per_unit=10**5))


def test_a_pure_price_does_not_pay_for_weights() -> None:
    with pytest.raises(QueryError, match="Gaussian"):
        priced(asked(KEYS), conversion=None)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    "text", [KEYS, COUNTS, "SELECT city, COUNT(*), MEDIAN(CLAMP(LENGTH(city), 0, 9)) FROM t GROUP BY 1"]
)
def test_a_quote_costs_what_its_mechanisms_cost_and_is_proved(neighbours: str, text: str) -> None:
    held = catalog(neighbours=neighbours)
    found = priced(asked(text, WEIGHTED, held))
    proof_of(found, held)
    weighted = next(share.mechanism for share in found.shares if isinstance(share.mechanism, KeyWeight))
    assert weighted.groups == 9
    assert weighted.guarantee().slack <= SMALL
    assert found.cost.delta == SMALL
    assert found.cost.epsilon is None
    spent = sum(
        share.mechanism.guarantee().rho
        if isinstance(share.mechanism, KeyWeight)
        else share.measured.sensitivity.l2_squared / (2 * share.mechanism.sigma_squared)
        for share in found.shares
        if isinstance(share.mechanism, KeyWeight | Gaussian)
    )
    assert spent <= found.cost.rho


def test_weaker_weights_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin of the planner: everybody weighs the whole, or is rounded up."""
    found = priced(asked(KEYS))
    for wrong in (
        lambda one, groups: (one,) * groups,
        lambda one, groups: tuple(isqrt(one * one // m) + 1 for m in range(1, groups + 1)),
        lambda one, groups: tuple(isqrt(one * one // m) for m in range(1, groups)),
    ):
        monkeypatch.setattr(integers, "weights", wrong)
        with pytest.raises(ProofError):
            proof_of(found, catalog())


def test_noise_for_less_than_a_person_moves_is_not_run() -> None:
    found = priced(asked(KEYS))
    (share,) = found.shares
    less = Fraction(WEIGHT - 1)
    half = replace(share.measured.sensitivity, linf=less, l2_squared=less**2)
    with pytest.raises(ProofError):
        proof_of(
            replace(found, shares=(replace(share, measured=replace(share.measured, sensitivity=half)),)),
            catalog(),
        )


def world(random: Random, people: int) -> pd.DataFrame:
    """Return people of whom most are in one city and some in many, twice in some of them."""
    rows = []
    for person in range(people):
        many = min(30, int(random.paretovariate(0.8)))
        rows += [(person, f"c{min(int(random.expovariate(0.1)), 60)}") for _ in range(many)]
    return pd.DataFrame(rows + rows[::3] + [(None, "c0"), (1, None)], columns=["p", "city"])


def opened(frame: pd.DataFrame, **limits: object) -> Session:
    held = {"unit": "p", "rows_per_unit": 99, "groups_per_unit": 9, "columns": {"city": "text"}, **limits}
    return dp.open(t=frame, epsilon=1, delta="1e-4", slack="9e-5", **held)  # type: ignore[arg-type]


def test_the_exact_integers_are_the_weights_of_everybodys_groups() -> None:
    frame = world(Random(5), 400)
    with opened(frame, groups_per_unit=60) as data:
        found = data.quote(KEYS, epsilon=1, limits=WEIGHTED)
        exact = data.engine.run(proved(found), 3)
    own = frame.dropna().drop_duplicates().groupby("p")["city"].apply(list)
    expected: Counter[tuple[str]] = Counter()
    for cities in own:
        for city in cities:
            expected[(city,)] += isqrt(WEIGHT * WEIGHT // len(cities))
    assert exact._totals["m0"] == expected


def test_people_above_the_limit_keep_as_many_groups_as_it_says() -> None:
    many = pd.DataFrame([(7, f"c{k}") for k in range(25)], columns=["p", "city"])
    with opened(many) as data:
        found = data.quote(KEYS, epsilon=1, limits=WEIGHTED)
        for seed in range(20):
            kept = data.engine.run(proved(found), seed)._totals["m0"]
            assert list(kept.values()) == [WEIGHT // 3] * 9


def test_weights_find_more_keys_where_memberships_are_heavy_tailed() -> None:
    frame = world(Random(2), 3000)
    kept = {}
    with opened(frame, groups_per_unit=30) as data:
        for limits in (None, Limits(groups_per_unit=1), WEIGHTED):
            found = data.quote(KEYS, epsilon=1, limits=limits)
            exact = data.engine.run(proved(found), 1)
            kept[limits] = float(np.mean([len(draw(found, exact).keys) for _ in range(20)]))
    assert kept[WEIGHTED] > kept[None] + 5


def lone(groups: int) -> pd.DataFrame:
    """Return fifty people of one city, and one who is alone in some."""
    rows = [(person, "Big") for person in range(50)] + [(99, f"own{k}") for k in range(groups)]
    return pd.DataFrame(rows, columns=["p", "city"])


@pytest.mark.parametrize("groups", [1, 3, 9])
def test_a_person_alone_in_many_keys_is_given_away_no_more_often_than_delta(groups: int) -> None:
    """From the question to the shown keys, at a large delta; a lower threshold is caught by the same test."""
    runs = 40_000
    with opened(lone(groups)) as data:
        found = data.quote(KEYS, epsilon=1, delta="9e-5", limits=WEIGHTED)
        (share,) = found.shares
        weighted = share.mechanism
        assert isinstance(weighted, KeyWeight)
        exact = data.engine.run(proved(found), 1)
    # A threshold for one in a hundred, so that there is something to see in so many draws.
    large = KeyWeight.calibrate(rho=weighted.guarantee().rho, delta="0.01", groups=9)
    assert (large.sigma_squared, large.weights) == (weighted.sigma_squared, weighted.weights)
    assert large.threshold < weighted.threshold
    totals = [weight for key, weight in exact._totals["m0"].items() if key != ("Big",)]
    assert totals == [isqrt(WEIGHT**2 // groups)] * groups

    def given_away(mechanism: KeyWeight) -> float:
        kept, _ = mechanism.sample(np.array(totals * runs))
        return float(np.array(kept).reshape(runs, groups).any(axis=1).mean())

    # Hoeffding: beyond this once in 10**8 runs.
    off = (log(1e8) / (2 * runs)) ** 0.5
    assert given_away(large) <= 0.01 + off
    if groups == 9:
        wrong = KeyWeight(large.sigma_squared, large.threshold * 2 // 3, WEIGHT, 9)
        assert given_away(wrong) > 0.01 + off
    assert given_away(weighted) <= 9e-5 + off


def test_an_answer_shows_keys_and_counts_with_intervals_and_says_how() -> None:
    with opened(world(Random(4), 2000)) as data:
        answer = data.query(COUNTS, epsilon="0.5", limits=WEIGHTED)
        assert answer.rows
        assert all(row["n_low"] <= row["n"] <= row["n_high"] for row in answer.intervals("0.95"))
        assert "1/sqrt(m)" in answer.card()
        assert "1/sqrt(m)" in repr(answer.quote)
        weighted = answer.quote.shares[1].mechanism
        assert isinstance(weighted, KeyWeight)
        reached = f"noisy weight reaches {weighted.threshold / WEIGHT:.2f}"
        assert reached in repr(answer.quote)
        assert reached in answer.quote._repr_html_()
        again = data.query(f"{SAID}city, COUNT(DISTINCT p) AS m FROM t GROUP BY city", epsilon="0.5")
        assert again.free
        assert [row.key for row in again.rows] == [row.key for row in answer.rows]


def test_tables_made_of_several_pay_for_gaussian_noise_together() -> None:
    text = f"SELECT a.city, a.n FROM ({COUNTS}) AS a JOIN (SELECT COUNT(*) AS n FROM t) AS b ON a.n < b.n"
    with opened(world(Random(4), 500)) as data:
        found = data.quote(text, epsilon="0.5", limits=WEIGHTED)
        assert any(isinstance(share.mechanism, KeyWeight) for share in found.shares)
        assert all(isinstance(share.mechanism, KeyWeight | Gaussian) for share in found.shares)
        assert found.cost.epsilon is None


def test_shown_keys_are_as_private_as_claimed_and_a_cheaper_claim_is_caught() -> None:
    """The whole path on two neighbours: somebody more in a key that is shown about half of the time."""
    epsilon, sessions, runs = 4, [], {}
    held = {"unit": "p", "rows_per_unit": 9, "columns": {"city": "text"}, "delta": "1e-3", "slack": "5e-4"}
    crowd = [(person, "Big") for person in range(50)]
    with dp.open(t=pd.DataFrame(crowd, columns=["p", "city"]), epsilon=epsilon, **held) as data:  # type: ignore[arg-type]
        (share,) = data.quote(KEYS, epsilon=epsilon, limits=WEIGHTED).shares
    assert isinstance(share.mechanism, KeyWeight)
    near = share.mechanism.threshold // WEIGHT
    others = crowd + [(100 + person, "Near") for person in range(near)]
    for side, more in enumerate(([], [(999, "Near")])):
        session = dp.open(t=pd.DataFrame(others + more, columns=["p", "city"]), epsilon=epsilon, **held)  # type: ignore[arg-type]
        sessions.append(session)
        found = session.quote(KEYS, epsilon=epsilon, limits=WEIGHTED)
        runs[side] = found, session.engine.run(proved(found), 1)

    def shows(side: int) -> str:
        return " ".join(str(key[0]) for key in draw(*runs[side]).keys)

    claim = {"delta": "1e-3", "runs": 3000}
    assert not dp.audit(shows, 0, 1, epsilon=epsilon, confidence="0.9999999", **claim).violated  # type: ignore[arg-type]
    assert dp.audit(shows, 0, 1, epsilon="0.2", confidence="0.9999999", **claim).violated  # type: ignore[arg-type]
    for session in sessions:
        session.close()
