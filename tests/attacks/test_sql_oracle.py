"""What an analyst sees besides noise is the same on neighbouring data: refusals, keys, columns and prices."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from tests.attacks.test_sql_refused import CORPUS
from tests.query.questions import Questions, clinic
from tests.query.worlds import Row, extreme, open_world, requests, row

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.exact import EngineRequest
from discreet.errors import DiscreetError, QueryError
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.identity import identity
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.quote import quote
from discreet.release.noisy import draw

CANARY = "CANARY-7f3"


def masked(question: str, engine: DuckDB, catalog: Catalog) -> tuple[Any, ...]:
    """Return everything of a response but its numbers."""
    try:
        checked = check(read(question), catalog)
        priced = quote(checked, epsilon=1)
        released = draw(priced, engine._exact(requests(checked), 9))
    except DiscreetError as error:
        return type(error).__name__, str(error)
    shapes = tuple(tuple(value is None for value in column) for column in released.values)
    return released.keys, [column.name for column in checked.columns], priced.cost, shapes, identity(checked)


def worlds(seed: int) -> tuple[list[Row], list[Row]]:
    random = Random(seed)
    others = [row(random, random.choice("abc")) for _ in range(12)]
    person = [{**visit, "city": CANARY, "ward": "Z"} for visit in extreme(random, "eve")]
    return others, others + person


def test_responses_are_the_same_with_and_without_a_person() -> None:
    assert the_same_responses(range(45), CORPUS[::16]) > 30


@pytest.mark.fuzz
def test_many_responses_are_the_same_with_and_without_a_person() -> None:
    assert the_same_responses(range(100, 1_100), CORPUS) > 650


def the_same_responses(seeds: range, corpus: Sequence[tuple[str, object]]) -> int:
    """Check that the two worlds respond alike; return how many questions were answered."""
    catalog = clinic()
    without, with_eve = worlds(4)
    with open_world(without, [], catalog) as one, open_world(with_eve, [], catalog) as other:
        answered = 0
        for seed in seeds:
            question = Questions(Random(seed)).draw().sql()
            response = masked(question, one, catalog)
            assert response == masked(question, other, catalog)
            assert CANARY not in str(response)
            answered += len(response) > 2
        for question, _ in corpus:
            assert masked(question, one, catalog) == masked(question, other, catalog)
    return answered


def test_the_detector_sees_keys_taken_from_the_data() -> None:
    """Answering with the groups that occur, instead of those declared, tells the two worlds apart."""
    catalog = clinic(unit=False)
    checked = check(read("SELECT ward, COUNT(*) FROM visits GROUP BY ward"), catalog)
    keys = []
    for rows in worlds(4):
        with open_world(rows, [], catalog) as engine:
            naive = requests(checked)[0].sql.partition("HAVING")[0]
            found = engine.connection.execute(naive).fetchall()
            keys.append(sorted(str(key) for key, _ in found))
    assert keys[0] != keys[1]


def test_no_error_holds_a_cell() -> None:
    catalog = clinic()
    with open_world(worlds(4)[1], [], catalog) as engine:
        for sql in (
            "SELECT sum(CAST(city AS INTEGER)) AS m0 FROM visits",
            "SELECT strptime(city, '%Y') AS m0 FROM visits",
            "SELECT error(city) AS m0 FROM visits",
        ):
            with pytest.raises(DiscreetError) as failure:
                engine._exact([EngineRequest(sql, 0, ("m0",))], 1)
            seen: BaseException | None = failure.value
            while seen is not None:
                assert CANARY not in str(seen)
                seen = seen.__context__ or seen.__cause__


def test_refusals_repeat_no_constant_of_the_question() -> None:
    """A refusal may be logged; it names clauses and declared names, not the values someone asked about."""
    for question in (
        f"SELECT COUNT(*) FROM visits WHERE age = '{CANARY}'",
        f"SELECT SUM(CASE WHEN city = '{CANARY}' THEN huge END) FROM visits",
        f"SELECT COUNT(*) FROM visits WHERE city IN ('{CANARY}', age)",
    ):
        with pytest.raises(QueryError) as refusal:
            check(read(question), clinic())
        assert CANARY not in str(refusal.value)
