"""What a statement is, by its first words: a question, something about the catalogue, a word to the session.

This reads just enough to find where statements and words end.  A question goes on as it was written and is
read anew, and in full, by whoever answers it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from discreet.service.wire.fault import UNSUPPORTED, Fault

LONGEST = 32_768
"""A text has at most so many characters."""

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*)
    |(?P<comment>/\*)
    |(?P<escaped>[eE]'(?:[^'\\]|\\.|'')*')
    |(?P<text>'(?:[^']|'')*')
    |(?P<name>"(?:[^"]|"")*")
    |(?P<dollar>\$(?:[A-Za-z_\x80-\uffff]\w*)?\$)
    |(?P<mark>\$[0-9]+)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)
    |(?P<word>[^\W\d][\w$]*)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class WireToken:
    """A word, text, name, number, mark or sign, and where it begins."""

    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """Return the word in capitals, or nothing where it is none."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def value(self) -> str:
        """Return what the token says, without its quotes."""
        match self.kind:
            case "text":
                return self.text[1:-1].replace("''", "'")
            case "name":
                return self.text[1:-1].replace('""', '"')
            case _:
                return self.text


@dataclass(frozen=True, slots=True)
class Asks:
    """A question about the data; `explain` asks for its price only."""

    sql: str
    explain: bool = False


@dataclass(frozen=True, slots=True)
class About:
    """Something about the catalogue or the session that reads like a question."""

    sql: str


@dataclass(frozen=True, slots=True)
class Assigns:
    """A setting gets a value, or with None the one it had at first; `local` until the transaction ends."""

    name: str
    value: str | None
    local: bool = False


@dataclass(frozen=True, slots=True)
class Resets:
    """All settings get the values they had at first; `discard` forgets prepared statements as well."""

    discard: bool = False


@dataclass(frozen=True, slots=True)
class Shows:
    """Somebody wants to know the value of a setting."""

    name: str


@dataclass(frozen=True, slots=True)
class Transacts:
    """A transaction begins, ends well, is given up, or goes back (begin, commit, rollback, back)."""

    what: str


@dataclass(frozen=True, slots=True)
class Forgets:
    """A prepared statement is needed no more, or with None all of them."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Passes:
    """Something that has no meaning here and does no harm."""

    tag: str


Meaning: TypeAlias = Asks | About | Assigns | Resets | Shows | Transacts | Forgets | Passes


@dataclass(frozen=True, slots=True)
class WireStatement:
    """One statement: its text, where it begins, the number of its last parameter, and what it is."""

    text: str
    start: int
    marks: int
    meant: Meaning | Fault

    @property
    def meaning(self) -> Meaning:
        """Return what the statement is, or refuse it."""
        if isinstance(self.meant, Fault):
            raise replace(self.meant)
        return self.meant


def tokens(text: str) -> Iterator[WireToken]:
    """Yield the words of a text without what has no meaning."""
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            return
        kind, start = str(match.lastgroup), place
        if kind == "comment":
            place = _after_comment(text, place)
            continue
        place = match.end() if kind != "dollar" else _after_dollar(text, match)
        if kind != "space":
            yield WireToken(kind, text[start:place], start)


def _after_comment(text: str, start: int) -> int:
    depth, place = 0, start
    for found in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if found.group() == "/*" else -1
        place = found.end()
        if depth == 0:
            return place
    raise Fault("42601", "a comment has no end", "end it with */", start + 1)


def _after_dollar(text: str, begun: re.Match[str]) -> int:
    # Refused at the first that does not end: to go on would mean to seek the end of every further one.
    end = text.find(begun.group(), begun.end())
    if end < 0:
        raise Fault(
            "42601", "a text in dollars has no end", f"end it with {begun.group()}", begun.start() + 1
        )
    return end + len(begun.group())


def split(text: str) -> tuple[WireStatement, ...]:
    """Return the statements of a text, without the empty ones."""
    if len(text) > LONGEST:
        raise Fault("54000", f"a text has at most {LONGEST} characters", "ask shorter questions")
    found: list[WireStatement] = []
    part: list[WireToken] = []
    for token in [*tokens(text), WireToken("sign", ";", len(text))]:
        if token.text == ";" and token.kind == "sign":
            if part:
                start = part[0].start
                shifted = tuple(WireToken(one.kind, one.text, one.start - start) for one in part)
                found.append(_statement(text[start : token.start].rstrip(), start, shifted))
            part = []
        else:
            part.append(token)
    return tuple(found)


def _statement(text: str, start: int, found: tuple[WireToken, ...]) -> WireStatement:
    marks = max((_place(token) for token in found if token.kind == "mark"), default=0)
    try:
        return WireStatement(text, start, marks, meaning(text, found))
    except Fault as refusal:
        return WireStatement(text, start, marks, refusal.with_traceback(None))


def _place(mark: WireToken) -> int:
    """Return which parameter a mark stands for; all that lie beyond reach are one."""
    return int(mark.text[1:].lstrip("0")[:6] or "0")


def meaning(text: str, found: tuple[WireToken, ...]) -> Meaning:
    """Return what a statement is, by its text and the words of it, or refuse it."""
    words = [token.word for token in found]
    signs = [token.text for token in found]
    match words[0]:
        case "SELECT" | "WITH" | "VALUES" | "TABLE":
            return _asked(text, found)
        case "" if signs[0] == "(":
            return _asked(text, found)
        case "EXPLAIN":
            return _explained(text, found)
        case "SET":
            return _set(found)
        case "RESET":
            return Resets() if words[1:2] == ["ALL"] else Assigns(_name(found[1:]), None)
        case "SHOW":
            return Shows(_name(found[1:]))
        case "BEGIN" | "START":
            return Transacts("begin")
        case "COMMIT" | "END":
            return Transacts("commit")
        case "ABORT":
            return Transacts("rollback")
        case "ROLLBACK":
            return Transacts("back" if "TO" in words else "rollback")
        case "SAVEPOINT" | "RELEASE":
            return Passes(words[0])
        case "DEALLOCATE":
            last = found[-1]
            return Forgets(None if last.word == "ALL" else _folded(last))
        case "DISCARD":
            return Resets(discard=words[1:2] == ["ALL"])
        case "CLOSE" | "UNLISTEN":
            return Passes(f"{words[0]} CURSOR ALL" if words[1:2] == ["ALL"] else words[0])
    raise Fault(
        UNSUPPORTED,
        f"{words[0] or 'this'} is nothing that can be done here",
        "ask with SELECT, see a price with EXPLAIN, choose one with SET discreet.epsilon = 0.1",
        1,
    )


def _asked(text: str, found: tuple[WireToken, ...]) -> Asks | About:
    """Return a question, or what reads like one and is about the catalogue or about nothing."""
    words = [token.word for token in found]
    return About(text) if _of_the_catalogue(found) or "FROM" not in words else Asks(text)


_SCHEMAS = ("pg_catalog", "information_schema")


def _of_the_catalogue(found: tuple[WireToken, ...]) -> bool:
    """Whether a statement names a schema, a relation or a function of the catalogue.

    A column, or another name that somebody chose, may be called pg_count; what PostgreSQL itself calls so
    stands where rows are read from, or before the arguments of a function.
    """
    names = [one.value.lower() if one.kind in ("word", "name") else "" for one in found]
    follows = [*(one.text for one in found[1:]), ""]
    # Before AS and a parenthesis stands the name of a common table expression.
    chosen = {name for name, *after in zip(names, follows, follows[1:], strict=False) if _begins(after)}
    return any(
        (name in _SCHEMAS and after == ".")
        or (name.startswith("pg_") and name not in chosen and (read or after == "("))
        for name, after, read in zip(names, follows, _read_from(found), strict=True)
    )


def _begins(words: list[str]) -> bool:
    return words[0].upper() == "AS" and words[1].upper() in ("(", "NOT", "MATERIALIZED")


def _read_from(found: tuple[WireToken, ...]) -> Iterator[bool]:
    """Yield for each word whether rows are read from what it names; the FROM of EXTRACT reads none."""
    reads, before, selects = False, "", [False]
    for token in found:
        yield reads
        match token.word or token.text:
            case "(":
                selects.append(False)
            case ")":
                selects = selects[:-1] or [False]
                reads = False
            case "SELECT":
                selects[-1], reads = True, False
            case "FROM":
                reads = selects[-1] and before != "DISTINCT"
            case word:
                reads = word in ("JOIN", "TABLE") or (reads and word in ("ONLY", "LATERAL"))
        before = token.word


def _explained(text: str, found: tuple[WireToken, ...]) -> Asks:
    """Return the question whose price is asked for; nothing is run for it."""
    rest = list(found[1:])
    options: list[str] = []
    if rest and rest[0].text == "(":
        while rest and rest[0].text != ")":
            options.append(rest.pop(0).word)
        rest = rest[1:]
    while rest and rest[0].word in ("ANALYZE", "ANALYSE", "VERBOSE"):
        options.append(rest.pop(0).word)
    if "ANALYZE" in options or "ANALYSE" in options:
        raise Fault(UNSUPPORTED, "EXPLAIN ANALYZE would ask the question", "write EXPLAIN, which is free", 1)
    if not rest:
        raise Fault("42601", "EXPLAIN explains nothing", "write EXPLAIN SELECT ...", 1)
    # What stood before is blanked, so that places in the question stay what they are.
    start = rest[0].start
    return Asks(re.sub(r"[^\n]", " ", text[:start]) + text[start:], explain=True)


def _set(found: tuple[WireToken, ...]) -> Meaning:
    rest = list(found[1:])
    local = bool(rest) and rest[0].word == "LOCAL"
    if rest and rest[0].word in ("LOCAL", "SESSION"):
        rest = rest[1:]
    words = [token.word for token in rest]
    if words[:1] in (["TRANSACTION"], ["CHARACTERISTICS"], ["CONSTRAINTS"]):
        return Passes("SET")
    if words[:2] == ["TIME", "ZONE"]:
        return Assigns("timezone", _value(rest[2:]), local)
    if words[:1] == ["NAMES"]:
        return Assigns("client_encoding", _value(rest[1:]), local)
    at = next((n for n, one in enumerate(rest) if one.text == "=" or one.word == "TO"), None)
    if at is None or at == 0:
        raise Fault("42601", "SET names a setting and its value", "write SET discreet.epsilon = 0.1", 1)
    return Assigns(_name(rest[:at]), _value(rest[at + 1 :]), local)


def _name(found: tuple[WireToken, ...] | list[WireToken]) -> str:
    """Return the name of a setting, in small letters."""
    if not found:
        raise Fault("42601", "a setting has a name", "write SHOW discreet.epsilon", 1)
    if all(token.kind == "word" for token in found):
        return " ".join(token.text.lower() for token in found)
    return "".join(token.value for token in found).lower()


def _value(found: list[WireToken]) -> str | None:
    """Return the value of a setting, or None for its default; a list of values has commas between them."""
    if not found:
        raise Fault("42601", "SET gives no value", "write SET discreet.epsilon = 0.1", 1)
    if len(found) == 1 and found[0].word == "DEFAULT":
        return None
    for one, after in pairwise(found):
        apart = one.start + len(one.text) != after.start or "sign" not in (one.kind, after.kind)
        if apart and "," not in (one.text, after.text):
            raise Fault("42601", "SET gives two values", "write SET discreet.epsilon = 0.1", after.start + 1)
    return "".join(token.value for token in found)


def _folded(token: WireToken) -> str:
    return token.value if token.kind == "name" else token.text.lower()
