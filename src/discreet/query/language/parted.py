"""SELECT DISTINCT k, MEDIAN(x) OVER (PARTITION BY k): every row says what its group is, and one is kept.

Some dialects have medians as windows only.  Where all windows are of whole groups, and the groups are what is
selected beside them, that is SELECT k, MEDIAN(x) GROUP BY k.
"""

from sqlglot import exp


def without_parts(tree: exp.Select) -> exp.Select:
    """Return a selection, changed in place, whose groups are said with GROUP BY."""
    distinct = tree.args.get("distinct")
    if distinct is None or distinct.args.get("on") or tree.args.get("group") or tree.args.get("qualify"):
        return tree
    items = [node.unalias() for node in tree.expressions]
    windows = [item for item in items if isinstance(item, exp.Window)]
    keys = [item for item in items if not isinstance(item, exp.Window)]
    parts = {tuple(sorted(map(_text, window.args.get("partition_by") or ()))) for window in windows}
    if not keys or parts != {tuple(sorted(map(_text, keys)))} or not all(map(_whole, windows)):
        return tree
    if any(key.find(exp.Window, exp.AggFunc, exp.Star) for key in keys):
        return tree
    for window in windows:
        window.replace(window.this)
    tree.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    tree.set("distinct", None)
    return tree


def _text(node: exp.Expr) -> str:
    return str(node.sql().lower())


def _whole(window: exp.Expr) -> bool:
    """Whether a window is an aggregate of all rows of its group."""
    inner = window.this.this if isinstance(window.this, exp.WithinGroup) else window.this
    framed = window.args.get("order") or window.args.get("spec")
    return not framed and isinstance(inner, _AGGREGATES)


_AGGREGATES = (
    *(exp.Count, exp.Sum, exp.Avg, exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.Quantile),
    *(exp.Min, exp.Max, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop),
)
