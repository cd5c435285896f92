"""Highlighting of privacy programs: the words are those of the verifier's own reader."""

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, Text
from sphinx.application import Sphinx

from discreet.verify.cursor import FUNCTIONS, KEYWORDS, LAWS
from discreet.verify.header import RELATIONS

CLAUSES = ("neighbours", "requires", "ensures", "epsilon", "delta", "rho", "secret", "by", "in")
TYPES = ("int", "real", "bool", "bits", "list", "private", "public")


class ProgramLexer(RegexLexer):
    """Privacy programs, as `discreet verify` reads them."""

    name = "discreet"
    aliases = ("discreet",)
    filenames = ("*.dp",)
    tokens = {  # noqa: RUF012 (the lexer generator reads a plain class attribute)
        "root": [
            (r"#[^\n]*", Comment.Single),
            (words(tuple(LAWS), prefix=r"\b", suffix=r"\b"), Name.Class),
            (words((*CLAUSES, *RELATIONS), prefix=r"\b", suffix=r"(?![\w'])"), Keyword.Declaration),
            (words(tuple(sorted(KEYWORDS)), prefix=r"\b", suffix=r"\b"), Keyword),
            (words(TYPES, prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (words((*FUNCTIONS, "size"), prefix=r"\b", suffix=r"\b"), Name.Builtin),
            (r"[0-9]+(?:\.[0-9]+)?", Number),
            (r"[A-Za-z_][A-Za-z_0-9']*", Name),
            (r":=|\$|\+\+|<=|>=|!=|[-+*/<>=^]", Operator),
            (r"[()\[\]{},;:.]", Punctuation),
            (r"\s+", Text),
        ]
    }


def setup(app: Sphinx) -> dict[str, bool]:
    """Teach the documentation the language."""
    app.add_lexer("discreet", ProgramLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
