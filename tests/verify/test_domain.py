"""One formula for all: what are neighbours, what the prover assumes, and what is unknown of epsilon."""

from fractions import Fraction
from itertools import islice

import pytest
import z3

from discreet.errors import ParameterError
from discreet.verify import parse, run
from discreet.verify.candidate import pairs
from discreet.verify.domain import cases, domain
from discreet.verify.finite import NotFiniteError, negative_at
from discreet.verify.linear import Interval, Linear, UndecidedError
from discreet.verify.neighbours import Inputs, Instance
from discreet.verify.opened import all_inputs
from discreet.verify.positive import negative_between
from discreet.verify.relate import are_neighbours, violated
from discreet.verify.run import decide
from discreet.verify.space import Space
from discreet.verify.syntax import Array, Scalar, SensitiveQuery

HALF = Fraction(1, 2)


def program(parameters, *header):
    lines = "".join(f"  {line}\n" for line in header)
    return parse(f"P {parameters} : public real\n{lines}  ensures epsilon eps\n  return 1\n")


REAL, WHOLE = "(q : private real list)", "(q : private {0..3} list)"
TABLE = [
    (REAL, "neighbours q one by 1", [0, 0], [0, 1], True),
    (REAL, "neighbours q one by 1", [0, 0], [0, 2], False),
    (REAL, "neighbours q one by 1", [0, 0], [1, 1], False),
    (REAL, "neighbours q one by 1", [0, 0], [0, 0], True),
    (REAL, "neighbours q one by 1", [0, 0], [0], False),
    (REAL, "neighbours q one by 1 in [0, 1]", [HALF, 0], [2 * HALF, 0], True),
    (REAL, "neighbours q one by 1 in [0, 1]", [HALF, 0], [-HALF, 0], False),
    (REAL, "neighbours q one by 1 in [0, 1]", [0, 5], [1, 5], False),
    (REAL, "neighbours q all by 1", [0, 0], [1, -1], True),
    (REAL, "neighbours q all by 1", [0, 0], [1, -2], False),
    (REAL, "neighbours q monotone by 1", [0, 0], [1, 0], True),
    (REAL, "neighbours q monotone by 1", [0, 0], [0, -1], True),
    (REAL, "neighbours q monotone by 1", [0, 0], [1, -1], False),
    (REAL, "neighbours q replace", [0, 0], [0, 99], True),
    (REAL, "neighbours q replace by 2", [0, 0], [0, 3], False),
    (WHOLE, "neighbours q replace", [0, 3], [3, 3], True),
    (WHOLE, "neighbours q replace", [0, 3], [4, 3], False),
    (WHOLE, "neighbours q replace", [0, 3], [HALF, 3], False),
    (REAL, "neighbours q add-remove in [0, 1]", [0, HALF, 1], [0, 1], True),
    (REAL, "neighbours q add-remove in [0, 1]", [0, 1], [0, HALF, 1], True),
    (REAL, "neighbours q add-remove in [0, 1]", [0, HALF, 1], [1, 0], False),
    (REAL, "neighbours q add-remove in [0, 1]", [0, HALF, 2], [0, HALF], False),
    (REAL, "neighbours q add-remove in [0, 1]", [0, HALF], [0, HALF], False),
    (REAL, "neighbours q any", [0, 1], [5], True),
    (REAL, "neighbours q all by size(q)", [0, 0], [2, -2], True),
    (REAL, "neighbours q all by size(q)", [0], [2], False),
]


@pytest.mark.parametrize(("parameters", "clause", "first", "second", "truth"), TABLE)
def test_neighbours_are_what_the_clause_says(parameters, clause, first, second, truth):
    checked = program(parameters, clause)
    one, two = ({"q": [Fraction(x) for x in q], "eps": Fraction(1)} for q in (first, second))
    assert are_neighbours(checked, one, two) is truth
    assert are_neighbours(checked, two, one) is truth


def test_neighbours_agree_on_what_is_public_and_satisfy_what_is_required():
    checked = program("(x : private real) (k : public {1..3})", "neighbours x one by k", "requires k >= 2")
    base = {"x": Fraction(0), "k": 2, "eps": Fraction(1)}
    assert are_neighbours(checked, base, {**base, "x": Fraction(2)})
    assert not are_neighbours(checked, base, {**base, "x": Fraction(3)})
    assert not are_neighbours(checked, base, {**base, "k": 3})
    assert not are_neighbours(checked, {**base, "k": 1}, {**base, "k": 1})
    assert not are_neighbours(checked, {**base, "eps": Fraction(0)}, {**base, "eps": Fraction(0)})
    assert violated(checked, {**base, "k": 4}) == "k <= 3"


def test_two_directions_make_four_cases_and_every_pair_has_one():
    checked = program(
        "(p : private real list) (q : private real list)",
        "neighbours p monotone by 1",
        "neighbours q monotone by 1",
    )
    assert cases(checked.program) == ("p up, q up", "p up, q down", "p down, q up", "p down, q down")
    one = {"p": [Fraction(0)], "q": [Fraction(0)], "eps": Fraction(1)}
    assert are_neighbours(checked, one, {**one, "p": [Fraction(1)], "q": [Fraction(-1)]})


def test_a_query_is_one_function_within_its_sensitivity():
    checked = program("(d : private {3..3} list) (f : data -> real)", "neighbours d replace")

    def given(value):
        return {"d": [3], "f": lambda d: Fraction(value), "GSf": Fraction(1), "eps": Fraction(1)}

    assert are_neighbours(checked, given(0), given(0))
    assert not are_neighbours(checked, given(0), given(1)), "equal data have equal answers"
    other = program("(d : private {0,1} list) (f : data -> real)", "neighbours d replace")
    assert are_neighbours(other, {**given(0), "d": [0]}, {**given(1), "d": [1]})
    assert not are_neighbours(other, {**given(0), "d": [0]}, {**given(2), "d": [1]})


HEADERS = [
    (REAL, "neighbours q one by 1"),
    (REAL, "neighbours q one by 1 in [0, 10]"),
    (REAL, "neighbours q all by 2"),
    (REAL, "neighbours q monotone by 1"),
    (REAL, "neighbours q replace in [-1, 3]"),
    (WHOLE, "neighbours q replace by 1"),
    (REAL, "neighbours q add-remove in [0, 10]"),
    ("(q : private int list) (t : public {1..2} list)", "neighbours q one by 3/2"),
    ("(x : private {0..9}) (q : private real list)", "neighbours q any"),
    ("(x : private real) (B : public real)", "neighbours x all by B"),
]


@pytest.mark.parametrize(("parameters", "clause"), HEADERS)
def test_the_prover_assumes_only_what_holds_of_every_pair(parameters, clause):
    checked = program(parameters, clause)
    found = list(islice(pairs(checked), 12))
    assert len(found) >= 4
    for pair in found:
        assert any(_facts_hold(checked, case, pair) for case in cases(checked.program)), pair


def _facts_hold(checked, case, pair):
    """Whether a pair satisfies everything that the prover assumes in a case, whatever it reads."""
    inputs = Inputs(checked, case, Instance())
    known = []
    for parameter in checked.program.parameters:
        name, first, second = parameter.name, pair.first[parameter.name], pair.second[parameter.name]
        if isinstance(parameter.type, Scalar):
            terms = inputs.scalars.get(name) or (inputs.public(name), inputs.public(name))
            known += [terms[0] == _numeral(first), terms[1] == _numeral(second)]
        if isinstance(parameter.type, Array):
            known += [inputs.size(name, 1) == len(first), inputs.size(name, 2) == len(second)]
            for place in range(max(len(first), len(second))):
                alike = len(first) == len(second)
                if not alike:
                    longer = first if len(first) > len(second) else second
                    known.append(
                        inputs.element(name, z3.IntVal(place), 1, shared=True) == _numeral(longer[place])
                    )
                    continue
                one = inputs.element(name, z3.IntVal(place), 1, shared=True)
                two = inputs.element(name, z3.IntVal(place), 2, shared=True)
                known += [one == _numeral(first[place]), two == _numeral(second[place])]
    query = z3.Solver()
    query.add(*known, *inputs.facts, *(f for facts in inputs.element_facts.values() for f in facts))
    return query.check() == z3.sat


def _numeral(value):
    return (
        z3.BoolVal(value)
        if isinstance(value, bool)
        else z3.Q(Fraction(value).numerator, Fraction(value).denominator)
    )


@pytest.mark.parametrize(("parameters", "clause"), HEADERS)
def test_pairs_found_by_solving_are_neighbours(parameters, clause):
    checked = program(parameters, clause)
    for case in cases(checked.program):
        sizes = {p.name: (2, 2) for p in checked.program.parameters if isinstance(p.type, Array)}
        if "add-remove" in clause:
            sizes["q"] = (2, 1) if case == "remove" else (1, 2)
        pair = Space(checked, case, sizes).pair(
            [("eps", Fraction(1, 3)), ("q{1}[0]", Fraction(1)), ("B", Fraction(2))]
        )
        assert pair is not None
        assert pair.first["eps"] == Fraction(1, 3)
        assert are_neighbours(checked, pair.first, pair.second)


def test_wishes_are_granted_in_their_order_and_only_if_possible():
    checked = program("(x : private {0..9}) (k : public real)", "neighbours x all by k", "requires k <= 4")
    space = Space(checked, "both", {})
    pair = space.pair([("k", Fraction(5)), ("k", Fraction(3)), ("x{1}", 9), ("x{2}", 0), ("x{2}", 6)])
    assert (pair.first["k"], pair.first["x"], pair.second["x"]) == (3, 9, 6)
    assert (
        Space(program("(x : private real)", "neighbours x one by 1", "requires eps < 0"), "both", {}).pair([])
        is None
    )


def test_a_run_refuses_what_the_header_excludes():
    text = "P (d : private {0,1} list) (k : public int) : public int\n  requires k > size(d)\n  return k\n"
    assert run(text, d=[0, 1], k=3, eps=1) == 3
    for wrong in ({"d": [0, 2]}, {"k": 2}, {"eps": 0}, {"k": "1/2"}):
        with pytest.raises(ParameterError):
            run(text, **{"d": [0, 1], "k": 3, "eps": 1, **wrong})
    with pytest.raises(ParameterError):
        run("P (m : private {0,1}^2) : public {0,1}^2\n  return m\n", m=4, eps=1)


def test_the_formula_names_its_witness_only_where_one_element_changes():
    for clause, names in (("one by 1", {"q"}), ("all by 1", set()), ("replace", {"q"}), ("any", set())):
        checked = program(REAL, f"neighbours q {clause}")
        assert set(domain(checked.program, "both").positions) == names
    assert not any(
        isinstance(p.type, SensitiveQuery) for p in program(REAL, "neighbours q any").program.parameters
    )


POSITIVE = Interval(Fraction(0))


def unknown(constant=0, slope=1, interval=POSITIVE):
    return Linear(Fraction(constant), Fraction(slope), interval)


def test_an_unknown_is_a_number_only_when_it_cancels():
    e = unknown()
    assert e - e == 0
    assert isinstance(0 * e, Fraction)
    assert (2 * e + 1) / 2 == unknown(HALF, 1)
    assert 1 - e == unknown(1, -1)
    for wrong in (lambda: e * e, lambda: 1 / e, lambda: e % 2, lambda: e + True):
        with pytest.raises(UndecidedError):
            wrong()


def test_comparisons_of_an_unknown_have_one_answer_or_none():
    e = unknown()
    assert decide(">", e, 0)
    assert decide("=", 0 * e, 0)
    assert not decide("=", e, 0)
    assert decide("=", e, e)
    assert decide("<", e, 2 * e)
    for operator in ("=", "<", ">", "<=", ">=", "!="):
        with pytest.raises(UndecidedError):
            decide(operator, e, 1)
    at_least_one = unknown(interval=Interval(Fraction(1), None, True))
    assert decide(">=", at_least_one, 1)
    with pytest.raises(UndecidedError):
        decide(">", at_least_one, 1)
    assert decide(">", unknown(interval=Interval(Fraction(1))), 1)


@pytest.mark.parametrize(
    ("roots", "low", "high", "negative"),
    [
        ([2, 2], 1, None, False),
        ([2, 2, 3, 3], 1, None, False),
        ([2, 3], 1, None, True),
        ([2, 3], 3, None, False),
        ([2, 2, 2], 2, None, False),
        ([2, 2, 2], 1, None, True),
        ([2, 3, 3], 2, None, False),
        ([1], 1, None, False),
        ([4], 1, 3, True),
        ([4], 4, 9, False),
        ([5, 6], 1, 5, False),
    ],
)
def test_signs_between_roots_of_any_multiplicity(roots, low, high, negative):
    coefficients = [Fraction(1)]
    for root in roots:
        shifted, scaled = [Fraction(0), *coefficients], [-root * c for c in coefficients] + [Fraction(0)]
        coefficients = [a + b for a, b in zip(shifted, scaled, strict=True)]
    point = negative_between(coefficients, Fraction(low), None if high is None else Fraction(high))
    assert (point is not None) is negative
    if point is not None:
        assert sum(c * point**k for k, c in enumerate(coefficients)) < 0
        assert low < point
        assert high is None or point < high


def test_a_sum_of_exponentials_is_decided_on_its_interval():
    gap = {Fraction(1): Fraction(1), Fraction(0): Fraction(-3)}  # exp(e) - 3, negative below ln 3
    assert negative_at(gap, POSITIVE) is not None
    assert negative_at(gap, Interval(Fraction(11, 10))) is None
    found = negative_at(gap, Interval(Fraction(1), Fraction(2), True, True))
    assert found is not None
    assert 1 <= found < Fraction(11, 10)


def test_only_one_constant_may_stay_open():
    two = parse(
        "P (x : private {0,1}) (k : public real) : public int\n  ensures epsilon eps\n  return x + k * eps\n"
    )
    with pytest.raises(NotFiniteError):
        list(all_inputs(two))
    head = "P (x : private {0,1}) (k : public real) : public real\n"
    fixed = parse(head + "  requires k = 1/2\n  ensures epsilon k * eps\n  return x\n")
    assert {values["k"] for values in all_inputs(fixed)} == {HALF}
    assert len(list(all_inputs(fixed))) == 2
