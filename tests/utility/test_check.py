"""The checker: it accepts what is true, and every forgery is caught."""

import ast
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import CertificateError
from discreet.mechanisms.table import Table
from discreet.utility import (
    ChannelCertificate,
    CountCertificate,
    Epsilon,
    Loss,
    Prior,
    Problem,
    Ratio,
    band,
    check,
    cycle,
    optimal,
    path,
    truncated_geometric,
)

TINY = Fraction(1, 10**6)


def random_problem(graph, seed=0):
    generator = np.random.default_rng(seed)
    size = len(graph)
    return (
        graph,
        Prior.proportional(generator.integers(1, 9, size).tolist()),
        Loss.of(generator.integers(0, 20, (size, size)).tolist()),
    )


@pytest.fixture(scope="module")
def searched():
    return optimal(*random_problem(path(6)), 1).certificate


@pytest.fixture(scope="module")
def counted():
    return optimal(path(8), Prior.uniform(9), Loss.absolute(range(9)), 1).certificate


@pytest.fixture(scope="module")
def flowing():
    return optimal(*random_problem(band(6, 2), 1), 1).certificate


@pytest.fixture(scope="module")
def approximate():
    return optimal(*random_problem(path(5), 2), 1, delta="0.01").certificate


def refused(certificate, message):
    with pytest.raises(CertificateError, match=message):
        check(certificate)


def moved(channel, row, source, target, amount):
    """Move probability from one output to another in one row."""
    rows = [list(entries) for entries in channel.rows]
    rows[row][source] -= amount
    rows[row][target] += amount
    return replace(channel, rows=tuple(map(tuple, rows)))


def unvalidated(channel, rows):
    """A table whose own validation has been bypassed, as a hostile certificate could arrive."""
    forged = object.__new__(Table)
    for name, value in (
        ("inputs", channel.inputs),
        ("outputs", channel.outputs),
        ("rows", rows),
        ("neighbours", channel.neighbours),
    ):
        object.__setattr__(forged, name, value)
    return forged


def test_honest_certificates_are_accepted_with_a_small_gap(searched, counted, flowing, approximate):
    assert isinstance(searched, ChannelCertificate)
    assert isinstance(counted, CountCertificate)
    assert flowing.flows is not None
    for certificate in (searched, counted, flowing, approximate):
        verdict = check(certificate)
        assert 0 <= verdict.gap < Fraction(1, 10**7)


@pytest.mark.parametrize("name", ["searched", "flowing", "approximate"])
def test_a_channel_that_knows_fewer_neighbours_than_the_question_is_refused(name, request):
    certificate = request.getfixturevalue(name)
    for known in ((), certificate.channel.neighbours[1:]):
        lax = replace(certificate, channel=replace(certificate.channel, neighbours=known))
        refused(lax, "count all neighbours")
    strict = replace(certificate, channel=replace(certificate.channel, neighbours=None))
    assert check(strict).gap == check(certificate).gap


@pytest.mark.parametrize("first", [("1/10", "9/10"), ("3/10", "7/10")])
def test_privacy_is_asked_for_in_both_directions(first):
    """One answer becomes three times likelier one way, and the other at most 9/7 times the other way."""
    second = ("3/10", "7/10") if first == ("1/10", "9/10") else ("1/10", "9/10")
    channel = Table.of([first, second], neighbours=[(0, 1)])
    problem = Problem(path(1), Prior.uniform(2), Loss.of([[0, 1], [1, 0]]))
    for level, private in ((Ratio(Fraction(2)), False), (Ratio(Fraction(3)), True)):
        certificate = ChannelCertificate(problem, level, channel, (Fraction(0), Fraction(0)))
        if private:
            assert check(certificate).bound == 0
        else:
            refused(certificate, "not private")


@pytest.mark.parametrize("name", ["searched", "flowing", "approximate"])
def test_a_tampered_channel_is_refused(name, request):
    certificate = request.getfixturevalue(name)
    channel = certificate.channel
    column = max(range(len(channel.outputs)), key=lambda z: channel.rows[0][z])
    other = (column + 1) % len(channel.outputs)
    amount = channel.rows[0][column] * Fraction(9, 10)
    refused(replace(certificate, channel=moved(channel, 0, column, other, amount)), "not private")


def test_rows_that_do_not_sum_to_one_or_go_negative_are_refused(searched):
    rows = [list(row) for row in searched.channel.rows]
    for change in (TINY, -2 * TINY):
        rows[2][0] += change
        refused(replace(searched, channel=unvalidated(searched.channel, tuple(map(tuple, rows)))), "sum to 1")
    rows[2][0] = -rows[2][0]
    refused(replace(searched, channel=unvalidated(searched.channel, tuple(map(tuple, rows)))), "negative")


@pytest.mark.parametrize("name", ["searched", "counted", "flowing", "approximate"])
def test_a_smaller_epsilon_is_refused(name, request):
    certificate = request.getfixturevalue(name)
    refused(replace(certificate, level=Epsilon(Fraction(99, 100))), "not private|smaller than the privacy")


@pytest.mark.parametrize("name", ["searched", "counted", "flowing"])
def test_a_larger_epsilon_is_refused_because_more_could_be_done(name, request):
    """At a larger epsilon the mechanism is still private, but the bound no longer holds."""
    certificate = request.getfixturevalue(name)
    refused(replace(certificate, level=Epsilon(Fraction(101, 100))), "dual does not hold")


@pytest.mark.parametrize("name", ["searched", "counted", "flowing", "approximate"])
def test_a_raised_dual_is_refused(name, request):
    certificate = request.getfixturevalue(name)
    for place in range(len(certificate.dual)):
        raised = list(certificate.dual)
        raised[place] += TINY
        refused(replace(certificate, dual=tuple(raised)), "dual does not hold|cannot both be right")


@pytest.mark.parametrize("name", ["searched", "counted", "flowing"])
def test_a_lowered_dual_is_accepted_but_proves_less(name, request):
    certificate = request.getfixturevalue(name)
    lowered = replace(certificate, dual=tuple(entry - 1 for entry in certificate.dual))
    assert check(lowered).bound == check(certificate).bound - len(certificate.dual)


def test_a_dual_of_the_wrong_length_is_refused(searched):
    refused(replace(searched, dual=searched.dual[1:]), "one number per true answer")


def test_a_prior_that_is_not_a_law_is_refused(searched):
    """Inflating the hardest prior would inflate every bound on the worst case."""
    forged = object.__new__(Prior)
    object.__setattr__(forged, "weights", tuple(2 * weight for weight in searched.problem.prior.weights))
    problem = object.__new__(Problem)
    for name, value in (
        ("graph", searched.problem.graph),
        ("prior", forged),
        ("loss", searched.problem.loss),
    ):
        object.__setattr__(problem, name, value)
    refused(replace(searched, problem=problem), "prior is not a law")


def test_forged_flows_are_refused(flowing):
    flows = list(flowing.flows)
    amount, busy, place = max((f, w, k) for w, flow in enumerate(flows) for k, (_, _, f) in enumerate(flow))
    start, end, _ = flows[busy][place]
    for forged, message in (
        ((start, end, -amount), "negative"),
        ((0, 5, amount), "not neighbours"),
        ((start, end, amount * 2), "dual does not hold"),
    ):
        changed = flows.copy()
        changed[busy] = (*flows[busy][:place], forged, *flows[busy][place + 1 :])
        refused(replace(flowing, flows=tuple(changed)), message)
    refused(replace(flowing, flows=flowing.flows[1:]), "one flow per guess")
    refused(replace(flowing, flows=None), "needs its flows")


def test_a_delta_cannot_be_hidden(approximate):
    refused(replace(approximate, delta=Fraction(0)), "not private")
    refused(replace(approximate, delta=Fraction(9, 1000)), "not private")
    refused(replace(approximate, delta=Fraction(-1)), "delta")
    refused(replace(approximate, flows=None), "needs its flows")


def test_a_channel_for_another_question_is_refused(searched):
    other = truncated_geometric(6, Fraction(1, 2))
    refused(replace(searched, channel=Table.of(other.rows, inputs=list("abcdefg"))), "inputs")
    outside = replace(searched.channel, outputs=tuple(f"w{k}" for k in range(len(searched.channel.outputs))))
    refused(replace(searched, channel=outside), "not a guess")


def test_count_certificates_are_for_counts_only(counted):
    circle = Problem(cycle(9), counted.problem.prior, counted.problem.loss)
    refused(replace(counted, problem=circle), "not a path")
    refused(replace(counted, alpha=Fraction(3, 2)), "alpha")
    refused(replace(counted, remap=counted.remap[1:]), "remap")
    refused(replace(counted, remap=(99, *counted.remap[1:])), "remap")


def test_a_bad_remap_is_not_a_forgery_but_costs(counted):
    worse = check(replace(counted, remap=counted.remap[::-1]))
    assert worse.loss > check(counted).loss
    assert worse.bound == check(counted).bound


def test_rational_levels_prove_a_gap_of_exactly_zero():
    best = optimal(path(9), Prior.binomial(9), Loss.squared(range(10)), ratio="5/2")
    assert check(best.certificate).gap == 0
    searched = optimal(*random_problem(path(9), 5), ratio=2)
    assert isinstance(searched.certificate, ChannelCertificate)
    assert check(searched.certificate).gap == 0
    refused(replace(searched.certificate, level=Ratio(Fraction(199, 100))), "not private")


def test_the_checker_uses_no_floats_and_does_not_import_the_solver():
    room = Path(find_spec("discreet.utility").origin).parent
    pending, seen = ["check"], set()
    while pending:
        name = pending.pop()
        seen.add(name)
        tree = ast.parse((room / f"{name}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                module = node.module or ""
                assert not module.startswith(("numpy", "scipy", "highspy", "flint"))
                if module.startswith("discreet.utility."):
                    pending += [module.rsplit(".", 1)[1]] if module.rsplit(".", 1)[1] not in seen else []
            if isinstance(node, ast.Import):
                assert all(alias.name in ("json",) for alias in node.names)
    assert seen == {"check", "certificate", "problem", "graph", "loss", "prior"}
    tree = ast.parse((room / "check.py").read_text())
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, float)]
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "float"]
    divisions = [n for n in ast.walk(tree) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
    # Every true division has a Fraction on its left, so none of them makes a float.
    assert len(divisions) == 5
