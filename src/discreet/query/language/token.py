"""Words of a question before it is parsed: what dialects say otherwise is replaced there."""

from sqlglot.tokenizer_core import Token, TokenType


def like(token: Token, kind: TokenType, text: str) -> Token:
    """Return another word at the place of a word."""
    return Token(kind, text, token.line, token.col, token.start, token.end)


def quoted(token: Token) -> bool:
    """Whether a word is a text or a name in quotes, which is no word of the language."""
    return token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
