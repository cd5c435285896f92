"""The parser's own words, which no refusal may use: people never wrote them."""

import re

from sqlglot import exp


def _names() -> frozenset[str]:
    classes = [kind for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, exp.Expr)]
    # A name of one hump may be a word of SQL; DateDiff and such are, although they have two.
    humps = {kind.__name__.upper() for kind in classes if re.search(r"[a-z][A-Z]", kind.__name__)}
    written = set(exp.FUNCTION_BY_NAME)
    return frozenset(humps - written) | {"NEGATE", "QUOTED", "IS_STRING"}


WORDS = _names()


def parser_words(message: str, question: str) -> set[str]:
    """Return the parser's words in a message that are not words of the question."""
    return {word for word in re.findall(r"\w+", message) if word in WORDS and word not in question.upper()}
