"""The table of subcommands."""

from collections.abc import Callable
from typing import Any

from discreet.cli.budget import budget
from discreet.cli.demo import demo
from discreet.cli.optimal import optimal
from discreet.cli.query import query

COMMANDS: dict[str, Callable[..., Any]] = {
    "budget": budget,
    "demo": demo,
    "optimal": optimal,
    "query": query,
}
