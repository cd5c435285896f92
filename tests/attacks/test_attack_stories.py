"""Differencing, averaging, tracing, floating point, timing: each works on the naive, none on discreet."""

import re
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from tests.audit.seeded import seeded
from typer import Typer
from typer.testing import CliRunner

from discreet.audit.attack import ATTACKS, average, difference, floating, page, trace
from discreet.audit.attack.floating import betrayed
from discreet.audit.attack.timing import coins_asked, correlation, tossed
from discreet.audit.specimens import naive_laplace
from discreet.cli.attack import attack
from discreet.errors import BudgetError, ParameterError
from discreet.exact.sample import two_sided_geometric
from discreet.mechanisms.laplace import Laplace
from discreet.release.opening import open as open_session


def points(report, series, figure=0):
    return {x: y for x, y, name in report.figures[figure].points if name == series}


def test_differencing_needs_patience_against_noise_and_is_refused_by_a_budget():
    with seeded(110):
        report = difference(victims=300, pairs=(1, 1000))
    assert points(report, "raw answers") == {1: 1.0, 1000: 1.0}
    assert points(report, "naive noise")[1000] > 0.9
    limit = exp(1) / (1 + exp(1)) + 5.2 * sqrt(0.25 / 300)
    assert points(report, "discreet")[1000] < min(limit, 0.8)
    assert "after 2 pairs" in report.stop


def test_averaging_removes_fresh_noise_and_not_a_stored_answer():
    with seeded(111):
        report = average(repeats=(1, 10, 1000), trials=100)
    naive, stored = points(report, "naive noise"), points(report, "discreet")
    assert naive[1000] < naive[1] / 15
    assert stored[1000] == stored[1]
    assert points(report, "discreet, reworded questions")[1000] > 4 * naive[1000]
    assert "10 answers use up" in report.stop


def test_tracing_finds_members_from_many_averages_unless_they_share_a_budget():
    with seeded(112):
        report = trace(members=60, attributes=(60, 2000), repeats=3)
    assert points(report, "raw answers")[2000] > 0.95
    assert points(report, "naive noise")[2000] > 0.9
    # One stranger in twenty is accused by design; 180 members, 5.2 standard deviations.
    assert points(report, "discreet")[2000] < 0.05 + 5.2 * sqrt(0.05 * 0.95 / 180) + 0.02


def test_low_bits_of_naive_noise_prove_the_truth_and_are_never_wrong():
    with seeded(113):
        zero, one = (x + naive_laplace(1.0, 200_000) for x in (0.0, 1.0))
    assert 0.25 < betrayed(zero).mean() < 0.3
    assert not betrayed(one).any()


def test_exact_noise_has_the_same_residues_whatever_the_truth():
    laplace = Laplace.calibrate(epsilon=1)
    step = float(laplace.step)
    with seeded(114):
        zero, one = (laplace.sample(np.full(200_000, x)) for x in (0.0, 1.0))
    for answers in (zero, one):
        assert not betrayed(answers).any()
        assert set(np.unique(np.remainder(answers, step))) == {0.0}


def test_the_floating_point_report_counts_no_false_proofs():
    with seeded(115):
        report = floating(answers=20_000)
    assert points(report, "discreet")[20] == 0
    assert points(report, "naive noise")[20] > 0.99
    assert all(row[2].startswith("0 of") for row in report.table)


def test_the_tossing_sampler_has_the_right_law_and_tells_its_value_by_its_work():
    alpha = Fraction(3, 4)
    with seeded(116):
        measured = coins_asked(tossed, alpha, 4000)
        steady = coins_asked(two_sided_geometric, alpha, 4000)
    # Pr[0] = (1 - a) / (1 + a) = 1/7; 5.4 standard deviations is a false alarm of 1e-7.
    assert abs(np.mean(measured[:, 0] == 0) - 1 / 7) < 5.4 * sqrt(1 / 7 * 6 / 7 / 4000)
    assert correlation(measured) > 0.9
    assert np.ptp(steady[:, 1]) == 0
    assert correlation(steady) == 0


def test_a_real_ledger_stops_averaging_and_differencing():
    """The same attacks through the front door: repeated questions are free and equal, new ones run out."""
    people = {"person": np.arange(40), "ill": np.arange(40) % 3 == 0}
    import pyarrow as pa

    with open_session(people=pa.table(people), unit="person", epsilon=1, rows_per_unit=1) as session:
        first = session.query("SELECT COUNT(*) FROM people WHERE ill", epsilon="0.5")
        for _ in range(5):
            assert session.query("SELECT COUNT(*) FROM people WHERE ill", epsilon="0.5").noisy == first.noisy
        session.query("SELECT COUNT(*) FROM people WHERE NOT ill", epsilon="0.5")
        with pytest.raises(BudgetError):
            session.query("SELECT COUNT(*) FROM people", epsilon="0.5")


def test_pages_stand_alone():
    with seeded(117):
        html = page([floating(answers=2_000)])
    assert "<svg" in html
    assert "<script" not in html
    links = set(re.findall(r"(?:https?:)?//[\w.-]+", html)) - {"http://www.w3.org"}
    assert not links
    assert not re.search(r"\b(?:src|href)=[\"'](?!#)", html)


def test_every_attack_has_a_name():
    assert list(ATTACKS) == ["reconstruction", "difference", "average", "trace", "float", "timing"]


def test_the_command_prints_a_table_and_writes_a_page(tmp_path):
    app = Typer()
    app.command()(attack)
    target = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["float", "--html", str(target)])
    assert done.exit_code == 0, done.output
    assert "Floating point" in done.output
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    refused = CliRunner().invoke(app, ["guessing"])
    assert isinstance(refused.exception, ParameterError)
