"""Studies of the network: eligible clients, stragglers, positions, size of a payload."""

from __future__ import annotations

import torch

from fedradio.core.contracts import Reason
from fedradio.papers.studies.planned import ROUNDS, Finding, ShareProgress, planned_rounds, planned_slots
from fedradio.runs.folder import plain_network
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

OFTEN = 0.5
"""A straggler is out in at least this share of the rounds."""


def eligibility(spec: Spec, progress: ShareProgress) -> Finding:
    """In how many edge rounds of 100 rounds each client was ``eligible`` and ``selected``, ``[C]``."""
    allocations = [planned.x.alloc for planned in planned_rounds(spec, ROUNDS, progress)]
    able = [
        torch.isin(alloc.reason, torch.tensor([int(Reason.NONE), int(Reason.NOT_SELECTED)])) for alloc in allocations
    ]
    eligible = torch.stack(able).sum(dim=0)
    selected = torch.stack([alloc.active for alloc in allocations]).sum(dim=0)
    return {
        "eligible": eligible.tolist(),
        "selected": selected.tolist(),
        "least_eligible": int(eligible.min()),
        "most_selected": int(selected.max()),
        "eligible_share": float(eligible.double().mean() / len(allocations)),
        "edge_rounds": len(allocations),
    }


def stragglers(spec: Spec, progress: ShareProgress) -> Finding:
    """Stragglers: ``share`` of the clients that cannot take part in at least half of the spec's rounds.

    ``samples``: how many cannot in each edge round; ``median_share`` is their median as a share of the clients.
    """
    sim = build(spec)
    active = torch.stack([planned.x.alloc.active for planned in planned_slots(sim, spec.rounds, progress)])
    out = ~active  # [E, C]
    often = out.double().mean(dim=0) >= OFTEN
    each = out.sum(dim=1)
    return {
        "share": float(often.double().mean()),
        "median_share": float(each.double().quantile(0.5)) / active.shape[1],
        "samples": each.tolist(),
        "unit": f"stragglers of {active.shape[1]} clients",
    }


def network(spec: Spec, progress: ShareProgress) -> Finding:
    """The positions and parents of all nodes."""
    finding = {"network": plain_network(build(spec).topology)}
    progress(1.0)
    return finding


def payload(spec: Spec, progress: ShareProgress) -> Finding:
    """Size of a client's payload: ``parameters``, and their ``bits`` and ``mbit`` on the first hop."""
    sim = build(spec)
    bits = sim.hops[0].link.bits(sim.message(0))
    progress(1.0)
    return {"parameters": sim.message(0).values, "bits": bits, "mbit": None if bits is None else bits / 1e6}
