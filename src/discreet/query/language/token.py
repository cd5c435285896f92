"""Words of a question: how a text is split into them, and how one takes the place of another.

The splitter takes `$1,$` for the beginning of a text in dollars.  After PostgreSQL the tag of such a text is
a name, or nothing, so a dollar before anything else is the mark of a parameter.  Such dollars are out of its
sight while it splits, behind a character that no question may hold; wherever else one stood, as in a text or
a name in quotes, it stands there again afterwards.
"""

import re
from collections.abc import Iterator

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from discreet.query.language.unreadable import unreadable

HIDDEN = "\ue000"
"""What stands for a dollar meanwhile: a character for private use."""

_PARAMETER = re.compile(r"(?<![\w$])\$(?=[0-9]|[^\W\d]\w*(?![\w$]))")


def split(text: str, dialect: Dialect) -> list[Token]:
    """Return the words of a text; a parameter like $1 is one, whatever stands beside it."""
    if "$" not in text or HIDDEN in text or not dialect.tokenizer_class.HEREDOC_STRINGS:
        return dialect.tokenize(text)
    hidden = dialect.tokenize(_PARAMETER.sub(HIDDEN, text))
    return [word for token in hidden for word in _shown(token)]


def _shown(token: Token) -> Iterator[Token]:
    """Return a word as it was written, a parameter as its mark and its name."""
    if HIDDEN not in token.text:
        yield token
    elif token.token_type is TokenType.VAR and token.text.startswith(HIDDEN):
        name, start = token.text[1:], token.start
        if not (name.isdecimal() or name.isidentifier()):
            raise unreadable(token.line, max(token.col - len(name), 1))
        kind = TokenType.NUMBER if name.isdecimal() else TokenType.VAR
        yield Token(TokenType.PARAMETER, "$", token.line, token.col - len(name), start, start)
        yield Token(kind, name, token.line, token.col, start + 1, token.end)
    else:
        yield like(token, token.token_type, token.text.replace(HIDDEN, "$"))


def like(token: Token, kind: TokenType, text: str) -> Token:
    """Return another word at the place of a word."""
    return Token(kind, text, token.line, token.col, token.start, token.end)


def quoted(token: Token) -> bool:
    """Whether a word is a text or a name in quotes, which is no word of the language."""
    return token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
