"""No text outgrows the memory, however it is made: what makes one longer takes its first characters only."""

import pytest
from tests.query.questions import clinic
from tests.query.worlds import open_world, requests

from discreet.engines.reference.engine import Reference
from discreet.errors import ProofError
from discreet.query.check.function.text import LONGEST
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.plan import Call, Column, Literal, Scalar
from discreet.query.price.proving import proof_of
from discreet.query.price.quote import quote
from discreet.query.proof.function import evaluate
from discreet.query.proof.value import TEXT, Value
from discreet.query.rewrite.statements import statements

NESTED = "city"
for _ in range(8):
    NESTED = f"REPLACE({NESTED}, 'a', 'aaaaaaaa')"
GROWING = (
    f"SELECT COUNT(*) FROM visits WHERE LENGTH({NESTED}) > 3",
    "SELECT COUNT(*) FROM visits WHERE LENGTH(city || city || '-' || city) > 3",
    f"SELECT COUNT(*) FROM visits WHERE LENGTH(REPLACE({' || '.join(['city'] * 9)}, 'a', 'bb')) > {LONGEST}",
)


@pytest.mark.parametrize("question", GROWING)
def test_what_grows_is_cut_before_in_every_engine(question: str) -> None:
    catalog = clinic()
    checked = check(read(question), catalog)
    proof_of(quote(checked, epsilon=1, conversion=None, delta=0), catalog)
    texts = ("a" * 1000, "b", None, "ab" * 904)
    visits = [{"person": str(n), "version": 0, "city": city} for n, city in enumerate(texts)]
    with open_world(visits, [], catalog) as engine:
        found = engine._exact(requests(checked), 7)._totals
    reference = Reference({"visits": visits, "people": []})._exact(statements(checked), 7)._totals
    assert {name: dict(table) for name, table in found.items()} == {n: dict(t) for n, t in reference.items()}


def test_declared_values_are_listed_only_while_they_are_short() -> None:
    """The planner works them out itself; beyond, they are not known beforehand."""
    text = "LPAD(ward, 1000, 'a')"
    for _ in range(12):
        text = f"REPLACE({text}, 'a', 'aaaaaaaa')"
    check(read(f"SELECT COUNT(*) FROM visits WHERE LENGTH({text}) > 3"), clinic())
    joined = " || ".join(["LPAD(ward, 1000, 'a')"] * 12)
    check(read(f"SELECT COUNT(*) FROM visits WHERE LENGTH({joined}) > 3"), clinic())


CITY = Column("v", "city")
FIRST = Call("left", (CITY, Literal(4096)))


@pytest.mark.parametrize(
    ("scalar", "fine"),
    [
        (Call("replace", (FIRST, Literal("a"), Literal("aaaaaaaa"))), True),
        (Call("replace", (CITY, Literal("aa"), Literal("bb"))), True),
        (Call("replace", (CITY, Literal("a"), Literal("bb"))), False),
        (Call("replace", (FIRST, Literal("a"), Literal("b" * 9))), False),
        (Call("replace", (Call("left", (CITY, Literal(4097))), Literal("a"), Literal("bb"))), False),
        (Call("concat", (FIRST, Literal("x"), FIRST)), True),
        (Call("concat", (FIRST, CITY)), False),
        (Call("concat", (Call("concat", (FIRST, FIRST)), FIRST)), False),
    ],
)
def test_the_checker_demands_that_what_grows_is_short(scalar: Scalar, fine: bool) -> None:
    def leaf(part: Scalar) -> Value | None:
        return TEXT if isinstance(part, Column) else None

    if fine:
        assert evaluate(scalar, leaf) == TEXT
    else:
        with pytest.raises(ProofError):
            evaluate(scalar, leaf)
