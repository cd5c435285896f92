"""Questions made of several released tables: one price, each measured once, everything else free."""

from fractions import Fraction
from pathlib import Path

import pytest
from tests.query.questions import clinic
from tests.query.test_corpus import FOLDER, cases
from tests.query.words import parser_words

import discreet as dp
from discreet.errors import DiscreetError, LedgerError, ParameterError, QueryError
from discreet.privacy.filter import ApproximateBudget
from discreet.query.check.identity import identity
from discreet.query.check.measurement import Checked, questions_of
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.assembled import surer
from discreet.query.price.proving import proof_of, proved
from discreet.query.price.quote import quote
from discreet.query.price.words import lines
from discreet.release.noisy import Noisy, decode, encode, together
from discreet.release.table import rows

CATALOG = clinic()
SLACK = Fraction(1, 10**9)
YEARS = (
    "WITH a AS (SELECT ward, COUNT(*) AS n FROM visits WHERE flag GROUP BY ward), "
    "b AS (SELECT ward, COUNT(*) AS n FROM visits WHERE NOT flag GROUP BY ward) "
)
SHARE = "SELECT ward, COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY ward"


def checked(text: str) -> Checked:
    return check(read(text), CATALOG)


@pytest.mark.parametrize("budget", [None, ApproximateBudget(Fraction(3), Fraction(1, 10**6))])
@pytest.mark.parametrize(
    "text",
    [
        SHARE,
        f"{YEARS} SELECT a.ward, b.n - a.n FROM a JOIN b ON a.ward = b.ward",
        "SELECT city, COUNT(*) FROM visits GROUP BY 1 UNION ALL SELECT ward, SUM(age) FROM visits GROUP BY 1",
        "SELECT city, n FROM (SELECT city, COUNT(*) n FROM visits GROUP BY city) x, (SELECT city AS c, "
        "COUNT(*) m FROM visits WHERE flag GROUP BY city) y WHERE city = c",
    ],
)
def test_all_parts_together_cost_no_more_than_is_asked(text: str, budget: ApproximateBudget | None) -> None:
    asked = checked(text)
    priced = quote(asked, epsilon=1, delta=SLACK, budget=budget)
    # Recomputed from the parts: what each is charged is what its own mechanisms cost.
    assert priced.cost.delta <= SLACK
    assert len(priced.parts) == 2
    assert [part.checked for part in priced.parts] == list(questions_of(asked))
    assert priced.shares == tuple(share for part in priced.parts for share in part.shares)
    if priced.cost.epsilon is not None:
        assert sum(part.cost.epsilon for part in priced.parts) <= 1  # type: ignore[misc]
    assert sum(part.cost.rho for part in priced.parts) <= priced.cost.rho
    if budget is not None:
        alone = quote(checked("SELECT COUNT(*) FROM visits"), epsilon=1, budget=budget)
        assert budget.share(priced.cost) <= max(budget.share(alone.cost), Fraction(1, 2))
    assert len(proof_of(priced, CATALOG).statements) == len(proved(priced, CATALOG).proof.statements)  # type: ignore[union-attr]


def test_a_subquery_that_is_used_twice_is_measured_once() -> None:
    named = "WITH y AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"
    text = f"{named} SELECT * FROM y p JOIN y q ON p.n < q.n"
    alone = checked("SELECT ward, COUNT(*) FROM visits GROUP BY ward")
    assert identity(checked(text)) == identity(alone)
    assert quote(checked(text), epsilon=1).cost == quote(alone, epsilon=1).cost
    assert len(questions_of(checked(f"{SHARE} HAVING COUNT(*) > (SELECT COUNT(*) FROM visits) / 9"))) == 2


def test_what_is_made_of_the_parts_does_not_change_what_they_are() -> None:
    plain = identity(checked(SHARE))
    assert plain != identity(checked("SELECT ward, COUNT(*) FROM visits GROUP BY ward"))
    for rest in (
        "ORDER BY share DESC LIMIT 1",
        "HAVING COUNT(*) > 3",
        "QUALIFY RANK() OVER (ORDER BY share) = 1",
    ):
        assert identity(checked(f"{SHARE} {rest}")) == plain


def _alone(every: int) -> None:
    """Every answered question is the same question as a part of another one."""
    found = [case.question for path in sorted(FOLDER.glob("*.sql")) for case in cases(path) if not case.words]
    seen = 0
    for text in found[::every]:
        try:
            whole = checked(
                f"SELECT * FROM ({text.rstrip('; ')}) AS x, (SELECT COUNT(*) AS rest FROM people) AS y"
            )
        except QueryError as refused:
            assert not parser_words(str(refused), text)  # noqa: PT017
            continue
        *parts, last = questions_of(whole)
        own = questions_of(checked(text))
        assert [identity(part) for part in parts] == [identity(part) for part in own], text
        assert identity(last) == identity(checked("SELECT COUNT(*) FROM people"))
        seen += 1
    assert seen > 0.75 * len(found[::every])


def test_a_part_is_the_question_that_it_is_alone() -> None:
    _alone(24)


@pytest.mark.fuzz
def test_every_part_is_the_question_that_it_is_alone() -> None:
    _alone(1)


def test_intervals_hold_for_all_cells_that_a_value_is_made_of() -> None:
    text = f"{YEARS} SELECT a.ward, a.n, b.n - a.n AS more FROM a JOIN b ON a.ward = b.ward"
    priced = quote(checked(text), epsilon=1)
    keys = (("A",), ("B",), ("C",))
    noisy = together([Noisy(keys, ((40, 50, 60),)), Noisy(keys, ((45, 45, 45),))])
    assert surer(Fraction(19, 20), 2) == Fraction(39, 40)
    one = [part.radius(0, Fraction(1, 40)) for part in priced.parts]
    for row in rows(priced, noisy):
        low, high = row.spans[2]
        assert (high - low) / 2 == sum(one)  # type: ignore[operator, arg-type]
    assert [expected.radius for expected in priced.expected] == [0, one[0], sum(one)]  # type: ignore[arg-type]
    assert [name for name, _, _ in lines(priced)] == ["ward", "n", "more"]
    drawn = rows(priced, together([Noisy(keys, ((-4, 5, 6),)), Noisy(keys, ((1, 1, 1),))]), as_drawn=True)
    assert drawn[0].cells == ("A", -4, 5)


def test_several_answers_have_one_stored_form() -> None:
    keys = (("A",), ("B",))
    one, other = Noisy(keys, ((1, 2),)), Noisy(((),), ((Fraction(3, 2),),), widths=(1,))
    several = together([one, other])
    assert decode(encode(several)) == several
    assert together([one]) is one
    for hostile in (
        b'["release/3",[]]',
        b'["release/3",[["release/1",[],[]]]]',
        b'["release/3",[["release/1",[],[]],["release/3",[["release/1",[],[]],["release/1",[],[]]]]]]',
        b'["release/3",[["release/1",[],[]],7]]',
        b'["release/4",[]]',
    ):
        with pytest.raises(LedgerError):
            decode(hostile)


def test_a_share_of_the_total_is_paid_once_and_free_afterwards(tmp_path: Path) -> None:
    import pandas

    frame = pandas.DataFrame({"person": range(60), "ward": ["A", "B", "C"] * 20})
    data = dp.open(
        visits=frame,
        unit="person",
        rows_per_unit=1,
        epsilon=2,
        columns={"ward": {"type": "text", "values": ["A", "B", "C"]}},
    )
    text = "SELECT ward, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY ward"
    first = data.query(text, epsilon=1)
    assert first.quote.cost.epsilon <= 1  # type: ignore[operator]
    assert [row.cells[0] for row in first.rows] == ["A", "B", "C"]
    again = data.query(f"{text} ORDER BY share DESC", epsilon=1)
    assert again.free
    assert again.noisy == first.noisy
    assert "share" in str(first)
    assert "count(*)" in first.card()
    assert first.to_arrow(intervals=True).column_names == ["ward", "share", "share_low", "share_high"]
    for refused in (
        lambda: data.batch([text, "SELECT COUNT(*) FROM visits"], epsilon=1),
        lambda: data.query(text, epsilon=1, weights={"share": 2}),
        lambda: data.quote(text, epsilon=1, prior=[1, 2]),
    ):
        with pytest.raises(DiscreetError):
            refused()
    data.close()


def test_a_join_without_end_is_refused_and_a_narrower_one_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.release.paired.MOST_PAIRS", 100)
    groups = "SELECT age, score, COUNT(*) AS n FROM visits GROUP BY age, score"
    text = f"WITH d AS ({groups}) SELECT * FROM d p JOIN d q ON "
    wide, narrow = (checked(text + on) for on in ("p.n = q.n", "p.age = q.age AND p.score = q.score"))
    keys = questions_of(wide)[0].keys.product()[:11]  # type: ignore[union-attr]
    assert identity(wide) == identity(narrow)
    noisy = Noisy(keys, ((1,) * len(keys),))
    assert len(rows(quote(narrow, epsilon=1), noisy)) == len(keys)
    with pytest.raises(QueryError, match="equate more columns"):
        rows(quote(wide, epsilon=1), noisy)


@pytest.mark.parametrize(
    ("text", "words", "instead"),
    [
        (
            "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
            "ask for it first",
            "SELECT COUNT(*) FROM visits WHERE cost > 12.5",
        ),
        (
            "SELECT w.floor, y.n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) y JOIN wards w "
            "ON w.ward = y.ward",
            "join it inside the subquery",
            "SELECT w.floor, COUNT(*) FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY w.floor",
        ),
        (
            "SELECT ward, (SELECT ward FROM visits GROUP BY ward) FROM visits GROUP BY ward",
            "may have many rows",
            "SELECT ward, (SELECT COUNT(*) FROM visits) FROM visits GROUP BY ward",
        ),
        (
            "SELECT COUNT(*) AS a, 1 AS b FROM visits UNION ALL SELECT COUNT(*) FROM visits",
            "select as many in each",
            "SELECT COUNT(*) AS a FROM visits UNION ALL SELECT COUNT(*) FROM visits",
        ),
        (
            "SELECT ward FROM visits GROUP BY ward UNION ALL SELECT COUNT(*) FROM visits",
            "is text in one part and a number in another",
            "SELECT ward FROM visits GROUP BY ward UNION ALL SELECT CAST(COUNT(*) AS TEXT) FROM visits",
        ),
        (
            f"{YEARS} SELECT n FROM a JOIN b ON a.ward = b.ward",
            "say which: a.n",
            f"{YEARS} SELECT a.n FROM a JOIN b ON a.ward = b.ward",
        ),
        (
            f"{YEARS} SELECT a.n FROM a JOIN b ON a.ward = b.n",
            "mixes text and a number",
            f"{YEARS} SELECT a.n FROM a JOIN b ON a.ward = b.ward",
        ),
        (
            f"{YEARS} SELECT p + 1 AS q, q + 1 AS p FROM a, b",
            "no such column",
            f"{YEARS} SELECT a.n + 1 AS q FROM a, b",
        ),
        (
            " UNION ALL ".join(f"SELECT COUNT(*) FROM visits WHERE age > {n}" for n in range(13)),
            "more than 12 released tables",
            " UNION ALL ".join(f"SELECT COUNT(*) FROM visits WHERE age > {n}" for n in range(12)),
        ),
    ],
)
def test_what_cannot_be_made_is_refused_with_something_that_can(text: str, words: str, instead: str) -> None:
    with pytest.raises(QueryError, match=words) as refused:
        checked(text)
    assert not parser_words(str(refused.value), text)
    checked(instead)


def test_weights_are_for_one_question() -> None:
    from discreet.release.pricing import weighed

    with pytest.raises(ParameterError, match="made of several"):
        weighed(checked(SHARE), {"share": 2})
