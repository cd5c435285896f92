"""One look for every picture: colours that the colour-blind can tell apart, large plain type, quiet axes.

The colours follow Okabe and Ito, without their yellow, which is too faint on white.
"""

from typing import Any

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6B4C9A", "#444444")
"""Categorical colours, in the order in which series receive them."""

INK = "#1f2933"
"""The colour of words."""

FAINT = "#d9dee3"
"""The colour of grids and rules that should not compete with data."""

QUIET, RULE, LINE = "#52606d", "#9aa5b1", "#7b8794"
"""The colours of subtitles, of axes, and of rules drawn by hand."""

ROLES = {INK: "ink", QUIET: "quiet", RULE: "rule", LINE: "rule", FAINT: "faint", "#444444": "quiet"}
ROLES |= {"#0072B2": "blue"}
"""What colours stand for to which a page in the dark gives colours of its own: all but data, and the first
of data, which is too dark there."""

ON_LIGHT, ON_DARK = "#14181c", "#ffffff"
"""The colours of words on coloured cells, which are the same whatever the page."""

WIDTH, HEIGHT = 560, 300

_FONT = "Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"


def config() -> dict[str, Any]:
    """Return the Vega-Lite configuration shared by all charts."""
    words = {"labelFont": _FONT, "titleFont": _FONT, "labelColor": INK, "titleColor": INK}
    return {
        "background": "white",
        "font": _FONT,
        "padding": 14,
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
        "range": {"category": list(PALETTE), "heatmap": {"scheme": "viridis"}, "ramp": {"scheme": "viridis"}},
        "title": {
            "font": _FONT,
            "subtitleFont": _FONT,
            "fontSize": 16,
            "fontWeight": 600,
            "subtitleFontSize": 12.5,
            "subtitleColor": QUIET,
            "color": INK,
            "anchor": "start",
            "frame": "group",
            "offset": 14,
            "subtitlePadding": 5,
        },
        "axis": {
            **words,
            "labelFontSize": 12,
            "titleFontSize": 13,
            "titleFontWeight": 500,
            "titlePadding": 9,
            "gridColor": FAINT,
            "gridOpacity": 0.7,
            "domainColor": RULE,
            "tickColor": RULE,
            "labelOverlap": True,
            "labelFlush": False,
        },
        "axisX": {"grid": False},
        "axisBand": {"labelAngle": 0},
        "legend": {
            **words,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": 500,
            "symbolSize": 110,
            "symbolStrokeWidth": 2.5,
            "orient": "top",
            "direction": "horizontal",
            "labelLimit": 320,
            "offset": 6,
        },
        "header": {**words, "labelFontSize": 12.5, "titleFontSize": 13},
        "line": {"strokeWidth": 2.4, "strokeCap": "round", "strokeJoin": "round"},
        "bar": {"cornerRadiusEnd": 2},
        "rule": {"color": LINE},
    }
