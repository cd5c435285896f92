"""The proof as a value: which rule says what about which part of a statement, and from what it follows."""

from dataclasses import dataclass, field

from discreet.errors import ProofError
from discreet.query.statement import Statement


@dataclass(frozen=True, slots=True)
class Step:
    """One application of a rule: its name, what it says here, and the steps that it rests on."""

    rule: str
    says: str
    parts: tuple["Step", ...] = ()

    def lines(self, margin: str = "", last: bool | None = None) -> list[str]:
        """Return the tree, one step to a line."""
        mark = "" if last is None else ("`- " if last else "|- ")
        inner = margin if last is None else margin + ("   " if last else "|  ")
        found = [f"{margin}{mark}{self.rule}: {self.says}"]
        for place, part in enumerate(self.parts, 1):
            found += part.lines(inner, place == len(self.parts))
        return found

    def nested(self) -> dict[str, object]:
        """Return the tree as nested mappings of plain values."""
        parts = [part.nested() for part in self.parts]
        return {"rule": self.rule, "says": self.says, **({"from": parts} if parts else {})}

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True, slots=True, eq=False)
class _Mint:
    """The mark of the checker on one statement, which no other statement can carry."""

    statement: Statement


@dataclass(frozen=True, slots=True)
class ProvedStatement:
    """A statement whose claim has been derived from the statement itself; only the checker makes one.

    The mark is no argument, so neither the constructor nor `dataclasses.replace` can pass it on.
    """

    statement: Statement
    step: Step
    _mint: _Mint = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        raise ProofError("a proved statement", "was not made by the checker")

    def __reduce__(self) -> str:
        raise ProofError("a proved statement", "cannot be copied out of the process")

    def __str__(self) -> str:
        return str(self.step)


def minted(statement: Statement, step: Step) -> ProvedStatement:
    """Return a statement with its derivation; for the checker alone."""
    proved = object.__new__(ProvedStatement)
    for name, value in (("statement", statement), ("step", step), ("_mint", _Mint(statement))):
        object.__setattr__(proved, name, value)
    return proved


def sealed(proved: ProvedStatement) -> Statement:
    """Return the statement that the checker has proved, refusing anything else that is offered as one."""
    mint = getattr(proved, "_mint", None) if type(proved) is ProvedStatement else None
    if type(mint) is not _Mint or mint.statement is not proved.statement:
        raise ProofError("a statement", "was offered to the engine without a derivation")
    return proved.statement


@dataclass(frozen=True, slots=True)
class Proof:
    """The derivations of all statements of a question, in the order in which they run."""

    statements: tuple[ProvedStatement, ...]

    def __str__(self) -> str:
        return "\n\n".join(str(proved) for proved in self.statements)
