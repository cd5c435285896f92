"""The laboratory's bench: mechanisms, compositions and programs, worked out in a process of its own.

    python -m discreet.console.bench

Nothing here has to do with anybody's data: everything follows from what somebody typed.
"""

import json
import resource
from collections.abc import Mapping
from typing import Any

from discreet.console.process import attend
from discreet.errors import DiscreetError, ParameterError, ProgramError
from discreet.exact.number import positive, whole

SECONDS = 10.0
MEGABYTES = 1024
ROOM = 6 * 2**30
"""The most address space: what needs more fails, and is said to have failed."""

MOST = 100_000
CHANCES = ("0.5", "0.1", "0.05", "0.01", "0.001")
MECHANISMS = ("geometric", "laplace", "staircase", "gaussian")


def work(asked: Mapping[str, Any]) -> bytes:
    """Return what was found as JSON; a deliberate refusal is a finding too."""
    every = {"mechanism": mechanism, "composition": composition, "program": program}
    todo = {**every, "simulation": simulation}[asked["what"]]
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
    from discreet.show.law import portrait
    from discreet.show.number import format_number
    from discreet.show.save import specification

    noise = _noise(asked)
    move = positive(asked["sensitivity"], "sensitivity")
    epsilon = None if asked["name"] == "gaussian" else float(positive(asked["epsilon"], "epsilon"))
    chart = portrait(noise, (0, move), epsilon=epsilon, title=f"{asked['name']}, ε = {asked['epsilon']}")
    return {
        "accuracy": [
            [f"{100 - 100 * float(beta):g} %", format_number(noise.radius(beta))] for beta in CHANCES
        ],
        "theorem": (type(noise).__doc__ or "").strip().splitlines()[0],
        "chart": specification(chart),
    }


def composition(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what many releases promise together, by every route, between two bounds."""
    from discreet.privacy.compose import compose

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
    }


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
            return {"verdict": "refuted", "words": counterexample_in_words(witness)}
        case unknown:
            return {"verdict": "unknown", "words": unknown.reason}


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
