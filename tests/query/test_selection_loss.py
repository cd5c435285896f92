"""What a selection loses between two real tables is what its question is charged, under both adjacencies."""

from math import log
from typing import Any

import pytest
from tests.attacks.test_sql_contributions import visit
from tests.query.questions import clinic
from tests.query.test_sensitivity import scores
from tests.query.worlds import Row, open_world, requests

from discreet.mechanisms.exponential import Exponential
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.expected import Quote
from discreet.query.price.quote import quote

EPSILON = 1


def law(priced: Quote, catalog: Any, rows: list[Row]) -> list[Any]:
    """Return the exact probability of every candidate, group by group."""
    ((choice, mechanism),) = [(share.measured, share.mechanism) for share in priced.shares]
    with open_world(rows, [], catalog) as engine:
        cells = engine._exact(requests(priced.checked), 1)._cells["m0"]
    return [
        bounds
        for key in priced.checked.keys.product()
        for bounds in mechanism.chances(scores(choice, dict(cells.get(key, {}))))
    ]


def loss(one: list[Any], other: list[Any]) -> float:
    """Return a lower bound on the largest log ratio, from rationals around every probability."""
    pairs = zip(one, other, strict=True)
    return max(max(log(a.low / b.high), log(b.low / a.high)) for a, b in pairs)


def others(unit: bool) -> list[Row]:
    return [visit(f"p{n}" if unit else None, ward="A", score=-7) for n in range(9)] + [
        visit("q" if unit else None, ward="B", score=5)
    ]


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    ("asked", "moves"),
    [
        ("MODE(ward)", ({"ward": "A"}, {"ward": "B"})),
        ("MODE(flag)", ({"flag": True}, {"flag": False})),
        ("MEDIAN(score)", ({"score": -7}, {"score": 5})),
        ("QUANTILE(score, 0.9)", ({"score": -7}, {"score": 5})),
    ],
)
def test_a_selection_loses_what_it_is_charged(
    asked: str, moves: tuple[dict[str, Any], dict[str, Any]], neighbours: str, unit: bool
) -> None:
    catalog = clinic(rows=1, neighbours=neighbours, unit=unit)
    priced = quote(check(read(f"SELECT {asked} FROM visits"), catalog), epsilon=EPSILON)
    worlds = [[*others(unit), visit("eve" if unit else None, **cells)] for cells in moves]
    if neighbours == "add-remove":
        pairs = [(world, others(unit)) for world in worlds]
    else:
        pairs = [(worlds[0], worlds[1])]
    lost = max(loss(law(priced, catalog, one), law(priced, catalog, other)) for one, other in pairs)
    assert lost <= EPSILON
    if asked.startswith("MODE(ward"):
        assert lost > 0.7 * EPSILON, "the price is nearly reached, so a wrong one would show"


def test_the_detector_sees_a_selection_sharpened_as_if_scores_only_grew() -> None:
    """Replacing a person lowers one score and raises another: the rule for growing scores loses double."""
    catalog = clinic(unit=False, neighbours="replace")
    priced = quote(check(read("SELECT MODE(ward) FROM visits"), catalog), epsilon=EPSILON)
    choice = priced.shares[0].measured
    sharper = Exponential.calibrate(epsilon=EPSILON, sensitivity=choice.sensitivity, monotone=True)
    one, other = (
        sharper.chances(scores(choice, weights)) for weights in ({"A": 9, "B": 1}, {"A": 8, "B": 2})
    )
    assert loss(list(one), list(other)) > 1.5 * EPSILON
