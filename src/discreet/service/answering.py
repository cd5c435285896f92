"""From an identity and a request to the bytes that may leave: what a worker does, without its pipes.

Every reply is whole here: the process at the network passes it on and reads nothing in it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote as escaped

from discreet.errors import AccessError, DiscreetError, LedgerError, QueryError
from discreet.ledger import Entry, Receipt
from discreet.ledger.codec import write_cost
from discreet.ledger.entry import Answered, Failed, Reserved
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.formula import Public
from discreet.query.check.question import Limits
from discreet.query.price.expected import Quote
from discreet.query.price.words import afford, caps, lines, needed, paced, takes
from discreet.release.answer import Release
from discreet.release.noisy import encode
from discreet.release.pricing import check_question
from discreet.release.remedy import remedy
from discreet.release.session import Session
from discreet.release.sheet import sheet
from discreet.service import budget as views
from discreet.service import making, problem
from discreet.service.catalogue import published
from discreet.service.counting import streamed
from discreet.service.deciding import capped, decision, limited, verified
from discreet.service.kind import ARROW, CARD, CSV, JSON, PAGE
from discreet.service.paging import explained, picture, shown, together
from discreet.service.replies import Replies
from discreet.service.reply import Reply
from discreet.service.role import PROJECT, Role, Verb, may, sees_all
from discreet.service.wire import shape, system
from discreet.service.wire.types import MEDIA_TYPE as WIRE

CHARTS = 6
"""So many charts of a batch are drawn at once."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: who asks, about what, and what they sent."""

    verb: Verb
    dataset: str
    name: str
    role: Role
    body: Mapping[str, Any]
    kind: str = JSON
    key: str | None = None
    project: str = PROJECT

    @property
    def request_id(self) -> str | None:
        """Return the ledger's id of a request with a key: nobody can meet somebody else's."""
        return None if self.key is None else f"{self.name}/{self.key}"


def answer(
    sessions: Mapping[str, Session],
    asked: Asked,
    replies: Replies | None = None,
    hold: Callable[[], None] = lambda: None,
) -> Reply:
    """Return the reply to a request; whatever is not a deliberate refusal is one constant failure.

    What has run is held before anybody can know of it.
    """
    opened = sessions.get(asked.dataset)
    try:
        if opened is None or not may(asked.role, asked.verb):
            raise AccessError("nothing of that name")
        opened.renew()
        own = replace(opened, analyst=asked.name, project=asked.project, hold=hold)
        return _answered(own, asked, Replies() if replies is None else replies)
    except AccessError:
        return refused(problem.NOTHING)
    except QueryError as error:
        return refused(_helped(opened, asked, error))
    except DiscreetError as error:
        return refused(problem.of(error))
    except Exception:
        # Whatever it says may hold a cell, and nobody reads it.
        return refused(problem.FAILED)


def _helped(opened: Session | None, asked: Asked, error: QueryError) -> problem.ServiceProblem:
    """Return a refusal; on a page that quotes, with a rewriting that works, if one is near."""
    stated, sql = problem.of(error), asked.body.get("sql")
    if opened is None or asked.kind != PAGE or asked.verb is not Verb.QUOTE or not isinstance(sql, str):
        return stated
    better = remedy(opened.catalog, sql, error)
    return stated if better is None else replace(stated, parts={**stated.parts, "rewrite": better})


def refused(stated: problem.ServiceProblem) -> Reply:
    """Return a problem as a reply."""
    return Reply(stated.status, problem.MEDIA_TYPE, stated.body(), stated.headers)


def _answered(session: Session, asked: Asked, replies: Replies) -> Reply:
    match asked.verb:
        case Verb.CATALOGUE:
            return _json(published(session.catalog))
        case Verb.SYSTEM:
            return _json(system.answered(session.catalog, asked.name, asked.body))
        case Verb.DESCRIBE:
            return _json(_described(session, asked.body))
        case Verb.QUOTE:
            question, given = asked.body["sql"], _parameters(session, asked)
            priced = session.quote(
                question, **_price(asked.body), parameters=given, weights=asked.body.get("weights")
            )
            if asked.kind == WIRE:
                return _json(shape.explained(priced))
            if asked.kind != PAGE:
                return _json(quoted(priced))
            compared = {} if isinstance(question, str) else together(session.catalog, question, priced)
            return _json(quoted(priced) | explained(priced) | compared)
        case Verb.QUERY:
            release = session.query(
                asked.body["sql"],
                **_price(asked.body),
                parameters=_parameters(session, asked),
                weights=asked.body.get("weights"),
                request_id=asked.request_id,
                postprocess=asked.body.get("postprocess", True),
            )
            catalog, form = session.catalog, (asked.kind, asked.kind == WIRE and asked.body["intervals"])
            return replies.of(release, catalog, form, lambda: _written(release, catalog, *form))
        case Verb.BATCH:
            return _json({"answers": [released(one) for one in _together(session, asked)]})
        case Verb.FIND:
            return _json({"answers": [released(one) for one in _found(session, asked.body)]})
        case Verb.SYNTHESISE:
            return _synthesised(session, asked.body, asked.kind)
        case Verb.BUDGET:
            view = (
                session.budget
                if sees_all(asked.role)
                else views.own(session.budget, asked.name, asked.project)
            )
            return _json({"lines": str(view).splitlines()} if asked.kind == WIRE else view.to_json())
        case Verb.HISTORY:
            return _json(_past(session, asked))
        case Verb.RECEIPT:
            return _json(_proved(session, asked.body["receipt"]))
        case Verb.STREAM | Verb.STEP | Verb.STEPS | Verb.STREAMS:
            return _json(streamed(session, asked.verb, asked.body))
        case Verb.PICTURE if "stream" in asked.body:
            return _json(streamed(session, asked.verb, asked.body))
        case Verb.RECALL if _whole_batch(asked.body):
            releases = _recalled_batch(session, asked.body)
            return _json({"answers": [released(one) | shown(one) for one in releases]})
        case Verb.PICTURE if _whole_batch(asked.body):
            return _json([picture(one) for one in _recalled_batch(session, asked.body)[:CHARTS]])
        case Verb.RECALL | Verb.PICTURE:
            release = _recalled(session, asked.body)
            if asked.verb is Verb.PICTURE:
                return _json(picture(release))
            if asked.kind == PAGE:
                return _json(released(release) | shown(release))
            return _released(release, asked.kind)
        case Verb.LIMIT | Verb.CAP:
            decide = limited if asked.verb is Verb.LIMIT else capped
            by = f"{asked.name}, {'in the console' if asked.kind == PAGE else 'over HTTP'}"
            return _json(decide(session, by, asked.body))
        case Verb.HEAD:
            return _json({"receipt": str(session.ledger.newest(session.catalog.name))})
        case Verb.VERIFY:
            return _json(verified(session))
        case _:
            raise AccessError("nothing of that name")


def _together(session: Session, asked: Asked) -> tuple[Release, ...]:
    """Return the answers of a batch."""
    price = _price(asked.body)
    price.pop("delta"), price.pop("count")
    shown_as = asked.body.get("postprocess", True)
    return session.batch(asked.body["sql"], **price, request_id=asked.request_id, postprocess=shown_as)


def _whole_batch(body: Mapping[str, Any]) -> bool:
    return isinstance(body["sql"], list) and body.get("which") is None


def _recalled(session: Session, body: Mapping[str, Any]) -> Release:
    """Return an answer that was given before, or one of a batch; whose it is, is not asked about here."""
    if isinstance(body["sql"], list):
        answers, which = _recalled_batch(session, body), int(body["which"])
        if not 0 <= which < len(answers):
            raise AccessError("nothing of that name")
        return answers[which]
    found = session.recall(body["sql"], epsilon=body["epsilon"], confidence=body["confidence"])
    if found is None:
        raise AccessError("nothing of that name")
    return found


def _found(session: Session, body: Mapping[str, Any]) -> tuple[Release, ...]:
    """Return the answers that were given before, none where there are none."""
    price = {"epsilon": body["epsilon"], "confidence": body["confidence"]}
    if isinstance(body["sql"], list):
        return session.recall_batch(body["sql"], **price) or ()
    found = session.recall(body["sql"], **price)
    return () if found is None else (found,)


def _synthesised(session: Session, body: Mapping[str, Any], kind: str) -> Reply:
    """Return made-up records, or as JSON what they are drawn from."""
    rows, sent = body["rows"], kind in (CSV, ARROW)
    making.refuse_many(rows, sent=sent)
    made = making.asked(session, body)
    if not sent:
        return _json(making.told(made, [_drawn(one) for one in made.releases]))
    made = making.records(made, rows)
    headers = {"Discreet-Free": str(made.free).lower()}
    if kind == ARROW:
        return Reply(200, ARROW, _stream(made.to_arrow()), headers)
    return Reply(200, f"{CSV}; charset=utf-8", making.as_sheet(made).encode(), headers)


def _recalled_batch(session: Session, body: Mapping[str, Any]) -> tuple[Release, ...]:
    found = session.recall_batch(body["sql"], epsilon=body["epsilon"], confidence=body["confidence"])
    if found is None:
        raise AccessError("nothing of that name")
    return found


def _parameters(session: Session, asked: Asked) -> Any:
    sent = asked.body["parameters"]
    return shape.parameters(sent, asked.body["sql"], session.catalog) if asked.kind == WIRE else sent


def _described(session: Session, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a question and the types of its parameters, from the declarations alone."""
    sql, sent = body["sql"], body["parameters"]
    given = shape.parameters(sent, sql, session.catalog)
    checked = check_question(session.catalog, sql, _price(body)["limits"], given)
    return {
        "columns": shape.columns(checked, session.catalog, intervals=body["intervals"]),
        "parameters": shape.types_of(sql, session.catalog, len(sent)),
    }


def _price(body: Mapping[str, Any]) -> dict[str, Any]:
    limits = body.get("limits")
    return {
        "epsilon": body.get("epsilon"),
        "within": body.get("within"),
        "confidence": body.get("confidence", "0.95"),
        "delta": body.get("delta"),
        "count": body.get("count"),
        "limits": None if limits is None else Limits(**limits),
        "dialect": body.get("dialect"),
    }


def quoted(priced: Quote) -> dict[str, Any]:
    """Return a quote as JSON values; numbers that matter are exact text."""
    said = *takes(priced), *caps(priced.checked), *needed(priced)
    return {
        "columns": [
            {
                "name": name,
                "error": error,
                "mechanism": mechanism,
                "radius": None if expected.radius is None else str(expected.radius),
            }
            for (name, error, mechanism), expected in zip(lines(priced), priced.expected, strict=True)
        ],
        **_paid(priced),
        "questions_left": priced.copies,
        "questions_today": priced.today,
        "alone": None if priced.alone is None else [str(part) for part in priced.alone],
        "closes": priced.closes,
        "words": [w for w in (afford(priced), paced(priced), *said) if w is not None],
    }


def _paid(priced: Quote) -> dict[str, Any]:
    return {
        "cost": write_cost(priced.cost),
        "epsilon": str(priced.epsilon),
        "delta": str(priced.delta),
        "confidence": str(priced.confidence),
        "statements": list(priced.sql),
    }


def released(release: Release) -> dict[str, Any]:
    """Return an answer as JSON values: rows to read, the same cells exactly, and what was drawn."""
    return {
        **_drawn(release),
        "columns": list(release.columns),
        "rows": [_readable(record) for record in release.intervals(release.quote.confidence)],
        "exact": [[_exact(cell) for cell in row.cells] for row in release.rows],
        "card": release.card(),
    }


def _drawn(release: Release) -> dict[str, Any]:
    """Return what was drawn for a question, and its price, as JSON values."""
    return {
        "question": release.question,
        "dataset": release.dataset,
        **_paid(release.quote),
        "receipt": str(release.receipt),
        "free": release.free,
        "drawn": json.loads(encode(release.noisy)),
    }


def _readable(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str | int | float | None) else str(value)
        for name, value in record.items()
    }


def _exact(cell: Public) -> str | bool | None:
    return cell if cell is None or isinstance(cell, bool | str) else str(cell)


def _written(release: Release, catalog: Catalog, kind: str, intervals: bool) -> Reply:
    """Return an answer in the form that was asked for."""
    if kind == WIRE:
        return _json(shape.released(release, catalog, intervals=intervals))
    return _released(release, kind)


def _released(release: Release, kind: str) -> Reply:
    headers = {"Discreet-Receipt": escaped(str(release.receipt)), "Discreet-Free": str(release.free).lower()}
    if kind == CSV:
        records = release.intervals(release.quote.confidence)
        text = sheet(list(records[0]) if records else list(release.columns), records)
        return Reply(200, f"{CSV}; charset=utf-8", text.encode(), headers)
    if kind == ARROW:
        return Reply(200, ARROW, _stream(release.to_arrow(intervals=True)), headers)
    if kind == CARD:
        return Reply(200, f"{CARD}; charset=utf-8", release.card().encode(), headers)
    return Reply(200, JSON, json.dumps(released(release)).encode(), headers)


def _stream(table: Any) -> bytes:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    whole: bytes = sink.getvalue().to_pybytes()
    return whole


def _past(session: Session, asked: Asked) -> dict[str, Any]:
    """Return a page of the history: what somebody asked, or all that happened for whoever may see that."""
    last, before = int(asked.body["last"]), asked.body.get("before")
    ledger, name = session.ledger, session.catalog.name
    if asked.body.get("own") or not sees_all(asked.role):
        page = ledger.questions_of(name, asked.name, last=last, before=before)
        return {"entries": history(page.entries), "counted": page.questions, "before": page.before}
    entries = ledger.history(name, last=last, before=before)
    first = entries[0].number if entries else 1
    return {"entries": history(entries), "counted": len(entries), "before": first if first > 1 else None}


def history(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return entries as JSON values."""
    told = []
    for entry in entries:
        line: dict[str, Any] = {
            "number": entry.number,
            "time": entry.time,
            "event": type(entry.event).__name__.lower(),
        }
        match entry.event:
            case Reserved(request):
                line |= {"analyst": request.analyst, "project": request.project}
                line |= {"question": request.question, "cost": write_cost(request.cost)}
                line |= {"text": request.text, "key": request.request_id.removeprefix(f"{request.analyst}/")}
            case Answered(reservation) | Failed(reservation):
                line["reservation"] = reservation
            case event:
                line |= decision(event)
        told.append(line)
    return told


def _proved(session: Session, text: str) -> dict[str, Any]:
    """Return what a receipt proves; whoever holds its seal has seen the answer."""
    receipt = Receipt.parse(text)
    if receipt.dataset != session.catalog.name:
        raise AccessError("nothing of that name")
    try:
        entry = session.ledger.verify_receipt(receipt)
    except LedgerError:
        raise AccessError("nothing of that name") from None
    return {"number": entry.number, "time": entry.time, "event": type(entry.event).__name__.lower()}


def _json(value: object) -> Reply:
    return Reply(200, JSON, json.dumps(value).encode())
