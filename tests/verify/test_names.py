"""Names: one scope, resolved once; nothing means something by its spelling, and inlining captures nothing."""

import pytest

from discreet.errors import ProgramError
from discreet.verify import Proved, Refuted, parse, run, verify
from discreet.verify.syntax import Ask, SensitiveQuery, Variable, assigned, names


@pytest.mark.parametrize("word", ["size", "abs", "min", "Laplace", "exp"])
def test_a_word_of_the_language_cannot_be_declared(word):
    """A query called `size` was read as the list's length, and proved private without noise."""
    query = f"P (d : private data) ({word} : data -> real) : real\n  neighbours d one by 1\n  return 1\n"
    local = f"P (d : private data) : real\n  {word} := 1\n  return 1\n"
    procedure = f"{word} (d : private data) : real\n  return 1\n"
    for text in (query, local, procedure):
        with pytest.raises(ProgramError, match="built into the language"):
            parse(text)


SHADOWED = """
f (d : private data) : real
  return 0

P (d : private data) (f : data -> real) : public real
  neighbours d one by 1
  ensures epsilon eps
  x := f(d)
  return x
"""


def test_a_parameter_hides_an_earlier_procedure_of_its_name():
    """The procedure was inlined in the query's place, and the leak was proved private."""
    program = parse(SHADOWED).program
    assert program.body[0].value == Ask("f", "d")
    assert not isinstance(verify(SHADOWED, seconds=2), Proved)


SENSITIVITY = """
Release (d : private data) (g : data -> real) ({first}) ({second}) : public real
  z := $ Laplace({scale}/eps, g(d))
  return z

P (d : private data) (f : data -> real) : public real
  neighbours d one by 1
  ensures epsilon eps
  a := Release(d, f, {values})
  return a
"""


def test_the_sensitivity_of_a_query_is_never_an_argument():
    """An argument called GSg was overwritten by the sensitivity of the query that was passed for g."""
    for first, second, values in (
        ("GSg : public real", "k : public real", "1/1000, 1"),
        ("k : public real", "GSg : public real", "1, 1/1000"),
    ):
        text = SENSITIVITY.format(first=first, second=second, values=values, scale="GSg")
        with pytest.raises(ProgramError, match="GSg already means the sensitivity of g"):
            parse(text)


@pytest.mark.parametrize(("values", "verdict"), [("1/1000, 1", Refuted), ("1, 1000", Proved)])
def test_arguments_keep_their_values_whatever_they_are_called(values, verdict):
    text = SENSITIVITY.format(
        first="b : public real", second="k : public real", values=values, scale="GSg * b"
    )
    assert isinstance(verify(text), verdict)


def test_the_sensitivity_follows_the_query_that_is_passed():
    text = """
Release (d : private data) (g : data -> real) : public real
  z := $ Laplace(GSg/eps, g(d))
  return z

P (d : private data) (f : data -> real) (h : data -> real) : public real
  neighbours d one by 1
  ensures epsilon eps
  a := Release(d, h)
  return a
"""
    program = parse(text).program
    assert program.parameter("h").type == SensitiveQuery("GSh")
    draw = program.body[0]
    assert names(draw.arguments[0]) == {"GSh", "eps"}


def test_inlined_variables_are_the_callee_s_own():
    text = """
Sum (d : private data) : real
  s := 0; i := 0
  while i < size d
    s := s + d[i]
    i := i + 1
  return s

P (d : private data) (s : public real) : public real
  i := 100
  s'1 := 5
  total := Sum(d)
  again := Sum(d)
  return (total, again, i, s, s'1)
"""
    assert run(text, d=[1, 2], s=7, eps=1) == (3, 3, 100, 7, 5)
    assert len(assigned(parse(text).program.body)) == 8


@pytest.mark.parametrize("inside", ["  eps := 1000\n", ""])
def test_a_callee_s_constant_is_not_the_caller_s_variable(inside):
    """The callee's `eps` is the constant of the claim, not whatever the caller calls eps."""
    parameter = "" if inside else " (eps : public real)"
    text = f"""
Release (d : private data) : public real
  z := $ Laplace(1/eps, d[0])
  return z

P (d : private data){parameter} : public real
  neighbours d one by 1
  requires size(d) >= 1
  ensures epsilon 1
{inside}  a := Release(d)
  return a
"""
    with pytest.raises(ProgramError, match="Release uses the constant eps, which means something else here"):
        parse(text)


def test_a_constant_of_the_callee_becomes_one_of_the_caller():
    text = """
Release (d : private data) : public real
  requires B > 0
  z := $ Laplace(B/eps, d[0])
  return z

P (d : private data) : public real
  neighbours d one by B
  requires size(d) >= 1
  requires B > 0
  ensures epsilon eps
  a := Release(d)
  return a
"""
    assert [p.name for p in parse(text).program.parameters] == ["d", "B", "eps"]
    assert isinstance(verify(text), Proved)


def test_a_declared_eps_means_what_is_declared():
    """Only the predeclared constant is known to be positive."""
    text = "P (x : private real) (eps : public real) : real\n  neighbours x one by 1\n  return x\n"
    assert not parse(text).program.requires
    assert parse(text.replace(" (eps : public real)", "")).program.requires[0].left == Variable("eps")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("y := g(x)", "unknown function 'g'"),
        ("y := x(1)", "x is not a function"),
        ("y := 1 + Earlier(d)", "call Earlier on a line of its own"),
        ("y := Earlier(x)", "d of Earlier must be an input list"),
        ("y := Earlier(d, d)", "Earlier takes 1 arguments, got 2"),
        ("y := len(d)", "unknown function 'len'"),
    ],
)
def test_what_is_applied_must_exist(line, words):
    earlier = "Earlier (d : data) : real\n  return 1\n"
    text = f"{earlier}\nP (d : data) (x : public real) : real\n  {line}\n  return 1\n"
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert words in str(caught.value)


def test_doubling_calls_are_refused_before_they_fill_the_memory():
    lines = ["P0 (x : public real) : public real\n  y := x + 1\n  return y\n"]
    for k in range(1, 40):
        lines.append(
            f"P{k} (x : public real) : public real\n  a := P{k - 1}(x)\n  b := P{k - 1}(a)\n  return b\n"
        )
    with pytest.raises(ProgramError, match="more than 2000 statements"):
        parse("\n".join(lines))


def test_doubling_constants_are_not_written_out():
    lines = ["P (x : public real) : public real", "  a0 := 2 * eps"]
    lines += [f"  a{k} := a{k - 1} + a{k - 1}" for k in range(1, 60)]
    assert run("\n".join([*lines, "  return a59\n"]), x=0, eps=1) == 2**60


@pytest.mark.parametrize(
    ("length", "words"),
    [("{0,1}^1", "combined with one of 1 bits"), ("{0,1}^k", "combined with one of k bits")],
)
def test_a_key_must_be_as_long_as_the_message(length, words):
    head = "P (m : private {0,1}^8) : public bits\n  ensures secret\n"
    text = f"{head}  k := $ Uniform({length})\n  return m xor k\n"
    with pytest.raises(ProgramError, match=words):
        parse(text)
    assert isinstance(
        verify(text.replace(length, "{0,1}^3").replace("^8", "^3").replace("bits", "{0,1}^3")), Proved
    )
