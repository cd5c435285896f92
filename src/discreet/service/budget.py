"""A budget as it goes over the network: what somebody may see of it, and how it is read on the other side."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.ledger import BudgetView, LimitView, Scope
from discreet.ledger.codec import read_budget, read_cost
from discreet.ledger.view import Collusion, Per


def own(view: BudgetView, name: str, project: str) -> BudgetView:
    """Return what one analyst may see: the limits on them, their own spending, and the sum of everybody's."""

    def covering(limits: tuple[LimitView, ...]) -> tuple[LimitView, ...]:
        return tuple(limit for limit in limits if limit.scope.covers(project, name))

    return replace(
        view,
        analysts=None if view.analysts is None else tuple(a for a in view.analysts if a == name),
        limits=covering(view.limits),
        paces=covering(view.paces),
        members=tuple(member for member in view.members if member[1] == name),
        collusion=replace(view.collusion, worst=view.limits[0].budget, sum_of_limits=None),
    )


def read(body: Mapping[str, Any]) -> BudgetView:
    """Return the view that was sent as `BudgetView.to_json`; what is left is worked out here."""
    together = body["collusion"]
    total = together["sum_of_limits"]
    return BudgetView(
        dataset=body["dataset"],
        entries=body["entries"],
        closed=body["closed"],
        analysts=None if body["analysts"] is None else tuple(body["analysts"]),
        running=body["running"],
        limits=tuple(map(_limit, body["limits"])),
        members=tuple((one["project"], one["analyst"], read_cost(one["cost"])) for one in body["spent"]),
        collusion=Collusion(
            read_cost(together["spent"]),
            read_budget(together["worst"]),
            None if total is None else Fraction(total),
        ),
        paces=tuple(_limit(one, one["per"]) for one in body.get("paces", ())),
    )


def _limit(body: Mapping[str, Any], per: Per | None = None) -> LimitView:
    budget, spent = read_budget(body["budget"]), read_cost(body["spent"])
    scope = Scope(body["project"], body["analyst"])
    return LimitView(scope, budget, spent, per)
