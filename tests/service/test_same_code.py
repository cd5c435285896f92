"""One suite of analyst's code against `dp.open` and `dp.connect`: the same verbs, values and refusals."""

import inspect
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pyarrow
import pytest
from tests.service.world import BY_WARD, COUNT, Service

import discreet as dp

STAYS = "SELECT stay, COUNT(*) AS n FROM visits WHERE ward <> 'C' GROUP BY stay ORDER BY n DESC LIMIT 5"
MEDIAN = "SELECT ward, MEDIAN(stay) AS typical FROM visits GROUP BY ward"
TOTALS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)"
SHARES = "SELECT ward, COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY ward"
QUESTIONS = (COUNT, BY_WARD, STAYS, MEDIAN, TOTALS, SHARES)
BATCH = [COUNT, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"]


@pytest.fixture(scope="module")
def here(service: Service) -> Iterator[dp.Session]:
    with dp.open(service.folder / "clinic.toml", analyst="analyst") as opened:
        yield opened


@pytest.fixture(scope="module")
def there(service: Service) -> Iterator[dp.Remote]:
    token, own = service.tokens["analyst"], service.certificate
    with dp.connect(service.url, token=token, dataset="clinic", certificate=own) as connected:
        yield connected


@pytest.fixture(params=["here", "there"])
def data(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


CURATORS = {
    "engine": "reads the data",
    "ledger": "keeps the budget, with its key",
    "manifest": "is a file of the curator's",
    "renew": "takes over a cap that was raised, which a service does for every question",
    "find_bounds": "declares a column for everybody, which goes into the manifest",
    "plans": "are worked out on both sides",
    "hold": "is where a service lets time pass",
    "project": "is what the curator entered somebody for",
}
"""What open data has that a connection has not, and why."""


def names(data: Any) -> set[str]:
    return {name for name in dir(data) if not name.startswith("_")}


def test_a_connection_has_everything_that_open_data_has_but_what_is_the_curators(here: Any, there: Any):
    assert names(here) - names(there) == set(CURATORS)
    assert names(there) - names(here) == {"line", "history", "verify_receipt"}
    common = names(here) & names(there)
    verbs = {name for name in common if inspect.isfunction(getattr(type(here), name, None))}
    assert {"quote", "query", "batch", "stream", "recall", "synthesise", "table", "close"} <= verbs
    for name in verbs:
        near, far = (inspect.signature(getattr(type(data), name)).parameters for data in (here, there))
        assert [(one.name, one.kind, one.default) for one in near.values()] == [
            (one.name, one.kind, one.default) for one in far.values()
        ], name


def test_a_quote_is_free_and_says_what_the_question_then_costs(data: Any):
    before = data.budget.limits[0].spent
    priced = data.quote(BY_WARD, epsilon="0.25")
    assert data.budget.limits[0].spent == before
    answer = data.query(BY_WARD, epsilon="0.25")
    assert answer.quote.cost == priced.cost
    assert data.query(BY_WARD, epsilon=Fraction(1, 4)).free


def test_accuracy_is_asked_for_in_the_same_words(data: Any):
    priced = data.quote(COUNT, within=20, confidence="0.9")
    assert priced.expected[0].radius <= 20
    answer = data.query(COUNT, within=20, confidence="0.9")
    assert answer.quote.cost == priced.cost
    low, high = (answer.intervals("0.9")[0][end] for end in ("n_low", "n_high"))
    assert low <= answer.value <= high


def test_the_accuracy_of_a_mean_is_asked_for_with_the_rows_it_is_of(data: Any):
    asked = {"within": 3, "count": 30, "confidence": "0.9"}
    priced = data.quote("SELECT AVG(stay) AS m FROM visits", **asked)
    assert priced.expected[0].radius <= 3
    assert data.query("SELECT AVG(stay) AS m FROM visits", **asked).quote.cost == priced.cost
    with pytest.raises(dp.QueryError, match="count=1000"):
        data.quote("SELECT AVG(stay) AS m FROM visits", within=3)


def test_a_batch_agrees_with_itself(data: Any):
    whole, wards, again = data.batch([*BATCH, BATCH[0]], epsilon=1)
    assert whole.receipt == wards.receipt
    assert whole.noisy == again.noisy
    assert (len(whole), len(wards)) == (1, 3)


def test_the_limits_of_a_question_tighten_the_tables(data: Any):
    tight = data.quote(COUNT, epsilon=1, limits=dp.Limits(rows_per_unit=1))
    assert tight.expected[0].radius < data.quote(COUNT, epsilon=1).expected[0].radius


@pytest.mark.parametrize("given", [[3, "A"], {"stay": 3, "ward": "A"}], ids=["by place", "by name"])
def test_parameters_are_constants(data: Any, given: Any):
    marks = ("?", "?") if isinstance(given, list) else (":stay", ":ward")
    asked = f"{COUNT} WHERE stay > {marks[0]} AND ward = {marks[1]}"
    first = data.query(asked, epsilon="0.6", parameters=given)
    assert data.query(f"{COUNT} WHERE stay > 3 AND ward = 'A'", epsilon="0.6").noisy == first.noisy
    assert data.quote(asked, epsilon="0.6", parameters=given).cost == first.quote.cost
    assert "3" in first.question
    with pytest.raises(dp.QueryError):
        data.query(asked, epsilon="0.6", parameters=[3])


def test_every_face_asks_the_same_question(data: Any):
    asked = f"{COUNT} WHERE stay > 3 AND ward = 'A'"
    first = data.query(asked, epsilon="0.7")
    frame = data.table("visits").where(dp.col("stay") > 3, ward="A").count()
    table = data.ibis("visits")
    expression = table.filter(table.stay > 3, table.ward == "A").count()
    for question, dialect in (
        (f'{COUNT} WHERE stay > 3 AND ward = "A" # as MySQL has it', "mysql"),
        (frame, None),
        (expression, None),
    ):
        again = data.query(question, epsilon="0.7", dialect=dialect)
        assert again.noisy == first.noisy
        assert data.quote(question, epsilon="0.7", dialect=dialect).cost == first.quote.cost
    counts = data.batch([frame, "SELECT COUNT(*) AS n FROM `visits`"], epsilon=1, dialect=None)
    assert len(counts) == 2
    with pytest.raises(dp.ParameterError, match="dialect must be one of"):
        data.query(asked, epsilon=1, dialect="klingon")


def test_a_parameter_that_would_arrive_as_something_else_is_refused(there: dp.Remote):
    with pytest.raises(dp.ParameterError, match="DATE"):
        there.quote(f"{COUNT} WHERE cost > ?", epsilon=1, parameters=[Fraction(1, 3)])


def test_an_id_is_paid_once_and_stands_for_one_question(data: Any, request: pytest.FixtureRequest):
    name = request.node.callspec.id
    asked = f"{COUNT} WHERE stay > {3 if name == 'here' else 4}"
    first = data.query(asked, epsilon="0.1", request_id=f"monday-{name}")
    entries = data.budget.entries
    again = data.query(asked, epsilon="0.1", request_id=f"monday-{name}")
    assert (again.noisy, again.receipt, again.free) == (first.noisy, first.receipt, True)
    assert data.budget.entries == entries
    with pytest.raises(dp.ConflictError):
        data.query(f"{COUNT} WHERE stay > 17", epsilon="0.1", request_id=f"monday-{name}")


def test_an_answer_is_found_again_without_paying(data: Any, here: Any):
    before = here.budget.entries
    assert data.recall(BY_WARD, epsilon="0.0301") is None
    assert data.recall_batch(BATCH, epsilon="0.0301") is None
    assert here.budget.entries == before
    first, several = data.query(BY_WARD, epsilon="0.031"), data.batch(BATCH, epsilon="0.031")
    before = here.budget.entries
    again = data.recall(BY_WARD, epsilon="0.031", confidence="0.5")
    assert (again.noisy, again.receipt, again.free) == (first.noisy, first.receipt, True)
    assert again.quote.confidence == Fraction(1, 2)
    assert [one.rows for one in data.recall_batch(BATCH, epsilon="0.031")] == [one.rows for one in several]
    assert here.budget.entries == before


def test_people_above_a_limit_are_counted(data: Any):
    first = data.over_limit("visits", epsilon="0.21")
    assert data.over_limit("visits", epsilon="0.21").noisy == first.noisy
    assert first.columns == ("people",)
    with pytest.raises(dp.CatalogError, match="nothing"):
        data.over_limit("nothing", epsilon=1)


REFUSALS: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "rows": (dp.QueryError, lambda data: data.query("SELECT * FROM visits", epsilon=1)),
    "no table": (dp.QueryError, lambda data: data.quote("SELECT COUNT(*) FROM nothing", epsilon=1)),
    "not SQL": (dp.QueryError, lambda data: data.query("how many?", epsilon=1)),
    "no price": (dp.ParameterError, lambda data: data.query(COUNT)),
    "two prices": (dp.ParameterError, lambda data: data.query(COUNT, epsilon=1, within=1)),
    "negative": (dp.ParameterError, lambda data: data.query(COUNT, epsilon=-1)),
    "not a number": (dp.ParameterError, lambda data: data.quote(COUNT, epsilon=float("nan"))),
    "too sure": (dp.ParameterError, lambda data: data.quote(COUNT, epsilon=1, confidence=1)),
    "no such table": (dp.CatalogError, lambda data: data.synthesise("nothing", epsilon=1)),
    "too many records": (dp.ParameterError, lambda data: data.synthesise(epsilon=1, rows=10**9)),
    "a person": (dp.QueryError, lambda data: data.synthesise(epsilon=1, columns=["note"])),
    "dear records": (dp.BudgetError, lambda data: data.synthesise(epsilon=10**7)),
    "too dear": (dp.BudgetError, lambda data: data.query(COUNT, epsilon=10**7)),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_are_the_same_errors_with_the_same_words(here: Any, there: Any, case: str):
    kind, act = REFUSALS[case]
    said = []
    for data in (here, there):
        entries = data.budget.entries
        with pytest.raises(kind) as refusal:
            act(data)
        said.append(str(refusal.value))
        assert data.budget.entries == entries
    assert said[0] == said[1]


RECORDS: dict[str, dict[str, Any]] = {
    "all columns": {"epsilon": "0.4"},
    "two": {"table": "visits", "epsilon": 2, "columns": ["stay", "ward"], "bins": 20, "rows": 25},
    "one": {"epsilon": 1, "columns": ["ward"], "limits": dp.Limits(rows_per_unit=1)},
}


@pytest.mark.parametrize("case", RECORDS)
def test_made_up_records_are_the_same_on_both_sides_and_paid_once(here: Any, there: Any, case: str):
    asked = RECORDS[case]
    planned = {key: value for key, value in asked.items() if key != "rows"}
    plans = [data.plan_records(**planned) for data in (here, there)]
    assert plans[0] == plans[1]
    assert plans[0].cost == plans[1].cost
    spent = here.budget.limits[0].spent
    far = there.synthesise(**asked)
    assert here.budget.limits[0].spent == spent + far.cost
    assert not far.free
    near = here.synthesise(**asked)
    assert here.budget.limits[0].spent == spent + far.cost
    assert (near.free, there.synthesise(**asked).free) == (True, True)
    assert (near.columns, near.groups, len(near)) == (far.columns, far.groups, len(far))
    assert list(near) == list(far)
    assert near.report() == far.report()
    assert [one.receipt for one in near.releases] == [one.receipt for one in far.releases]


def test_made_up_records_leave_as_a_sheet_or_in_arrow(service: Service, here: Any):
    asked = {"epsilon": "0.9", "columns": ["ward", "stay"], "rows": 30}
    place = "/v1/datasets/clinic/synthesise"
    sheet = service.ask("POST", place, asked, accept="text/csv")
    assert sheet.status == 200
    head, *rows = sheet.body.decode().splitlines()
    assert (head, len(rows)) == ("ward,stay", 30)
    table = service.ask("POST", place, asked, accept="application/vnd.apache.arrow.stream")
    assert table.headers["discreet-free"] == "true"
    found = pyarrow.ipc.open_stream(table.body).read_all()
    assert found.equals(here.synthesise(**asked).to_arrow())
    cells = [[row["ward"], row["stay"]] for row in found.to_pylist()]
    assert [",".join("" if cell is None else str(cell) for cell in row) for row in cells] == rows
    entries = here.budget.entries
    many = service.ask("POST", place, {"epsilon": "0.91", "rows": 200_000}, accept="text/csv")
    assert (many.status, here.budget.entries) == (422, entries)
    assert "at most 100000 " in many.json()["detail"]
    more = service.ask("POST", place, {"epsilon": "0.91", "rows": 10**9})
    assert (more.status, here.budget.entries) == (422, entries)


TAMPERED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "other columns": lambda body: body | {"columns": ["stay", "ward"]},
    "too few groups": lambda body: body | {"groups": body["groups"][:2]},
    "no group": lambda body: body | {"groups": [[], *body["groups"][1:]]},
    "a group of no cell": lambda body: body | {"groups": [[*body["groups"][0], 99], *body["groups"][1:]]},
    "groups from elsewhere": lambda body: body | {"groups": [body["groups"][0][1:], *body["groups"][1:]]},
    "groups in a heap": lambda body: (
        body | {"groups": [body["groups"][0], [0, 2, 1, 20], *body["groups"][2:]]}
    ),
    "groups that are no numbers": lambda body: body | {"groups": [["0"], *body["groups"][1:]]},
    "fewer answers": lambda body: body | {"answers": body["answers"][:1]},
    "dearer": lambda body: body | {"answers": [one | {"cost": ["2", "2", "0"]} for one in body["answers"]]},
    "tables of another size": lambda body: (
        body | {"answers": [one | {"drawn": body["answers"][1]["drawn"]} for one in body["answers"]]}
    ),
    "another table": lambda body: body | {"answers": [body["answers"][1], body["answers"][1]]},
}


@pytest.mark.parametrize("how", TAMPERED)
def test_records_that_do_not_follow_from_the_declarations_are_refused(there: Any, monkeypatch, how: str):
    post = there.line.post
    monkeypatch.setattr(there.line, "post", lambda *path, **options: TAMPERED[how](post(*path, **options)))
    with pytest.raises(dp.ServiceError):
        there.synthesise(epsilon=3, columns=["ward", "stay", "cost"], bins=20)


def priced(release: dp.Release) -> tuple[Any, ...]:
    found = release.quote
    return found.cost, found.epsilon, found.delta, found.expected, found.sql, repr(found)


def drawn(release: dp.Release) -> Any:
    """Return a picture, or why there is none: with little privacy to spend, all shares may be unknown."""
    try:
        return release.plot().to_dict()
    except dp.ParameterError as refusal:
        return str(refusal)


@pytest.mark.parametrize("question", QUESTIONS)
def test_one_answer_reads_the_same_on_both_sides(here: Any, there: Any, question: str):
    # The ledger is one, so the second to ask gets the very answer of the first.
    remote, local = there.query(question, epsilon="0.7"), here.query(question, epsilon="0.7")
    assert local.free
    assert (remote.noisy, remote.rows, remote.receipt) == (local.noisy, local.rows, local.receipt)
    assert (priced(remote), remote.unit, remote.card()) == (priced(local), local.unit, local.card())
    assert (str(remote), remote.intervals("0.8")) == (str(local), local.intervals("0.8"))
    assert remote.to_arrow(intervals=True).equals(local.to_arrow(intervals=True))
    assert drawn(remote) == drawn(local)


def test_the_answers_of_a_batch_read_the_same_on_both_sides(here: Any, there: Any):
    mixed = [COUNT, "SELECT ward, AVG(stay) AS a, COUNT(*) AS n FROM visits GROUP BY ward"]
    for one, other in zip(there.batch(mixed, epsilon="0.1"), here.batch(mixed, epsilon="0.1"), strict=True):
        assert (one.noisy, one.rows, one.card()) == (other.noisy, other.rows, other.card())
    remote, local = there.batch(BATCH, epsilon="0.8"), here.batch(BATCH, epsilon="0.8")
    for one, other in zip(remote, local, strict=True):
        assert (one.noisy, one.rows, one.card()) == (other.noisy, other.rows, other.card())
        assert priced(one) == priced(other)
    drawn = [side.batch(BATCH, epsilon="0.8", postprocess=False) for side in (here, there)]
    assert [one.rows for one in drawn[0]] == [one.rows for one in drawn[1]]
    assert [one.rows for one in drawn[0]] == [one.as_drawn().rows for one in local]


def test_quotes_and_budgets_print_the_same_on_both_sides(here: Any, there: Any):
    quotes = [data.quote(BY_WARD, epsilon="0.3") for data in (here, there)]
    assert repr(quotes[0]) == repr(quotes[1])
    assert quotes[0].sql == quotes[1].sql
    own = [limit for limit in here.budget.limits if limit.scope.analyst in (None, "analyst")]
    assert list(there.budget.limits) == own


@pytest.mark.parametrize("rate", [{"epsilon": "0.5"}, {"epsilon": 1}], ids=["half", "one"])
def test_a_stream_goes_on_on_either_side_of_the_wall(here: Any, there: Any, rate: dict[str, Any]):
    name, begun = f"arrivals/{rate}", {"length": 40, "contribution": 2, **rate}
    far = there.stream(name, **begun)
    before = here.budget.entries
    near = here.stream(name, **begun)
    assert here.budget.entries == before
    assert (near.cost, near.counter, near.guarantee) == (far.cost, far.counter, far.guarantee)
    first = far.extend(range(10), first=1)
    assert near.released() == first
    then = near.add(3, step=11)
    assert far.add(99, step=11) == then
    assert there.stream(name).released() == (*first, then)
    assert (far.steps, far.length, far.card()) == (near.steps, near.length, near.card())
    assert far.plot().to_dict() == near.plot().to_dict()


STREAMS: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "unknown": (dp.ParameterError, lambda data: data.stream("nowhere")),
    "no length": (dp.ParameterError, lambda data: data.stream("s", epsilon=1, contribution=1)),
    "no price": (dp.ParameterError, lambda data: data.stream("s", length=3, contribution=1)),
    "two prices": (
        dp.ParameterError,
        lambda data: data.stream("s", length=3, epsilon=1, rho=1, contribution=1),
    ),
    "a gap": (dp.ConflictError, lambda data: known(data).add(1, step=3)),
    "beyond": (dp.ParameterError, lambda data: known(data).extend([1] * 9, first=1)),
    "huge": (dp.ParameterError, lambda data: known(data).add(2**33, step=1)),
    "text": (dp.ParameterError, lambda data: known(data).add("1", step=1)),
    "another": (dp.ConflictError, lambda data: data.stream("known", length=9, epsilon=1, contribution=1)),
}


def known(data: Any) -> Any:
    return data.stream("known", length=8, epsilon=1, contribution=1)


@pytest.mark.parametrize("case", STREAMS)
def test_streams_are_refused_in_the_same_words(here: Any, there: Any, case: str):
    kind, act = STREAMS[case]
    known(here)
    said = []
    for data in (here, there):
        entries = data.budget.entries
        with pytest.raises(kind) as refusal:
            act(data)
        said.append(str(refusal.value))
        assert data.budget.entries == entries
    assert said[0] == said[1]


def test_a_stream_whose_price_does_not_follow_from_its_noise_is_refused(there: dp.Remote, monkeypatch):
    post = there.line.post

    def dearer(*path: str, **options: Any) -> Any:
        return {**post(*path, **options), "cost": ["2", "1/2", "0"]}

    monkeypatch.setattr(there.line, "post", dearer)
    with pytest.raises(dp.ServiceError, match="does not cost"):
        known(there)


def test_what_was_asked_is_found_again_and_its_receipt_holds(there: dp.Remote):
    answer = there.query(COUNT, epsilon="0.9")
    assert there.verify_receipt(answer.receipt)["number"] == answer.receipt.number
    assert answer.receipt.number in {entry["number"] for entry in there.history()}


def test_a_connection_asks_for_what_it_needs(service: Service):
    token, own = service.tokens["analyst"], service.certificate
    with pytest.raises(dp.ParameterError, match="which dataset"):
        dp.connect(service.url, token=token, certificate=own)
    with pytest.raises(dp.AccessError):
        dp.connect(service.url, token=token, dataset="other", certificate=own)
    with pytest.raises(dp.AccessError):
        dp.connect(service.url, token=token[:-1], certificate=own)
    with pytest.raises(dp.ServiceError, match="certificate"):
        dp.connect(service.url, token=token, dataset="clinic")
    with pytest.raises(dp.ParameterError, match="https"):
        dp.connect("http://192.0.2.1", token=token)


def test_a_price_that_does_not_follow_from_the_declarations_is_refused(there: dp.Remote, monkeypatch):
    post = there.line.post

    def dearer(*path: str, **options: Any) -> Any:
        body = post(*path, **options)
        return {**body, "cost": ["2", *body["cost"][1:]]}

    monkeypatch.setattr(there.line, "post", dearer)
    with pytest.raises(dp.ServiceError, match="another price"):
        there.query(COUNT, epsilon="0.7")
