"""The `discreet` command: one module per subcommand, each loading what it needs when it runs."""

import sys

import typer

from discreet.errors import DiscreetError

app = typer.Typer(
    name="discreet",
    help="Private answers about people: ask in SQL, prove, audit and account for privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _register() -> None:
    from discreet.cli import commands

    for name, function in commands.COMMANDS.items():
        app.command(name)(function)


_register()


def main() -> None:
    """Run the command line; a deliberate error is one clear line and exit status 2."""
    try:
        app()
    except DiscreetError as error:
        from rich.console import Console

        Console(stderr=True, highlight=False).print(f"[bold red]refused[/] {error}", markup=True)
        sys.exit(2)
