"""One name for one person: who is limited as "ben" does not escape as "Ben", "ben " or a look-alike.

A name is brought to one form: compatibility characters are resolved (NFKC), case is folded, white space is
trimmed and reads as one blank.  Then only names remain that people can tell apart by looking:

  * letters, digits, and the signs that occur in accounts and addresses;
  * all letters of one script, so that no letter of another can hide among them;
  * of the scripts with letters that look like Latin ones, only names that show at least one that does not;
  * of Latin, no phonetic or turned letters and no dotless i.

What is refused is refused with the reason; nothing is guessed.  Names that older versions stored keep their
spelling in their old entries.
"""

import unicodedata
from dataclasses import replace
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.ledger.entry import Request, Scope

LONGEST = 200
SIGNS = frozenset(" -_.@+:'/")

ALIKE = {
    "CYRILLIC": frozenset("асԁеһіјӏкмнорԛѕтԝхуьҽпгѵѡвґѐёїјћ"),
    "GREEK": frozenset("αβγεηικνορτυχωϲϳ"),
    "ARMENIAN": frozenset("ագզհոսվօցքյզ"),
    "CHEROKEE": frozenset(chr(code) for code in (*range(0x13A0, 0x13FE), *range(0xAB70, 0xABC0))),
    "COPTIC": frozenset(chr(code) for code in range(0x2C80, 0x2CE4)),
    "LISU": frozenset(chr(code) for code in range(0xA4D0, 0xA4F8)),
}
"""Letters that look like Latin ones, by script."""

SCRIPTS = (
    "LATIN",
    *ALIKE,
    "ARABIC",
    "BENGALI",
    "DEVANAGARI",
    "ETHIOPIC",
    "GEORGIAN",
    "GUJARATI",
    "GURMUKHI",
    "HANGUL",
    "HEBREW",
    "HIRAGANA",
    "KANNADA",
    "KATAKANA",
    "KHMER",
    "LAO",
    "MALAYALAM",
    "MYANMAR",
    "SINHALA",
    "TAMIL",
    "TELUGU",
    "THAI",
    "TIBETAN",
    "CJK",
)
TOGETHER = frozenset({"HIRAGANA", "KATAKANA", "CJK"})
"""Scripts that one language writes together."""

PLAIN_LATIN = (range(0x61, 0x7B), range(0xDF, 0xF7), range(0xF8, 0x180), range(0x1E00, 0x1F00))
ODD_LATIN = frozenset("ıĸŉſƀ")


def one_name(text: str, what: str) -> str:
    """Return the one form of a name, or raise ParameterError if people could take it for another's."""
    if not isinstance(text, str) or not text.isprintable() or len(text) > LONGEST:
        raise ParameterError(
            f"{what} must be 1 to {LONGEST} printable characters, got {str(text)[:LONGEST]!r}"
        )
    return _one_name(text, what)


@lru_cache(4096)
def _one_name(text: str, what: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    name = " ".join(folded.split())
    if not 0 < len(name) <= LONGEST:
        raise ParameterError(f"{what} must be 1 to {LONGEST} printable characters, got {text!r}")
    problem = _problem(name)
    if problem is not None:
        raise ParameterError(f"{what} {text!r} could be taken for another name: {problem}")
    return name


def folded_or_kept(text: str) -> str:
    """Return the one form of a name that was stored before names had one, or the name if it has none."""
    try:
        return one_name(text, "name")
    except ParameterError:
        return text


def _problem(name: str) -> str | None:
    scripts: set[str] = set()
    telling: set[str] = set()
    for letter in name:
        if letter in SIGNS or letter in "0123456789":
            continue
        script = _script(letter)
        if script is None:
            return "it may hold letters, the digits 0 to 9, blanks and the signs - _ . @ + : ' /"
        if script == "LATIN" and not _plain(letter):
            return f"{letter!r} is not a letter that names are written with"
        scripts.add(script)
        if letter not in ALIKE.get(script, ()):
            telling.add(script)
    if len(scripts) > 1 and not scripts <= TOGETHER:
        return "its letters belong to several scripts; write it in one"
    if scripts - telling:
        return "each of its letters looks like a Latin one; write it in Latin letters"
    return None


def _script(letter: str) -> str | None:
    if unicodedata.category(letter) not in ("Ll", "Lo", "Lm", "Mc", "Mn"):
        return None
    if unicodedata.category(letter) == "Mn" and unicodedata.combining(letter) == 230:
        return None  # an accent that did not join its letter
    first = unicodedata.name(letter, "").split(" ")[0]
    return first if first in SCRIPTS else None


def _plain(letter: str) -> bool:
    return letter not in ODD_LATIN and any(ord(letter) in block for block in PLAIN_LATIN)


def normal(request: Request) -> Request:
    """Return a request in which names have their one form."""
    project, analyst = one_name(request.project, "project"), one_name(request.analyst, "analyst")
    if (project, analyst) == (request.project, request.analyst):
        return request
    return replace(request, project=project, analyst=analyst)


def normal_scope(scope: Scope) -> Scope:
    """Return a scope in which names have their one form."""
    return Scope(
        None if scope.project is None else one_name(scope.project, "project"),
        None if scope.analyst is None else one_name(scope.analyst, "analyst"),
    )
