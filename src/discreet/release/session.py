"""A session: a curator's data, its budget, and the one path by which a question becomes a release.

    read, check, price        pure; refusals and quotes are free and never depend on the data
    reserve                   durable before anything is looked at
    run, draw, record         no refund from here on
    return                    the recorded answer, and no other

A failure after the reservation stays spent.  The same question on the same version of the data is answered
from the ledger, free.
"""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

from discreet.engines.protocol import FAILED, Engine
from discreet.engines.shelter import quietly
from discreet.errors import EngineError, ProofError
from discreet.exact.coins import source
from discreet.exact.number import Real as Number
from discreet.ledger import BudgetView, Granted, Ledger, Request, Stored
from discreet.ledger.shield import refuse_deserted, shielded
from discreet.privacy.filter import Budget
from discreet.query.catalog.manifest import Catalog
from discreet.query.check import bounds
from discreet.query.check.above import people_above
from discreet.query.check.measurement import Checked
from discreet.query.check.question import Limits
from discreet.query.price.either import Terms
from discreet.query.price.expected import Quote
from discreet.query.proof import ProvedStatement
from discreet.release.afford import compared, require_room
from discreet.release.answer import Release
from discreet.release.noisy import decoded, draw, encode, together
from discreet.release.plans import Plans, meant
from discreet.release.pricing import (
    Asked,
    Parameters,
    Weights,
    check_batch,
    check_question,
    declared_budget,
    price_question,
    protected,
    split,
    told,
)
from discreet.release.records_plan import PARTS, RecordsPlan, plan_records
from discreet.release.sight import OpenData

if TYPE_CHECKING:
    from discreet.release.made_up import MadeUp
    from discreet.release.stream import NamedStream

BOUNDS_SHARE = Fraction(1, 20)
"""What finding the bounds of one column costs, as a share of the whole budget, unless told otherwise."""


class _Interrupted(Exception):  # noqa: N818
    """The engine was stopped while it ran this question, for the sake of another."""


def _at_once() -> None:
    """Let no time pass."""


@dataclass(repr=False)
class Session(OpenData):
    """Open data with its ledger; use `open`."""

    catalog: Catalog
    engine: Engine
    ledger: Ledger
    analyst: str = "analyst"
    project: str = "project"
    manifest: Path | None = None
    """The file that declared the catalog, if one did."""
    plans: Plans = field(default_factory=Plans, compare=False)
    hold: Callable[[], None] = field(default=_at_once, compare=False)
    """Lets time pass where a question has run, whatever came of it, before anybody can know that it has."""
    _scratch: "finalize[..., Any] | None" = None
    _interrupts: int = 0
    _seen: tuple[int, int] = (0, 0)
    """The state of the manifest when the cap was last looked up."""

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
        """Return, free of charge, what a question or a batch would cost and how wrong its answer may be.

        With `within`, the price is the least that gets every answer so close; for means and variances say of
        how many rows they are at least, `count`.  With a `prior` over a count's values, the quote's `advice`
        compares the mechanisms that could answer it on the analyst's own `loss`, beside the best possible.
        """
        price = epsilon, within, confidence, delta, count
        priced = (
            self._quote(check_batch(self.catalog, question, limits, dialect, weights=weights).whole, *price)
            if isinstance(question, list | tuple)
            else self._planned(question, price, limits, parameters, dialect, weights)
        )
        priced = compared(priced, self.budget, self.project, self.analyst)
        if prior is None:
            return priced
        from discreet.release.belief import advice

        return replace(priced, advice=advice(priced, prior, loss))

    def _planned(
        self,
        question: Asked,
        price: tuple[Number | None, Number | None, Number, Number | None, Number | None],
        limits: Limits | None,
        parameters: Parameters,
        dialect: str | None = None,
        weights: Weights = None,
    ) -> Quote:
        """Return the quote of a question, worked out now or before."""

        def make() -> Quote:
            given = limits, parameters, dialect
            return self._quote(check_question(self.catalog, question, *given, weights=weights), *price)

        if weights:
            return make()
        return self.plans.quote(self.catalog, (question, *price, dialect, limits, parameters), make)

    def _quote(
        self,
        checked: Checked,
        epsilon: Number | None,
        within: Number | None = None,
        confidence: Number = "0.95",
        delta: Number | None = None,
        count: Number | None = None,
        terms: Terms | None = None,
    ) -> Quote:
        priced = price_question(self.catalog, checked, epsilon, within, confidence, delta, terms, count)
        # Written before anything is paid: what an engine cannot write is refused while that is free.
        return replace(priced, sql=tuple(self.engine.written(one.statement) for one in proved(priced)))

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
        """Answer a question privately, at the price of its quote; asked before, it is free.

        A question is SQL text, what a dataframe of `table` asks, or an expression of Ibis.  `parameters` are
        the values of `?` in the order of the text, or of `:name` by name; `dialect` names whose SQL it is;
        `weights` say by the names of columns which of several errors matter more.  Without `postprocess`
        values are shown as they were drawn, without bias; it is the same answer, paid once.
        """
        price = epsilon, within, confidence, delta, count
        priced = self._planned(question, price, limits, parameters, dialect, weights)
        text = told(self.catalog, question, parameters, dialect)
        return self._answer(text, priced, request_id).shown(postprocess=postprocess)

    def recall(
        self, question: str, *, epsilon: Number | None = None, confidence: Number = "0.95"
    ) -> Release | None:
        """Return the answer that a question at this price was given before, None where there is none.

        Nothing is paid and no data is looked at, so another confidence is free as well.
        """
        priced = self._planned(question, (epsilon, None, confidence, None, None), None, None)
        stored = self.ledger.find(self._request(question, priced, None))
        return None if stored is None else self._release(question, priced, stored, free=True)

    def recall_batch(
        self, questions: Sequence[str], *, epsilon: Number | None = None, confidence: Number = "0.95"
    ) -> tuple[Release, ...] | None:
        """Return the answers that a batch at this price was given before, None where there are none."""
        batch = check_batch(self.catalog, questions, None)
        priced = self._quote(batch.whole, epsilon, None, confidence)
        stored = self.ledger.find(self._request("; ".join(questions), priced, None))
        if stored is None:
            return None
        whole = self._release("; ".join(questions), priced, stored, free=True)
        return split(list(questions), batch, whole)

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
        """Answer several questions about one table together, at one price: counts, sums, averages, tables.

        They are measured in the way that serves all of them best, and their answers agree with each other.
        Each release states the price of the whole batch, which was paid once.
        """
        batch = check_batch(self.catalog, questions, limits, dialect)
        priced = self._quote(batch.whole, epsilon, within, confidence)
        texts = [told(self.catalog, question, dialect=dialect) for question in questions]
        whole = self._answer("; ".join(texts), priced, request_id)
        return tuple(one.shown(postprocess=postprocess) for one in split(texts, batch, whole))

    def find_bounds(
        self, table: str, column: str, *, epsilon: Number | None = None
    ) -> tuple[Fraction, Fraction]:
        """Find the bounds of a column declared with bounds = "auto", privately, and use them from here on.

        Unless told otherwise this costs a twentieth of the whole budget, once: asked again, in this session
        or another, the same bounds come from the ledger.  They are public then and can go into the manifest.
        """
        price = self._budget().epsilon * BOUNDS_SHARE if epsilon is None else epsilon
        priced = self._quote(bounds.question(self.catalog, table, column), price)
        (row,) = self._answer(f"bounds of {table}.{column}", priced, None).rows
        low, high = (Fraction(cell) for cell in row.cells)  # type: ignore[arg-type]
        self.catalog = bounds.found(self.catalog, table, column, low, high)
        return bounds.declared(self.catalog, table, column)

    def over_limit(self, table: str, *, epsilon: Number) -> Release:
        """Count, privately, the people with more rows in a table than its limit lets count.

        Error bars cover noise, not limits: this is the way to learn whether a limit hides much.
        """
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

        Without `columns` all that have bounds or few declared values are made up; wide ranges are cut into
        `bins` parts, within which values are even.  There are as many records as the noisy total says unless
        `rows` says otherwise.
        """
        from discreet.release.made_up import make_up, require_rows

        require_rows(rows)
        plan = self.plan_records(table, epsilon=epsilon, columns=columns, bins=bins, limits=limits)
        if self.ledger.find(self._request("", plan.first, None)) is None:
            # Half of it is worth little, so all of it must fit before anything is paid.
            require_room(plan.cost, self.budget, self.project, self.analyst)
        return make_up(plan, rows, self._in_terms, lambda text, priced: self._answer(text, priced, None))

    def _in_terms(self, checked: Checked, epsilon: Fraction, terms: Terms) -> Quote:
        return self._quote(checked, epsilon, terms=terms)

    def stream(
        self,
        name: str,
        *,
        length: int | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        contribution: int | None = None,
    ) -> "NamedStream":
        """Begin a running count of at most `length` steps, paid for once, or go on with it after a restart.

        `contribution` is the most that one person adds to all steps together; 1 protects single events.
        The name alone goes on with a stream that was begun before.
        """
        from discreet.release.stream import open_stream, strictest

        return open_stream(
            self.ledger,
            self._budget(),
            self.catalog.name,
            self.project,
            self.analyst,
            name,
            length=length,
            epsilon=epsilon,
            rho=rho,
            contribution=contribution,
            adjacency=strictest(self.catalog.tables),
        )

    def _answer(self, text: str, priced: Quote, request_id: str | None) -> Release:
        request = self._request(text, priced, request_id)
        stored, free = shielded(lambda: self._find(priced, request), interrupt=self._interrupt)
        return self._release(text, priced, stored, free=free)

    def _request(self, text: str, priced: Quote, request_id: str | None) -> Request:
        meaning, mechanisms = self.plans.meaning(priced, lambda: meant(priced))
        return Request(
            request_id=request_id or secrets.token_hex(16),
            dataset=self.catalog.name,
            snapshot=self.catalog.version,
            project=self.project,
            analyst=self.analyst,
            question=meaning,
            cost=priced.cost,
            mechanisms=mechanisms,
            text="" if text == meaning else text,
        )

    def _find(self, priced: Quote, request: Request) -> tuple[Stored, bool]:
        """Return the answer that may leave, and whether it had been paid for before."""
        while True:
            before = self._interrupts
            match self.ledger.reserve(request):
                case Stored() as stored:
                    return stored, True
                case Granted() as granted:
                    with suppress(_Interrupted):
                        return self._run(priced, granted, before), False

    def _run(self, priced: Quote, granted: Granted, before: int) -> Stored:
        parts = priced.parts or (priced,)

        def work() -> bytes:
            try:
                found = [draw(part, self.engine.run(proved(part), source().bits(63))) for part in parts]
                return encode(together(found))
            finally:
                self.hold()

        try:
            refuse_deserted()
            # Exact integers are in reach only there, and no traceback leads into it.
            payload = quietly(work, EngineError(FAILED))
        except EngineError:
            if self._interrupts == before:
                self.ledger.fail(granted, "engine-error")
                raise
            self.ledger.abandon(granted)
            refuse_deserted()
            # The interrupt was meant for somebody else's question: run this one again.
            raise _Interrupted from None
        except BaseException:
            # Paid for and unanswered: whoever asks again goes on with it, free.
            self.ledger.abandon(granted)
            raise
        return self.ledger.answer(granted, payload)

    def _interrupt(self) -> None:
        """Stop the engine for somebody who no longer waits; what it was running may be run again."""
        self._interrupts += 1
        self.engine.interrupt()

    def _release(self, text: str, priced: Quote, stored: Stored, *, free: bool) -> Release:
        return Release(
            text,
            self.catalog.name,
            priced,
            decoded(stored.payload),
            protected(self.catalog, priced.checked),
            stored.receipt,
            free,
        )

    def renew(self) -> None:
        """Take over a cap that somebody else has raised since, where the manifest was written meanwhile.

        Nothing else of the manifest is read again: whoever changes a declaration opens the data anew.
        """
        if self.manifest is None or self.catalog.budget is None:
            return
        with suppress(OSError):
            found = self.manifest.stat()
            stamp = found.st_mtime_ns, found.st_ino
            if stamp == self._seen:
                return
            cap = self.ledger.cap(self.catalog.name)
            if cap is not None:
                known = replace(self.catalog.budget, epsilon=cap.epsilon)
                self.catalog = replace(self.catalog, budget=known)
            self._seen = stamp

    def _budget(self) -> Budget:
        return declared_budget(self.catalog)

    @property
    def budget(self) -> BudgetView:
        """Return what is spent and what is left, for every limit."""
        return self.ledger.budget(self.catalog.name)

    def close(self) -> None:
        """Close the data and the ledger."""
        self.engine.close()
        self.ledger.close()
        if self._scratch is not None:
            self._scratch()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def proved(priced: Quote) -> tuple[ProvedStatement, ...]:
    """Return what the engine is asked for a priced question: statements that were proved, or nothing runs."""
    if priced.proof is None:
        raise ProofError("the question", "was priced without a derivation")
    return priced.proof.statements
