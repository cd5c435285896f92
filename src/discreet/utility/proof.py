"""Certificates as text, so that a proof can be handed to someone who checks it elsewhere.

A stored certificate is plain JSON: the question, the mechanism and the dual numbers, all as exact
fractions.  Reading one back checks its form only; what it proves is for the checker to say.
"""

import json
from fractions import Fraction
from typing import Any, assert_never

from discreet.errors import CertificateError, ParameterError
from discreet.mechanisms.table import Table, dump_label, load_label
from discreet.utility.certificate import Aim, Certificate, ChannelCertificate, CountCertificate
from discreet.utility.graph import Graph
from discreet.utility.loss import Loss
from discreet.utility.prior import Prior
from discreet.utility.problem import Epsilon, Level, Problem, Ratio


def to_json(certificate: Certificate) -> str:
    """Return a certificate as JSON text."""
    problem = certificate.problem
    shared = {
        "nodes": [dump_label(node) for node in problem.graph.nodes],
        "edges": [list(edge) for edge in problem.graph.edges],
        "prior": [str(weight) for weight in problem.prior.weights],
        "guesses": [dump_label(guess) for guess in problem.loss.guesses],
        "loss": [list(row) for row in problem.loss.numerators],
        "loss denominator": problem.loss.denominator,
        "level": _level_to_text(certificate.level),
        "dual": [str(entry) for entry in certificate.dual],
    }
    match certificate:
        case CountCertificate():
            own: dict[str, Any] = {
                "proof": "count",
                "alpha": str(certificate.alpha),
                "remap": list(certificate.remap),
            }
        case ChannelCertificate():
            flows = certificate.flows
            own = {
                "proof": "channel",
                "channel": json.loads(certificate.channel.to_json()),
                "flows": None if flows is None else [[[i, j, str(f)] for i, j, f in flow] for flow in flows],
                "delta": str(certificate.delta),
                "aim": str(certificate.aim),
            }
        case _:
            assert_never(certificate)
    return json.dumps(own | shared)


def from_json(text: str) -> Certificate:
    """Restore a certificate; nothing it says has been checked yet."""
    try:
        data = json.loads(text)
        graph = Graph(
            tuple(load_label(node) for node in data["nodes"]),
            tuple((int(i), int(j)) for i, j in data["edges"]),
        )
        loss = Loss(
            tuple(load_label(guess) for guess in data["guesses"]),
            tuple(tuple(int(entry) for entry in row) for row in data["loss"]),
            int(data["loss denominator"]),
        )
        problem = Problem(graph, Prior(_fractions(data["prior"])), loss)
        level, dual = _level_from_text(data["level"]), _fractions(data["dual"])
        match data["proof"]:
            case "count":
                remap = tuple(int(guess) for guess in data["remap"])
                return CountCertificate(problem, level, Fraction(data["alpha"]), remap, dual)
            case "channel":
                flows = data["flows"]
                return ChannelCertificate(
                    problem,
                    level,
                    Table.from_json(json.dumps(data["channel"])),
                    dual,
                    None
                    if flows is None
                    else tuple(tuple((int(i), int(j), Fraction(f)) for i, j, f in flow) for flow in flows),
                    Fraction(data["delta"]),
                    Aim(data["aim"]),
                )
    except ParameterError as error:
        raise CertificateError(f"the stored certificate is malformed: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError):
        pass
    raise CertificateError("this text is not a stored certificate")


def _fractions(entries: list[str]) -> tuple[Fraction, ...]:
    return tuple(Fraction(entry) for entry in entries)


def _level_to_text(level: Level) -> dict[str, str]:
    match level:
        case Epsilon(value):
            return {"epsilon": str(value)}
        case Ratio(value):
            return {"ratio": str(value)}


def _level_from_text(data: dict[str, str]) -> Level:
    match data:
        case {"epsilon": value}:
            return Epsilon(Fraction(value))
        case {"ratio": value}:
            return Ratio(Fraction(value))
    raise ValueError
