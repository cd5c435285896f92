"""`discreet serve`: answer questions over the network, with the data and the ledger out of reach."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.service.settings import Settings


def serve(
    context: typer.Context,
    manifests: Annotated[list[Path] | None, typer.Argument(help="One manifest or several.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file that says all of this, in place of options.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.")] = 8443,
    certificate: Annotated[
        Path | None, typer.Option(help="The TLS certificate with its chain, as PEM.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The key of the certificate, as PEM.")] = None,
    plain_text: Annotated[
        bool, typer.Option("--plain-text", help="Listen beyond this machine without TLS, behind a proxy.")
    ] = False,
    people: Annotated[
        Path | None,
        typer.Option(help="The register of people; by default beside the first manifest."),
    ] = None,
    workers: Annotated[int, typer.Option(help="How many processes answer questions.")] = 2,
    memory: Annotated[int, typer.Option(help="By how many megabytes each of them may grow.")] = 2048,
    seconds: Annotated[float, typer.Option(help="For how long a question may run.")] = 30,
    slot: Annotated[
        float,
        typer.Option(
            help="Answers leave, and workers are free, at multiples of so many seconds; 0: at once."
        ),
    ] = 0.25,
    queue: Annotated[int, typer.Option(help="How many requests may wait.")] = 64,
    rate: Annotated[float, typer.Option(help="How many requests a second each person may send.")] = 20,
    source: Annotated[
        list[str] | None,
        typer.Option(
            help="A folder, or postgresql://HOST/DATABASE, for whose tables curators may draft manifests."
        ),
    ] = None,
    drafts: Annotated[
        Path | None, typer.Option(help="Where such drafts are saved; by default beside the first manifest.")
    ] = None,
    postgres_port: Annotated[
        int | None,
        typer.Option(help="Speak the PostgreSQL protocol on this port as well; 0 takes a free one."),
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(help="Tell counts for monitoring on this port of this machine.")
    ] = None,
) -> None:
    """Answer questions over HTTP; enter people first, with `discreet analyst add`."""
    from discreet.service.config import configured
    from discreet.service.people import FILE
    from discreet.service.settings import Settings

    if config is not None:
        _alone(context)
        _serve(configured(config))
        return
    if not manifests:
        raise ParameterError("name a manifest, or a configuration with --config")
    settings = Settings(
        tuple(manifests),
        people or manifests[0].parent / FILE,
        host=host,
        port=port,
        certificate=certificate,
        key=key,
        plain_text=plain_text,
        workers=workers,
        memory=memory,
        seconds=seconds,
        slot=slot,
        queue=queue,
        rate=rate,
        burst=2 * rate,
        sources=tuple(source or ()),
        drafts=drafts,
        postgres_port=postgres_port,
        metrics_port=metrics_port,
    )
    _serve(settings)


def _alone(context: typer.Context) -> None:
    """Refuse options beside a file: nobody should have to guess which of the two holds."""
    given = [
        name
        for name in context.params
        if name != "config" and str(context.get_parameter_source(name)).endswith("COMMANDLINE")
    ]
    if given:
        raise ParameterError(f"--config says everything; write {', '.join(given)} into the file")


def _serve(settings: "Settings") -> None:
    """Run the service and its console, and say where it can be reached."""
    try:
        from discreet.console.opening import beside
        from discreet.service.serving import serve as run
    except ModuleNotFoundError:
        from discreet.errors import ServiceError

        raise ServiceError("the service needs more packages; install discreet[service]") from None
    run(settings, lambda address: typer.echo(f"serving {address}"), beside)
