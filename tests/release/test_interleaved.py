"""Streams that stay open between questions: a session never promises away more than its budget.

Sessions interleave, at random, questions, streams that begin, and single steps of those that are open;
steps are taken to the end when nothing else is admitted any more.  What was spent is added up again here from
the mechanisms that stand in the ledger: the noise of each question, and for each stream the integers that its
counter measures, found by running it on two neighbouring streams.  No price and no filter is asked.
"""

import json
from fractions import Fraction
from math import exp, inf, log, log1p
from random import Random

import pandas as pd
import pytest

from discreet.errors import BudgetError
from discreet.ledger.entry import Advanced, Reserved
from discreet.privacy.filter import Cost
from discreet.release import stream as module
from discreet.release.opening import open as open_session
from discreet.workload.root import RootCounter

EPSILON, DELTA = 1.0, 1e-6
PEOPLE = pd.DataFrame({"person": range(30), "x": range(30)})
ORDERS = [1 + 1.02**place / 20 for place in range(500)]


class Watched:
    """No noise: it only writes down what would be measured."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def sample(self, value: int) -> int:
        self.seen.append(value)
        return value


def measured(length: int, increments: list[int]) -> list[int]:
    """Return the integers to which a counter adds noise."""
    noise = Watched()
    counter = RootCounter(length, noise)  # type: ignore[arg-type]
    state = counter.start()
    for increment in increments:
        state, _ = counter.step(state, increment)
    return noise.seen


def stream_rho(stored: dict) -> float:
    """Return the zCDP of all steps of a stored stream, by the worst step in which a person may differ."""
    counter = stored["counter"]
    assert (counter["name"], counter["each"], stored["neighbours"]) == ("root/1", 1, "add-remove")
    length, rows = counter["length"], [measured(counter["length"], [0] * counter["length"])]
    for step in range(length):
        there = [stored["contribution"] * (place == step) for place in range(length)]
        rows.append(measured(length, there))
    furthest = max(sum((a - b) ** 2 for a, b in zip(row, rows[0], strict=True)) for row in rows[1:])
    return float(furthest / (2 * Fraction(counter["noise"]["sigma_squared"])))


def spent(history) -> tuple[float, list[float]]:
    """Return the epsilons and the Renyi costs of all orders that a history comes to."""
    pure, renyi = 0.0, [0.0] * len(ORDERS)
    for entry in history:
        if not isinstance(entry.event, Reserved):
            continue
        for stored in map(json.loads, entry.event.request.mechanisms):
            match stored:
                case ["geometric/1", str(alpha)]:
                    each = -log(Fraction(alpha))
                    pure += each
                    costs = [response(each, order) for order in ORDERS]
                case {"name": "stream/1"}:
                    pure, rho = inf, stream_rho(stored)
                    costs = [order * rho for order in ORDERS]
                case _:
                    raise AssertionError(stored)
            renyi = [one + two for one, two in zip(renyi, costs, strict=True)]
    return pure, renyi


def response(epsilon: float, order: float) -> float:
    """Return the Renyi divergence of randomised response, which no epsilon-private release exceeds."""
    high = 1 / (1 + exp(-epsilon))
    return ((order - 1) * epsilon + log(high) + log1p(exp(-(2 * order - 1) * epsilon))) / (order - 1)


def delta_of(history) -> float:
    """Return the least delta that some order gives at EPSILON, or 0 where the epsilons alone suffice."""
    pure, renyi = spent(history)
    if pure <= EPSILON * (1 + 1e-9):
        return 0.0
    return exp(
        min(
            (order - 1) * (cost - EPSILON) + order * log(1 - 1 / order) - log(order - 1)
            for order, cost in zip(ORDERS, renyi, strict=True)
        )
    )


def interleaved(seed: int) -> list:
    """Return the ledger's entries of a random session, in which nothing more is admitted at the end."""
    random, streams, refused = Random(seed), [], 0
    with open_session(
        visits=PEOPLE, unit="person", rows_per_unit=1, epsilon=EPSILON, delta="1e-6"
    ) as session:
        for move in range(400):
            going = [stream for stream in streams if stream.steps < stream.length]
            kind = random.random()
            try:
                if kind < 0.25:
                    session.query(
                        f"SELECT COUNT(*) AS n FROM visits WHERE x <> '{move}'",
                        epsilon=random.choice(["0.02", "0.05"]),
                    )
                elif kind < 0.5 or not going:
                    price = random.choice([{"epsilon": "0.2"}, {"rho": "0.0005"}, {"epsilon": "0.05"}])
                    length, each = random.randint(1, 12), random.randint(1, 3)
                    name = f"stream {move}"
                    streams.append(session.stream(name, length=length, contribution=each, **price))
                else:
                    stream = random.choice(going)
                    stream.add(random.randint(0, 3), step=stream.steps + 1)
            except BudgetError:
                refused += 1
                if refused == 12:
                    break
        assert refused == 12
        for stream in streams:
            stream.extend([1] * (stream.length - stream.steps), first=stream.steps + 1)
        return list(session.ledger.history("dataset", last=5000))


@pytest.mark.parametrize("seed", range(5))
def test_what_streams_and_questions_come_to_is_never_more_than_the_budget(seed):
    history = interleaved(seed)
    assert sum(isinstance(entry.event, Advanced) and entry.event.last > 0 for entry in history) > 5
    found = delta_of(history)
    # The budget is used, too: the smallest question was refused.
    assert DELTA / 20 < found <= DELTA


def charged_by_step(budget, cost: Cost) -> Cost:
    """The broken twin: a stream costs what its first step may cost, and the others are taken for free."""
    return Cost.concentrated(cost.rho / 6)


@pytest.mark.parametrize("seed", range(5))
def test_a_ledger_that_charges_for_the_first_steps_only_is_found_to_overspend(seed, monkeypatch):
    monkeypatch.setattr(module, "_paid", charged_by_step)
    assert delta_of(interleaved(seed)) > 2 * DELTA


def test_a_stream_costs_what_its_counter_shows():
    for length, each in ((1, 1), (7, 2), (12, 3)):
        with open_session(visits=PEOPLE, unit="person", epsilon=1, delta="1e-6", rows_per_unit=1) as session:
            stream = session.stream("a", length=length, contribution=each, rho="0.01")
            (entry,) = [e for e in session.ledger.history("dataset") if isinstance(e.event, Reserved)]
            shown = stream_rho(json.loads(entry.event.request.mechanisms[0]))
            assert 0.99 * float(stream.cost.rho) < shown <= float(stream.cost.rho)
