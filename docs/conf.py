"""How the documentation is built: `make docs`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent), str(HERE.parent / "src")]

import discreet  # noqa: E402

project = "discreet"
author = "the founders of discreet"
version = release = discreet.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "docstring", "formula", "live", "highlight"]
exclude_patterns = ["_build", "_ext"]
# Two hyphens are an option of a command, and quotes belong to code more often than not.
smartquotes = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "discreet"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["live.css"]
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 100
python_use_unqualified_type_names = True
add_module_names = False
