"""Pictures that stand alone: SVG, PNG and HTML files that load nothing from anywhere.

The HTML form carries the drawing library inside itself, so a report opened offline, or in ten years,
still shows its chart and tells nobody that it was opened.
"""

from pathlib import Path
from typing import Any

from discreet.errors import ParameterError

FORMATS = (".svg", ".png", ".html", ".json")
"""The file endings that `save` understands."""


def save(chart: Any, path: str | Path, *, scale: float = 2.0) -> Path:
    """Write a chart in the format that the file's ending names, and return the path."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in FORMATS:
        raise ParameterError(
            f"a chart is saved as {', '.join(FORMATS)}; the file name ends in {ending or 'nothing'!r}"
        )
    match ending:
        case ".svg":
            target.write_text(svg(chart), encoding="utf-8")
        case ".png":
            target.write_bytes(png(chart, scale=scale))
        case ".html":
            target.write_text(html(chart), encoding="utf-8")
        case _:
            target.write_text(chart.to_json(indent=2), encoding="utf-8")
    return target


def svg(chart: Any) -> str:
    """Return a chart as SVG text."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(_specification(chart)))


def png(chart: Any, *, scale: float = 2.0) -> bytes:
    """Return a chart as PNG bytes, `scale` times its nominal size."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(_specification(chart), scale=scale))


def html(chart: Any) -> str:
    """Return a chart as one HTML document with every script inside it."""
    import vl_convert

    return str(vl_convert.vegalite_to_html(_specification(chart), bundle=True))


def _specification(chart: Any) -> dict[str, Any]:
    specification: dict[str, Any] = chart.to_dict()
    # The schema address is documentation for editors, never fetched; without it the document names no host.
    specification.pop("$schema", None)
    return specification
