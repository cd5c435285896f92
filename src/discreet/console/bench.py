"""The laboratory's bench: mechanisms, compositions and programs, worked out in a process of its own.

    python -m discreet.console.bench

Nothing here has to do with anybody's data: everything follows from what somebody typed.
"""

import json
import resource
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.console.process import attend
from discreet.errors import DiscreetError, ParameterError, ProgramError
from discreet.exact.number import Real, positive, whole

if TYPE_CHECKING:
    from discreet.audit.attack import AttackReport
    from discreet.mechanisms.table import Label
    from discreet.show.vega import Chart
    from discreet.verify.syntax import Program

SECONDS = 10.0
MEGABYTES = 1024
ROOM = 6 * 2**30
"""The most address space: what needs more fails, and is said to have failed."""

MOST = 100_000
CHANCES = ("0.5", "0.1", "0.05", "0.01", "0.001")
BETA = Fraction(1, 20)
EPSILONS = (*(Fraction(digit, 100) * 10**power for power in (0, 1, 2) for digit in (1, 2, 3, 5)), 10)
"""At these epsilons the accuracy of a mechanism is shown beside that of now."""

STEPS = 9
ROUTES = {"basic": "basic", "advanced": "advanced", "loss distribution": "together"}
"""The routes that are drawn as releases become more, and what they are called there."""

MECHANISMS = ("geometric", "laplace", "staircase", "gaussian")
LARGEST = 24
"""The largest count whose best mechanism is searched for here."""

LEAST, SHARP = Fraction(1, 2), Fraction(8)
"""The budgets within which the story of an attack is told: one of them asks at epsilon 1/4 each time."""


def work(asked: Mapping[str, Any]) -> bytes:
    """Return what was found as JSON; a deliberate refusal is a finding too."""
    every = {"mechanism": mechanism, "composition": composition, "program": program}
    more = {"optimal": optimal, "attack": attack, "simulation": simulation, "stream": stream}
    todo = (every | more)[asked["what"]]
    try:
        found = todo(asked)
    except ProgramError as error:
        found = {"refused": str(error), "line": error.line, "column": error.column}
    except DiscreetError as error:
        found = {"refused": str(error)}
    return json.dumps(found).encode()


def _noise(asked: Mapping[str, Any]) -> Any:
    from discreet.mechanisms.gaussian import Gaussian
    from discreet.mechanisms.geometric import Geometric
    from discreet.mechanisms.laplace import Laplace
    from discreet.mechanisms.staircase import Staircase

    price = {"epsilon": asked["epsilon"], "sensitivity": asked["sensitivity"]}
    match asked["name"]:
        case "geometric":
            return Geometric.calibrate(**price)
        case "laplace":
            return Laplace.calibrate(**price)
        case "staircase":
            return Staircase.calibrate(**price)
        case "gaussian":
            return Gaussian.calibrate(**price, delta=asked["delta"])
        case _:
            raise ParameterError(f"mechanism is one of {', '.join(MECHANISMS)}")


def mechanism(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the accuracy of a mechanism, and the chart of its law, its ratio and its tail."""
    from discreet.show.chart import stacked
    from discreet.show.law import portrait
    from discreet.show.number import format_number
    from discreet.show.save import specification

    noise = _noise(asked)
    move = positive(asked["sensitivity"], "sensitivity")
    epsilon = float(positive(asked["epsilon"], "epsilon"))
    title = f"{asked['name']}, ε = {asked['epsilon']}"
    law = portrait(noise, (0, move), epsilon=epsilon, title=title)
    chart = stacked([law, _against_epsilon(asked, noise.radius(BETA))])
    return {
        "accuracy": [
            [f"{100 - 100 * float(beta):g} %", format_number(noise.radius(beta))] for beta in CHANCES
        ],
        "theorem": (type(noise).__doc__ or "").strip().splitlines()[0],
        "chart": specification(chart),
    }


def _against_epsilon(asked: Mapping[str, Any], now: Real) -> "Chart":
    """Return how far off a report may be as epsilon grows, with the epsilon of now marked."""
    from discreet.show.chart import lines
    from discreet.show.theme import INK
    from discreet.show.vega import amount, mark, over

    rows = [
        {"epsilon": epsilon, "error": _noise({**asked, "epsilon": str(epsilon)}).radius(BETA)}
        for epsilon in EPSILONS
    ]
    titles: dict[str, Any] = {"x_title": "epsilon", "y_title": f"error within, {100 - 100 * float(BETA):g} %"}
    drawn = lines(rows, x="epsilon", y="error", log_x=True, log_y=True, height=190, **titles)
    if not now:
        return drawn
    here = [{"x": float(positive(asked["epsilon"], "epsilon")), "y": float(now)}]
    place = {"x": amount("x"), "y": amount("y")}
    return over(drawn, mark("point", place, rows=here, filled=True, size=80, opacity=1, color=INK))


def composition(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what many releases promise together, by every route, between two bounds."""
    from discreet.privacy.compose import compose
    from discreet.show.save import specification

    count = whole(asked["count"], "count")
    if not 1 <= count <= MOST:
        raise ParameterError(f"count must be 1 to {MOST}, got {count}")
    explained = compose([(_noise(asked), count)]).explain(asked["delta"])
    return {
        "low": f"{float(explained.bounds.low):.6g}",
        "high": "∞" if explained.bounds.high is None else f"{float(explained.bounds.high):.6g}",
        "basic": f"{float(count * positive(asked['epsilon'], 'epsilon')):.6g}",
        "routes": [
            [line.route, "–" if line.epsilon is None else f"{float(line.epsilon):.6g}", line.theorem]
            for line in explained.lines
        ],
        "chart": specification(_against_count(_noise(asked), count, asked["delta"])),
    }


def _against_count(noise: Any, most: int, delta: str) -> "Chart":
    """Return what releases promise together as they become more, by three routes."""
    from discreet.privacy.compose import compose
    from discreet.show.chart import lines

    counts = sorted({max(1, round(most ** (step / STEPS))) for step in range(STEPS + 1)})
    rows = [
        {"count": count, "epsilon": line.epsilon, "series": ROUTES[line.route]}
        for count in counts
        for line in compose([(noise, count)]).explain(delta).lines
        if line.route in ROUTES and line.epsilon is not None
    ]
    titles: dict[str, Any] = {"x_title": "releases", "y_title": "epsilon at most"}
    look: dict[str, Any] = {"log_x": most > 1, "log_y": True, "points": True, "series": "series"}
    return lines(rows, x="count", y="epsilon", **look, **titles)


def program(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether a program is as private as it claims: a proof, a counterexample, or neither."""
    from discreet.verify import Proved, Refuted, parse, verify
    from discreet.verify.explain import counterexample_in_words, proof_in_words

    # With a line break it is a text, and never taken for the name of a file.
    text = asked["text"] + "\n"
    match verify(text, seconds=SECONDS, megabytes=MEGABYTES):
        case Proved(certificate, public):
            said = {"verdict": "proved", "words": proof_in_words(parse(text), certificate)}
            return said | {"public": list(public)}
        case Refuted(witness):
            said = {"verdict": "refuted", "words": counterexample_in_words(witness)}
            return said | _claimed(text, parse(text).program)
        case unknown:
            return {"verdict": "unknown", "words": unknown.reason}


def _claimed(text: str, read: "Program") -> dict[str, Any]:
    """Return where a program says what its counterexample shows to be false."""
    if read.claim is None:
        return {}
    at = read.claim.at
    clause = text.splitlines()[at.line - 1][at.column - 1 :].partition("#")[0].rstrip()
    return {"line": at.line, "column": at.column, "clause": clause}


def optimal(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the best mechanism for a count, a loss and a prior: its loss, its proof, its remap, its law."""
    from discreet.show.save import specification
    from discreet.utility import CountCertificate, Loss, Prior, band, truncated_geometric
    from discreet.utility import optimal as solve
    from discreet.utility.picture import channel_picture

    size = whole(asked["size"], "size")
    if not 1 <= size <= LARGEST:
        raise ParameterError(f"size must be 1 to {LARGEST}, got {size}")
    graph = band(size, 1)
    losses = {"absolute": Loss.absolute, "squared": Loss.squared, "zero-one": Loss.zero_one}
    priors = {"uniform": Prior.uniform(size + 1), "binomial": Prior.binomial(size)}
    if asked["loss"] not in losses or asked["prior"] not in priors:
        raise ParameterError(f"loss is one of {', '.join(losses)}, and prior one of {', '.join(priors)}")
    best = solve(graph, priors[asked["prior"]], losses[asked["loss"]](graph.nodes), asked["epsilon"])
    found = {
        "loss": f"{float(best.loss):.6g}",
        "bound": f"{float(best.bound):.6g}",
        "exact": best.gap == 0,
        "method": best.method,
        "remap": [],
    }
    match best.certificate:
        case CountCertificate() as proof:
            guesses = proof.problem.loss.guesses
            remap: dict[Label, Label] = {z: guesses[w] for z, w in enumerate(proof.remap)}
            chart = channel_picture(truncated_geometric(size, proof.alpha), remap, title="Truth to report")
            found["remap"] = [[str(seen), str(guess)] for seen, guess in remap.items()]
        case _:
            chart = channel_picture(best.channel, title="Truth to guess")
    return found | {"chart": specification(chart)}


def attack(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the story of an attack on invented people: on raw answers, on plain noise, on a budget."""
    from discreet.audit.attack import average, difference, floating, reconstruction, trace
    from discreet.show.save import specification

    epsilon = positive(asked["epsilon"], "epsilon")
    if not LEAST <= epsilon <= SHARP:
        raise ParameterError(f"epsilon must be {LEAST} to {SHARP} here, got {asked['epsilon']}")
    # Small enough to follow while somebody moves epsilon.
    sizes: dict[str, tuple[Callable[..., AttackReport], dict[str, Any]]] = {
        "difference": (difference, {"victims": 100, "pairs": (1, 3, 10, 30, 100, 300, 1000)}),
        "average": (average, {"repeats": (1, 3, 10, 30, 100, 300, 1000), "trials": 100}),
        "trace": (trace, {"attributes": (50, 100, 200, 500, 1000, 2000), "repeats": 3}),
        "reconstruction": (reconstruction, {"people": 200, "questions": 800, "small": 40}),
        "float": (floating, {"answers": 20_000}),
    }
    if asked["story"] not in sizes:
        raise ParameterError(f"story is one of {', '.join(sizes)}")
    attacked, size = sizes[asked["story"]]
    told = attacked(epsilon=asked["epsilon"], **size)
    return {
        "title": told.title,
        "story": told.story.split("\n\n"),
        "heads": list(told.columns),
        "rows": [[str(cell) for cell in row] for row in told.table],
        "stop": told.stop,
        "chart": specification(told.figures[0].picture()),
    }


def stream(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a stream would cost and how far off it would be at its first, middle and last step."""
    from math import sqrt

    from discreet.query.price.words import price
    from discreet.release.pricing import declared_budget
    from discreet.release.stream import planned_stream, strictest
    from discreet.service.catalogue import known
    from discreet.show.number import format_number

    catalog = known(asked["catalogue"])
    length = whole(asked["length"], "length")
    counter, cost = planned_stream(
        declared_budget(catalog),
        length,
        asked["epsilon"],
        whole(asked["contribution"], "contribution"),
        strictest(catalog.tables),
    )
    steps = (1, (length + 1) // 2, length)
    errors = [[step, format_number(2 * sqrt(counter.variance(step)))] for step in steps]
    return {"price": price(cost), "errors": errors}


def simulation(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a question on made-up data, as it might look; nothing is paid, nobody is in it."""
    from dataclasses import replace

    from discreet.console.madeup import PEOPLE, made_up
    from discreet.engines.shelter import shelter
    from discreet.release.opening import open_catalog
    from discreet.service.catalogue import known
    from discreet.service.paging import shown
    from discreet.show.save import specification

    catalog = known(asked["catalogue"])
    spend = positive(asked["epsilon"], "epsilon")
    if catalog.budget is None:
        raise ParameterError("the dataset declares no budget")
    budget = replace(catalog.budget, epsilon=max(spend, catalog.budget.epsilon))
    frames = {name: shelter(rows) for name, rows in made_up(catalog).items()}
    tables = tuple(replace(table, prepared=False) for table in catalog.tables)
    invented = replace(catalog, name="made-up data", budget=budget, tables=tables)
    with open_catalog(invented, frames) as session:
        release = session.query(asked["sql"], epsilon=spend, confidence=asked["confidence"])
        found = {"columns": list(release.columns), "people": PEOPLE, **shown(release)}
        return found | {"cells": found["cells"][:500], "chart": specification(release.plot())}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    attend(work)
