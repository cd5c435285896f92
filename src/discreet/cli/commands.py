"""The table of subcommands."""

from collections.abc import Callable
from typing import Any

from typer import Typer

from discreet.cli import analyst, ledger
from discreet.cli.attack import attack
from discreet.cli.audit import audit
from discreet.cli.budget import budget
from discreet.cli.compose import compose
from discreet.cli.demo import demo
from discreet.cli.init import init
from discreet.cli.mechanism import mechanism
from discreet.cli.optimal import optimal
from discreet.cli.query import query
from discreet.cli.serve import serve
from discreet.cli.stream import stream
from discreet.cli.synthesise import synthesise
from discreet.cli.verify import verify
from discreet.cli.workload import workload

COMMANDS: dict[str, Callable[..., Any]] = {
    "attack": attack,
    "audit": audit,
    "budget": budget,
    "compose": compose,
    "demo": demo,
    "init": init,
    "mechanism": mechanism,
    "optimal": optimal,
    "query": query,
    "serve": serve,
    "stream": stream,
    "synthesise": synthesise,
    "verify": verify,
    "workload": workload,
}

GROUPS: dict[str, Typer] = {"analyst": analyst.app, "ledger": ledger.app}
"""Commands with commands of their own."""
