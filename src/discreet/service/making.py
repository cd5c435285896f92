"""Made-up records through the wall: what they are drawn from travels, and whoever gets it draws the records.

The questions are asked and paid for behind the wall.  Their answers are public then, and records follow from
them alone: a Python client draws its own, as many as it likes; as CSV or Arrow they are drawn here.
"""

from collections.abc import Callable, Mapping
from typing import Any

from discreet.errors import ParameterError, ServiceError
from discreet.query.check.coding import ColumnCells
from discreet.query.check.question import Limits
from discreet.query.price.expected import Quote
from discreet.release.answer import Release
from discreet.release.made_up import MadeUp, drawn, require_rows
from discreet.release.records_plan import PARTS, Pricing, RecordsPlan, Starts
from discreet.release.session import Session
from discreet.release.sheet import sheet

MOST_SENT = 100_000
"""So many records are sent; who asks for what they are drawn from may draw more."""


def asked(session: Session, body: Mapping[str, Any]) -> MadeUp:
    """Ask what records of a table are drawn from, and pay for it; asked before, it is free."""
    limits = body["limits"]
    return session.synthesise(
        body["table"],
        epsilon=body["epsilon"],
        columns=body["columns"],
        # Those that leave are drawn afterwards, so that none is drawn for nobody.
        rows=1,
        bins=PARTS if body["bins"] is None else body["bins"],
        limits=None if limits is None else Limits(**limits),
    )


def refuse_many(rows: int | None, *, sent: bool) -> None:
    """Refuse more records than can be drawn, or sent, before anything is paid."""
    require_rows(rows)
    if sent and rows is not None and rows > MOST_SENT:
        raise ParameterError(
            f"rows must be at most {MOST_SENT} where records are sent; dp.connect draws more"
        )


def records(made: MadeUp, rows: int | None) -> MadeUp:
    """Return records to send: so many, or as many as the noisy total says."""
    return drawn(made.plan, made.releases, made.groups, rows, MOST_SENT)


def as_sheet(made: MadeUp) -> str:
    """Return records as CSV that no spreadsheet will run."""
    return sheet(made.columns, (dict(zip(made.columns, one, strict=True)) for one in made))


def told(made: MadeUp, answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what records are drawn from as JSON values."""
    return {
        "table": made.plan.table,
        "columns": list(made.columns),
        "left_out": list(made.plan.left_out),
        "reasons": list(made.plan.reasons),
        "groups": [list(starts) for starts in made.groups],
        "free": made.free,
        "answers": answers,
    }


def read(
    plan: RecordsPlan,
    rows: int | None,
    price: Pricing,
    body: Mapping[str, Any],
    release: Callable[[Mapping[str, Any], Quote], Release],
) -> MadeUp:
    """Return the records that follow from what a service told, whose price must be that of the plan."""
    groups = _groups(plan, body)
    priced = [plan.first, *([] if plan.rest is None else [plan.second(groups, price)])]
    answers = body["answers"]
    if len(answers) != len(priced):
        raise ServiceError("the service describes records that are drawn from other questions than asked")
    found = tuple(release(said, quote) for said, quote in zip(answers, priced, strict=True))
    for one, quote in zip(found, priced, strict=True):
        if [len(values) for values in one.noisy.values] != [quote.checked.keys.size]:  # type: ignore[union-attr]
            raise ServiceError("the service describes tables of another size than follows from the question")
    return drawn(plan, found, groups, rows)


def _groups(plan: RecordsPlan, body: Mapping[str, Any]) -> tuple[Starts, ...]:
    """Return the groups of cells whose pairs were counted."""
    found = tuple(tuple(starts) for starts in body["groups"])
    if (
        list(body["columns"]) != list(plan.columns)
        or len(found) != len(plan.cells)
        or not all(map(_possible, plan.cells, found))
    ):
        raise ServiceError("the service describes records of other columns than its declarations have")
    return found


def _possible(cells: ColumnCells, starts: Starts) -> bool:
    """Whether groups begin at cells of a column in order, from its first one on, with one for NULL."""
    needed = {0, cells.parts} if cells.nulls else {0}
    return needed <= {*starts} <= {*range(cells.size)} and list(starts) == sorted({*starts})
