"""What pages show besides the plain answers: cells in words, derivations and pictures."""

from collections.abc import Sequence
from math import exp, log
from typing import Any

from discreet.query.catalog.manifest import Catalog
from discreet.query.check.formula import measured
from discreet.query.price.batch import parts
from discreet.query.price.expected import Quote
from discreet.query.price.words import lines, paid
from discreet.release.answer import Release, cell_text
from discreet.release.pricing import check_batch, check_question, price_question


def shown(release: Release) -> dict[str, Any]:
    """Return an answer as people read it: every cell with its interval, and what is said beside it."""
    columns = release.quote.checked.columns
    return {
        "cells": [
            [cell_text(cell, span) for cell, span in zip(row.cells, row.spans, strict=True)]
            for row in release.rows
        ],
        "measured": [bool(measured(output.formula)) for output in columns],
        "price": paid(release.quote),
        "notes": [*release.said, *release.quote.checked.notes],
    }


def explained(priced: Quote) -> dict[str, Any]:
    """Return a price in words, and the derivation of every statement that would run."""
    steps = () if priced.proof is None else priced.proof.statements
    return {"price": paid(priced), "proof": [proved.step.nested() for proved in steps]}


def together(catalog: Catalog, questions: Sequence[str], priced: Quote) -> dict[str, Any]:
    """Return for each question of a batch how wrong it may be: in the batch, and alone at its share."""
    batch = check_batch(catalog, questions, None)
    share = priced.epsilon / len(questions)
    found, ratios = [], []
    for text, (own, _) in zip(questions, parts(batch, priced), strict=True):
        alone = price_question(catalog, check_question(catalog, text, None), share, None, priced.confidence)
        both = zip(lines(own), lines(alone), strict=True)
        columns = [[name, error, other] for (name, error, _), (_, other, _) in both]
        found.append({"text": text, "columns": columns})
        pairs = zip(own.expected, alone.expected, strict=True)
        ratios += [float(one.radius / other.radius) for one, other in pairs if one.radius and other.radius]
    mean = sum(map(log, ratios)) / len(ratios) if ratios else 0.0
    return {"questions": found, "saving": 1 - exp(mean)}


def picture(release: Release) -> dict[str, Any]:
    """Return the chart of an answer as a specification, for whoever draws it: not where data is."""
    from discreet.show.save import specification

    return specification(release.plot())
