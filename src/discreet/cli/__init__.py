"""The `discreet` command: one module per subcommand, each loading what it needs when it runs."""

import sys
from typing import Annotated

import typer

from discreet.errors import DiscreetError

app = typer.Typer(
    name="discreet",
    help="Private answers about people: ask in SQL, prove, audit and account for privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        from discreet import __version__

        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Private answers about people: ask in SQL, prove, audit and account for privacy."""


def _register() -> None:
    from discreet.cli import commands

    for name, function in commands.COMMANDS.items():
        app.command(name)(function)
    for name, group in commands.GROUPS.items():
        app.add_typer(group, name=name)


_register()


def main() -> None:
    """Run the command line; a deliberate error is one clear line and a status that says what kind it is."""
    try:
        app()
    except DiscreetError as error:
        from discreet.cli.refusal import say, status, structured

        say(error, plain=structured(sys.argv[1:]))
        sys.exit(status(error))
