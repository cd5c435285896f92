"""What a quote says of values that are chosen: how many rows off they are, and why there is no interval."""

import pytest
from tests.query.questions import clinic

from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.quote import quote


@pytest.mark.parametrize("asked", ["MEDIAN(age)", "QUANTILE(age, 0.9)", "MIN(age)", "MAX(age)", "MODE(ward)"])
def test_a_chosen_value_says_how_many_rows_off_it_is_and_why_it_has_no_interval(asked: str) -> None:
    catalog = clinic()
    priced = quote(check(read(f"SELECT {asked} AS v FROM visits"), catalog), epsilon=1)
    assert priced.expected[0].radius is None
    assert priced.expected[0].rank > 0
    for said in (str(priced), priced._repr_html_()):
        assert "rows of the right one" in said
        assert "is not released" in said
        assert ("GROUP BY, have one" if asked.startswith("MODE") else "QUANTILES(x, [0.5]) has one") in said


def test_what_the_quote_recommends_instead_has_an_interval() -> None:
    catalog = clinic()
    for asked in ("QUANTILES(age, [0.5])", "ward, COUNT(*)"):
        grouped = " GROUP BY ward" if asked.startswith("ward") else ""
        priced = quote(check(read(f"SELECT {asked} FROM visits{grouped}"), catalog), epsilon=1)
        last = priced.expected[-1]
        assert (last.radius or last.rank) > 0
        assert "no interval" not in str(priced)
