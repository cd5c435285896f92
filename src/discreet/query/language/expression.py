"""SQL expressions to scalars of the plan: every node class and every attribute is listed, or refused."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.bounded import per_group
from discreet.query.language.constant import clamped, settled
from discreet.query.language.conversion import CASTS
from discreet.query.language.date import Argument, Span, iso_weekday, iso_year
from discreet.query.language.daytime import TESTS, compares_times, times_compared
from discreet.query.language.distribution import DISTRIBUTIONS, LEVELS, bucket_among, distribution
from discreet.query.language.leaf import column_of, leaf_of, literal_of, truth_of, unit_named, unit_of
from discreet.query.language.listing import is_list, listed
from discreet.query.language.moment import MOMENTS, between, compared, interval_of
from discreet.query.language.pair import KINDS as PAIRS
from discreet.query.language.pair import pair
from discreet.query.language.picked import PICKS
from discreet.query.language.piece import PIECES
from discreet.query.language.place import place_of
from discreet.query.language.refusal import fields, refusal, words_of
from discreet.query.language.searching import INSIDE, Reader, any_of, found_inside
from discreet.query.language.sign import SIGNS, age_part, is_age
from discreet.query.language.spelling import folded_number, quantile_level, spelled, understood
from discreet.query.language.vocabulary import AGGREGATES, BINARY, PARTS, UNARY
from discreet.query.language.window import window
from discreet.query.plan import (
    Aggregate,
    Among,
    Call,
    Case,
    Literal,
    Scalar,
    aggregates,
    constant,
    too_large,
)


def expression(node: object) -> Scalar:
    """Return the scalar that an SQL expression means."""
    if not isinstance(node, exp.Expr):
        raise QueryError("the question", "has a part that cannot be read", "write it more plainly")
    try:
        found = _meaning(node)
    except QueryError as refused:
        raise refused.at(place_of(node)) from None
    except KeyError:
        name = words_of(node)
        raise QueryError(name, "lacks an argument", f"say what of, as in {name}(x)", place_of(node)) from None
    if too_large(found):
        raise QueryError("an expression", "has too many parts", "compute it in steps, or more simply")
    return found


def _meaning(node: exp.Expr) -> Scalar:
    kind = type(node)
    if isinstance(node.args.get("this"), exp.StrPosition) and kind in (exp.GT, exp.NEQ, exp.GTE, exp.EQ):
        return found_inside(node, expression)
    if isinstance(node.args.get("expression"), exp.Any) and kind in (exp.EQ, exp.Like, exp.ILike):
        return any_of(node, expression)
    if (kind in TESTS or kind is exp.Between) and compares_times(node):
        return times_compared(node, expression)
    if kind in BINARY and (length := compared(node, BINARY[kind], expression)) is not None:
        return length
    if kind in BINARY:
        parts = fields(node, "this", "expression", *_EXTRA.get(kind, ()))
        found = Call(BINARY[kind], (expression(parts["this"]), expression(parts["expression"])))
        return Call("not", (found,)) if parts.get("negate") else found
    if kind in UNARY:
        return Call(UNARY[kind], (expression(fields(node, "this")["this"]),))
    if kind in PARTS:
        return Call("part", (Literal(PARTS[kind]), expression(fields(node, "this")["this"])))
    if kind in AGGREGATES:
        return _aggregate(node, AGGREGATES[kind])
    if kind in PAIRS:
        return pair(node, _plain)
    builder = _OTHERS.get(kind)
    if builder is None:
        raise refusal(node)
    return builder(node)


_EXTRA: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Mod: ("safe",),
    exp.Like: ("negate",),
    exp.ILike: ("negate",),
}


def _aggregate(node: exp.Expr, function: str) -> Aggregate:
    inner = fields(node, "this")["this"]
    distinct = isinstance(inner, exp.Distinct)
    if distinct:
        (inner,) = _one(fields(inner, "expressions")["expressions"])
        if function not in ("min", "max", "sum", "avg"):
            raise QueryError(
                f"{words_of(node)}(DISTINCT)",
                "is about which values there are, not how often",
                "use COUNT(DISTINCT x), SUM(DISTINCT x) or AVG(DISTINCT x)",
            )
    half = Fraction(1, 2) if function == "quantile" else None
    # The least of all values is the least of the different ones.
    apart = distinct and function in ("sum", "avg")
    return Aggregate(function, _plain(function, inner), distinct=apart, parameter=half)


def _plain(function: str, node: object) -> Scalar:
    argument = expression(node)
    if aggregates(argument):
        raise QueryError(
            function.upper(), "cannot contain another aggregate", "aggregate per person in a subquery first"
        )
    return argument


def _one(nodes: list[exp.Expr]) -> list[exp.Expr]:
    if len(nodes) != 1:
        raise QueryError("DISTINCT", "takes one expression", "write COUNT(DISTINCT x)")
    return nodes


def _count(node: exp.Expr) -> Scalar:
    inner = fields(node, "this", "big_int").get("this")
    match inner:
        case None | exp.Star():
            if inner is not None:
                fields(inner)
            return Aggregate("count")
        case exp.Distinct():
            several = fields(inner, "expressions")["expressions"]
            if len(several) == 1 and isinstance(several[0], exp.Tuple):
                several = fields(several[0], "expressions")["expressions"]
            return Aggregate("count", _together([_plain("COUNT", one) for one in several]), distinct=True)
        case _:
            return Aggregate("count", _plain("COUNT", inner))


def _together(parts: list[Scalar]) -> Scalar:
    """Return several values as one text, NULL where one of them is missing."""
    if len(parts) == 1:
        return parts[0]
    texts = [Call("to_text", (part,)) for part in parts]
    return Call("concat", tuple(piece for text in texts for piece in (text, Literal("\u241f")))[:-1])


def _quantile(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "quantile", "expression")
    if isinstance(parts.get("expression"), exp.Array):
        return distribution("quantiles", [parts["this"], parts["expression"]], expression, _plain)
    level = expression(parts.get("quantile", parts.get("expression")))
    return Aggregate("quantile", _plain("QUANTILE", parts["this"]), parameter=quantile_level(level))


def _within_group(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "expression")
    percentile, order = parts["this"], parts["expression"]
    if isinstance(percentile, exp.Mode) and percentile.args.get("this") is None:
        return Aggregate("mode", _plain("MODE", _ordered(order)))
    if is_list(percentile):
        return listed(percentile, expression, order)
    if not isinstance(percentile, exp.PercentileCont | exp.PercentileDisc):
        raise refusal(percentile)
    listed_levels = fields(percentile, "this")["this"]
    if isinstance(listed_levels, exp.Array):
        return distribution("quantiles", [_ordered(order), listed_levels], expression, _plain)
    level = quantile_level(expression(listed_levels))
    down = any(term.args.get("desc") for term in order.args.get("expressions", ()))
    return Aggregate("quantile", _plain("QUANTILE", _ordered(order)), parameter=1 - level if down else level)


def _ordered(order: exp.Expr) -> exp.Expr:
    (term,) = _one(fields(order, "expressions")["expressions"])
    inner: exp.Expr = fields(term, "this", "nulls_first", "desc")["this"]
    return inner


def _filter(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "expression")
    inner = expression(parts["this"])
    if not isinstance(inner, Aggregate):
        raise QueryError("FILTER", "belongs to an aggregate", "write COUNT(*) FILTER (WHERE ...)")
    condition = _plain("FILTER", fields(parts["expression"], "this")["this"])
    both = condition if inner.where is None else Call("and", (inner.where, condition))
    return replace(inner, where=both)


def _count_if(node: exp.Expr) -> Scalar:
    inner = fields(node, "this")["this"]
    if isinstance(inner, exp.Distinct):
        raise QueryError("COUNT_IF(DISTINCT)", "counts rows, not values", "write COUNT_IF(condition)")
    return Aggregate("count", where=_plain("COUNT_IF", inner))


def _count_distinct(node: exp.Expr) -> Scalar:
    return Aggregate("count", _plain("COUNT", fields(node, "this")["this"]), distinct=True)


def _not_distinct(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "expression")
    same = Call("distinct", (expression(parts["this"]), expression(parts["expression"])))
    return Call("not", (same,))


def _case(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "ifs", "default")
    subject = None if parts.get("this") is None else expression(parts["this"])
    branches = []
    for branch in parts["ifs"]:
        pieces = fields(branch, "this", "true")
        condition = expression(pieces["this"])
        if subject is not None:
            condition = Call("eq", (subject, condition))
        value = expression(pieces["true"])
        # A tool that guards a function so means what is missing there.
        branches.append((condition, Literal(None) if condition == Call("is_null", (value,)) else value))
    default = Literal(None) if parts.get("default") is None else expression(parts["default"])
    return clamped(Case(tuple(branches), default))


def _if(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "true", "false")
    otherwise = Literal(None) if parts.get("false") is None else expression(parts["false"])
    return Case(((expression(parts["this"]), expression(parts["true"])),), otherwise)


def _in(node: exp.Expr) -> Scalar:
    if node.args.get("query"):
        raise QueryError(
            "IN (SELECT ...)",
            "a subquery inside an expression would let one person change every row",
            "join the subquery instead",
        )
    parts = fields(node, "this", "expressions")
    if isinstance(parts["this"], exp.Tuple):
        return _pairs_in(parts["this"], parts.get("expressions", ()))
    values = []
    for value in parts.get("expressions", ()):
        match folded_number(expression(value)):
            case Literal() as constant if constant.value is not None:
                values.append(constant)
            case Call("to_whole", (Literal(int(number)) as constant,)) if (
                type(number) is int and abs(number) < 2**53
            ):
                values.append(constant)
            case _:
                raise QueryError("IN", "needs a list of constants", "write x IN ('a', 'b')")
    if not values:
        raise QueryError("IN", "needs at least one constant", "write x IN ('a', 'b')")
    return Among(expression(parts["this"]), tuple(values))


def _pairs_in(subject: exp.Expr, rows: list[exp.Expr]) -> Scalar:
    """Return whether a row is one of several rows of constants: (a, b) IN ((1, 2), (3, 4))."""
    columns = [expression(one) for one in fields(subject, "expressions").get("expressions", ())]
    found = []
    for row in rows:
        cells = fields(row, "expressions").get("expressions", ()) if isinstance(row, exp.Tuple) else ()
        constants = [folded_number(expression(cell)) for cell in cells]
        if len(constants) != len(columns) or not all(isinstance(one, Literal) for one in constants):
            raise QueryError(
                "IN", "compares with rows of as many constants", "write (a, b) IN ((1, 2), (3, 4))"
            )
        equal = (Call("eq", pair) for pair in zip(columns, constants, strict=True))
        found.append(Call("and", tuple(equal)))
    return found[0] if len(found) == 1 else Call("or", tuple(found))


def _between(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "low", "high", "symmetric")
    subject, low, high = (expression(parts[key]) for key in ("this", "low", "high"))
    inside = Call("and", (Call("ge", (subject, low)), Call("le", (subject, high))))
    if not parts.get("symmetric"):
        return inside
    return Call("or", (inside, Call("and", (Call("ge", (subject, high)), Call("le", (subject, low))))))


def _is(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "expression")
    subject = expression(parts["this"])
    match parts["expression"]:
        case exp.Null():
            return Call("is_null", (subject,))
        case exp.Boolean() as truth:
            return Call("coalesce", (Call("eq", (subject, Literal(bool(truth.this)))), Literal(False)))
        case other:
            raise refusal(other)


def _extract(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "expression")
    if isinstance(parts["this"], exp.Var) and str(parts["this"].this).upper() == "ISODOW":
        return iso_weekday(expression(parts["expression"]))
    if isinstance(parts["this"], exp.Var) and str(parts["this"].this).upper() == "ISOYEAR":
        return iso_year(expression(parts["expression"]))
    if isinstance(parts["this"], exp.Var) and str(parts["this"].this).upper() == "EPOCH":
        return between(parts["expression"], expression)
    if is_age(parts["expression"]):
        return age_part(unit_of(parts["this"]), parts["expression"], expression)
    return Call("part", (unit_of(parts["this"]), expression(parts["expression"])))


def _add(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "expression")
    left, right = parts["this"], parts["expression"]
    sign = -1 if isinstance(node, exp.Sub) else 1
    for subject, interval in ((left, right), (right, left)):
        if isinstance(interval, exp.Interval) and (sign == 1 or interval is right):
            unit, amount = interval_of(interval)
            return Call("shift", (unit, expression(subject), Literal(sign * amount)))
    name = "subtract" if sign == -1 else "add"
    return Call(name, (expression(left), expression(right)))


def _divide(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "expression", "typed", "safe")
    name = "divide_whole" if parts.get("typed") else "divide"
    return Call(name, (expression(parts["this"]), expression(parts["expression"])))


def _many(name: str, *keys: str) -> Callable[[exp.Expr], Scalar]:
    def build(node: exp.Expr) -> Scalar:
        parts = fields(node, "this", "expressions", *keys)
        nodes = ([parts["this"]] if parts.get("this") is not None else []) + list(
            parts.get("expressions", ())
        )
        return Call(name, tuple(expression(part) for part in nodes))

    return build


def _round(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "decimals")
    digits = None if parts.get("decimals") is None else constant(folded_number(expression(parts["decimals"])))
    if digits is not None and -9 <= digits < 0:
        unit = Literal(10**-digits)
        return Call("multiply", (Call("round", (Call("divide", (expression(parts["this"]), unit)),)), unit))
    rest = () if parts.get("decimals") is None else (expression(parts["decimals"]),)
    return Call("round", (expression(parts["this"]), *rest))


def _substring(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "start", "length")
    length = () if parts.get("length") is None else (settled(expression(parts["length"])),)
    return Call("substring", (expression(parts["this"]), settled(expression(parts["start"])), *length))


def _escape(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "expression")
    match expression(parts["this"]):
        case Call("not", (Call(("like" | "ilike") as name, arguments),)):
            return Call("not", (Call(name, (*arguments, expression(parts["expression"]))),))
        case Call(("like" | "ilike") as name, arguments):
            return Call(name, (*arguments, expression(parts["expression"])))
    raise refusal(node)


def _anonymous(node: exp.Expr) -> Scalar:
    parts = fields(node, "this", "expressions")
    name, nodes = str(parts.get("this", "")).lower(), parts.get("expressions", [])
    if is_list(node):
        return listed(node, expression)
    if name in DISTRIBUTIONS:
        return distribution(name, nodes, expression, _plain)
    if name in LEVELS and len(nodes) == 2 and isinstance(nodes[1], exp.Array):
        return distribution("quantiles", nodes, expression, _plain)
    if name == "range_bucket":
        return bucket_among(nodes, expression)
    if not understood(name) and name not in ("clamp", "bounded_per_group"):
        raise refusal(node)
    if name in ("date_part", "datepart") and len(nodes) == 2 and is_age(nodes[1]):
        return age_part(unit_named(str(nodes[0].this)), nodes[1], expression)
    written: tuple[Argument, ...] = tuple(map(_argument, nodes))
    found = spelled(name, written)
    if found is not None:
        return found
    arguments = tuple(part for part in written if not isinstance(part, Span))
    match name, len(written):
        case "bounded_per_group", 3:
            return per_group(arguments)
        case "clamp", 3:
            return Call("clamp", tuple(folded_number(argument) for argument in arguments))
        case "clamp", _:
            raise QueryError("CLAMP", "takes a value and two bounds", "write CLAMP(x, 0, 100)")
        case _:
            raise refusal(node)


def _argument(node: exp.Expr) -> Argument:
    return Span(*interval_of(node)) if isinstance(node, exp.Interval) else expression(node)


def _window(node: exp.Expr) -> Scalar:
    from discreet.query.language.clauses import ordered

    return window(node, expression, ordered)


def _by(build: Callable[[exp.Expr, Reader], Scalar]) -> Callable[[exp.Expr], Scalar]:
    return lambda node: build(node, expression)


_OTHERS: dict[type[exp.Expr], Callable[[exp.Expr], Scalar]] = {
    exp.Column: column_of,
    exp.Literal: literal_of,
    exp.Boolean: truth_of,
    exp.Null: leaf_of(Literal(None)),
    exp.Paren: lambda node: expression(fields(node, "this")["this"]),
    exp.Window: _window,
    exp.Count: _count,
    exp.Quantile: _quantile,
    exp.GroupConcat: _by(listed),
    exp.PercentileCont: _quantile,
    exp.PercentileDisc: _quantile,
    exp.ApproxQuantile: _quantile,
    exp.ApproxDistinct: _count_distinct,
    exp.CountIf: _count_if,
    exp.NullSafeEQ: _not_distinct,
    exp.WithinGroup: _within_group,
    exp.Filter: _filter,
    exp.Case: _case,
    exp.If: _if,
    exp.In: _in,
    exp.Between: _between,
    exp.Is: _is,
    exp.Extract: _extract,
    exp.Add: _add,
    exp.Sub: _add,
    exp.Div: _divide,
    exp.Coalesce: _many("coalesce"),
    exp.Least: _many("least", "ignore_nulls"),
    exp.Greatest: _many("greatest", "ignore_nulls"),
    exp.Concat: _many("concat", "safe", "coalesce"),
    exp.Round: _round,
    **{
        kind: _by(build) for kind, build in {**INSIDE, **MOMENTS, **PIECES, **CASTS, **SIGNS, **PICKS}.items()
    },
    exp.Substring: _substring,
    exp.Escape: _escape,
    exp.Anonymous: _anonymous,
}
