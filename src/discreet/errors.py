"""Every deliberate error of the system.

One root, so that a caller can catch whatever discreet refuses; each error is also the natural builtin.
Messages are complete and actionable, and never contain a cell of data: an error text is an output like
any other, and an output that was not paid for must not depend on the data.
"""


class DiscreetError(Exception):
    """The root of all errors that discreet raises on purpose."""


class ParameterError(DiscreetError, ValueError):
    """A parameter is outside what its theorem allows."""


class ExtraError(DiscreetError, ImportError):
    """Something needs a library that is not installed, because not everybody needs it."""

    def __init__(self, purpose: str, extra: str) -> None:
        self.purpose = purpose
        self.extra = extra
        super().__init__(
            f"{purpose} needs a library that is not installed; run: pip install 'discreet[{extra}]'"
        )


class EntropyError(DiscreetError, OSError):
    """The operating system's source of randomness failed, so nothing may be drawn."""


class CatalogError(DiscreetError, ValueError):
    """A manifest or a declared table is incomplete or contradicts itself."""


class QueryError(DiscreetError, ValueError):
    """A question cannot be answered privately as asked.

    The message names the clause, says why it is refused, and offers a rewrite that works; where the place of
    the clause in the text is known, `place` is its line and column, counted from 1.
    """

    def __init__(self, clause: str, reason: str, instead: str, place: tuple[int, int] | None = None) -> None:
        self.clause = clause
        self.reason = reason
        self.instead = instead
        self.place = place
        where = "" if place is None else f" (line {place[0]}, column {place[1]})"
        super().__init__(f"{clause}{where}: {reason}; {instead}")

    def at(self, place: tuple[int, int] | None) -> "QueryError":
        """Return the same refusal with the place of its clause, unless it has one."""
        if self.place is not None or place is None:
            return self
        return QueryError(self.clause, self.reason, self.instead, place)


class ProofError(DiscreetError, RuntimeError):
    """The checker of statements could not derive what was claimed, so the statement may not run.

    This is a defect of the planner (or of the checker), never of the data; nothing was spent.
    """

    def __init__(self, part: str, reason: str) -> None:
        self.part = part
        self.reason = reason
        super().__init__(f"not proved, so not run: {part} {reason}; nothing was spent; please report this")


class BudgetError(DiscreetError, RuntimeError):
    """A limit of the ledger refused to spend; nothing was touched and nothing was charged."""


class LedgerError(DiscreetError, RuntimeError):
    """The ledger cannot be trusted or reached, so nothing may be released."""


class ConflictError(LedgerError):
    """A request contradicts what the ledger already holds under its id; nothing was charged."""


class BusyError(ConflictError):
    """Somebody else is answering the same question, or writing, and took too long; nothing was charged."""


class EngineError(DiscreetError, RuntimeError):
    """The engine failed after data was touched; the message is the same whatever the data."""


class AccessError(DiscreetError, PermissionError):
    """A token is not good, or there is nothing of that name for whoever holds it; which one is not said."""


class ServiceError(DiscreetError, ConnectionError):
    """A service cannot be reached, or says something that does not hold."""


class ProgramError(DiscreetError, ValueError):
    """A program of the verifier's language is ill-formed; it carries the position."""

    def __init__(self, message: str, line: int, column: int) -> None:
        self.line = line
        self.column = column
        super().__init__(f"line {line}, column {column}: {message}")


class AuditError(DiscreetError, AssertionError):
    """An audit that a test demanded did not end well; the message is its verdict."""


class CertificateError(DiscreetError, ValueError):
    """A certificate does not prove what it claims."""
