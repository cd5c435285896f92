"""What has run is held before anybody can know that it has, whatever came of it."""

import pytest

import discreet as dp
from discreet.errors import BudgetError, EngineError
from discreet.ledger.entry import Answered, Failed, Reserved

QUESTION = "SELECT COUNT(*) AS n FROM visits"
PRICE = {"epsilon": "0.1"}


@pytest.fixture
def data(tmp_path):
    import pandas

    frame = pandas.DataFrame({"person": range(20)})
    place = str(tmp_path / "clinic.ledger")
    with dp.open(visits=frame, unit="person", rows_per_unit=1, epsilon=1, ledger=place) as opened:
        yield opened


def newest(data) -> object:
    return data.ledger.history(data.catalog.name, last=1)[-1].event


def watched(data) -> list[tuple[object, object]]:
    """Return what others could know each time that something is held."""
    seen: list[tuple[object, object]] = []
    data.hold = lambda: seen.append((newest(data), data.recall(QUESTION, **PRICE)))
    return seen


def test_an_answer_is_nowhere_while_it_is_held(data):
    seen = watched(data)
    answer = data.query(QUESTION, **PRICE)
    ((event, found),) = seen
    assert isinstance(event, Reserved)
    assert found is None
    assert isinstance(newest(data), Answered)
    assert data.recall(QUESTION, **PRICE).rows == answer.rows


def test_a_failure_is_held_too(data, monkeypatch):
    def broken(*_):
        raise RuntimeError

    seen = watched(data)
    monkeypatch.setattr(data.engine, "run", broken)
    with pytest.raises(EngineError):
        data.query(QUESTION, **PRICE)
    ((event, _),) = seen
    assert isinstance(event, Reserved)
    assert isinstance(newest(data), Failed)


def test_a_batch_is_held_as_one(data):
    seen = watched(data)
    data.batch([QUESTION, f"{QUESTION} WHERE person IS NOT NULL"], **PRICE)
    assert len(seen) == 1


def test_what_looks_at_no_data_is_not_held(data):
    data.query(QUESTION, **PRICE)
    seen = watched(data)
    assert data.query(QUESTION, **PRICE).free
    data.quote(QUESTION, epsilon="0.2")
    with pytest.raises(BudgetError):
        data.query(QUESTION, epsilon=2)
    assert seen == []
