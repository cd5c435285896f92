"""Reading the invariants of a certificate: closed terms over known symbols, and nothing else.

    term ::= symbol | numeral | true | false | (operator term ...) | (let ((name term) ...) term)

A text that is not exactly one such term is refused.  The solver's own parser is never given a word of a
certificate: it would also understand definitions, quantifiers and commands.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

import z3

from discreet.errors import CertificateError
from discreet.verify.term import Term, same_sort

LONGEST = 20_000
DEEPEST = 60
DIGITS = 60

_WORD = re.compile(r"\s*(?:([()])|\|([^|\\]*)\||([^\s()|\\;\"]+))")
_NUMERAL = re.compile(r"[0-9]+(\.[0-9]+)?\Z", re.ASCII)

Bound = Mapping[str, Term]


def _numbers(make: Callable[..., Term]) -> Callable[..., Term]:
    """Return an operator on numbers of one sort."""

    def apply(*terms: Term) -> Term:
        if not all(z3.is_arith(t) for t in terms):
            raise CertificateError("an invariant compares or computes with something that is not a number")
        whole = all(z3.is_int(t) for t in terms)
        return make(*(t if whole or z3.is_real(t) else z3.ToReal(t) for t in terms))

    return apply


def _truths(make: Callable[..., Term]) -> Callable[..., Term]:
    """Return an operator on truth values."""

    def apply(*terms: Term) -> Term:
        if not all(z3.is_bool(t) for t in terms):
            raise CertificateError("an invariant uses something else where a truth value is expected")
        return make(*terms)

    return apply


def _equal(left: Term, right: Term) -> Term:
    left, right = same_sort(left, right)
    if left.sort() != right.sort():
        raise CertificateError("an invariant equates a number with a truth value")
    return left == right


def _choose(condition: Term, positive: Term, negative: Term) -> Term:
    positive, negative = same_sort(positive, negative)
    if not z3.is_bool(condition) or positive.sort() != negative.sort():
        raise CertificateError("an invariant chooses between things of different kinds")
    return z3.If(condition, positive, negative)


def _divide(left: Term, right: Term) -> Term:
    if not z3.is_rational_value(right) or right.as_fraction() == 0:
        raise CertificateError("an invariant may only divide by a number that is not zero")
    return left / right


def _sum(*terms: Term) -> Term:
    return z3.Sum(*terms)


def _product(*terms: Term) -> Term:
    return z3.Product(*terms)


_OPERATORS: Mapping[str, tuple[int, int, Callable[..., Term]]] = {
    "not": (1, 1, _truths(z3.Not)),
    "and": (1, 999, _truths(z3.And)),
    "or": (1, 999, _truths(z3.Or)),
    "=>": (2, 2, _truths(z3.Implies)),
    "=": (2, 2, _equal),
    "ite": (3, 3, _choose),
    "<": (2, 2, _numbers(lambda a, b: a < b)),
    "<=": (2, 2, _numbers(lambda a, b: a <= b)),
    ">": (2, 2, _numbers(lambda a, b: a > b)),
    ">=": (2, 2, _numbers(lambda a, b: a >= b)),
    "+": (2, 999, _numbers(_sum)),
    "*": (2, 999, _numbers(_product)),
    "-": (1, 2, _numbers(lambda *t: -t[0] if len(t) == 1 else t[0] - t[1])),
    "/": (2, 2, lambda a, b: _numbers(_divide)(z3.ToReal(a) if z3.is_int(a) else a, b)),
    "to_real": (1, 1, _numbers(lambda a: z3.ToReal(a) if z3.is_int(a) else a)),
}


def read_closed(text: str, symbols: Bound) -> Term:
    """Return the truth value that a text denotes over the given symbols."""
    words = _words(text)
    term, end = _term(words, 0, symbols, 0)
    if end != len(words):
        raise CertificateError("an invariant is followed by something else")
    if not z3.is_bool(term):
        raise CertificateError("an invariant must be a truth value")
    return term


def _words(text: str) -> list[tuple[str, bool]]:
    """Split a text into words, each with whether it was quoted."""
    if len(text) > LONGEST:
        raise CertificateError(f"an invariant is longer than {LONGEST} characters")
    found: list[tuple[str, bool]] = []
    place, text = 0, text.strip()
    while place < len(text):
        match = _WORD.match(text, place)
        if match is None:
            raise CertificateError("an invariant contains a character that belongs to no term")
        place = match.end()
        found.append((match[2], True) if match[2] is not None else (match[1] or match[3], False))
    return found


def _term(words: list[tuple[str, bool]], place: int, symbols: Bound, depth: int) -> tuple[Term, int]:
    if place >= len(words) or depth > DEEPEST:
        raise CertificateError("an invariant ends too early or is nested too deeply")
    word, quoted = words[place]
    if quoted or word not in "()":
        return _atom(word, symbols, quoted=quoted), place + 1
    if word == ")" or place + 1 >= len(words):
        raise CertificateError("an invariant has a parenthesis too many")
    head, quoted = words[place + 1]
    if quoted:
        raise CertificateError("an invariant applies something that is not an operator")
    if head == "let":
        return _let(words, place + 2, symbols, depth)
    if head not in _OPERATORS:
        raise CertificateError("an invariant applies something that is not an operator")
    least, most, make = _OPERATORS[head]
    place, parts = place + 2, []
    while place < len(words) and words[place] != (")", False):
        part, place = _term(words, place, symbols, depth + 1)
        parts.append(part)
    if place >= len(words) or not least <= len(parts) <= most:
        raise CertificateError(f"an invariant applies {head} to the wrong number of terms")
    return make(*parts), place + 1


def _let(words: list[tuple[str, bool]], place: int, symbols: Bound, depth: int) -> tuple[Term, int]:
    place = _skip(words, place, "(")
    fresh: dict[str, Term] = {}
    while words[place : place + 1] == [("(", False)]:
        name, _ = words[place + 1] if place + 1 < len(words) else ("", False)
        if not name or name in "()" or name in ("true", "false", *symbols, *fresh) or _NUMERAL.match(name):
            raise CertificateError("an invariant gives a name that is taken")
        fresh[name], place = _term(words, place + 2, symbols, depth + 1)
        place = _skip(words, place, ")")
    body, place = _term(words, _skip(words, place, ")"), {**symbols, **fresh}, depth + 1)
    return body, _skip(words, place, ")")


def _skip(words: list[tuple[str, bool]], place: int, symbol: str) -> int:
    if words[place : place + 1] != [(symbol, False)]:
        raise CertificateError("an invariant has its parentheses in the wrong places")
    return place + 1


def _atom(word: str, symbols: Bound, *, quoted: bool) -> Term:
    if not quoted and word in ("true", "false"):
        return z3.BoolVal(word == "true")
    if not quoted and _NUMERAL.match(word) and len(word) <= DIGITS:
        return z3.RealVal(str(Fraction(word))) if "." in word else z3.IntVal(int(word))
    if word not in symbols:
        raise CertificateError("an invariant speaks of something that does not exist there")
    return symbols[word]
