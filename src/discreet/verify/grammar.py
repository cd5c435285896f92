"""The terms of certificates: one small grammar, read by us and by nobody else.

    term ::= if term then term else term | term op term | - term | not term | atom
    atom ::= 12 | 1.5 | true | false | (term) | x | x{1} | d{2}[term] | f(term, ...) | f{1}(d)
    op   ::= or | and | = | != | < | <= | > | >= | xor | + | - | * | / | mod

A text that is not exactly one term is refused.  No text of a certificate ever reaches a solver's parser,
which would also understand definitions, quantifiers and commands.  What the names mean, and whether they
mean anything, is decided where a term is used.
"""

import re
from fractions import Fraction

from discreet.errors import CertificateError
from discreet.verify import syntax as tree

LONGEST, DEEPEST, DIGITS = 20_000, 60, 60
_WORD = re.compile(
    r"\s*([0-9]+(?:\.[0-9]+)?|[A-Za-z_][A-Za-z_0-9'.#~]*|<=|>=|!=|[-+*/()\[\]{},<>=])", re.ASCII
)
_STRENGTH = {"or": 1, "and": 2, **dict.fromkeys(("=", "!=", "<", "<=", ">", ">="), 4), "xor": 5}
_STRENGTH |= {"+": 6, "-": 6, "*": 7, "/": 7, "mod": 7}
_END = "the end of the text"
_RESERVED = {_END, "if", "then", "else", "or", "and", "not", "xor", "mod", "true", "false"}


def read(text: str) -> tree.Expr:
    """Return the term that a text is."""
    reader = _Reader(text)
    term = reader.term(0)
    reader.expect(_END)
    return term


class _Reader:
    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise CertificateError(f"a term is longer than {LONGEST} characters")
        self.depth, place, text = 0, 0, text.strip()
        words: list[str] = []
        while place < len(text):
            match = _WORD.match(text, place)
            if match is None or len(match[1]) > DIGITS:
                raise CertificateError("a term contains something that no term contains")
            words.append(match[1])
            place = match.end()
        self.words = [_END, *reversed(words)]

    def take(self) -> str:
        return self.words.pop() if len(self.words) > 1 else _END

    def accept(self, word: str) -> bool:
        return self.words[-1] == word and bool(self.take())

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise CertificateError(f"a term has {self.words[-1]!r} where {word!r} is expected")

    def term(self, strength: int) -> tree.Expr:
        """Read operators that bind more strongly than `strength`."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise CertificateError(f"a term is nested more than {DEEPEST} deep")
        left = self.prefix()
        while strength < (own := _STRENGTH.get(self.words[-1], 0)):
            left = tree.Binary(self.take(), left, self.term(own))
        self.depth -= 1
        return left

    def prefix(self) -> tree.Expr:
        if self.accept("if"):
            condition = self.term(0)
            self.expect("then")
            positive = self.term(0)
            self.expect("else")
            return tree.Conditional(condition, positive, self.term(0))
        if self.accept("not"):
            return tree.Unary("not", self.term(3))
        if self.accept("-"):
            return tree.Unary("-", self.term(7))
        if self.accept("("):
            inner = self.term(0)
            self.expect(")")
            return inner
        if self.words[-1] in ("true", "false"):
            return tree.TruthValue(self.take() == "true")
        return self.atom(self.take())

    def atom(self, word: str) -> tree.Expr:
        if word[0] in "0123456789":
            return tree.Number(Fraction(word), "." not in word)
        if not (word[0].isalpha() or word[0] == "_") or word in _RESERVED:
            raise CertificateError(f"a term has {word!r} where a value is expected")
        side = 0
        if self.accept("{"):
            side = {"1": 1, "2": 2}.get(self.take(), 0)
            self.expect("}")
            if not side:
                raise CertificateError("a run is marked {1} or {2}")
        if self.accept("["):
            index = self.term(0)
            self.expect("]")
            return tree.Element(word, index, side)
        if self.accept("("):
            return self.applied(word, side)
        return tree.Variable(word, side)

    def applied(self, word: str, side: int) -> tree.Expr:
        arguments = [self.term(0)]
        while self.accept(","):
            arguments.append(self.term(0))
        self.expect(")")
        match arguments:
            case [tree.Variable(argument, 0)] if word == "size":
                return tree.Size(argument, side)
            case [tree.Variable(argument, 0)] if side:
                return tree.Ask(word, argument, side)
            case _ if side or word == "size":
                raise CertificateError(f"{word} is applied to one list")
        return tree.Apply(word, tuple(arguments))
