"""Words of others inside Markdown: a name or a question stays text, whatever it holds.

After CommonMark a code span ends at the first run of as many backticks as it began with, so it is begun with
more than the text has in a row.  Elsewhere what could begin a span, markup, a tag or a link is escaped.
"""

import re

_MEANT = re.compile(r"[\\`*<&]|(?<=\])[(\[]")
_WRITTEN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)|\\([!-/:-@\[-`{-~])")


def code(text: str) -> str:
    """Return a text as a code span on one line."""
    line = " ".join(text.split())
    if not line:
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    blank = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{blank}{line}{blank}{fence}"


def plain(text: str) -> str:
    """Return a text as words on one line that mean nothing else."""
    return _MEANT.sub(r"\\\g<0>", " ".join(text.split()))


def words(written: str) -> str:
    """Return a line that was written with these as plain text again."""
    return _WRITTEN.sub(_word, written)


def _word(found: re.Match[str]) -> str:
    if found[3] is not None:
        return found[3]
    inner = found[2]
    padded = inner.startswith(" `") or inner.endswith("` ")
    return inner[1:-1] if padded else inner
