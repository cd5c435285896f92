"""What an answer can be, by the names that HTTP has for it."""

JSON = "application/json"
CSV = "text/csv"
ARROW = "application/vnd.apache.arrow.stream"
CARD = "text/markdown"
SVG = "image/svg+xml"
PAGE = "application/vnd.discreet.page+json"
"""What a page shows of it: JSON with more in it, for whoever puts it into words."""
