"""An answer, or all of a batch, as one page that stands alone: to be kept, sent or printed.

It loads nothing: its style and its pictures are part of it, and every name and key in it is text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from discreet.console import view
from discreet.console.page import render

KIND = "text/html; charset=utf-8"


def report(
    dataset: str, number: int, answers: Sequence[Mapping[str, Any]], pictures: Sequence[Markup | None]
) -> bytes:
    """Return the document of some answers that were paid for together."""
    first = answers[0]
    shown = [
        {**one, "promise": view.promise(one["card"]), "picture": picture}
        for one, picture in zip(answers, (*pictures, *[None] * len(answers)), strict=False)
    ]
    facts = {"price": first["price"], "receipt": first["receipt"], "sure": view.percent(first["confidence"])}
    return render("report.html", dataset=dataset, number=number, answers=shown, **facts).encode()
