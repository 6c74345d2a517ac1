"""Local rules that an algorithm can use."""

from __future__ import annotations

from fedradio.core.contracts import LocalRule
from fedradio.core.errors import Problem, SpecError


def require_sgd(kind: str, rule: LocalRule) -> None:
    """Refuse a local rule whose change is not a number of steps times a mean gradient of this round (not plain SGD)."""
    if rule.optimiser != "sgd":
        reason = f"{kind} divides changes by their number of gradient steps, which only plain or momentum SGD defines"
        raise SpecError(Problem("rule.kind", reason, "use sgd", rule.optimiser))
    if rule.keep_state:
        reason = f"{kind} needs changes made of this round's gradients only, but kept momentum contains older ones"
        raise SpecError(Problem("rule.keep_state", reason, "set it to false", True))
