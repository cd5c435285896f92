"""Charts, drawn from their specifications in a process of its own.

python -m discreet.console.drawing
"""

from collections.abc import Mapping
from typing import Any

from discreet.console.process import Process, attend

PATIENCE = 20.0
"""For so many seconds a page waits for its picture."""

INLINE, FILE, PNG = "inline", "svg", "png"


class Drawer:
    """Who draws for the pages."""

    def __init__(self) -> None:
        self._process = Process("discreet.console.drawing", PATIENCE)

    async def draw(self, specification: Mapping[str, Any], form: str) -> bytes | None:
        """Return a picture, None where it could not be drawn."""
        return await self._process.ask({"form": form, "chart": specification})


def drawn(specification: Mapping[str, Any], form: str) -> bytes:
    """Return the picture of a specification."""
    import vl_convert

    from discreet.show.save import in_colours_of_the_page

    if form == PNG:
        return bytes(vl_convert.vegalite_to_png(dict(specification), scale=2.0))
    svg = str(vl_convert.vegalite_to_svg(dict(specification)))
    return (in_colours_of_the_page(svg) if form == INLINE else svg).encode()


if __name__ == "__main__":
    attend(lambda head: drawn(head["chart"], head["form"]))
