"""Python functions: verified as they stand, refused where they leave the subset, and run as verified."""

import ast
import inspect
from fractions import Fraction
from functools import wraps
from typing import Literal

import pytest

import discreet as dp
from discreet.errors import ProgramError
from discreet.verify import Proved, Refuted, Unknown, check_certificate
from discreet.verify.explain import proof_in_words
from discreet.verify.python import PythonProgram, translate


def first_hit(q: dp.Private[list[float]], bar: float, eps: float) -> int:
    """The place of the first answer above a bar.

    neighbours q all by 1
    requires eps > 0
    ensures epsilon eps
    """
    noisy_bar = dp.laplace(2 / eps, bar)
    found = -1
    i = 0
    while i < len(q) and found < 0:
        if q[i] + dp.laplace(4 / eps) >= noisy_bar:
            found = i
        i += 1
    return found


def too_little_noise(q: dp.Private[list[float]], bar: float, eps: float) -> int:
    """The same with a quarter of the noise.

    neighbours q all by 1
    requires eps > 0
    ensures epsilon eps
    """
    noisy_bar = dp.laplace(2 / eps, bar)
    found = -1
    i = 0
    while i < len(q) and found < 0:
        if q[i] + dp.laplace(1 / eps) >= noisy_bar:
            found = i
        i += 1
    return found


@dp.program
def total(d: dp.Private[list[Literal[0, 1]]], eps: float) -> int:
    """How many ones there are.

    neighbours d replace
    requires eps > 0
    ensures epsilon eps
    """
    c = 0
    for x in d:
        c += x
    return c + dp.geometric(1 / eps)


@dp.program
def histogram(q: dp.Private[list[float]], eps: float) -> list[float]:
    """Every answer with its own noise.

    neighbours q one by 1
    requires eps > 0
    ensures epsilon eps
    """
    r = []
    for i in range(len(q)):
        r.append(q[i] + dp.laplace(1 / eps))
    return r


def answered(x: dp.Private[bool], eps: float) -> bool:
    """The truth with odds exp(eps) : 1.

    requires eps > 0
    ensures epsilon eps
    """
    honest = dp.response(eps)
    y = False
    if honest:
        y = x
    elif x:
        y = False
    else:
        y = True
    return y


def both_sums(people: dp.Private[list[tuple[float, float]]], eps: float) -> list[float]:
    """Two sums over rows of two numbers each.

    neighbours people one by 1
    requires eps > 0
    ensures epsilon eps
    """
    sums = []
    sums.append(0.0)
    sums.append(0.0)
    for i in range(len(people)):
        sums[0] += people[i][0]
        sums[1] += people[i][1]
    sums[0] += dp.laplace(2 / eps)
    sums[1] += dp.laplace(2 / eps)
    return sums


def test_lists_are_changed_and_rows_are_read():
    own = PythonProgram(both_sums)
    assert "sums[0] := sums[0] + people[i][0]" in own.text
    first, second = own([(1, 1000), (2, 2000)], eps=10**6)
    assert abs(first - 3) < 1
    assert abs(second - 3000) < 1


@pytest.mark.parametrize(
    "function", [first_hit, total, histogram, answered, both_sums], ids=lambda f: f.__name__
)
def test_a_private_function_is_proved(function):
    verdict = dp.verify(function)
    assert isinstance(verdict, Proved), verdict
    assert check_certificate(translate(function).text, verdict.certificate)


def test_a_function_with_too_little_noise_is_refuted():
    assert isinstance(dp.verify(too_little_noise), Refuted)


def test_a_program_runs_as_it_was_verified():
    assert isinstance(total, PythonProgram)
    assert isinstance(total([0, 1, 1], eps=1), int)
    assert total([0, 1, 1], eps=10**6) == 2
    released = histogram([1.5, 2.25], 10**9)
    assert [type(value) for value in released] == [Fraction, Fraction]
    assert [round(value, 3) for value in released] == [Fraction("1.5"), Fraction("2.25")]
    with pytest.raises(dp.ParameterError):
        total([0, 2], eps=1)
    with pytest.raises(TypeError):
        total([0, 1])


def test_a_plain_function_draws_exact_noise_too():
    assert first_hit([0.0, 10.0], 5.0, 10.0**6) == 1
    assert isinstance(dp.laplace(1), Fraction)
    assert isinstance(dp.discrete_gaussian(3, 1), int)
    assert dp.choose(10**6, [0, 5, 1]) == 1
    assert dp.exponential(1) >= 0
    assert 2 <= dp.uniform(2, 3) < 3
    assert dp.bernoulli(1) is True


def place(function, text):
    """Return the line of the file on which a text stands in a function."""
    lines, start = inspect.getsourcelines(function)
    return start + next(k for k, line in enumerate(lines) if text in line)


def test_positions_are_those_of_the_python_file():
    verdict = dp.verify(first_hit)
    told = proof_in_words(translate(first_hit).checked, verdict.certificate)
    assert f"noisy_bar (line {place(first_hit, 'noisy_bar = dp')})" in told
    assert f"(line {place(first_hit, 'dp.laplace(4 / eps)')})" in told


def private_scale(x: dp.Private[float]) -> float:
    """Noise whose scale mentions what it should hide.

    neighbours x one by 1
    ensures epsilon 1
    """
    return x + dp.laplace(1 + 0 * x)


def test_a_reason_names_the_line_of_the_python_file():
    verdict = dp.verify(private_scale, seconds=1)
    assert isinstance(verdict, Unknown)
    assert f"line {place(private_scale, 'return x')}" in verdict.reason


HEAD = "def f(q: dp.Private[list[float]], n: int, eps: float) -> float:\n"
HEAD += '    """\n    neighbours q all by 1\n    ensures epsilon eps\n    """\n'


def written(folder, body, head=HEAD):
    """Return a function that is read from a file."""
    path = folder / f"written{len(list(folder.iterdir()))}.py"
    path.write_text(head + "".join(f"    {line}\n" for line in body.splitlines()))
    names = {"dp": dp, "OUTSIDE": 3}
    if "min(" in body:
        names["min"] = max
    exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102 (written by the test itself)
    return names["f"]


REFUSED = {
    "break": ("while n > 0:\n    break\nreturn 0.0", 7, "put the condition into the `while`"),
    "an early return": ("if n > 0:\n    return 1.0\nreturn 0.0", 7, "returns once"),
    "a power": ("return n ** 2", 6, "there is no `\\*\\*`"),
    "a comprehension": ("r = [x for x in q]\nreturn r[0]", 6, "start with \\[\\] and append"),
    "a name from outside": ("return 1.0 * OUTSIDE", 6, "neither an argument nor a variable"),
    "an unknown call": ("return float(n)", 6, "can be called"),
    "a built-in with another meaning": ("return 1.0 * min(n, 1)", 6, "another meaning"),
    "a draw to go on": (
        "while dp.laplace(1) > 0:\n    m = 1\nreturn 0.0",
        6,
        "draw before",
    ),
    "a draw under a condition": ("return 0.0 if n > 0 and dp.bernoulli(1) else 1.0", 6, "draw before"),
    "a loop that changes its counter": (
        "for i in range(n):\n    i = i + 1\nreturn 0.0",
        6,
        "changed by its own loop",
    ),
    "a loop that changes its end": (
        "m = n\nfor i in range(m):\n    m = m + 1\nreturn 0.0",
        7,
        "cannot be changed inside",
    ),
    "a loop that changes its end in a list": (
        "a = []\na.append(n)\nfor i in range(a[0]):\n    a[0] = 0\nreturn 0.0",
        8,
        "cannot be changed inside",
    ),
    "a loop that makes its end longer": (
        "a = []\na.append(n)\nfor i in range(len(a)):\n    a.append(0)\nreturn 0.0",
        8,
        "cannot be changed inside",
    ),
    "a word of the language": ("size = 1\nreturn 1.0 * size", 6, "built into the language"),
    "an undefined variable": ("if n > 0:\n    x = 1.0\nreturn x", 8, "x"),
    "nothing in the branch": ("if n > 0:\n    pass\nreturn 0.0", 7, "no `pass`"),
    "a parameter by name": ("return dp.laplace(scale=1)", 6, "given by place"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_in_the_subset_is_refused_where_it_stands(tmp_path, name):
    body, line, words = REFUSED[name]
    with pytest.raises(ProgramError, match=words) as caught:
        dp.verify(written(tmp_path, body))
    assert caught.value.line == line


@pytest.mark.parametrize(
    "head", ["q", "q: str", "q: float = 1.0", "*q: float", "q: list[list[float]]"], ids=range(5)
)
def test_arguments_that_say_too_little_are_refused(tmp_path, head):
    with pytest.raises(ProgramError) as caught:
        dp.verify(written(tmp_path, "return 1.0", f"def f({head}) -> float:\n"))
    assert caught.value.line == 1


def test_the_counter_of_a_loop_keeps_its_value_after_it(tmp_path):
    body = "i = 7\ns = 0\nfor i in range(1, n):\n    s += i\nreturn 1.0 * i + s"
    function = written(tmp_path, body)
    for n in (0, 1, 2, 5):
        assert dp.program(function)([], n, 1) == function([], n, 1)


def test_a_wrapped_function_is_not_what_its_text_says():
    @wraps(first_hit)
    def told(*arguments):
        return first_hit(*arguments), arguments

    with pytest.raises(ProgramError, match="wrapped"):
        dp.verify(told)


def test_functions_without_a_source_are_refused():
    for function in (len, print, lambda: 0, ast.parse):
        with pytest.raises(ProgramError):
            dp.verify(function)
