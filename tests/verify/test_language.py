"""The language: the blackboard's programs are understood as written, and mistakes are located."""

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import ProgramError
from discreet.verify import parse, run
from discreet.verify.parse import parse_formula
from discreet.verify.run import ExactDraws
from discreet.verify.spelling import show
from discreet.verify.syntax import Number, Sample, statements

PROGRAMS = sorted((Path(__file__).parents[2] / "examples" / "programs").glob("*.dp"))

MEAN = """
Mean (d : private data) : public real
  i:=0;
  s:=0;
  while (i<size(d))
    s:=s + d[i]
    i:=i+1;
  return (s/i)
"""

BEGUN = "P () : real\n  r := []\n"
ROWS = "P (d : private int[2] list)\n  neighbours d one by 1\n"


class Silent:
    """A machine whose noise is always zero, and whose coins always land on their first face."""

    def draw(self, statement, arguments):
        if statement.law in ("Laplace", "Geometric", "Gaussian"):
            return arguments[1] if len(arguments) > 1 else 0
        if statement.law in ("Bernoulli", "Response"):
            return True
        return 0

    def compare(self, operator, left, right):
        return ExactDraws().compare(operator, left, right)


def test_there_are_at_least_thirty_example_programs_and_all_are_well_formed():
    assert len(PROGRAMS) >= 30
    for path in PROGRAMS:
        parse(path.read_text())


def test_the_mean_is_computed_as_on_the_blackboard():
    assert run(MEAN, d=[1, 2, 6], eps=1) == 3


def test_numbers_are_exact():
    assert run(MEAN, d=["0.1", "0.2", "0.3"], eps=1) == Fraction(1, 5)


def test_the_two_laplace_programs_read_alike():
    added = next(p for p in PROGRAMS if p.stem == "lap_added").read_text()
    centred = next(p for p in PROGRAMS if p.stem == "lap_centred").read_text()
    given = {"d": [1, 2], "f": lambda d: sum(d), "GSf": 1, "e": 1, "eps": 1}
    assert run(added, Silent(), **given) == run(centred, Silent(), **given) == 3


def test_the_two_running_sums_agree_without_noise():
    programs = [next(p for p in PROGRAMS if p.stem == f"dummy_sum_{x}").read_text() for x in "ab"]
    assert [run(text, Silent(), d=[1, 0, 1, 1], eps=1) for text in programs] == [[1, 1, 2, 3]] * 2


def test_a_pad_is_undone_by_its_key():
    pad = """
Pad (m : private msg) : public msg
  key := $ Uniform({0,1}n);
  cipher := m xor key;
  return (cipher, key)
"""
    cipher, key = run(pad, m=12345, eps=1)
    assert cipher ^ key == 12345


def test_a_called_procedure_runs_with_its_own_variables():
    text = """
Square (x : public real) : public real
  y := x * x
  return y

Twice (x : public real) : public real
  y := 1
  a := Square(x)
  b := Square(a)
  return (a, b, y)
"""
    assert run(text, x=3, eps=1) == (9, 81, 1)


def test_sites_are_numbered_in_the_order_of_the_text():
    text = next(p for p in PROGRAMS if p.stem == "num_svt").read_text()
    assert [s.site for s in statements(parse(text).program.body) if isinstance(s, Sample)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("P (x : private real) : real\n  return x +\n", 2, 13, "expected an expression"),
        ("P (x : private real) : real\n  y := 1\n    z := 2\n  return y\n", 3, 5, "indented"),
        ("P (x : private reel) : real\n  return x\n", 1, 16, "unknown type 'reel'"),
        ("P (x : private real) : real\n  y := $ Lapplace(1)\n  return y\n", 2, 10, "unknown law"),
        ("P (x : private real) : real\n  return y\n", 2, 10, "y has no value here"),
        (
            "P (x : private real) : real\n  y := x and true\n  return y\n",
            2,
            8,
            "bool is needed here, not real",
        ),
        ("P (x : private real) : real\n  x := 1\n  return x\n", 2, 3, "x is a parameter"),
        ("P (x : private real) : real\n  y := 1\n", 1, 1, "the last statement must be a return"),
        ("P (x : private real) : real\n  return x\n  return x\n", 2, 3, "return may only be the last"),
        ("P (x : private real) : real\n  y := $ Laplace(1, 2, 3)\n  return y\n", 2, 3, "takes 1 or 2"),
        ("P (x : private real) : real\n  if x > 0 then\n    y := 1\n  return y\n", 4, 10, "on some path"),
        ("P (x : private real) : real\n  r := []\n  return r[0]\n", 1, 1, "nothing is appended"),
        (f"{BEGUN}  r := r ++ [true]\n  r[0] := true\n  return 1\n", 4, 3, "no numbers"),
        ("P (d : public int list) : real\n  d[0] := 1\n  return 1\n", 2, 3, "is a parameter"),
        (f"{BEGUN}  r := r ++ [1]\n  r[0] := $ Laplace(1)\n  return 1\n", 4, 11, "draw first"),
        ("P () : real\n  r := 1\n  r[0] := 2\n  return 1\n", 3, 3, "both as a list"),
        (f"{ROWS}  return d[0]\n", 3, 10, "list of rows"),
        (f"{ROWS}  return d[0][2]\n", 3, 15, "entries 0 to 1"),
        (f"{ROWS}  return d[0][1 + 0]\n", 3, 17, "a number or a variable"),
        (f"{ROWS}  x := d\n  return 1\n", 3, 8, "list of rows"),
        (f"{ROWS}  d'1 := 0\n  return 1\n", 1, 4, "column of d"),
        (f"{ROWS}  x := d[0]{'[d[0]' * 9}[0]{']' * 9}\n  return 1\n", 3, 13, "a number or a variable"),
        (ROWS.replace("one by 1", "monotone by 1") + "  return 1\n", 2, 3, "not understood"),
        (ROWS.replace("one by 1", "add-remove") + "  return 1\n", 2, 3, "not understood"),
        (ROWS.replace("[2]", "[0]") + "  return 1\n", 1, 16, "1 to 16 entries"),
        (ROWS.replace("[2]", "[99999999999]") + "  return 1\n", 1, 16, "1 to 16 entries"),
        ("P (x : private real) : real[2] list\n  return x\n", 1, 36, "plain lists"),
        ("P (x : public int list) : real\n  return x[0][0]\n", 2, 10, "no list of rows"),
        ("P (x : private real) : real\n  y := x ? 1\n  return y\n", 2, 10, "unexpected character"),
        ("P (x : private real list) : real\n  neighbours x one\n  return 1\n", 2, 3, "say by how much"),
        ("P (x : private real) : real\n  ensures epsilon x\n  return 1\n", 2, 19, "public constants"),
        ("P (x : private msg) : msg\n  y := x + x\n  return y\n", 2, 10, "bit strings"),
        ("P (x : private real) : real\n  y := 0 < x < 1\n  return y\n", 2, 14, "do not chain"),
    ],
)
def test_mistakes_are_located_and_explained(text, line, column, words):
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in str(caught.value)


def test_a_run_that_does_not_end_is_stopped():
    with pytest.raises(ProgramError, match="did not end"):
        run("P (x : public real) : real\n  y := 0\n  while y < 1\n    y := y - 1\n  return y\n", x=1, eps=1)


def test_reading_outside_a_list_is_an_error_and_not_a_value():
    with pytest.raises(ProgramError, match="outside its bounds"):
        run("P (d : private data) : real\n  return d[7]\n", d=[1], eps=1)


@pytest.mark.parametrize(
    "text",
    [
        "if tag(r) = 1 then 1 - (q{2}[i] - q{1}[i]) else 0",
        "s{1} / i - s{2} / i",
        "-(a - b) * 2",
        "f{1}(d) - f{2}(d)",
    ],
)
def test_formulas_are_printed_as_they_are_read(text):
    formula = parse_formula(text)
    assert parse_formula(show(formula)) == formula


def test_a_minus_sign_binds_to_a_literal():
    assert parse_formula("-3") == Number(Fraction(-3))


def test_laplace_draws_have_the_right_spread():
    text = "P (x : public real) : real\n  z := $ Laplace(2, x)\n  return z\n"
    checked = parse(text)
    draws = [run(checked, ExactDraws(grid=Fraction(1, 16)), x=0, eps=1) for _ in range(2000)]
    # E|Z| = 2 with standard deviation 2: six standard errors are 0.27, a false alarm once in 10**8.
    assert abs(float(sum(abs(d) for d in draws)) / 2000 - 2) < 0.3


def test_a_called_procedure_cannot_overwrite_its_parameter():
    text = """
Next (z : public real) : public real
  z := z + 1
  return z

P (x : private real) : public real
  neighbours x one by 1
  ensures epsilon eps
  y := Next(x + 1)
  return y
"""
    with pytest.raises(ProgramError, match="z is a parameter and cannot be assigned"):
        parse(text)
