"""Faults in what is made of released values, and in how a price is split over what a question measures."""

from tests.mutants.fault import Fault

SPLIT = ("tests/query/test_split.py",)
SHOWN = ("tests/release/test_consistent.py",)

WHOLE = ("tests/query/test_check.py",)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "query/check/limits.py",
        "return 1 if self.scope.sole and self.scope.unit is not None and reach <= FEW_STEPS else self.weight",
        "return 1",
        WHOLE,
        "everybody is taken to have one row",
    ),
    Fault(
        "query/check/question.py",
        "sole=scope.rows == 1,",
        "sole=limits.rows_per_unit == 1,",
        WHOLE,
        "a limit that a question lowers stands for what the curator says people have",
    ),
    Fault(
        "query/price/quote.py",
        "share_of(checked, position, price.share(part), delta)",
        "share_of(checked, position, price, delta)",
        SPLIT,
        "every measurement costs the whole price",
    ),
    Fault(
        "query/price/split.py",
        "    return tuple(weight / total for weight in found)\n",
        "    return tuple(weight / max(found) for weight in found)\n",
        SPLIT,
        "parts add up to more than the price",
    ),
    Fault(
        "query/price/split.py",
        "found.append(max(own, default=ONE))",
        "found.append(min(own, default=ONE))",
        SPLIT,
        "what is shared has the weight of the column that minds least",
    ),
    Fault(
        "release/session.py",
        "        if weights:\n            return make()\n",
        "",
        SPLIT,
        "a question with weights gets the plan of one without",
    ),
    Fault(
        "release/consistent.py",
        "for value in _descend(sums, numbers)]",
        "for value in np.maximum(sums.adjoint(numbers) / sums.adjoint(np.ones(numbers.size)), 0)]",
        SHOWN,
        "cells are averages, which are not the nearest",
    ),
    Fault(
        "release/consistent.py",
        "descend(start, lambda x: np.maximum(x - pull(x) / rates, 0),",
        "descend(start, lambda x: x - pull(x) / rates,",
        SHOWN,
        "cells may be negative",
    ),
    Fault(
        "release/table.py",
        "spans = spans if made is None else tuple(map(_around, cells, spans))",
        "spans = spans",
        SHOWN,
        "points are moved into their own intervals and no longer add up",
    ),
    Fault(
        "release/pricing.py",
        "replace(whole, question=text, quote=own, noisy=noisy, made=part)",
        "replace(whole, question=text, quote=own, noisy=part or noisy, made=part)",
        SHOWN,
        "intervals of a batch are around what was made of it",
    ),
)
