"""A report as one page that stands alone: answers with their pictures, prices and cards."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from discreet.markup import table
from discreet.query.check.formula import measured
from discreet.query.price.words import paid
from discreet.release.answer import cell_text
from discreet.show.save import can_draw, inline_svg

if TYPE_CHECKING:
    from discreet.ledger import BudgetView
    from discreet.release.answer import Release


def page(answers: Sequence["Release"], budget: "BudgetView", refused: str = "") -> str:
    """Return the report of some answers and of what is left of their budget, as one HTML document."""
    body = "".join(map(_answer, answers))
    style = files("discreet.cli").joinpath("report.css").read_text(encoding="utf-8")
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(budget.dataset)}: a private report</title><style>{style}</style></head><body><main>"
        f"<h1>{escape(budget.dataset).capitalize()}: a private report</h1>"
        "<p class='lead'>Every number carries exact noise that hides any one person, and an interval that "
        "says how far off it may be. Asking again changes nothing: the ledger remembers what was spent.</p>"
        f"{body}{_refusal(refused)}{_budget(budget)}</main></body></html>\n"
    )


def _answer(answer: "Release") -> str:
    columns, rows = answer.quote.checked.columns, answer.rows
    shown = [[cell_text(cell, span) for cell, span in zip(row.cells, row.spans, strict=True)] for row in rows]
    if len(rows) == 1:
        body = _figures([output.name for output in columns], shown[0])
    else:
        drawn = can_draw() and any(measured(output.formula) for output in columns)
        picture = inline_svg(answer.plot()) if drawn else ""
        body = f"<div class='scroll'>{picture}{table(answer.columns, shown)}</div>"
    said = [
        paid(answer.quote),
        f"± at {float(answer.quote.confidence):.0%}",
        *answer.said,
    ]
    return (
        f"<section><pre>{escape(answer.question)}</pre>{body}<p class='said'>{escape(' · '.join(said))}</p>"
        f"<details><summary>What is promised</summary><pre>{escape(answer.card())}</pre></details></section>"
    )


def _figures(names: Sequence[str], cells: Sequence[str]) -> str:
    """Return single values in large type: a chart with one bar says nothing."""
    found = []
    for name, cell in zip(names, cells, strict=True):
        value, _, rest = cell.partition(" ")
        label = escape(name.replace("_", " "))
        found.append(f"<div class='figure'><i>{label}</i><b>{escape(value)}</b><i>{escape(rest)}</i></div>")
    return f"<div class='figures'>{''.join(found)}</div>"


def _refusal(question: str) -> str:
    if not question:
        return ""
    return (
        f"<section><h2>Refused, free of charge</h2><pre>{escape(question)}</pre><p class='said'>A question "
        "that would mix people, or tell something without noise, is refused before any data is touched."
        "</p></section>"
    )


def _budget(budget: "BudgetView") -> str:
    bars = "".join(
        f"<p class='said'>{escape(f'{limit.scope}: {limit.paid} of {limit.budget} spent')}</p>"
        f"<div class='bar'><span style='width:{float(limit.used):.1%}'></span></div>"
        for limit in budget.limits
    )
    return f"<section><h2>The budget</h2>{bars}</section>"
