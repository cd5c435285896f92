"""Views: what workers say, as frozen values in words; a template shows one and decides nothing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from markupsafe import escape

from discreet.console.page import say
from discreet.service.role import PROJECT
from discreet.show.markdown import words
from discreet.show.number import format_number

HIGH = 0.8
"""From this share of a limit on it is worth a warning."""

SHOWN_VALUES = 12
LONG = 1000
"""Longer texts are cut in lists, and"""

LONGEST = 20_000
"""in single places: no page grows without end."""


STATEMENTS = 4
HEAVIEST = 70_000
"""So many bytes of a page are for the rows of its tables; besides their text, a row and a cell take"""

ROW, CELL = 9, 24
"""so many of them."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """One limit: on whom, how much of it is used, and the words beside it."""

    whom: str
    used: float
    percent: str
    words: str
    level: str
    analyst: str | None
    per: str | None = None
    """Whether it is a limit on one question or on one day."""


@dataclass(frozen=True, slots=True)
class ColumnWords:
    """One column of a table, in words."""

    name: str
    kind: str
    facts: tuple[str, ...]
    values: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class TableWords:
    """One declared table, in words."""

    name: str
    facts: tuple[str, ...]
    columns: tuple[ColumnWords, ...]
    example: str


@dataclass(frozen=True, slots=True)
class QuoteWords:
    """A quote: its price, how wrong each column may be, what is left, and why it is private."""

    price: str
    confidence: str
    columns: tuple[Mapping[str, str], ...]
    left: str
    affordable: bool
    notes: tuple[str, ...]
    proof: tuple[Mapping[str, Any], ...]
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionLine:
    """One line of a question, with the part that a refusal is about."""

    number: int
    before: str
    marked: str
    after: str


def number(text: str | None) -> str:
    """Return an exact number for people."""
    return "–" if text is None else format_number(Fraction(text))


def short(text: str, most: int = LONG) -> str:
    """Return a text for a list, cut where it is long."""
    return text if len(text) <= most else f"{text[:most]} …"


def percent(text: str) -> str:
    """Return a share for people."""
    return f"{float(Fraction(text) * 100):g} %"


def decimal(text: str) -> str:
    """Return an exact number as a form shows it: a decimal where that is short and exact, else as it is."""
    exact = Fraction(text)
    short = f"{float(exact):.12g}"
    return short if Fraction(short) == exact else text


def cost(stored: Sequence[str | None]) -> str:
    """Return a price in words."""
    epsilon, rho, delta = stored[:3]
    first = f"rho {number(rho)}" if epsilon is None else f"epsilon {number(epsilon)}"
    small = Fraction(delta or 0)
    return f"{first}, delta {float(small):.2g}" if small else first


def budget(stored: Sequence[str]) -> str:
    """Return a budget in words."""
    kind, epsilon, *rest = stored
    if kind == "pure":
        return f"epsilon {number(epsilon)}"
    return f"epsilon {number(epsilon)}, delta {float(Fraction(rest[0])):.2g}"


def scope(project: str | None, analyst: str | None) -> str:
    """Return on whom a limit is, in words."""
    if analyst is None:
        return say("budget.everybody") if project is None else say("budget.project", project=project)
    whom = say("budget.analyst", analyst=analyst)
    return whom if project is None else f"{whom}, {say('budget.project', project=project)}"


def projects(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the projects of a dataset: those that have a limit, and those for which something was spent."""
    every = (*body["limits"], *body["paces"], *body["spent"])
    return tuple(sorted({one["project"] for one in every} - {None, PROJECT}))


def pace(said: Mapping[str, Any]) -> str:
    """Return in words what one question and one day of somebody may cost."""
    limits = [say("budget.no_pace") if stored is None else budget(stored) for stored in said["pace"]]
    whom = scope(said.get("project"), said.get("analyst"))
    return say("budget.pace", whom=whom, question=limits[0], day=limits[1])


def gauges(body: Mapping[str, Any]) -> tuple[Gauge, ...]:
    """Return every limit of a budget; those on one question and on one day last."""
    return tuple(map(_gauge, (*body["limits"], *body["paces"])))


def _gauge(limit: Mapping[str, Any]) -> Gauge:
    used = min(max(float(limit["used"]), 0.0), 1.0)
    pure = limit["budget"][0] == "pure"
    epsilon, rho = limit["spent"][:2]
    left, per = limit["remaining"], limit.get("per")
    spent = f"epsilon {number(epsilon)}" if pure and epsilon is not None else f"rho {number(rho)}"
    still = f"epsilon {number(left['epsilon'])}" if pure else f"rho {number(left['rho'])}"
    words = say("budget.spent", spent=spent, budget=budget(limit["budget"]), left=still)
    if per == "question":
        words = say("budget.question_words", budget=budget(limit["budget"]))
    level = "full" if used >= 1 else "high" if used >= HIGH else "calm"
    whom = scope(limit["project"], limit["analyst"])
    whom = whom if per is None else say(f"budget.per_{per}", whom=whom)
    return Gauge(whom, round(used * 100, 2), f"{used * 100:.3g} %", words, level, limit["analyst"], per)


def tables(catalogue: Mapping[str, Any]) -> tuple[TableWords, ...]:
    """Return the declared tables."""
    return tuple(_table(name, body) for name, body in catalogue["tables"].items())


def _table(name: str, body: Mapping[str, Any]) -> TableWords:
    columns = tuple(_column(column, said) for column, said in body["columns"].items())
    if body.get("public"):
        return TableWords(name, (say("catalogue.public"),), columns, "")
    unit = body["unit"]
    facts = [say("catalogue.row_unit") if unit == "row" else say("catalogue.unit", unit=unit)]
    facts.append(say(f"catalogue.{body['neighbours'].replace('-', '_')}"))
    facts += [
        say(f"catalogue.{limit}", count=body[limit], **_nouns(body[limit]))
        for limit in ("rows_per_unit", "groups_per_unit", "rows_per_group")
        if limit in body
    ]
    return TableWords(name, tuple(facts), columns, _example(name, body["columns"]))


def _nouns(count: int) -> dict[str, str]:
    one = count == 1
    return {
        "rows": say("catalogue.row" if one else "catalogue.rows"),
        "groups": say("catalogue.group" if one else "catalogue.groups"),
    }


def _example(table: str, columns: Mapping[str, Any]) -> str:
    """Return a question that can be asked about a table: a count by its first column of declared values."""
    keyed = [name for name, said in columns.items() if said.get("values") and _plain(name)]
    if not _plain(table):
        return ""
    if not keyed:
        return f"SELECT COUNT(*) AS n\nFROM {table}"
    return f"SELECT {keyed[0]}, COUNT(*) AS n\nFROM {table}\nGROUP BY {keyed[0]}"


def _plain(name: str) -> bool:
    return name.isascii() and name.isidentifier()


def _column(name: str, said: Mapping[str, Any]) -> ColumnWords:
    facts = []
    match said.get("low"), said.get("high"):
        case None, None:
            pass
        case low, high:
            facts.append(say("catalogue.bounds", low=_end(low), high=_end(high)))
    if "step" in said:
        facts.append(say("catalogue.step", step=_end(said["step"])))
    if said.get("bounds") == "auto":
        facts.append(say("catalogue.auto"))
    if said.get("nullable") is False:
        facts.append(say("catalogue.never_missing"))
    if said.get("unique"):
        facts.append(say("catalogue.unique"))
    values = tuple(map(str, said.get("values", ())))
    return ColumnWords(
        name, said["type"], tuple(facts), values[:SHOWN_VALUES], max(len(values) - SHOWN_VALUES, 0)
    )


def _end(text: str | None) -> str:
    if text is None:
        return "…"
    try:
        return number(text)
    except ValueError:
        return text


def quote(body: Mapping[str, Any]) -> QuoteWords:
    """Return a quote."""
    count, today = body["questions_left"], body["questions_today"]
    match count:
        case None:
            left = ""
        case 0 | 1:
            left = say("ask.left_none" if count == 0 else "ask.left_one")
        case _:
            left = say("ask.left_many", count=f"{count:,}")
    if today is not None:
        left = f"{left} {say('ask.today_none' if today == 0 else 'ask.today', count=f'{today:,}')}"
    return QuoteWords(
        body["price"],
        percent(body["confidence"]),
        tuple(body["columns"]),
        left,
        count != 0 and today != 0,
        tuple(body["words"][(count is not None) + (today is not None) :]),
        tuple(body["proof"]),
        tuple(short(text, LONGEST) for text in body["statements"][:STATEMENTS]),
    )


def fitting(cells: Sequence[Sequence[str]], most: int, room: int = HEAVIEST) -> list[Sequence[str]]:
    """Return the first rows of a table, as many as a page has room for."""
    found: list[Sequence[str]] = []
    for row in cells[:most]:
        room -= ROW + sum(CELL + len(escape(cell).encode()) for cell in row)
        if room < 0:
            break
        found.append(row)
    return found


def compared(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return how wrong each answer of a batch may be, beside what it would be alone, and the saving."""
    ratio = 1 - body["saving"]
    saved = round(100 * (1 - (ratio if ratio <= 1 else 1 / ratio)))
    key = "batch.same" if saved == 0 else "batch.saves" if ratio < 1 else "batch.loses"
    rows = [
        {"number": str(number), "name": name, "together": error, "alone": alone}
        for number, one in enumerate(body["questions"], 1)
        for name, error, alone in one["columns"]
        if error or alone
    ]
    return {"words": say(key, percent=saved), "rows": rows}


def promise(card: str) -> tuple[tuple[str, str], ...]:
    """Return the statement that goes with an answer, point by point; its receipt has a place of its own."""
    points = re.findall(r"^- \*\*(.+?)\*\*:? (.*)$", card, re.MULTILINE)
    return tuple((head, words(written)) for head, written in points if head != "Receipt")


def lines(sql: str, said: Mapping[str, Any]) -> tuple[QuestionLine, ...]:
    """Return a question line by line, with the clause that a refusal names marked where it stands."""
    row, column, clause = said.get("line"), said.get("column"), str(said.get("clause", ""))
    if not isinstance(row, int) or not isinstance(column, int):
        return ()
    found = []
    for place, text in enumerate(sql.splitlines() or [""], 1):
        if place != row:
            found.append(QuestionLine(place, text, "", ""))
            continue
        start = min(max(column - 1, 0), len(text))
        end = start + len(_there(text[start:], clause))
        found.append(QuestionLine(place, text[:start], text[start:end] or " ", text[end:]))
    return tuple(found)


def _there(rest: str, clause: str) -> str:
    """Return how much of a line is the clause: its own words if they stand there, else one word."""
    if clause and rest.casefold().startswith(clause.casefold()):
        return rest[: len(clause)]
    return rest[:1] + rest[1:].partition(" ")[0]
