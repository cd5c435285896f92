"""Pictures that stand alone: SVG, PNG and HTML files that load nothing from anywhere.

The HTML form carries the drawing library inside itself, so a report opened offline, or in ten years,
still shows its chart and tells nobody that it was opened.
"""

from pathlib import Path
from typing import Any

from discreet.errors import ExtraError, ParameterError
from discreet.extra import library
from discreet.show.theme import ROLES

FORMATS = (".svg", ".png", ".html", ".json")
"""The file endings that `save` understands."""

STAND_IN = "\ue000"
"""A character of no meaning that takes the place of "<" until it can be written as a JavaScript escape."""


def save(chart: Any, path: str | Path, *, scale: float = 2.0) -> Path:
    """Write a chart in the format that the file's ending names, and return the path."""
    target = check_target(path)
    match target.suffix.lower():
        case ".svg":
            target.write_text(svg(chart), encoding="utf-8")
        case ".png":
            target.write_bytes(png(chart, scale=scale))
        case ".html":
            target.write_text(html(chart), encoding="utf-8")
        case _:
            target.write_text(chart.to_json(indent=2), encoding="utf-8")
    return target


def check_target(path: str | Path) -> Path:
    """Return where a chart would be saved, refusing at once what could only fail after the work is done."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in FORMATS:
        raise ParameterError(
            f"a chart is saved as {', '.join(FORMATS)}; the file name ends in {ending or 'nothing'!r}"
        )
    if not target.parent.is_dir():
        raise ParameterError(f"there is no folder {target.parent} to save the chart in; create it first")
    if target.is_dir():
        raise ParameterError(f"{target} is a folder; name a file to save the chart in")
    if ending != ".json":
        _renderer()
    return target


def can_draw() -> bool:
    """Whether charts can become files here; notebooks draw them by themselves."""
    try:
        _renderer()
    except ExtraError:
        return False
    return True


def _renderer() -> Any:
    return library("vl_convert", "pictures", "a chart as an SVG, PNG or HTML file")


def svg(chart: Any) -> str:
    """Return a chart as SVG text."""
    return str(_renderer().vegalite_to_svg(specification(chart)))


def inline_svg(chart: Any) -> str:
    """Return a chart as SVG for a page of its own colours: words, rules and paper follow the page.

    The page may set `--chart-ink`, `--chart-quiet`, `--chart-rule`, `--chart-faint` and `--chart-blue`, one
    way in light and another in dark; where it sets none, the chart looks as it does in a file.
    """
    return in_colours_of_the_page(svg(chart))


def in_colours_of_the_page(drawing: str) -> str:
    """Return a drawing whose words, rules and paper follow the page."""
    for colour, role in ROLES.items():
        drawing = drawing.replace(f'"{colour}"', f'"var(--chart-{role}, {colour})"')
    return drawing.replace('fill="white"', 'fill="var(--chart-paper, white)"')


def png(chart: Any, *, scale: float = 2.0) -> bytes:
    """Return a chart as PNG bytes, `scale` times its nominal size."""
    return bytes(_renderer().vegalite_to_png(specification(chart), scale=scale))


def html(chart: Any) -> str:
    """Return a chart as one HTML document with every script inside it."""
    renderer = _renderer()
    described = specification(chart)
    # The default menu offers to open the chart, data included, in an editor on somebody else's host.
    described["usermeta"] = {"embedOptions": {"actions": False}}
    document = str(renderer.vegalite_to_html(_without_markup(described), bundle=True))
    return document.replace(STAND_IN, "\\u003c")


def _without_markup(part: Any) -> Any:
    """Return a specification in which no text can end the script that it is written into."""
    match part:
        case dict():
            return {_without_markup(key): _without_markup(value) for key, value in part.items()}
        case list():
            return [_without_markup(value) for value in part]
        case str():
            return part.replace("<", STAND_IN)
        case _:
            return part


def specification(chart: Any) -> dict[str, Any]:
    """Return what a drawing library needs of a chart; it names no host."""
    stated: dict[str, Any] = chart.to_dict()
    # The schema address is documentation for editors, never fetched; without it the document names no host.
    stated.pop("$schema", None)
    return stated
