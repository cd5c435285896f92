"""`dp.connect`: a session from the analyst's side of the wall, with the same verbs and the same values.

The declarations are public, so everything that follows from them is worked out here as well: the plan, the
price, the derivation that the statements keep their claim, the error bars.  What the service says about a
price is compared with that, and an answer at another price than the one worked out here is refused.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import AccessError, ParameterError, ServiceError
from discreet.exact.number import Real as Number
from discreet.exact.number import rational
from discreet.ledger import BudgetView, Receipt
from discreet.ledger.codec import write_cost
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.above import people_above
from discreet.query.check.batch import Batch
from discreet.query.check.identity import identity
from discreet.query.check.measurement import Checked
from discreet.query.check.question import Limits
from discreet.query.language.asked import stated, text_of
from discreet.query.price.either import Terms
from discreet.query.price.expected import Quote
from discreet.release.answer import Release
from discreet.release.noisy import decode
from discreet.release.pricing import (
    Asked,
    Parameters,
    Weights,
    check_batch,
    check_question,
    joined,
    price_question,
    protected,
    split,
    told,
)
from discreet.release.records_plan import PARTS, RecordsPlan, plan_records
from discreet.release.sight import OpenData
from discreet.service import budget as views
from discreet.service import catalogue
from discreet.service.line import Line

if TYPE_CHECKING:
    from discreet.release.made_up import MadeUp
    from discreet.release.stream import NamedStream


def connect(
    url: str,
    *,
    token: str,
    dataset: str | None = None,
    certificate: str | Path | None = None,
    timeout: float = 120.0,
) -> "Remote":
    """Return a session with data behind a service: quote, query, batch, stream and budget as `dp.open` has.

    `dataset` may be left out where the token is for one alone; `certificate` is a PEM file to trust in the
    place of those of the system, for a service with a certificate of its own.
    """
    line = Line(url, token, certificate=certificate, timeout=timeout)
    try:
        me = line.get("v1", "me")
        chosen = _chosen(me["datasets"], dataset)
        return Remote(catalogue.known(line.get("v1", "datasets", chosen)), me["name"], line)
    except BaseException:
        line.close()
        raise


def _chosen(known: Sequence[str], dataset: str | None) -> str:
    if dataset is None:
        if len(known) == 1:
            return known[0]
        raise ParameterError(f"say which dataset: dataset=..., one of {', '.join(known) or '(none)'}")
    if dataset not in known:
        raise AccessError(
            f"there is no dataset {dataset!r} for you; known to you: {', '.join(known) or 'none'}"
        )
    return dataset


@dataclass(frozen=True, repr=False)
class Remote(OpenData):
    """Data behind a service; use `connect`."""

    catalog: Catalog
    analyst: str
    line: Line

    def quote(
        self,
        question: Asked | Sequence[Asked],
        *,
        epsilon: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        delta: Number | None = None,
        count: Number | None = None,
        limits: Limits | None = None,
        parameters: Parameters = None,
        dialect: str | None = None,
        weights: Weights = None,
        prior: Any = None,
        loss: Any = "absolute",
    ) -> Quote:
        """Return, free of charge, what a question or a batch would cost and how wrong its answer may be."""
        several = isinstance(question, list | tuple)
        sql = [self._text(one) for one in question] if several else self._text(question)
        checked = (
            check_batch(self.catalog, sql, limits, dialect, weights=weights).whole
            if isinstance(sql, list)
            else check_question(self.catalog, sql, limits, _sendable(parameters), dialect, weights=weights)
        )
        priced = price_question(self.catalog, checked, epsilon, within, confidence, delta, count=count)
        sent = {"sql": sql, "parameters": parameters, **_price(priced, limits, dialect), **_weights(weights)}
        body = self._post("quote", sent)
        priced = replace(
            self._agreed(priced, body),
            copies=body["questions_left"],
            today=body["questions_today"],
            closes=body.get("closes", False),
        )
        if prior is None:
            return priced
        from discreet.release.belief import advice

        return replace(priced, advice=advice(priced, prior, loss))

    def query(
        self,
        question: Asked,
        *,
        epsilon: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        delta: Number | None = None,
        count: Number | None = None,
        limits: Limits | None = None,
        parameters: Parameters = None,
        dialect: str | None = None,
        weights: Weights = None,
        request_id: str | None = None,
        postprocess: bool = True,
    ) -> Release:
        """Answer a question privately, at the price of its quote; asked before, it is free."""
        text = self._text(question)
        checked = check_question(self.catalog, text, limits, _sendable(parameters), dialect, weights=weights)
        priced = price_question(self.catalog, checked, epsilon, within, confidence, delta, count=count)
        sent = {"sql": text, "parameters": parameters, **_price(priced, limits, dialect), **_weights(weights)}
        body = self._post("query", sent, request_id or secrets.token_hex(16))
        text = told(self.catalog, text, parameters, dialect)
        return self._release(body, priced, text).shown(postprocess=postprocess)

    def batch(
        self,
        questions: Sequence[Asked],
        *,
        epsilon: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        limits: Limits | None = None,
        dialect: str | None = None,
        request_id: str | None = None,
        postprocess: bool = True,
    ) -> tuple[Release, ...]:
        """Answer several questions about one table together, at one price."""
        if isinstance(questions, str):
            raise ParameterError("a batch is a list of questions; ask a single one with query")
        texts = [self._text(question) for question in questions]
        batch = check_batch(self.catalog, texts, limits, dialect)
        priced = price_question(self.catalog, batch.whole, epsilon, within, confidence)
        sent = {"sql": texts, **_price(priced, limits, dialect)}
        answers = self._post("batch", sent, request_id or secrets.token_hex(16))["answers"]
        found = self._parted(texts, batch, priced, answers)
        return tuple(one.shown(postprocess=postprocess) for one in found)

    def _parted(
        self, texts: Sequence[str], batch: Batch, priced: Quote, answers: Sequence[Mapping[str, Any]]
    ) -> tuple[Release, ...]:
        """Return the answers of a batch as they were sent."""
        releases = [self._release(said, priced, text) for text, said in zip(texts, answers, strict=True)]
        return split(texts, batch, joined(batch, releases[0], [release.noisy for release in releases]))

    def recall(
        self, question: str, *, epsilon: Number | None = None, confidence: Number = "0.95"
    ) -> Release | None:
        """Return the answer that a question at this price was given before, None where there is none."""
        checked = check_question(self.catalog, question, None)
        priced = price_question(self.catalog, checked, epsilon, None, confidence)
        answers = self._post("find", {"sql": question, **_exactly(priced)})["answers"]
        return self._release(answers[0], priced, question) if answers else None

    def recall_batch(
        self, questions: Sequence[str], *, epsilon: Number | None = None, confidence: Number = "0.95"
    ) -> tuple[Release, ...] | None:
        """Return the answers that a batch at this price was given before, None where there are none."""
        batch = check_batch(self.catalog, questions, None)
        priced = price_question(self.catalog, batch.whole, epsilon, None, confidence)
        sent = {"sql": list(questions), **_exactly(priced)}
        answers = self._post("find", sent)["answers"]
        return self._parted(questions, batch, priced, answers) if answers else None

    def over_limit(self, table: str, *, epsilon: Number) -> Release:
        """Count, privately, the people with more rows in a table than its limit lets count."""
        return self.query(people_above(self.catalog, table), epsilon=epsilon)

    def plan_records(
        self,
        table: str | None = None,
        *,
        epsilon: Number,
        columns: Sequence[str] | None = None,
        bins: int = PARTS,
        limits: Limits | None = None,
    ) -> RecordsPlan:
        """Return, free of charge, what made-up records of a table would be drawn from, and their price."""
        return plan_records(self.catalog, table, epsilon, columns, bins, limits, self._in_terms)

    def synthesise(
        self,
        table: str | None = None,
        *,
        epsilon: Number,
        columns: Sequence[str] | None = None,
        rows: int | None = None,
        bins: int = PARTS,
        limits: Limits | None = None,
    ) -> "MadeUp":
        """Make up records that agree with private tables of pairs of columns, at the price of one question.

        The tables are asked of the service; the records are drawn here.
        """
        from discreet.release.made_up import require_rows
        from discreet.service import making

        require_rows(rows)
        plan = self.plan_records(table, epsilon=epsilon, columns=columns, bins=bins, limits=limits)
        sent = {"table": plan.table, "epsilon": str(plan.epsilon), "columns": columns, "bins": bins}
        body = self._post("synthesise", {**sent, **_limits(limits)})

        def release(said: Mapping[str, Any], priced: Quote) -> Release:
            return self._release(said, priced, said["question"])

        return making.read(plan, rows, self._in_terms, body, release)

    def _in_terms(self, checked: Checked, epsilon: Fraction, terms: Terms) -> Quote:
        return price_question(self.catalog, checked, epsilon, terms=terms)

    def stream(
        self,
        name: str,
        *,
        length: int | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        contribution: int | None = None,
    ) -> "NamedStream":
        """Begin a running count of at most `length` steps, paid for once, or go on with it.

        Whoever takes its steps sends the increments; everybody of the dataset may read what was released.
        """
        from discreet.service.afar import connected

        given = {"epsilon": epsilon, "rho": rho}
        exact = {key: None if value is None else str(rational(value, key)) for key, value in given.items()}
        sent = {"name": name, "length": length, **exact, "contribution": contribution}
        return connected(self.line, self.catalog.name, self._post("streams", sent), length)

    @property
    def budget(self) -> BudgetView:
        """Return what is spent and what is left, for every limit that covers you."""
        return views.read(self.line.get("v1", "datasets", self.catalog.name, "budget"))

    def history(self, last: int = 100, *, before: int | None = None) -> list[dict[str, Any]]:
        """Return what became of your newest questions, or of the newest before an entry, oldest first.

        Curators and auditors see the newest entries of everybody.
        """
        found: list[dict[str, Any]] = []
        while last > 0:
            asked = {"last": min(last, 1000)} | ({} if before is None else {"before": before})
            body = self.line.get("v1", "datasets", self.catalog.name, "history", **asked)
            found, last, before = body["entries"] + found, last - body["counted"], body["before"]
            if before is None:
                break
        return sorted(found, key=lambda one: int(one["number"]))

    def verify_receipt(self, receipt: Receipt | str) -> dict[str, Any]:
        """Return the entry of the ledger that a receipt proves; raise AccessError where it holds none."""
        found: dict[str, Any] = self._post("receipt", {"receipt": str(receipt)})
        return found

    def close(self) -> None:
        """Close the connection."""
        self.line.close()

    def __enter__(self) -> "Remote":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _text(self, question: Asked) -> str:
        """Return a question as the text that is sent; a plan is read again, and must ask the same."""
        asked = stated(question, self.catalog.views)
        if isinstance(asked, str):
            return asked
        text = text_of(asked)
        meant, read = (identity(check_question(self.catalog, one, None)) for one in (asked, text))
        if meant != read:
            raise ParameterError("this question cannot be sent as text; write it in SQL")
        return text

    def _post(self, verb: str, body: Mapping[str, Any], key: str | None = None) -> Any:
        return self.line.post("v1", "datasets", self.catalog.name, verb, body=body, key=key)

    def _agreed(self, priced: Quote, body: Mapping[str, Any]) -> Quote:
        """Return the quote as it was worked out here, or refuse if the service charges by another one."""
        if write_cost(priced.cost) != body["cost"]:
            raise ServiceError(
                "the service charges another price than follows from its declarations; its version of "
                "discreet may differ from yours, or its manifest was changed: connect again"
            )
        return replace(priced, sql=tuple(body["statements"]))

    def _release(self, body: Mapping[str, Any], priced: Quote, text: str) -> Release:
        return Release(
            text,
            self.catalog.name,
            self._agreed(priced, body),
            decode(json.dumps(body["drawn"]).encode()),
            protected(self.catalog, priced.checked),
            Receipt.parse(body["receipt"]),
            body["free"],
        )


def _sendable(parameters: Parameters) -> Parameters:
    """Return parameters, refusing what would arrive as something else."""
    values = parameters.values() if isinstance(parameters, Mapping) else parameters or ()
    if any(type(value) not in (bool, int, float, str, type(None)) for value in values):
        raise ParameterError(
            "over a connection a parameter is a whole number, a float, a text, a truth value or None; write "
            "other constants into the text, as in DATE '2025-01-31'"
        )
    return parameters


def _weights(weights: Weights) -> dict[str, Any]:
    """Return weights as they are sent: exact, and only where there are any."""
    if not weights:
        return {}
    return {"weights": {name: str(rational(weight, name)) for name, weight in weights.items()}}


def _price(priced: Quote, limits: Limits | None, dialect: str | None) -> dict[str, Any]:
    """Return a price as it is sent: worked out, and exact; beside it whose SQL it is for."""
    sent: dict[str, Any] = {**_exactly(priced), **_limits(limits)}
    if dialect is not None:
        sent["dialect"] = dialect
    if priced.delta:
        sent["delta"] = str(priced.delta)
    return sent


def _exactly(priced: Quote) -> dict[str, str]:
    return {"epsilon": str(priced.epsilon), "confidence": str(priced.confidence)}


def _limits(limits: Limits | None) -> dict[str, Any]:
    if limits is None:
        return {}
    names = ("rows_per_unit", "groups_per_unit", "rows_per_group", "rows_at_most")
    said = {name: getattr(limits, name) for name in names}
    sent = {name: value for name, value in said.items() if value is not None}
    return {"limits": {**sent, "weighted_keys": True} if limits.weighted_keys else sent}
