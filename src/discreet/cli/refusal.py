"""How the command line says no: one clear line or one JSON object on standard error, and a status to act on.

0  answered        1  refused        2  the command was not understood        3  the budget does not suffice
"""

import json
from collections.abc import Sequence
from itertools import pairwise

from discreet.errors import BudgetError, DiscreetError, ParameterError, QueryError

ANSWERED, REFUSED, USAGE, OVERSPENT = range(4)


def status(error: DiscreetError) -> int:
    """Return the exit status of a deliberate error."""
    match error:
        case BudgetError():
            return OVERSPENT
        case ParameterError():
            return USAGE
        case _:
            return REFUSED


def structured(words: Sequence[str]) -> bool:
    """Whether the words of a command ask for JSON."""
    return "--format=json" in words or ("--format", "json") in pairwise(words)


def as_json(error: DiscreetError) -> str:
    """Return a deliberate error as one JSON object, with its parts where it has them."""
    body: dict[str, object] = {"error": type(error).__name__, "message": str(error), "status": status(error)}
    if isinstance(error, QueryError):
        body |= {"clause": error.clause, "reason": error.reason, "instead": error.instead}
        body |= dict(zip(("line", "column"), error.place or (), strict=False))
    return json.dumps(body)


def say(error: DiscreetError, *, plain: bool) -> None:
    """Print a deliberate error; its words are shown as they are, whatever brackets they contain."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    if plain:
        console.print(Text(as_json(error)), soft_wrap=True)
    else:
        console.print(Text.assemble(("refused ", "bold red"), str(error)))
