"""Every kind of aggregate, audited from SQL text to released value on worst-case neighbours.

An honest question is accused at most once in ten million runs; the same question claimed at an eighth of its
price is accused, for every kind whose answer one person can move far enough to be seen in so few runs.
"""

from itertools import count

import pandas as pd
import pytest

from discreet.audit import audit
from discreet.release.opening import open as open_session

COLUMNS = {
    "age": {"type": "integer", "low": 0, "high": 100},
    "ward": {"values": ["A", "B", "C"]},
    "cost": {"low": 0, "high": 50, "step": "0.5"},
}
KINDS = {
    "rows": "COUNT(*)",
    "values": "COUNT(age)",
    "people": "COUNT(DISTINCT person)",
    "distinct": "COUNT(DISTINCT ward)",
    "sum": "SUM(cost)",
    "mean": "AVG(age)",
    "spread": "VARIANCE(age)",
    "median": "MEDIAN(age)",
    "largest": "MAX(age)",
    "mode": "MODE(ward)",
    "arithmetic": "SUM(cost) / 2 + 3 * COUNT(*)",
}
TOGETHER = {
    "cube": "SELECT ward, COUNT(*) AS v FROM visits WHERE {} GROUP BY CUBE (ward)",
    "running": "SELECT CDF(age, 4) AS v FROM visits WHERE {}",
    "batch": "SELECT ward, COUNT(*) AS v FROM visits WHERE {} GROUP BY ward",
}
FAR = {"rows", "values", "people", "sum", "arithmetic"}
EPSILON, RUNS = 4, 100


def long_but(kinds, *ordinary):
    """Each kind is hundreds of questions: all but a few belong to the long searches."""
    return [pytest.param(kind, marks=() if kind in ordinary else pytest.mark.fuzz) for kind in kinds]


OTHERS = [(person, 40, "A", 10.0) for person in range(4)]
VICTIM = [(9, 100, "B", 50.0), (9, 10**6, "B", 1e300), (9, 100, "B", 50.0), (9, 100, "C", 50.0)]


@pytest.fixture(scope="module")
def neighbours():
    names = ["person", "age", "ward", "cost"]
    frames = {side: pd.DataFrame(rows, columns=names) for side, rows in ((0, OTHERS), (1, OTHERS + VICTIM))}
    sessions = {
        side: open_session(visits=frame, unit="person", rows_per_unit=3, epsilon=10**7, columns=COLUMNS)
        for side, frame in frames.items()
    }
    yield sessions
    for session in sessions.values():
        session.close()


def asked(sessions, aggregate, fresh):
    def ask(side: int):
        # The same question again would be the stored answer; a condition that is always true makes it new.
        answer = sessions[side].query(
            f"SELECT {aggregate} AS v FROM visits WHERE age >= -{next(fresh)}", epsilon=EPSILON
        )
        assert not answer.free
        return answer.value if isinstance(answer.value, str) else float(answer.value or 0)

    return ask


@pytest.mark.parametrize("kind", long_but(KINDS, "people"))
def test_a_question_is_as_private_as_it_claims_and_a_cheaper_claim_is_caught(neighbours, kind):
    ask = asked(neighbours, KINDS[kind], count(1))
    verdict = audit(ask, 0, 1, epsilon=EPSILON, runs=RUNS, confidence="0.9999999")
    assert not verdict.violated
    if kind in FAR:
        assert audit(ask, 0, 1, epsilon=EPSILON / 8, runs=RUNS, confidence="0.9").violated


@pytest.mark.parametrize("kind", long_but(TOGETHER))
def test_groups_measured_together_are_as_private_as_claimed_and_a_cheaper_claim_is_caught(neighbours, kind):
    fresh = count(10**6)

    def ask(side: int):
        text = TOGETHER[kind].format(f"age >= -{next(fresh)}")
        if kind == "batch":
            counts, total = neighbours[side].batch(
                [text, f"SELECT COUNT(*) AS v FROM visits WHERE age >= -{next(fresh)}"], epsilon=EPSILON
            )
            return tuple(float(cells[-1]) for cells in (*counts, *total))
        return tuple(float(cells[-1]) for cells in neighbours[side].query(text, epsilon=EPSILON))

    assert not audit(ask, 0, 1, epsilon=EPSILON, runs=RUNS, confidence="0.9999999").violated
    assert audit(ask, 0, 1, epsilon=EPSILON / 8, runs=RUNS, confidence="0.9").violated


def test_a_key_that_one_person_has_is_not_shown():
    rows = [(person, 40, "Big", 1.0) for person in range(300)] + [(999, 40, "Lone", 1.0)]
    frame = pd.DataFrame(rows, columns=["person", "age", "city", "cost"])
    with open_session(
        visits=frame,
        unit="person",
        rows_per_unit=1,
        groups_per_unit=1,
        epsilon=200,
        delta="1e-5",
        columns={"age": "integer"},
    ) as session:
        fresh = count(1)
        for _ in range(30):
            where = f"clamp(age, 0, 99) >= -{next(fresh)}"
            text = f"SELECT city, COUNT(*) AS n FROM visits WHERE {where} GROUP BY city"
            keys = [row.key[0] for row in session.query(text, epsilon=3, delta="1e-9").rows]
            # Thirty chances of one in a thousand million.
            assert keys == ["Big"]
