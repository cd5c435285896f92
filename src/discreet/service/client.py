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
from typing import Any

from discreet.errors import AccessError, CatalogError, ParameterError, ServiceError
from discreet.exact.number import Real as Number
from discreet.exact.number import rational
from discreet.ledger import BudgetView, Receipt
from discreet.ledger.codec import write_cost
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.measurement import Checked
from discreet.query.check.question import Limits
from discreet.query.price.batch import parts
from discreet.query.price.expected import Quote
from discreet.release.answer import Release
from discreet.release.noisy import decode
from discreet.release.pricing import check_batch, check_question, price_question, protected
from discreet.service import budget as views
from discreet.service import catalogue
from discreet.service.line import Line


def connect(
    url: str,
    *,
    token: str,
    dataset: str | None = None,
    certificate: str | Path | None = None,
    timeout: float = 120.0,
) -> "Remote":
    """Return a session with data behind a service: quote, query, batch and budget as `dp.open` has them.

    `dataset` may be left out where the token is for one alone; `certificate` is a PEM file to trust besides
    those of the system, for a service with a certificate of its own.
    """
    line = Line(url, token, certificate=certificate, timeout=timeout)
    me = line.get("v1", "me")
    chosen = _chosen(me["datasets"], dataset)
    return Remote(catalogue.known(line.get("v1", "datasets", chosen)), me["name"], line)


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


@dataclass(frozen=True)
class Remote:
    """Data behind a service; use `connect`."""

    catalog: Catalog
    analyst: str
    line: Line

    def quote(
        self,
        question: str | Sequence[str],
        *,
        epsilon: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        delta: Number | None = None,
        limits: Limits | None = None,
        prior: Any = None,
        loss: Any = "absolute",
    ) -> Quote:
        """Return, free of charge, what a question or a batch would cost and how wrong its answer may be."""
        checked = (
            check_question(self.catalog, question, limits)
            if isinstance(question, str)
            else check_batch(self.catalog, _texts(question), limits).whole
        )
        asked = _price(epsilon, within, confidence, limits)
        sql = question if isinstance(question, str) else list(question)
        body = self._post("quote", {"sql": sql, **asked, "delta": _text(delta, "delta")})
        priced = self._agreed(checked, body)
        priced = replace(priced, sql=tuple(body["statements"]), copies=body["questions_left"])
        if prior is None:
            return priced
        from discreet.release.belief import advice

        return replace(priced, advice=advice(priced, prior, loss))

    def query(
        self,
        question: str,
        *,
        epsilon: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        delta: Number | None = None,
        limits: Limits | None = None,
        request_id: str | None = None,
    ) -> Release:
        """Answer a question privately, at the price of its quote; asked before, it is free."""
        (text,) = _texts([question])
        checked = check_question(self.catalog, text, limits)
        asked = _price(epsilon, within, confidence, limits)
        sent = {"sql": text, **asked, "delta": _text(delta, "delta")}
        body = self._post("query", sent, request_id or secrets.token_hex(16))
        return self._release(body, checked, text)

    def batch(
        self,
        questions: Sequence[str],
        *,
        epsilon: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        limits: Limits | None = None,
        request_id: str | None = None,
    ) -> tuple[Release, ...]:
        """Answer several counting questions about one table together, at one price."""
        batch = check_batch(self.catalog, _texts(questions), limits)
        sent = {"sql": list(questions), **_price(epsilon, within, confidence, limits)}
        body = self._post("batch", sent, request_id or secrets.token_hex(16))
        answers = body["answers"]
        priced = self._agreed(batch.whole, answers[0])
        return tuple(
            replace(self._release(said, batch.whole, text), quote=own)
            for text, said, (own, _) in zip(questions, answers, parts(batch, priced), strict=True)
        )

    @property
    def budget(self) -> BudgetView:
        """Return what is spent and what is left, for every limit that covers you."""
        return views.read(self.line.get("v1", "datasets", self.catalog.name, "budget"))

    def history(self, last: int = 100) -> list[dict[str, Any]]:
        """Return what became of your newest questions, oldest first."""
        body = self.line.get("v1", "datasets", self.catalog.name, "history", last=last)
        found: list[dict[str, Any]] = body["entries"]
        return found

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

    def _post(self, verb: str, body: Mapping[str, Any], key: str | None = None) -> Any:
        return self.line.post("v1", "datasets", self.catalog.name, verb, body=body, key=key)

    def _agreed(self, checked: Checked, body: Mapping[str, Any]) -> Quote:
        """Return the quote as it is worked out here, or refuse if the service charges by another one."""
        priced = price_question(
            self.catalog,
            checked,
            Fraction(body["epsilon"]),
            confidence=Fraction(body["confidence"]),
            delta=Fraction(body["delta"]),
        )
        if write_cost(priced.cost) != body["cost"]:
            raise ServiceError(
                "the service charges another price than follows from its declarations; its version of "
                "discreet may differ from yours, or its manifest was changed: connect again"
            )
        return priced

    def _release(self, body: Mapping[str, Any], checked: Checked, text: str) -> Release:
        return Release(
            text,
            self.catalog.name,
            self._agreed(checked, body),
            decode(json.dumps(body["drawn"]).encode()),
            protected(self.catalog, checked),
            Receipt.parse(body["receipt"]),
            body["free"],
        )


def _texts(questions: Sequence[str]) -> Sequence[str]:
    if isinstance(questions, str) or not all(isinstance(question, str) for question in questions):
        raise CatalogError("over a connection questions are asked in SQL text, and a batch is a list of them")
    return questions


def _price(
    epsilon: Number | None, within: Number | None, confidence: Number, limits: Limits | None
) -> dict[str, Any]:
    if (epsilon is None) == (within is None):
        raise ParameterError(
            "give either epsilon=..., or within=... for the smallest epsilon that gets there"
        )
    sent: dict[str, Any] = {
        "epsilon": _text(epsilon, "epsilon"),
        "within": _text(within, "within"),
        "confidence": _text(confidence, "confidence"),
    }
    if limits is not None:
        sent["limits"] = {
            "rows_per_unit": limits.rows_per_unit,
            "groups_per_unit": limits.groups_per_unit,
            "rows_per_group": limits.rows_per_group,
        }
    return sent


def _text(value: Number | None, name: str) -> str | None:
    return None if value is None else str(rational(value, name))
