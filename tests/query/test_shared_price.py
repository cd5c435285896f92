"""No question of a batch is worse off than alone at an equal part of the price."""

from collections.abc import Iterator
from fractions import Fraction

import pytest

from discreet.mechanisms.gaussian import Gaussian
from discreet.query.catalog.manifest import Catalog, declare
from discreet.query.check.batch import Batch
from discreet.query.check.identity import identity
from discreet.query.check.measurement import AskedGroups, Classes
from discreet.query.price import together
from discreet.query.price.batch import parts
from discreet.query.price.either import converted
from discreet.query.price.expected import Quote
from discreet.query.price.mechanism import MeasurementShare, Price
from discreet.query.price.quote import quote
from discreet.release.pricing import check_batch, check_question, price_question

ASKED = {
    "count": "SELECT COUNT(*) AS n FROM t",
    "count by ward": "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward",
    "sum": "SELECT SUM(cost) AS s FROM t",
    "sum by old": "SELECT old, SUM(cost) AS s FROM t GROUP BY old",
    "other sum": "SELECT SUM(waited) AS s FROM t",
    "average": "SELECT AVG(cost) AS m FROM t",
    "average by ward": "SELECT ward, AVG(cost) AS m FROM t GROUP BY ward",
    "variance": "SELECT VARIANCE(cost) AS v FROM t WHERE old",
    "histogram": "SELECT HISTOGRAM(waited, 5) AS h FROM t",
    "cdf": "SELECT CDF(waited) AS c FROM t",
    "cdf of old": "SELECT CDF(waited) AS c FROM t WHERE old",
    "cdf by ward": "SELECT ward, CDF(waited) AS c FROM t GROUP BY ward",
    "cube": "SELECT ward, old, COUNT(*) AS n FROM t GROUP BY CUBE (ward, old)",
    "both signs": "SELECT SUM(change) AS d FROM t",
    "both signs by ward": "SELECT ward, SUM(change) AS d FROM t GROUP BY ward",
}
BATCHES = (
    ("count", "cdf", "sum"),
    ("count", "cube", "average", "other sum", "cdf of old"),
    ("count", "sum", "average by ward", "cdf", "cube", "variance"),
    ("count", "cdf"),
    ("count", "histogram"),
    ("histogram", "cdf"),
    ("count", "count by ward", "cube"),
    ("cdf by ward", "count", "count by ward"),
    ("sum", "sum by old", "average"),
    ("both signs", "both signs by ward", "count"),
    ("variance", "average", "average by ward"),
    ("sum by old", "histogram"),
    ("cube",),
    ("cdf",),
)
SMALL = Fraction(1, 10**6)
FEW = Fraction(21, 20)
"""Radii of several noises are rounded up by one step, those of a single one are exact."""


def catalog(neighbours: str, *, delta: bool) -> Catalog:
    def whole(low: int, high: int) -> dict[str, object]:
        return {"type": "integer", "low": low, "high": high, "nullable": False}

    columns = {
        "ward": {"type": "text", "values": ["A", "B", "C"], "nullable": False},
        "old": {"type": "boolean", "nullable": False},
        "cost": whole(0, 2000),
        "waited": whole(0, 49),
        "change": whole(-10, 20),
    }
    table = {"neighbours": neighbours, "unit": "person", "rows_per_unit": 1, "columns": columns}
    budget = {"epsilon": 100, **({"delta": "1e-6"} if delta else {})}
    return declare({"budget": budget, "tables": {"t": table}})


def priced(found: Catalog, names: tuple[str, ...], epsilon: Fraction) -> tuple[Batch, Quote]:
    batch = check_batch(found, [ASKED[name] for name in names], None)
    return batch, price_question(found, batch.whole, epsilon, count=300)


def ratios(found: Catalog, names: tuple[str, ...], epsilon: Fraction) -> Iterator[tuple[str, Fraction]]:
    """Yield by how much wider than alone at an equal part of the price the interval of each question is."""
    for name, (own, _) in zip(names, parts(*priced(found, names, epsilon)), strict=True):
        checked = check_question(found, ASKED[name], None)
        alone = price_question(found, checked, epsilon / len(names), count=300)
        yield name, own.expected[-1].radius / alone.expected[-1].radius  # type: ignore[operator]


def ratios_of_rho(
    found: Catalog, names: tuple[str, ...], epsilon: Fraction
) -> Iterator[tuple[str, Fraction, float]]:
    """Yield the same for Gaussian noise at an equal part of rho, for widths and for mean variances."""
    batch = check_batch(found, [ASKED[name] for name in names], None)

    def part(asked: Fraction) -> Price:
        return converted(SMALL)(asked).part(len(names))

    whole = quote(batch.whole, epsilon=epsilon, count=300, conversion=SMALL)
    for name, (own, _) in zip(names, parts(batch, whole), strict=True):
        checked = check_question(found, ASKED[name], None)
        alone = quote(checked, epsilon=epsilon, count=300, terms=part)
        wider = own.expected[-1].radius / alone.expected[-1].radius  # type: ignore[operator]
        pairs = zip(own.shares, alone.shares, strict=True)
        yield name, wider, max(variance(one) / variance(other) for one, other in pairs)


def variance(share: MeasurementShare) -> float:
    """Return the mean over groups of what Gaussian noise adds to an answer."""
    if isinstance(share.mechanism, together.Together):
        return float(share.mechanism.variances.mean())
    assert isinstance(share.mechanism, Gaussian)
    return float(share.mechanism.sigma_squared)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_no_question_of_a_batch_is_worse_than_alone(neighbours: str, delta: bool, epsilon: Fraction) -> None:
    found = catalog(neighbours, delta=delta)
    for names in BATCHES:
        known = dict(ratios(found, names, epsilon))
        assert all(ratio <= FEW for ratio in known.values()), known
        if len(names) > 2:
            assert sum(known.values()) < len(names)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_question_is_worse_with_gaussian_noise_than_alone_at_an_equal_part_of_rho(neighbours: str) -> None:
    found = catalog(neighbours, delta=True)
    for names in BATCHES:
        for name, wider, noisier in ratios_of_rho(found, names, Fraction(1)):
            assert max(wider, noisier) <= FEW, (names, name)


def test_one_workload_for_everything_would_be_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin plans every measurement for all groups of the batch, one answer as heavy as another."""

    def everything(keys: Classes, position: int) -> object:
        whole = (AskedGroups(0, keys.size, Fraction(1)),)
        return honest(Classes(keys.columns, keys.groups, (whole,) * len(keys.asked)), position)

    honest = together._classes
    monkeypatch.setattr(together, "_classes", everything)
    known = dict(ratios(catalog("add-remove", delta=False), BATCHES[0], Fraction(1, 2)))
    assert known["sum"] > 2
    assert known["count"] > 1.5


def test_the_price_of_a_batch_is_the_sum_of_equal_parts() -> None:
    """Two of three questions count rows."""
    names = ("count", "cdf", "sum")
    batch, whole = priced(catalog("add-remove", delta=False), names, Fraction(3))
    costs = [share.mechanism.cost.epsilon for share in whole.shares]  # type: ignore[union-attr]
    assert [round(float(cost), 9) for cost in costs] == [2, 1]  # type: ignore[arg-type]
    assert batch.whole.weights == (2, 1)


def test_batches_that_ask_other_groups_of_a_measurement_are_other_questions() -> None:
    """Both count rows and add up costs of everybody and of some: an answer of one is none of the other."""
    found = catalog("add-remove", delta=False)
    some, every = "FROM t WHERE old", "FROM t"
    texts = [
        [f"SELECT {first} AS x {every}", f"SELECT {second} AS x {some}"]
        for first, second in (("COUNT(*)", "SUM(cost)"), ("SUM(cost)", "COUNT(*)"))
    ]
    one, other = (check_batch(found, two, None).whole for two in texts)
    assert isinstance(one.keys, Classes)
    assert isinstance(other.keys, Classes)
    assert one.keys.groups == other.keys.groups
    assert identity(one) != identity(other)
    assert '"asked":' in identity(one)


def test_what_nobody_asks_of_a_measurement_stands_as_zero() -> None:
    batch, whole = priced(catalog("add-remove", delta=False), ("count", "cdf", "sum"), Fraction(1))
    sums = whole.shares[1].mechanism
    assert isinstance(sums, together.Together)
    (place,) = batch.whole.keys.places(1)  # type: ignore[union-attr]
    assert [n for n, variance in enumerate(sums.variances) if variance] == [place]
