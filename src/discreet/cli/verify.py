"""`discreet verify`: a proof that a program is private, a counterexample, or an honest unknown."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer

from discreet.cli.paper import Format, Output, print_body, waiting

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.errors import DiscreetError
    from discreet.verify import Different, Equal, Refuted, Undecided, Verdict

STATUS = {"PROVED": 0, "REFUTED": 1, "UNKNOWN": 2}
WRONG_PROGRAM, REFUSED_CERTIFICATE = 3, 4
BAR = 40


def verify(
    program: Annotated[Path, typer.Argument(help="A program (.dp).", dir_okay=False)],
    output: Output = Format.TABLE,
    certificate: Annotated[Path | None, typer.Option(help="Write the certificate of a proof here.")] = None,
    check: Annotated[
        Path | None, typer.Option(help="Only check this certificate, without searching.")
    ] = None,
    smt2: Annotated[Path | None, typer.Option(help="Write every obligation here, for other solvers.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="Instead, decide whether this program has the same law.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a counterexample (svg, png, html).")] = None,
    seconds: Annotated[float, typer.Option(help="How long to search, in all.")] = 30.0,
    megabytes: Annotated[int, typer.Option(help="How much memory the search may take.")] = 2048,
    samples: Annotated[int, typer.Option(help="Also test an open claim by this many runs.")] = 0,
    watch: Annotated[bool, typer.Option("--watch", help="Look again whenever the file changes.")] = False,
) -> None:
    """Prove or refute that a program is private.

    Exit status: 0 proved, 1 refuted, 2 unknown, 3 the program is wrong, 4 the certificate is refused.
    """
    from discreet.errors import CertificateError, ProgramError
    from discreet.verify import same_law

    def once() -> int:
        try:
            text = _read(program)
            if against is not None:
                return _compare(same_law(text, _read(against), seconds=seconds), output=output)
            if check is not None:
                return _check(text, _read(check), output=output)
            options = _Options(output, certificate, smt2, plot, seconds, megabytes, samples)
            return _verify(text, options)
        except ProgramError as problem:
            return _wrong(problem, WRONG_PROGRAM, output=output)
        except CertificateError as problem:
            return _wrong(problem, REFUSED_CERTIFICATE, output=output)

    status = once()
    if watch:
        for _ in changes(program):
            status = once()
    raise typer.Exit(status)


@dataclass(frozen=True, slots=True)
class _Options:
    output: Format
    certificate: Path | None
    smt2: Path | None
    plot: Path | None
    seconds: float
    megabytes: int
    samples: int


def changes(path: Path, sleep: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Yield whenever a file has changed, until the user interrupts."""
    seen = _stamp(path)
    try:
        while True:
            sleep(0.3)
            now = _stamp(path)
            if now != seen:
                seen = now
                yield
    except KeyboardInterrupt:
        return


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _read(path: Path) -> str:
    from discreet.errors import ProgramError

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ProgramError(f"{path.name} cannot be read as text", 1, 1) from None


def _wrong(problem: "DiscreetError", status: int, *, output: Format) -> int:
    from rich.console import Console
    from rich.text import Text

    if output is not Format.TABLE:
        body = {
            "verdict": "ERROR",
            "error": type(problem).__name__,
            "message": str(problem),
            "status": status,
        }
        place = {key: getattr(problem, key) for key in ("line", "column") if hasattr(problem, key)}
        print_body(body | place, output)
    else:
        console = Console(stderr=True, highlight=False)
        word = "wrong program" if status == WRONG_PROGRAM else "certificate refused"
        console.print(Text.assemble((f"{word}  ", "bold red"), str(problem)))
    return status


def _verify(text: str, options: _Options) -> int:
    from rich.console import Console

    from discreet.verify import Proved, Refuted
    from discreet.verify import verify as decide

    with waiting("searching for a proof or a counterexample"):
        verdict = decide(text, seconds=options.seconds, samples=options.samples, megabytes=options.megabytes)
    name = type(verdict).__name__.upper()
    if isinstance(verdict, Proved):
        if options.certificate is not None:
            options.certificate.write_text(verdict.certificate.to_json() + "\n", encoding="utf-8")
        if options.smt2 is not None:
            _dump(text, verdict.certificate, options.smt2)
    if isinstance(verdict, Refuted) and options.plot is not None:
        _draw(verdict, options.plot)
    if options.output is not Format.TABLE:
        print_body(_plain(verdict, name), options.output)
    else:
        _tell(Console(highlight=False), text, verdict, name)
    return STATUS[name]


def _plain(verdict: "Verdict", name: str) -> dict[str, Any]:
    from discreet.verify import Proved, Refuted, Unknown

    match verdict:
        case Proved(certificate, public):
            return {"verdict": name, "public": list(public), "certificate": json.loads(certificate.to_json())}
        case Refuted(witness):
            return {"verdict": name, "witness": witness.as_dict()}
        case Unknown(reason):
            return {"verdict": name, "reason": reason}
        case _:
            assert_never(verdict)


def _tell(console: "Console", text: str, verdict: "Verdict", name: str) -> None:
    from discreet.verify import Proved, Refuted, Unknown, parse
    from discreet.verify.certificate import ARITHMETIC, claim_text
    from discreet.verify.explain import counterexample_in_words, proof_in_words
    from discreet.verify.verdict import taken_as_public

    checked = parse(text)
    colour = {"PROVED": "green", "REFUTED": "red", "UNKNOWN": "yellow"}[name]
    public = taken_as_public(checked)
    taken = f", taking {', '.join(public)} as public" if public else ""
    console.print(
        f"[bold {colour}]{name}[/]  {checked.program.name} ensures {claim_text(checked.program)}{taken}"
    )
    match verdict:
        case Proved(certificate):
            console.print(proof_in_words(checked, certificate), markup=False)
            console.print(f"\n(checked again from the program text; {ARITHMETIC})", markup=False, style="dim")
        case Refuted(witness):
            console.print(counterexample_in_words(witness), markup=False)
            for label, bounds in (
                ("first", witness.first_probability),
                ("second", witness.second_probability),
            ):
                length = (
                    float(bounds[0] / witness.first_probability[1]) if witness.first_probability[1] else 0
                )
                console.print(f"  {label:>7}  {'█' * max(round(BAR * length), 0)}", style="red")
        case Unknown(reason):
            console.print(reason, markup=False)
        case _:
            assert_never(verdict)


def _check(text: str, certificate: str, *, output: Format) -> int:
    from rich.console import Console

    from discreet.verify import check_certificate

    accepted = check_certificate(text, certificate)
    if output is not Format.TABLE:
        body = {"accepted": True, "claim": accepted.claim, "obligations": accepted.obligations}
        print_body(body, output)
    else:
        Console(highlight=False).print(
            f"[bold green]ACCEPTED[/]  {accepted.claim}, {accepted.obligations} obligations proved again"
        )
    return 0


def _compare(answer: "Equal | Different | Undecided", *, output: Format) -> int:
    from rich.console import Console

    from discreet.verify.equal import Different, Equal, Undecided

    match answer:
        case Equal(draws):
            word, detail, status = "EQUAL", f"{draws} draws coupled" if draws else "laws tabulated", 0
        case Different(event):
            word, detail, status = "DIFFERENT", f"the probabilities of {event} differ", 1
        case Undecided(reason):
            word, detail, status = "UNKNOWN", reason, 2
        case _:
            assert_never(answer)
    if output is not Format.TABLE:
        print_body({"verdict": word, "detail": detail}, output)
    else:
        Console(highlight=False).print(f"[bold]{word}[/]  {detail}")
    return status


def _dump(text: str, certificate: Any, folder: Path) -> None:
    from discreet.verify.acceptance import scripts

    folder.mkdir(parents=True, exist_ok=True)
    for number, script in enumerate(scripts(text, certificate), start=1):
        (folder / f"obligation-{number:03}.smt2").write_text(script, encoding="utf-8")


def _draw(verdict: "Refuted", path: Path) -> None:
    from discreet.show import bars, save

    witness = verdict.witness
    rows = [
        {"input": label, "probability": float(bounds[0]), "low": float(bounds[0]), "high": float(bounds[1])}
        for label, bounds in (
            ("first input", witness.first_probability),
            ("second input", witness.second_probability),
        )
    ]
    chart = bars(
        rows,
        x="input",
        y="probability",
        low="low",
        high="high",
        title="An event that gives the data away",
        subtitle=f"{witness.event}; claimed epsilon {float(witness.epsilon):g}",
    )
    save(chart, path)
