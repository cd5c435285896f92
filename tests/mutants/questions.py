"""Faults in how questions are understood: each makes a claim, a clause or a name mean less than it says."""

from tests.mutants.fault import Fault

BOUNDS = ("tests/attacks/test_structural_bounds.py",)
HELD = ("tests/query/test_held.py",)
NAMES = ("tests/query/test_names.py",)
CLAUSES = ("tests/query/test_clauses.py",)
CELLS = (
    "tests/query/test_error_freeness.py::test_patterns_mean_the_same_at_every_cell_whatever_the_escape_character",
)
EITHER = ("tests/query/test_either.py",)
MANIFEST = ("tests/query/test_catalog.py",)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "query/catalog/kind.py",
        "    kind: Kind\n    held: bool = False\n",
        "    kind: Kind\n    held: bool = True\n",
        HELD,
        "what is declared is taken for a fact by default",
    ),
    Fault(
        "query/check/function/text.py",
        "return Typed(Call(name, (_text(name, arguments[0]),)), Text(after))",
        "return Typed(Call(name, (_text(name, arguments[0]),)), Text(after), held=True)",
        HELD,
        "LOWER, UPPER and TRIM make facts of declared values",
    ),
    Fault(
        "query/check/function/day.py",
        'return Typed(Call("part", (Literal(unit), moment.scalar)), Whole(low, high))',
        'return Typed(Call("part", (Literal(unit), moment.scalar)), Whole(low, high), held=True)',
        HELD,
        "the year of any text is taken to lie in the calendar",
    ),
    Fault(
        "query/check/function/text.py",
        "            constants = _escaped(pattern, escape)\n",
        "            _escaped(pattern, escape)\n",
        CELLS,
        "an engine folds the case of an escape character",
    ),
    Fault(
        "query/check/function/number.py",
        "an engine raises, for that cell alone.\n    if divisor is None or divisor < 1 or not",
        "an engine raises, for that cell alone.\n    if not divisor or not",
        ("tests/query/test_error_freeness.py::test_no_remainder_can_fail_at_a_cell",),
        "a remainder by -1 fails at one cell",
    ),
    Fault(
        "query/check/wellformed.py",
        "        if folded(item.name) in taken:\n",
        "        if item.name in taken:\n",
        NAMES,
        "two columns of a subquery have one name",
    ),
    Fault(
        "query/check/per_person.py",
        'items = [(f"c{n}", typed.scalar) for n, (_, typed) in enumerate(outputs)]',
        "items = [(name, typed.scalar) for name, typed in outputs]",
        NAMES,
        "names of an analyst reach a statement",
    ),
    Fault(
        "query/check/lifting.py",
        '    if block.having is not None:\n        raise QueryError("HAVING", "needs GROUP BY"',
        '    if block.having is not None and False:\n        raise QueryError("HAVING", "needs GROUP BY"',
        CLAUSES,
        "HAVING on a released table is dropped",
    ),
    Fault(
        "query/check/lifting.py",
        "having=_both(_unaliased(inner),",
        "having=_both(inner.having,",
        ("tests/query/test_clauses.py::test_a_name_in_having_means_what_it_meant_where_it_was_written",),
        "HAVING of a subquery reads the names above it",
    ),
    Fault(
        "query/check/identity.py",
        "    if len(set(checked.weights)) < 2 or",
        "    if True or",
        ("tests/query/test_split.py",),
        "an answer that was split otherwise is told for another",
    ),
    Fault(
        "query/check/identity.py",
        '"question": VERSION,\n        "rows"',
        '"question": VERSION, "names": [output.name for output in checked.columns],\n        "rows"',
        NAMES,
        "names of an answer are part of the identity of a question",
    ),
    Fault(
        "query/catalog/manifest.py",
        "    _everybody(bodies)\n",
        "",
        MANIFEST,
        "a table may forget whom it protects",
    ),
    Fault(
        "query/catalog/manifest.py",
        "        if column.unique and not public and unit is None and path is None:\n",
        "        if False:\n",
        MANIFEST,
        "rows that are people have columns that are unique for a person",
    ),
    Fault(
        "query/price/either.py",
        "return min(possible(checked, budget), key=lambda terms: error(checked, price(terms), delta))",
        "return max(possible(checked, budget), key=lambda terms: error(checked, price(terms), delta))",
        EITHER,
        "a question takes the noise that errs more",
    ),
    Fault(
        "query/price/either.py",
        "return terms(epsilon) if questions is None else terms(budget.epsilon).part(questions)",
        "return terms(epsilon)",
        EITHER,
        "the declared number of questions is not looked at",
    ),
    Fault(
        "query/price/quote.py",
        "return min(found, key=lambda priced: budget.share(priced.cost))",
        "return found[0]",
        EITHER,
        "an error that is asked for takes the larger part of the budget",
    ),
)
