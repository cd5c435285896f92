"""What an attack found, as a value: rows to draw, a table to print, and words for people.

A report keeps numbers only; pictures and pages are made from it when asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from discreet.markup import aligned

RAW, NAIVE, DISCREET = "raw answers", "naive noise", "discreet"
"""The three curators that every attack meets on the same data."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Attacker's success against effort or noise, one line per curator."""

    title: str
    subtitle: str
    x_title: str
    y_title: str
    points: tuple[tuple[float, float, str], ...]
    log_x: bool = False
    domain: tuple[float, float] | None = None

    def picture(self) -> Any:
        """Return the figure as a chart."""
        from discreet.show import lines

        rows = [{"x": x, "y": y, "series": series} for x, y, series in self.points]
        return lines(
            rows,
            x="x",
            y="y",
            series="series",
            points=True,
            log_x=self.log_x,
            y_domain=self.domain,
            title=self.title,
            subtitle=self.subtitle,
            x_title=self.x_title,
            y_title=self.y_title,
        )


@dataclass(frozen=True, slots=True)
class AttackReport:
    """One attack on three curators."""

    name: str
    title: str
    story: str
    columns: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    figures: tuple[Figure, ...]
    stop: str

    def __repr__(self) -> str:
        return f"{self.title}\n{aligned([self.columns, *self.table])}\n{self.stop}"

    def _repr_html_(self) -> str:
        """Return the pictures, the table and what stops the attack, for notebooks and pages."""
        from discreet.show.save import svg

        parts = []
        for figure in self.figures:
            label = escape(figure.title, quote=True)
            parts.append(f"<figure role='img' aria-label='{label}'>{svg(figure.picture())}</figure>")
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.table
        )
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        return "\n".join([*parts, f"<p class='stop'>{escape(self.stop)}</p>"])


STYLE = """
body { font-family: Inter, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif; color: #1f2933; max-width:
46rem;
  margin: 2.5rem auto; padding: 0 1rem; line-height: 1.5; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.3rem; margin-top: 2.6rem; } table { border-collapse: collapse;
margin: 1rem 0; font-variant-numeric: tabular-nums; } th, td { text-align: left; padding: .3rem .9rem .3rem
0; border-bottom: 1px solid #d9dee3; vertical-align: top; } svg { max-width: 100%; height: auto; } figure {
margin: 1.2rem 0; } .stop { border-left: 4px solid #009E73; padding: .2rem 0 .2rem .9rem; }
"""


def page(reports: Sequence[AttackReport], *, title: str = "What answers give away") -> str:
    """Return one HTML document with everything inside it: no script, no font, no picture from elsewhere."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><h1>{escape(title)}</h1>",
    ]
    for report in reports:
        parts.append(f"<h2>{escape(report.title)}</h2>")
        parts += [f"<p>{escape(paragraph)}</p>" for paragraph in report.story.split("\n\n")]
        parts.append(report._repr_html_())
    return "\n".join([*parts, "</body></html>"])
