"""What a question means and costs, from the declarations alone: no data, no ledger, no engine.

Whoever holds the public declarations can work this out: a session does before it pays, and an analyst's side
of a connection does again, so that it need not believe what the other side says about price and error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.errors import CatalogError, ParameterError, QueryError
from discreet.exact.number import Real as Number
from discreet.exact.number import positive, rational
from discreet.privacy.adjacency import Unit
from discreet.privacy.filter import ApproximateBudget, Budget, Cost, PureBudget
from discreet.privacy.zcdp import epsilon_of_rho
from discreet.query.catalog.manifest import Catalog, DeclaredBudget
from discreet.query.check.batch import Batch, combine, listed
from discreet.query.check.formula import Public, measured
from discreet.query.check.measurement import Checked, Private, questions_of
from discreet.query.check.question import Limits, check
from discreet.query.language.asked import stated, text_of
from discreet.query.language.parameter import parameters as values_of
from discreet.query.language.refusal import located
from discreet.query.language.sql import read
from discreet.query.price.batch import parts
from discreet.query.price.either import Terms, better
from discreet.query.price.expected import Quote
from discreet.query.price.mechanism import PurePrice
from discreet.query.price.proving import proved as proved_parts
from discreet.query.price.quote import quote
from discreet.release.answer import Release
from discreet.release.consistent import cut, settled
from discreet.release.noisy import Noisy

HEAVIEST = 10**6
"""No column counts for more than so many others."""

KEY_QUESTIONS = 20
"""A question that finds its own group keys may use this part of the budget's slack unless told otherwise."""


Parameters: TypeAlias = Mapping[str, Any] | Sequence[Any] | None
"""The values of `?` in the order of the text, or of `:name` by name."""

Asked: TypeAlias = Any
"""A question: SQL text, what a dataframe of `Session.table` asks, a plan, or an Ibis expression."""

Weights: TypeAlias = Mapping[str, Number] | None
"""How much the analyst minds the relative error of columns, by their names; 1 for those that are left out."""


def weighed(checked: Checked, weights: Weights) -> Checked:
    """Return a question with the weights of its columns, which are positive and not beyond a million."""
    if not weights:
        return checked
    if checked.assembly is not None:
        raise ParameterError("weights=... are for the columns of one question; this one is made of several")
    if not isinstance(weights, Mapping):
        raise ParameterError('weights are by the names of columns, as in weights={"n": 3}')
    known = [output.name for output in checked.columns if measured(output.formula)]
    for name in weights:
        if name not in known:
            listed = ", ".join(known)
            raise ParameterError(f"weights: there is no measured column {name!r}; there are {listed}")
    given = {name: positive(weight, f"the weight of {name}") for name, weight in weights.items()}
    if any(not Fraction(1, HEAVIEST) <= weight <= HEAVIEST for weight in given.values()):
        raise ParameterError(f"weights: each lies between 1/{HEAVIEST} and {HEAVIEST}")
    one = Fraction(1)
    return replace(checked, weights=tuple(given.get(output.name, one) for output in checked.columns))


def check_question(
    catalog: Catalog,
    question: Asked,
    limits: Limits | None,
    parameters: Parameters = None,
    dialect: str | None = None,
    *,
    weights: Weights = None,
    batched: bool = False,
) -> Checked:
    """Return a question in SQL, of a dataframe or of Ibis, checked against the declarations."""
    question = stated(question, catalog.views)
    if isinstance(question, str):
        values = values_of(parameters)
        try:
            block = read(question, values, catalog.views, dialect)
        except QueryError as refused:
            raise located(refused, question) from None
    elif parameters is not None:
        raise ParameterError("parameters=... are for questions in SQL; a frame takes its values in Python")
    elif dialect is not None:
        raise ParameterError("dialect=... is for questions in SQL; a frame has none")
    else:
        block = question
    try:
        return weighed(check(block, catalog, limits, batched=batched), weights)
    except QueryError as refused:
        raise (located(refused, question) if isinstance(question, str) else refused) from None


def told(catalog: Catalog, question: Asked, parameters: Parameters = None, dialect: str | None = None) -> str:
    """Return a question as history shows it, with its dialect and the values of its parameters."""
    notes = [] if dialect is None else [f"dialect: {dialect}"]
    named = parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters or (), 1)
    notes += [f"{name}: {value!r}" for name, value in named]
    text = text_of(stated(question, catalog.views))
    return f"{text} [{', '.join(notes)}]" if notes else text


def check_batch(
    catalog: Catalog,
    questions: Sequence[Asked],
    limits: Limits | None,
    dialect: str | None = None,
    *,
    weights: Weights = None,
) -> Batch:
    """Return several questions, checked and combined into one."""
    if weights:
        raise ParameterError(
            "weights=... are for the columns of one question; a batch is measured as a whole"
        )
    if isinstance(questions, str):
        raise ParameterError("a batch is a list of questions; ask a single one with query")
    checked = [
        check_question(catalog, question, limits, dialect=dialect, batched=True) for question in questions
    ]
    if any(one.asks for one in checked):
        raise QueryError("OPTIONS", "a batch has one price", "leave epsilon and delta out of its questions")
    return combine(checked, catalog)


def _agreed(checked: Checked, name: str, given: Number | None, other: Number | None = None) -> Number | None:
    """Return what a text and a call agree to pay; each may say it alone."""
    said = dict(checked.asks).get(name)
    if said is None:
        return given
    if other is not None or (given is not None and rational(given, name) != said):
        raise QueryError(f"OPTIONS, {name}", "is another price than the one asked for", "say it in one place")
    return said


def price_question(
    catalog: Catalog,
    checked: Checked,
    epsilon: Number | None,
    within: Number | None = None,
    confidence: Number = "0.95",
    delta: Number | None = None,
    terms: Terms | None = None,
    count: Number | None = None,
) -> Quote:
    """Return the quote of a checked question, with the derivation of what its statements claim.

    `terms` say what an epsilon buys, where a question is one of several that share it.
    """
    budget = declared_budget(catalog)
    epsilon, delta = _agreed(checked, "epsilon", epsilon, within), _agreed(checked, "delta", delta)
    own = Fraction(0)
    if any(isinstance(part.keys, Private) for part in questions_of(checked)):
        own = _own_delta(budget, epsilon) if delta is None else rational(delta, "delta")
    priced = quote(
        checked,
        epsilon=epsilon,
        within=within,
        confidence=confidence,
        delta=own,
        budget=budget if isinstance(budget, ApproximateBudget) else None,
        questions=None if catalog.budget is None else catalog.budget.questions,
        terms=terms,
        count=count,
    )
    # A pure budget adds up epsilons and nothing else.
    cost = priced.cost.plain if isinstance(budget, PureBudget) else priced.cost
    lone = alone(budget, cost, priced.epsilon if terms is None else None)
    return replace(proved_parts(priced, catalog), cost=cost, alone=lone, share=budget.share(cost))


def alone(budget: Budget, cost: Cost, epsilon: Fraction | None) -> tuple[Fraction, Fraction] | None:
    """Return what something paid in zCDP promises if it is the only thing asked, by the budget's delta.

    That is the epsilon for which it was priced, where it was; what is pure at no more says so itself.  What
    the question uses of delta by itself comes on top of what the epsilon is promised with.
    """
    if isinstance(budget, PureBudget):
        return None
    promised = epsilon_of_rho(cost.rho, budget.delta - budget.slack) if epsilon is None else epsilon
    if cost.epsilon is not None and cost.epsilon <= promised:
        return None
    return promised, max(budget.delta, budget.delta - budget.slack + cost.delta)


def shared_terms(catalog: Catalog, leading: Checked, epsilon: Fraction) -> Terms:
    """Return the terms of several questions that share one epsilon: those that serve the leading one best.

    Pure costs add up, and so do those of Gaussian noise; costs of both kinds together would be more than
    epsilon.
    """
    budget = declared_budget(catalog)
    if isinstance(budget, PureBudget):
        return PurePrice
    questions = None if catalog.budget is None else catalog.budget.questions
    return better(leading, epsilon, Fraction(0), budget, questions)


def split(texts: Sequence[str], batch: Batch, whole: Release) -> tuple[Release, ...]:
    """Return the answer of each question of a batch out of the answer of all."""
    made = settled(whole.quote, whole.noisy)
    found = []
    for text, (own, slices) in zip(texts, parts(batch, whole.quote), strict=True):
        keys = listed(own.checked).product()
        noisy = cut(whole.noisy, keys, slices)
        part = None if made is None else cut(made, keys, slices)
        found.append(replace(whole, question=text, quote=own, noisy=noisy, made=part))
    return tuple(found)


def joined(batch: Batch, whole: Release, parted: Sequence[Noisy]) -> Release:
    """Return the answer of a whole batch out of what was drawn for each of its questions.

    What no question asked of a measurement is not sent, and stands as zero: it is shown to nobody, and where
    there are several measurements nothing is made of them together.
    """
    size = batch.whole.keys.size  # type: ignore[union-attr]
    drawn: list[list[Public]] = [[0] * size for _ in batch.whole.measurements]
    for slices, one in zip(batch.slices, parted, strict=True):
        for place, column in zip(slices, one.values, strict=True):
            drawn[place.measurement][place.start : place.stop] = column
    return replace(whole, noisy=Noisy(batch.whole.keys.product(), tuple(map(tuple, drawn))))  # type: ignore[union-attr]


def protected(catalog: Catalog, checked: Checked) -> Unit:
    """Return whom an answer to this question protects."""
    tables = [catalog.table(name) for name in checked.tables]
    people = [table.unit or table.path for table in tables if table is not None]
    column = next((person for person in people if person is not None), None)
    return Unit(column, checked.rows.adjacency)


def declared_budget(catalog: Catalog) -> Budget:
    """Return the cap that a catalog declares."""
    if catalog.budget is None:
        raise CatalogError("the manifest declares no budget; add [budget] with epsilon = ...")
    return budget_like(catalog.budget, catalog.budget.epsilon)


def budget_like(declared: DeclaredBudget, epsilon: Fraction) -> Budget:
    """Return a budget of this epsilon whose delta is used as the declared one is."""
    if not declared.delta:
        return PureBudget(epsilon)
    if declared.slack is None:
        return ApproximateBudget(epsilon, declared.delta)
    return ApproximateBudget(epsilon, declared.delta, declared.slack)


def promised(budget: Budget) -> tuple[Fraction, Fraction]:
    """Return the epsilon and delta that a budget promises."""
    return budget.epsilon, Fraction(0) if isinstance(budget, PureBudget) else budget.delta


def _own_delta(budget: Budget, epsilon: Number | None) -> Fraction:
    """Return what a question may use of the slack: all of it where it takes all of epsilon anyway."""
    match budget:
        case ApproximateBudget(slack=slack):
            whole = epsilon is not None and rational(epsilon, "epsilon") >= budget.epsilon
            return slack if whole else slack / KEY_QUESTIONS
        case PureBudget():
            return Fraction(0)
