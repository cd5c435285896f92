"""Splitting a text into words and layout: indentation opens and closes blocks, line ends close statements."""

import re
from dataclasses import dataclass

from discreet.errors import ProgramError
from discreet.verify.syntax import TextPosition

_WORDS = re.compile(
    r"(?P<space>[ \t]+)|(?P<comment>#[^\n]*)|(?P<newline>\n)"
    r"|(?P<foreign>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)[eE][-+]?[0-9]+|\.[0-9]+"
    r"|\*\*|[-+*/]=|\+\+(?=[ ]*(?:\n|;))|~)"
    r"|(?P<number>[0-9]+\.[0-9]+|[0-9]+)|(?P<name>[A-Za-z_][A-Za-z_0-9']*)"
    r"|(?P<symbol>:=|\+\+|->|<=|>=|!=|<>|==|&&|\|\||\.\.|[-+*/%^()\[\]{},;:$<>=!])"
)
_SYNONYMS = {"==": "=", "<>": "!=", "&&": "and", "||": "or", "%": "mod", "!": "not"}
LONGEST = 200_000
"""Characters of a program."""
DIGITS = 60
"""Digits of one number."""


@dataclass(frozen=True, slots=True)
class Token:
    """One word of the text: number, name, symbol, or the layout marks newline, indent, dedent, end."""

    kind: str
    text: str
    at: TextPosition


def _advice(word: str) -> str:
    """Return what to write instead of a spelling of other languages."""
    if word == "**":
        return "there is no `**`: write a product, x * x"
    if word == "++":
        return "there is no `++` of a single variable: write i := i + 1"
    if word == "~":
        return "a draw is written x := $ Laplace(b)"
    if word.endswith("="):
        return f"there is no `{word}`: write x := x {word[0]} 1"
    if "e" in word.lower():
        return f"write {word} as a fraction or a decimal number, such as 1/1000 or 0.001"
    return f"write 0{word}"


def tokens(text: str) -> list[Token]:
    """Split a text into words and layout marks."""
    if len(text) > LONGEST:
        raise ProgramError(f"the program is longer than {LONGEST} characters", 1, 1)
    broken = re.search("[\ud800-\udfff]", text)
    if broken is not None:
        raise ProgramError("the text contains half a character", text.count("\n", 0, broken.start()) + 1, 1)
    text = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4) + "\n"
    found: list[Token] = []
    offset, line, start, depth = 0, 1, 0, 0
    while offset < len(text):
        match = _WORDS.match(text, offset)
        at = TextPosition(line, offset - start + 1)
        if match is None:
            raise ProgramError(f"unexpected character {text[offset]!r}", at.line, at.column)
        kind, word = str(match.lastgroup), match.group()
        offset = match.end()
        if kind == "foreign":
            raise ProgramError(_advice(word), at.line, at.column)
        if kind == "number" and len(word) > DIGITS:
            raise ProgramError(f"a number has at most {DIGITS} digits", at.line, at.column)
        if kind == "newline":
            line, start = line + 1, offset
            if depth == 0 and found and found[-1].kind != "newline":
                found.append(Token("newline", "end of line", at))
        elif kind in ("number", "name", "symbol"):
            depth += (word in "([{") - (word in ")]}") if kind == "symbol" else 0
            if word in ("(", ":") and found and found[-1].kind == "newline":
                found.pop()  # no statement starts like this: the line continues a header
            word = _SYNONYMS.get(word, word)
            found.append(Token("symbol" if word in ("and", "or", "mod", "not") else kind, word, at))
    return _layout(found, TextPosition(line, 1))


def _layout(words: list[Token], end: TextPosition) -> list[Token]:
    """Insert indent and dedent marks at the first word of each logical line."""
    marked: list[Token] = []
    levels = [1]
    first = True
    for token in words:
        if first:
            column = token.at.column
            if column > levels[-1]:
                levels.append(column)
                marked.append(Token("indent", "deeper indentation", token.at))
            while column < levels[-1]:
                levels.pop()
                marked.append(Token("dedent", "end of block", token.at))
            if column != levels[-1]:
                raise ProgramError(
                    "this line is indented like no line around it", token.at.line, token.at.column
                )
        marked.append(token)
        first = token.kind == "newline"
    marked.extend(Token("dedent", "end of block", end) for _ in levels[1:])
    marked.append(Token("end", "end of file", end))
    return marked
