"""Studies of energy: planned joules of edge rounds and of clients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedradio.core.errors import Problem, SpecError
from fedradio.papers.studies.planned import ROUNDS, Finding, Floats, ShareProgress, planned_rounds
from fedradio.rounds.accounts import planned_j
from fedradio.rounds.planning import Planned
from fedradio.spec.spec import Spec, check_spec
from fedradio.spec.yaml import plain_copy

MIDDLE = 50
"""The round at which RawHFL's text quotes joules."""


def energy(spec: Spec, progress: ShareProgress) -> Finding:
    """Joules of 100 rounds, whatever the spec's own number: ``total_j``, and ``at_50_j`` of the first 50, also as a
    share.

    ``samples`` are those of every edge round, all cells together, ``median_j`` their median.
    """
    joules = _joules(planned_rounds(spec, ROUNDS, progress))  # [E, C]
    each = joules.sum(axis=1)
    middle = len(each) * MIDDLE // ROUNDS
    return {
        "total_j": float(each.sum()),
        "at_50_j": float(each[:middle].sum()),
        "share_at_50": float(each[:middle].sum() / each.sum()) if each.any() else None,
        "median_j": float(np.median(each)),
        "samples": each.tolist(),
        "unit": "energy of an edge round, all cells [J]",
    }


def energy_optional(spec: Spec, progress: ShareProgress) -> Finding:
    """What :func:`energy` finds with the optional path loss out of sight of TR 38.901 in place of the spec's own."""
    plain = plain_copy(spec.plain)
    channel = plain["hops"][0]["channel"]
    if channel is None or channel["kind"] != "urban_macro":
        reason = "the optional path loss is only defined for urban macro cells"
        raise SpecError(Problem("hops.0.channel", reason, "urban_macro", None if channel is None else channel["kind"]))
    channel["nlos"] = "optional"
    return energy(check_spec(plain), progress)


def client_energy(spec: Spec, progress: ShareProgress) -> Finding:
    """Joules of every client in every edge round of 100 rounds that it takes part in, ``samples``.

    ``median_j`` is their median, None if nobody ever takes part.
    """
    joules = _joules(planned_rounds(spec, ROUNDS, progress))
    spent = joules[joules > 0]
    return {
        "median_j": float(np.median(spent)) if len(spent) else None,
        "samples": spent.tolist(),
        "unit": "energy of a client in an edge round [J]",
    }


def _joules(slots: Sequence[Planned]) -> Floats:
    """Joules of computing and sending of every client in these edge rounds, ``[E, C]``."""
    rows = [planned_j(planned) for planned in slots]
    known = [row.double().numpy() for row in rows if row is not None]
    if len(known) < len(rows):
        reason = "energy can be planned only for clients with a fleet and a link with a rate"
        raise SpecError(Problem("hops.0", reason, "such as link: digital, fleet: cellular"))
    return np.stack(known)
