"""A cursor over the words of a text, with a voice for what was expected and what newcomers write instead."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from discreet.errors import ProgramError
from discreet.verify.lexer import Token, tokens
from discreet.verify.syntax import TextPosition

KEYWORDS = frozenset(
    {"while", "do", "if", "then", "else", "return", "and", "or", "not", "mod", "xor", "true", "false"}
)
LAWS = (
    "Laplace",
    "Geometric",
    "Exponential",
    "Gumbel",
    "Gaussian",
    "DiscreteGaussian",
    "Uniform",
    "Bernoulli",
    "Response",
    "ExpMech",
)
"""The laws that can be drawn from; `Response(e)` is true with probability exp(e) / (1 + exp(e))."""

FUNCTIONS = {"abs": 1, "exp": 1, "min": 2, "max": 2}
"""The built-in functions of numbers, with how many they take."""

RESERVED = KEYWORDS | {"size"} | set(LAWS) | set(FUNCTIONS)
"""What no parameter, variable or procedure may be called."""

DEEPEST = 40
"""How deeply blocks and expressions may be nested."""

INSTEAD = {
    "for": "there is no `for`: write i := 0, then `while i < size(d)` whose last line is i := i + 1",
    "break": "there is no `break`: put the condition into the `while`: `while i < n and not done`",
    "continue": "there is no `continue`: put the rest of the loop's body into an `if`",
    "def": "a procedure starts with its name: `Count (d : private {0,1} list) : public int`",
    "elif": "there is no `elif`: write `else`, and an `if` in an indented block of its own",
    "elsif": "there is no `elsif`: write `else`, and an `if` in an indented block of its own",
    "repeat": "there is no `repeat`: write `while`",
    "until": "there is no `until`: write `while not ...`",
    "let": "an assignment needs no `let`: write x := 1",
    "var": "variables are not declared: write x := 1",
    "skip": "there is no `skip`: an `if` may do without an `else`",
    "pass": "there is no `pass`: an `if` may do without an `else`",
    "print": "there is no `print`: what a program gives away is what it returns",
    "import": "there is no `import`: a file may hold several procedures, and call earlier ones",
    "True": "truth values are written true and false",
    "False": "truth values are written true and false",
    "len": "the length of a list is written size(d)",
}
"""Words of other languages, and what to write instead."""


@dataclass(slots=True)
class Cursor:
    """Where the reading of a text stands; in relational texts x{1} and x{2} mark the two runs."""

    words: list[Token]
    relational: bool = False
    next: int = 0
    depth: int = 0

    @property
    def word(self) -> Token:
        """Return the next word."""
        return self.words[self.next]

    def fail(self, message: str, at: TextPosition | None = None) -> NoReturn:
        """Refuse the text, at the next word unless said otherwise."""
        place = at or self.word.at
        raise ProgramError(message, place.line, place.column)

    def take(self) -> Token:
        """Return the next word and step over it."""
        token = self.word
        self.next += 1
        return token

    def sees(self, *texts: str) -> bool:
        """Return whether the next word is one of these."""
        return self.word.kind in ("symbol", "name") and self.word.text in texts

    def accept(self, *texts: str) -> bool:
        """Step over the next word if it is one of these."""
        if self.sees(*texts):
            self.next += 1
            return True
        return False

    def mark(self, kind: str) -> bool:
        """Step over a layout mark."""
        if self.word.kind == kind:
            self.next += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Step over a word that must come here."""
        if not self.sees(text):
            self.unexpected(repr(text))
        return self.take()

    def identifier(self, what: str) -> Token:
        """Return a name, which must come here."""
        if self.word.kind != "name" or self.word.text in KEYWORDS:
            self.unexpected(what)
        return self.take()

    def declared(self, what: str) -> Token:
        """Return a name that the text introduces, which must not have a meaning already."""
        token = self.identifier(what)
        self.free(token)
        return token

    def free(self, token: Token) -> None:
        """Refuse to give a second meaning to a word of the language."""
        if token.text in RESERVED:
            self.fail(f"{token.text} is built into the language; choose another name", token.at)

    def unexpected(self, what: str) -> NoReturn:
        """Say what should have come here, and what to write instead of what came."""
        advice = INSTEAD.get(self.word.text) if self.word.kind == "name" else None
        self.fail(advice or f"expected {what}, found {self.word.text!r}")

    def skip_lines(self) -> None:
        """Step over empty lines."""
        while self.mark("newline") or self.accept(";"):
            pass

    @contextmanager
    def deeper(self, what: str) -> Iterator[None]:
        """Count one level of nesting."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"{what} are nested more than {DEEPEST} deep")
        try:
            yield
        finally:
            self.depth -= 1


def cursor(text: str, *, relational: bool = False) -> Cursor:
    """Return a cursor at the first word of a text."""
    return Cursor(tokens(text), relational)
