"""Studies of the network: who could take part, where nodes stand, what a payload takes."""

from __future__ import annotations

import torch

from fedradio.core.contracts import Reason
from fedradio.papers.studies.planned import ROUNDS, Finding, Share, for_rounds, planned_slots
from fedradio.runs.folder import plain_network
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

OFTEN = 0.5
"""A straggler is out in at least this share of the rounds."""


def eligibility(spec: Spec, tell: Share) -> Finding:
    """In how many edge rounds of 100 rounds each client could take part, and did: ``eligible``, ``selected [C]``."""
    sim = build(for_rounds(spec, ROUNDS))
    plans = [planned.alloc for planned in planned_slots(sim, ROUNDS, tell)]
    could = [torch.isin(one.reason, torch.tensor([int(Reason.NONE), int(Reason.NOT_SELECTED)])) for one in plans]
    eligible = torch.stack(could).sum(dim=0)
    selected = torch.stack([one.active for one in plans]).sum(dim=0)
    return {
        "eligible": eligible.tolist(),
        "selected": selected.tolist(),
        "least_eligible": int(eligible.min()),
        "most_selected": int(selected.max()),
        "eligible_share": float(eligible.double().mean() / len(plans)),
        "edge_rounds": len(plans),
    }


def stragglers(spec: Spec, tell: Share) -> Finding:
    """Who cannot take part in the spec's rounds: ``share`` of the clients that are out in at least half of them;
    ``samples``: how many are out in each edge round, with ``median_share``."""
    sim = build(spec)
    active = torch.stack([planned.alloc.active for planned in planned_slots(sim, spec.rounds, tell)])
    out = ~active  # [E, C]
    often = out.double().mean(dim=0) >= OFTEN
    each = out.sum(dim=1)
    return {
        "share": float(often.double().mean()),
        "median_share": float(each.double().quantile(0.5)) / active.shape[1],
        "samples": each.tolist(),
        "unit": f"stragglers of {active.shape[1]} clients",
    }


def network(spec: Spec, tell: Share) -> Finding:
    """Who stands where and belongs to whom."""
    found = {"network": plain_network(build(spec).topology)}
    tell(1.0)
    return found


def payload(spec: Spec, tell: Share) -> Finding:
    """``parameters`` that a client sends, and the ``bits`` and megabits of it on the first hop."""
    sim = build(spec)
    parameters = sim.model.shared.size * sim.algorithm.blocks
    bits = sim.hops[0].link.bits(parameters)
    tell(1.0)
    return {"parameters": parameters, "bits": bits, "mbit": None if bits is None else bits / 1e6}
