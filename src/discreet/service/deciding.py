"""What a curator decides through the wall: limits; and what can be made sure of: that the ledger holds.

Every decision is an entry of the ledger with the reason and the name of who took it.
"""

from collections.abc import Mapping
from typing import Any

from discreet.errors import ConflictError, ParameterError
from discreet.exact.number import positive
from discreet.ledger import Ledger, Scope
from discreet.ledger.codec import write_budget, write_cost, write_pace
from discreet.ledger.entry import (
    EVERYBODY,
    Adopted,
    Advanced,
    Closed,
    Created,
    Event,
    Joined,
    Left,
    Limited,
    Paced,
    Restored,
    Retried,
    Rotated,
    Succeeded,
)
from discreet.ledger.name import one_name
from discreet.ledger.pace import Pace
from discreet.privacy.filter import Budget, PureBudget
from discreet.query.catalog.manifest import Catalog
from discreet.release.pinning import recap
from discreet.release.pricing import budget_like
from discreet.release.session import Session

LONGEST_REASON = 500


def admit(
    ledger: Ledger, catalog: Catalog, name: str, epsilon: str | None, reason: str, entered: str = ""
) -> None:
    """Let the ledger admit somebody, and keep them within a limit of the same kind as the dataset's."""
    admitted = ledger.budget(catalog.name).analysts
    if admitted is not None and name not in admitted:
        ledger.add_analyst(catalog.name, name, reason=entered or reason)
    if epsilon is None:
        return
    ledger.set_limit(catalog.name, Scope(analyst=name), like_cap(catalog, epsilon), reason=reason)


LIFTED = "none"
"""What is said in the place of an epsilon where a question or a day is to have no limit any more."""


def keep_pace(
    ledger: Ledger, catalog: Catalog, scope: Scope, question: str | None, day: str | None, reason: str
) -> None:
    """Set the most that one question and one day of a scope may cost; what is not said stays as it is."""
    if question is None and day is None:
        return
    now = {one.per: one.budget for one in ledger.budget(catalog.name).paces if one.scope == scope}

    def decided(said: str | None, before: Budget | None) -> Budget | None:
        return before if said is None else None if said == LIFTED else like_cap(catalog, said)

    pace = Pace(decided(question, now.get("question")), decided(day, now.get("day")))
    ledger.set_pace(catalog.name, scope, pace, reason=reason)


def like_cap(catalog: Catalog, epsilon: str) -> Budget:
    """Return a budget of this epsilon, counted as the dataset's own is."""
    most = positive(epsilon, "epsilon")
    return PureBudget(most) if catalog.budget is None else budget_like(catalog.budget, most)


def limited(session: Session, curator: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Admit somebody and set the most that they, or a project, may spend, for a stated reason.

    Without a name it is the questions and the days of everybody together that get a limit.
    """
    name, project, reason = body.get("analyst"), body.get("project"), _reason(body, curator)
    ledger, catalog = session.ledger, session.catalog
    stated = [body.get(part) for part in ("epsilon", "per_question", "per_day")]
    epsilon, question, day = (None if one is None else str(one) for one in stated)
    for said in (epsilon, *(one for one in (question, day) if one != LIFTED)):
        if said is not None:
            like_cap(catalog, said)  # refused before anything is written
    if epsilon is not None and name is None and project is None:
        raise ParameterError(
            "what everybody together may spend is the cap of the dataset; raise that instead"
        )
    if name is not None:
        admit(ledger, catalog, name, epsilon, reason)
    elif project is not None:
        project = one_name(project, "project")
        if epsilon is not None:
            scope = Scope(project=project)
            ledger.set_limit(catalog.name, scope, like_cap(catalog, epsilon), reason=reason)
    scope = Scope(analyst=name) if project is None else Scope(project=project)
    keep_pace(ledger, catalog, scope, question, day, reason)
    return {"analyst": name, "project": project}


def capped(session: Session, curator: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Raise the cap of the whole dataset, in the ledger and in the manifest, which must say the same.

    `known` is the cap that the curator saw: of two who raise it at once, one is told to look again.
    """
    wanted, reason = like_cap(session.catalog, str(body["epsilon"])), _reason(body, curator)
    now = session.ledger.cap(session.catalog.name)
    if now is None or write_budget(now) != body["known"]:
        raise ConflictError("the cap is not the one you saw; load the page again")
    if wanted.epsilon <= now.epsilon:
        raise ParameterError(f"epsilon must be more than the cap of now, {now}; a cap is not lowered here")
    if session.manifest is None:
        raise ParameterError("the dataset was not declared in a manifest, so its cap cannot be raised here")
    # Prepared before the ledger is asked, so that both say it or neither does.
    declare = recap(session.manifest, wanted.epsilon)
    session.ledger.set_limit(session.catalog.name, EVERYBODY, wanted, reason=reason)
    declare()
    return {"cap": write_budget(wanted)}


def _reason(body: Mapping[str, Any], curator: str) -> str:
    said = " ".join(str(body["reason"]).split())
    if not 0 < len(said) <= LONGEST_REASON:
        raise ParameterError(
            f"reason must be 1 to {LONGEST_REASON} characters: it stands in the ledger for ever"
        )
    return f"{said} ({curator})"


def verified(session: Session) -> dict[str, Any]:
    """Check every entry of the dataset's history, and say what was found."""
    report = session.ledger.verify()
    own = [finding for finding in report.findings if finding.dataset == session.catalog.name]
    return {
        "trusted": report.trusted,
        "entries": sum(finding.entries for finding in own),
        "anchored": sum(finding.anchored for finding in own),
    }


def decision(event: Event) -> dict[str, Any]:
    """Return what a decision says, for whoever may read all of the history."""
    match event:
        case Created(budget, _, reason):
            return {"budget": write_budget(budget), "reason": reason}
        case Limited(scope, budget, reason):
            whom = {"analyst": scope.analyst, "project": scope.project}
            return {**whom, "budget": write_budget(budget), "reason": reason}
        case Paced(scope, pace, reason):
            whom = {"analyst": scope.analyst, "project": scope.project}
            return {**whom, "pace": write_pace(pace), "reason": reason}
        case Joined(analyst, reason) | Left(analyst, reason):
            return {"analyst": analyst, "reason": reason}
        case Closed(reason) | Adopted(reason=reason) | Rotated(reason=reason) | Succeeded(reason=reason):
            return {"reason": reason}
        case Restored(lost, reason=reason):
            return {"cost": write_cost(lost), "reason": reason}
        case Retried(reservation) | Advanced(reservation):
            return {"reservation": reservation}
        case _:
            return {}
