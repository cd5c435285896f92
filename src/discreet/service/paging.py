"""What pages show besides the plain answers: cells in words, derivations and pictures."""

from typing import Any

from discreet.query.check.formula import measured
from discreet.query.price.expected import Quote
from discreet.query.price.words import caps, price
from discreet.release.answer import Release, cell_text


def shown(release: Release) -> dict[str, Any]:
    """Return an answer as people read it: every cell with its interval, and what is said beside it."""
    columns = release.quote.checked.columns
    return {
        "cells": [
            [cell_text(cell, span) for cell, span in zip(row.cells, row.spans, strict=True)]
            for row in release.rows
        ],
        "measured": [bool(measured(output.formula)) for output in columns],
        "price": price(release.quote.cost),
        "notes": [*caps(release.quote.checked), *release.quote.checked.notes],
    }


def explained(priced: Quote) -> dict[str, Any]:
    """Return a price in words, and the derivation of every statement that would run."""
    steps = () if priced.proof is None else priced.proof.statements
    return {"price": price(priced.cost), "proof": [proved.step.nested() for proved in steps]}


def picture(release: Release) -> dict[str, Any]:
    """Return the chart of an answer as a specification, for whoever draws it: not where data is."""
    from discreet.show.save import specification

    return specification(release.plot())
