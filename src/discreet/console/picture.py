"""A picture that may stand in a page: only shapes and words, whoever drew it.

Charts come from a drawing library that escapes what it writes.  Here that is not believed: a picture with
anything in it but what charts are made of is not shown.
"""

import xml.etree.ElementTree as ET

from markupsafe import Markup

SPACE = "{http://www.w3.org/2000/svg}"
ELEMENTS = frozenset(
    {
        "svg",
        "g",
        "path",
        "rect",
        "line",
        "text",
        "tspan",
        "circle",
        "defs",
        "clipPath",
        "linearGradient",
        "stop",
        "title",
    }
)
DROPPED = ("style", "role", "aria-label", "aria-roledescription", "aria-hidden", "class")
"""What a picture says twice: its page names it as a whole and has the same numbers in a table.  Styles in
attributes have no place in the page's content policy."""

LARGEST = 80_000
LONGEST = 2_000_000
"""The most of what is drawn that is read at all."""


def harmless(drawn: bytes, most: int = LARGEST) -> Markup | None:
    """Return a picture as part of a page, None where it is more than a picture, or too large."""
    if len(drawn) > LONGEST or b"<!" in drawn:
        return None
    try:
        root = ET.fromstring(drawn)  # noqa: S314 - no document type, so no entities
    except ET.ParseError:
        return None
    if not all(map(_plain, root.iter())):
        return None
    for element in root.iter():
        element.tag = element.tag.removeprefix(SPACE)
        for name in DROPPED:
            element.attrib.pop(name, None)
    root.set("aria-hidden", "true")
    kept = ET.tostring(root, encoding="unicode")
    return Markup(kept) if len(kept.encode()) <= most else None  # noqa: S704


def _plain(element: ET.Element) -> bool:
    if not isinstance(element.tag, str) or element.tag.removeprefix(SPACE) not in ELEMENTS:
        return False
    return not any(
        name.startswith(("on", "{")) or "href" in name or "javascript:" in value.lower()
        for name, value in element.attrib.items()
    )
