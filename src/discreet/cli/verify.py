"""`discreet verify`: a proof that a program is private, a counterexample, or an honest unknown."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer

from discreet.cli.target import chart_target

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.verify import Refuted, Verdict

STATUS = {"PROVED": 0, "REFUTED": 1, "UNKNOWN": 2}
BAR = 40


def verify(
    program: Annotated[Path, typer.Argument(help="A program (.dp).", exists=True, dir_okay=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print plain JSON.")] = False,
    certificate: Annotated[Path | None, typer.Option(help="Write the certificate of a proof here.")] = None,
    check: Annotated[
        Path | None, typer.Option(help="Only check this certificate, without searching.")
    ] = None,
    smt2: Annotated[Path | None, typer.Option(help="Write every obligation here, for other solvers.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="Instead, decide whether this program has the same law.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw a counterexample (svg, png, html).", callback=chart_target)
    ] = None,
    seconds: Annotated[float, typer.Option(help="How long to search for a proof.")] = 30.0,
    samples: Annotated[int, typer.Option(help="Also test an open claim by this many runs.")] = 0,
) -> None:
    """Prove or refute that a program is private; exit status 0 proved, 1 refuted, 2 unknown."""
    from rich.console import Console

    from discreet.verify import Proved, Refuted
    from discreet.verify import verify as decide

    console = Console(highlight=False)
    text = program.read_text(encoding="utf-8")
    if against is not None:
        raise typer.Exit(_compare(console, text, against.read_text(encoding="utf-8"), as_json=as_json))
    if check is not None:
        _check(console, text, check.read_text(encoding="utf-8"), as_json=as_json)
        return
    verdict = decide(text, seconds=seconds, samples=samples)
    name = type(verdict).__name__.upper()
    if isinstance(verdict, Proved):
        if certificate is not None:
            certificate.write_text(verdict.certificate.to_json() + "\n", encoding="utf-8")
        if smt2 is not None:
            _dump(text, verdict.certificate, smt2)
    if isinstance(verdict, Refuted) and plot is not None:
        _draw(verdict, plot)
    if as_json:
        print(json.dumps(_plain(verdict, name), indent=2))
    else:
        _tell(console, text, verdict, name)
    raise typer.Exit(STATUS[name])


def _plain(verdict: "Verdict", name: str) -> dict[str, Any]:
    from discreet.verify import Proved, Refuted, Unknown

    match verdict:
        case Proved(certificate):
            return {"verdict": name, "certificate": json.loads(certificate.to_json())}
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

    checked = parse(text)
    colour = {"PROVED": "green", "REFUTED": "red", "UNKNOWN": "yellow"}[name]
    console.print(f"[bold {colour}]{name}[/]  {checked.program.name} ensures {claim_text(checked)}")
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


def _check(console: "Console", text: str, certificate: str, *, as_json: bool) -> None:
    from discreet.verify import check_certificate

    accepted = check_certificate(text, certificate)
    if as_json:
        print(json.dumps({"accepted": True, "claim": accepted.claim, "obligations": accepted.obligations}))
    else:
        console.print(
            f"[bold green]ACCEPTED[/]  {accepted.claim}, {accepted.obligations} obligations proved again"
        )


def _compare(console: "Console", first: str, second: str, *, as_json: bool) -> int:
    from discreet.verify.equal import Different, Equal, Undecided, same_law

    answer = same_law(first, second)
    match answer:
        case Equal(draws):
            word, detail, status = "EQUAL", f"{draws} draws coupled" if draws else "laws tabulated", 0
        case Different(output):
            word, detail, status = "DIFFERENT", f"the probabilities of {output} differ", 1
        case Undecided(reason):
            word, detail, status = "UNKNOWN", reason, 2
        case _:
            assert_never(answer)
    if as_json:
        print(json.dumps({"verdict": word, "detail": detail}))
    else:
        console.print(f"[bold]{word}[/]  {detail}")
    return status


def _dump(text: str, certificate: Any, folder: Path) -> None:
    from discreet.verify.checker import scripts

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
