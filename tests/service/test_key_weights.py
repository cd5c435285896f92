"""Keys found by weights through the doors of a service: what is sent arrives, and nothing else is taken."""

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

import discreet as dp
from discreet.release.session import Session
from discreet.service.answering import Asked, answer
from discreet.service.client import _limits
from discreet.service.reply import Reply
from discreet.service.role import Role, Verb
from discreet.service.schema import Question
from discreet.service.wire.setting import SessionSettings
from discreet.service.wire.types import MEDIA_TYPE

KEYS = "SELECT city FROM t GROUP BY city"


@pytest.fixture(scope="module")
def session() -> Iterator[dict[str, Session]]:
    rows = [(person, f"c{k}") for person in range(400) for k in range(1 if person % 3 else 4)]
    frame = pd.DataFrame(rows, columns=["person", "city"])
    held: dict[str, Any] = {"unit": "person", "rows_per_unit": 4, "columns": {"city": "text"}}
    with dp.open(t=frame, name="d", epsilon=50, delta="1e-5", analyst="ada", **held) as data:
        yield {"d": data}


def asked(session: dict[str, Session], limits: Any, kind: str = "application/json", **further: Any) -> Reply:
    sent = Question.model_validate({"sql": KEYS, "epsilon": "2", "limits": limits}).model_dump(mode="json")
    return answer(session, Asked(Verb.QUERY, "d", "ada", Role.ANALYST, sent | further, kind))


def test_what_is_sent_over_http_is_what_is_asked_in_python(session: dict[str, Session]) -> None:
    limits = dp.Limits(weighted_keys=True)
    assert _limits(limits) == {"limits": {"weighted_keys": True}}
    assert _limits(dp.Limits(rows_per_unit=2)) == {"limits": {"rows_per_unit": 2}}
    told = asked(session, _limits(limits)["limits"])
    assert told.status == 200
    found = json.loads(told.body)
    again = session["d"].query(KEYS, epsilon=2, limits=limits)
    assert again.free
    assert [row["city"] for row in found["rows"]] == [row.key[0] for row in again.rows]
    plain = asked(session, {"rows_per_unit": 4})
    assert not json.loads(plain.body)["free"]


def test_a_setting_of_the_postgresql_door_is_the_same_question(session: dict[str, Session]) -> None:
    settings = SessionSettings()
    settings.set("discreet.epsilon", "2")
    settings.set("discreet.weighted_keys", "on")
    assert settings.price["limits"] == {"weighted_keys": True}
    asked(session, {"weighted_keys": True})
    body = {"sql": KEYS, "parameters": [], "intervals": False, "postprocess": True, **settings.price}
    told = answer(session, Asked(Verb.QUERY, "d", "ada", Role.ANALYST, body, MEDIA_TYPE))
    assert told.status == 200
    assert b"cost nothing" in told.body
    settings.set("discreet.weighted_keys", None)
    assert settings.price["limits"] is None


@pytest.mark.parametrize("wrong", ["true", 1, 0, "on", None])
def test_only_true_and_false_say_it(wrong: object) -> None:
    with pytest.raises(ValidationError):
        Question.model_validate({"sql": KEYS, "epsilon": "2", "limits": {"weighted_keys": wrong}})
