"""What is said on one connection after somebody has come in: statements, portals, transactions.

Describe never asks a question: the shape of an answer follows from the declarations.  A portal's question is
asked once, at its first Execute.  Transactions are kept track of and change nothing: what was asked stays
paid.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from discreet.service.role import Verb
from discreet.service.wire import fault, frame, types
from discreet.service.wire.fault import PROTOCOL, Fault, Gone
from discreet.service.wire.frame import (
    Bind,
    Close,
    Describe,
    Execute,
    Flush,
    Parse,
    PlainQuery,
    Sync,
    Terminate,
)
from discreet.service.wire.login import Guest, Wire, receive
from discreet.service.wire.result import Column, Result, agreed, described, each, read, rows_of, whole
from discreet.service.wire.statement import (
    About,
    Asks,
    Assigns,
    Forgets,
    Meaning,
    Passes,
    Resets,
    Shows,
    Transacts,
    WireStatement,
    split,
)

MOST = 64
"""A connection keeps at most so many prepared statements, and a statement has so many parameters."""

MOST_PORTALS = 16
MOST_WAITING = 10_000
"""While more rows than these wait in portals of a connection, nothing further is asked on it."""


class ByWorker(Protocol):
    """The way to a worker and back; refusals come as Fault."""

    async def __call__(self, guest: Guest, verb: Verb, body: dict[str, Any], key: str | None = None) -> Any:
        """Return what a worker says."""
        ...


@dataclass(slots=True)
class Prepared:
    """A statement under a name; what it will return is known once somebody has asked."""

    statement: WireStatement | None
    types: tuple[int, ...]
    columns: tuple[Column, ...] | None = None
    described: bool = False


@dataclass(slots=True)
class Portal:
    """A statement with values, and how far its rows were sent."""

    prepared: Prepared
    values: tuple[types.Given, ...]
    forms: tuple[int, ...]
    columns: tuple[Column, ...] | None = None
    result: Result | None = None
    sent: int = 0


@dataclass(slots=True)
class Conversation:
    """One connection's state."""

    line: Wire
    guest: Guest
    ask: ByWorker
    limit: int
    state: str = "I"
    asked: bool = False
    _prepared: dict[str, Prepared] = field(default_factory=dict)
    _portals: dict[str, Portal] = field(default_factory=dict)
    _skipping: bool = False

    async def run(self, patience: Callable[[Awaitable[frame.Message]], Awaitable[frame.Message]]) -> None:
        """Answer messages until the other side says goodbye; `patience` bounds the wait for each."""
        while True:
            await self.line.flush()
            # However much of one connection waits here, the others have their turn.
            await asyncio.sleep(0)
            message = await patience(receive(self.line, self.limit))
            if isinstance(message, Terminate):
                return
            await self._answer(message)

    async def _answer(self, message: frame.Message) -> None:
        if isinstance(message, Sync):
            self._skipping = False
            if self.state == "I":
                self._portals.clear()
            self.line.write(frame.ready(self.state))
            return
        if self._skipping:
            return
        try:
            if isinstance(message, PlainQuery):
                await self._simple(message.text)
            else:
                self.line.write(await self._extended(message))
        except Gone:
            raise
        except Fault as refusal:
            self.line.write(refusal.told())
            self._fail()
            self._skipping = not isinstance(message, PlainQuery)
        if isinstance(message, PlainQuery):
            self.line.write(frame.ready(self.state))

    def _fail(self) -> None:
        if self.state == "T":
            self.state = "E"

    async def _simple(self, text: str) -> None:
        statements = split(text)
        if not statements:
            self.line.write(frame.EMPTY)
        self._portals.pop("", None)
        for one in statements:
            try:
                result = await self._perform(one, (), self._meant(one))
                self.line.write(whole(result))
            except Gone:
                raise
            except Fault as refusal:
                raise refusal.within(one.start) from None
            await self.line.flush()
            await asyncio.sleep(0)

    async def _extended(self, message: frame.Message) -> bytes:
        match message:
            case Parse():
                return self._parse(message)
            case Bind():
                return await self._bind(message)
            case Describe(True, name):
                portal = self._portal(name)
                await self._shape(portal)
                return described(portal.columns, portal.forms)
            case Describe(False, name):
                prepared = self._statement(name)
                await self._describe(prepared)
                return frame.parameters(prepared.types) + described(prepared.columns, ())
            case Execute(name, most):
                return await self._execute(self._portal(name), most)
            case Close(portal, name):
                (self._portals if portal else self._prepared).pop(name, None)
                return frame.CLOSED
            case Flush():
                return b""
            case _:
                raise Fault(
                    PROTOCOL, "this message means nothing here", "COPY and function calls are not spoken"
                )

    def _parse(self, message: Parse) -> bytes:
        if message.name and message.name in self._prepared:
            raise Fault("42P05", f"prepared statement {message.name[:63]!r} exists already", "close it first")
        if len(self._prepared) >= MOST:
            raise Fault("54000", f"a connection keeps at most {MOST} prepared statements", "close some")
        found = split(message.text)
        if len(found) > 1:
            raise Fault(
                "42601",
                "a prepared statement is one statement",
                "prepare them one at a time",
                found[1].start + 1,
            )
        if found:
            self._meant(found[0])
            if found[0].marks > MOST:
                raise Fault(
                    "54000", f"a statement has at most {MOST} parameters", "write constants into the text"
                )
        marks = found[0].marks if found else 0
        given = (*message.types[:marks], *(0 for _ in range(marks - len(message.types))))
        self._prepared[message.name] = Prepared(found[0] if found else None, given)
        return frame.PARSED

    async def _bind(self, message: Bind) -> bytes:
        prepared = self._statement(message.statement)
        if len(message.values) != len(prepared.types):
            raise Fault(
                PROTOCOL, f"the statement has {len(prepared.types)} parameters, not {len(message.values)}"
            )
        if len(message.formats) not in (0, 1, len(message.values)) or any(
            form > 1 for form in (*message.formats, *message.results)
        ):
            raise Fault(PROTOCOL, "formats are 0 or 1: none, one for all, or one for each")
        if len(self._portals) >= MOST_PORTALS and message.portal not in self._portals:
            raise Fault("54000", f"a connection keeps at most {MOST_PORTALS} portals", "close some")
        if message.portal and message.portal in self._portals:
            raise Fault("42P03", f"portal {message.portal[:63]!r} exists already", "close it first")
        forms = each(message.formats, len(message.values))
        try:
            values = tuple(map(types.given, message.values, prepared.types, forms))
        except types.Misfit as misfit:
            raise Fault("22P02", str(misfit), "give it as text, or with another type") from None
        self._portals[message.portal] = Portal(
            prepared, values, message.results, prepared.columns if prepared.described else None
        )
        return frame.BOUND

    async def _execute(self, portal: Portal, most: int) -> bytes:
        if portal.prepared.statement is None:
            return frame.EMPTY
        if portal.result is None:
            statement = portal.prepared.statement
            if sum(len(one.result.rows) for one in self._portals.values() if one.result) > MOST_WAITING:
                raise Fault(
                    "54000", "too many rows wait in portals of this connection", "take them, or close some"
                )
            if len(portal.forms) > 1:
                # Whether there are as many as columns is known before anything is asked.
                await self._shape(portal)
                described(portal.columns, portal.forms)
            portal.result = await self._perform(statement, portal.values, self._meant(statement))
            # What was paid is told whatever becomes of the rows.
            self.line.write(portal.result.said)
            agreed(portal.columns, portal.result.columns)
        result = portal.result
        end = len(result.rows) if most == 0 else min(len(result.rows), portal.sent + most)
        part = result.rows[portal.sent : end]
        said = rows_of(result.columns or (), part, portal.forms)
        portal.sent = end
        if most and end < len(result.rows):
            return said + frame.SUSPENDED
        # Nothing is left to send, so nothing is kept.
        portal.result, portal.sent = replace(result, rows=()), 0
        return said + frame.complete(f"SELECT {len(part)}" if result.tag == "SELECT" else result.tag)

    def _statement(self, name: str) -> Prepared:
        found = self._prepared.get(name)
        if found is None:
            raise Fault("26000", f"there is no prepared statement {name[:63]!r}", "prepare it first")
        return found

    def _portal(self, name: str) -> Portal:
        found = self._portals.get(name)
        if found is None:
            raise Fault("34000", f"there is no portal {name[:63]!r}", "bind it first; Sync closes portals")
        return found

    def _meant(self, statement: WireStatement) -> Meaning:
        """Return what a statement is; in a failed transaction only its end is."""
        found = statement.meaning
        if self.state == "E" and not (isinstance(found, Transacts) and found.what != "begin"):
            raise Fault("25P02", "the transaction has failed", "end it with ROLLBACK")
        return found

    async def _shape(self, portal: Portal) -> None:
        if portal.columns is None and portal.prepared.statement is not None:
            portal.columns = await self._columns(portal.prepared.statement, portal.values)

    async def _describe(self, prepared: Prepared) -> None:
        """Find out what a statement will return, and of which types its parameters are."""
        if prepared.described or prepared.statement is None:
            return
        meant = self._meant(prepared.statement)
        if isinstance(meant, Asks | About) and prepared.types:
            reply = await self._described(
                meant, [("type", types.BY_NUMBER.get(one)) for one in prepared.types]
            )
            inferred = [types.TYPES[kind].number for kind in reply["parameters"]]
            prepared.types = tuple(
                inferred[n] if one in types.OPEN else one for n, one in enumerate(prepared.types)
            )
            prepared.columns = read(reply["columns"])
        else:
            prepared.columns = await self._columns(prepared.statement, ())
        prepared.described = True

    async def _columns(
        self, statement: WireStatement, values: Sequence[types.Given]
    ) -> tuple[Column, ...] | None:
        match self._meant(statement):
            case Asks(explain=True):
                return (("QUERY PLAN", "text"),)
            case Asks() | About() as meant:
                return read((await self._described(meant, values))["columns"])
            case Shows(name):
                return self._show_columns(name)
            case _:
                return None

    async def _described(self, meant: Asks | About, values: Sequence[Any]) -> Any:
        body = self._body(meant, values)
        if isinstance(meant, About):
            return await self.ask(self.guest, Verb.SYSTEM, body | {"rows": False})
        return await self.ask(self.guest, Verb.DESCRIBE, body)

    def _body(self, meant: Asks | About, values: Sequence[Any]) -> dict[str, Any]:
        settings = self.guest.settings
        body: dict[str, Any] = {"sql": meant.sql, "parameters": list(values)}
        if isinstance(meant, About):
            return body | {"settings": dict(settings.all())}
        shown = {"intervals": settings.intervals, "postprocess": settings.postprocess}
        return body | settings.price | shown

    async def _perform(
        self, statement: WireStatement, values: Sequence[types.Given], meant: Meaning
    ) -> Result:
        if len(values) < statement.marks:
            raise Fault(
                "42P02", "there are no values for parameters here", "send them with the extended protocol"
            )
        match meant:
            case Asks():
                return await self._question(meant, values)
            case About():
                reply = await self.ask(self.guest, Verb.SYSTEM, self._body(meant, values) | {"rows": True})
                return Result("SELECT", read(reply["columns"]), reply["rows"])
            case Assigns(name, value, local):
                return self._set(name, value, local=local)
            case Shows(name):
                return await self._show(name)
            case Transacts(what):
                return self._transact(what)
            case Resets(discard):
                return self._reset(discard=discard)
            case Forgets(name):
                self._forget(name)
                return Result("DEALLOCATE ALL" if name is None else "DEALLOCATE")
            case Passes(tag):
                return Result(tag)

    async def _question(self, meant: Asks, values: Sequence[types.Given]) -> Result:
        settings = self.guest.settings
        price = settings.price
        if not price["epsilon"] and not price["within"] and "DIFFERENTIAL_PRIVACY" not in meant.sql.upper():
            raise Fault(
                "22023",
                "nothing says what the answer may cost",
                "SET discreet.epsilon = 0.1, or SET discreet.within = 50 for answers that close",
            )
        body = self._body(meant, values)
        if meant.explain:
            reply = await self.ask(self.guest, Verb.QUOTE, body)
            return Result("EXPLAIN", (("QUERY PLAN", "text"),), [[line] for line in reply["lines"]])
        reply = await self.ask(self.guest, Verb.QUERY, body, settings.key)
        self.asked = True
        said = fault.notice(reply["paid"], reply["detail"])
        return Result("SELECT", read(reply["columns"]), reply["rows"], said)

    def _set(self, name: str, value: str | None, *, local: bool) -> Result:
        if local and self.state == "I":
            return Result(
                "SET",
                said=fault.notice(
                    "SET LOCAL means something in a transaction only", None, "WARNING", "25P01"
                ),
            )
        told = self.guest.settings.set(name, value, local=local)
        return Result("SET", said=b"" if told is None else frame.parameter(*told))

    def _show_columns(self, name: str) -> tuple[Column, ...]:
        if name == "all":
            return ("name", "text"), ("setting", "text"), ("description", "text")
        return ((name.rpartition(".")[2].replace(" ", "_"), "text"),)

    async def _show(self, name: str) -> Result:
        columns, settings = self._show_columns(name), self.guest.settings
        if name == "all":
            return Result("SHOW", columns, [[one, value, ""] for one, value in settings.all()])
        if name == "discreet.budget":
            reply = await self.ask(self.guest, Verb.BUDGET, {})
            return Result("SHOW", columns, [[line] for line in reply["lines"]])
        return Result("SHOW", columns, [[settings.show(name)]])

    def _transact(self, what: str) -> Result:
        before, settings = self.state, self.guest.settings
        if what == "begin":
            said = b""
            if before != "I":
                said = fault.notice("there is a transaction in progress already", None, "WARNING", "25001")
            else:
                settings.begin()
                self.asked = False
            self.state = "T"
            return Result("BEGIN", said=said)
        if before == "I":
            if what == "back":
                raise Fault("25P01", "there is no transaction in progress", "BEGIN one first")
            warning = fault.notice("there is no transaction in progress", None, "WARNING", "25P01")
            return Result("COMMIT" if what == "commit" else "ROLLBACK", said=warning)
        if what == "back":
            self.state = "T"
            return Result("ROLLBACK")
        kept = what == "commit" and before == "T"
        settings.end(kept=kept)
        self.state = "I"
        self._portals.clear()
        said = (
            b""
            if kept or not self.asked
            else fault.notice("what was asked stays paid; no ROLLBACK gives it back")
        )
        return Result("COMMIT" if kept else "ROLLBACK", said=said)

    def _reset(self, *, discard: bool) -> Result:
        if discard:
            self._forget(None)
            self._portals.clear()
        self.guest.settings.reset()
        return Result("DISCARD ALL" if discard else "RESET")

    def _forget(self, name: str | None) -> None:
        if name is None:
            self._prepared.clear()
        else:
            self._statement(name)
            del self._prepared[name]
