"""What can be found out about a spec without learning: who could take part, joules, loads, bits, the printed bound.

``STUDIES[name](spec, tell)`` returns plain data for JSON; ``tell`` hears the share that is done. A study plans with the
very parts of the spec, so that its numbers are those of a run of the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod

import numpy as np
import torch
from torch import Tensor

from fedradio.core.contracts import Reason
from fedradio.core.errors import Problem, SpecError
from fedradio.experiment import store
from fedradio.experiment.build import build
from fedradio.experiment.read import plain_copy
from fedradio.experiment.spec import Spec, check_spec
from fedradio.experiment.studies_data import Floats, Found, Tell, labels, reference, sample_bits
from fedradio.rounds.account import planned_j
from fedradio.rounds.planning import Plan, plan_slots
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.step import begin
from fedradio.theory.whfl import Printed, figure_4, loss_33

Study = Callable[[Spec, Tell], Found]

ROUNDS = 100
"""Rounds of RawHFL's figures and tables; with four edge rounds each they are its 400."""

MIDDLE = 50
"""The round at which RawHFL's text quotes joules."""

OFTEN = 0.5
"""A straggler is out in at least this share of the rounds."""


def energy(spec: Spec, tell: Tell) -> Found:
    """Joules of 100 rounds, whatever the spec's own number: ``total_j``, ``at_50_j`` of the first 50; ``samples`` are
    those of every edge round, all cells together, with their median."""
    sim = build(_for_rounds(spec, ROUNDS))
    joules = _joules(sim, tell)  # [E, C]
    each = joules.sum(axis=1)
    middle = len(each) * MIDDLE // ROUNDS
    return {
        "total_j": float(each.sum()),
        "at_50_j": float(each[:middle].sum()),
        "median_j": float(np.median(each)),
        "samples": each.tolist(),
        "unit": "energy of an edge round, all cells [J]",
    }


def client_energy(spec: Spec, tell: Tell) -> Found:
    """``samples``: joules of every client in every edge round of 100 rounds that it takes part in; their median, None
    where nobody ever does."""
    joules = _joules(build(_for_rounds(spec, ROUNDS)), tell)
    spent = joules[joules > 0]
    return {
        "median_j": float(np.median(spent)) if len(spent) else None,
        "samples": spent.tolist(),
        "unit": "energy of a client in an edge round [J]",
    }


def eligibility(spec: Spec, tell: Tell) -> Found:
    """In how many edge rounds of 100 rounds each client could take part, and did: ``eligible``, ``selected [C]``."""
    sim = build(_for_rounds(spec, ROUNDS))
    plans = [plan.alloc for plan in _plans(sim, ROUNDS, tell)]
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


def stragglers(spec: Spec, tell: Tell) -> Found:
    """Who cannot take part in the spec's rounds: ``share`` of the clients that are out in at least half of them;
    ``samples``: how many are out in each edge round, with ``median_share``."""
    sim = build(spec)
    active = torch.stack([plan.alloc.active for plan in _plans(sim, spec.rounds, tell)])
    out = ~active  # [E, C]
    often = out.double().mean(dim=0) >= OFTEN
    each = out.sum(dim=1)
    return {
        "share": float(often.double().mean()),
        "median_share": float(each.double().quantile(0.5)) / active.shape[1],
        "samples": each.tolist(),
        "unit": f"stragglers of {active.shape[1]} clients",
    }


def network(spec: Spec, tell: Tell) -> Found:
    """Who stands where and belongs to whom."""
    found = {"network": store.network(build(spec).topology)}
    tell(1.0)
    return found


def payload(spec: Spec, tell: Tell) -> Found:
    """``parameters`` that a client sends, and the ``bits`` and megabits of it on the first hop."""
    sim = build(spec)
    parameters = sim.model.shared.size * sim.algorithm.blocks
    bits = sim.hops[0].link.bits(parameters)
    tell(1.0)
    return {"parameters": parameters, "bits": bits, "mbit": None if bits is None else bits / 1e6}


def bound(spec: Spec, tell: Tell) -> Found:
    """W-HFL's bound (33) on the loss, as printed, with the values of its Fig. 4: ``y`` after ``x`` cluster iterations,
    and where it ends, ``last``. Gains, antennas, noise and iterations are those of the spec."""
    sim, hops = build(spec), spec.plain["hops"]
    kinds = [hop["link"]["kind"] for hop in hops]
    if kinds not in (["ideal"], ["over_the_air", "over_the_air"]):
        reason = "the bound is printed for two hops of air, and for one without errors"
        raise SpecError(Problem("hops", reason, "such as whfl/mnist/iid/i4 or whfl/mnist/iid/ideal", kinds))
    iterations, one = hops[0]["period"], torch.ones(1, 1, dtype=torch.float64)
    setting = Printed(one, one[0], iterations=iterations, tau=hops[0]["policy"]["steps"], d=sim.model.shared.size)
    rate, amplitude, edge = figure_4(spec.rounds)
    loss = loss_33(setting, rate)
    if len(kinds) == 2:
        near, far = (_gain(sim, h) for h in (0, 1))
        air = {"noise": hops[0]["channel"]["noise"], "antennas": hops[0]["link"]["antennas"]}
        setting = replace(setting, gain=near, edge_gain=far[0], edge_antennas=hops[1]["link"]["antennas"], **air)
        loss = loss_33(setting, rate, amplitude, edge)
    tell(1.0)
    return {"x": [t * iterations for t in range(spec.rounds + 1)], "y": loss.tolist(), "last": float(loss[-1])}


STUDIES: dict[str, Study] = {
    "energy": energy,
    "client_energy": client_energy,
    "eligibility": eligibility,
    "stragglers": stragglers,
    "network": network,
    "payload": payload,
    "sample_bits": sample_bits,
    "reference": reference,
    "labels": labels,
    "bound": bound,
}
"""Every study by its name."""


def _for_rounds(spec: Spec, rounds: int) -> Spec:
    """The same for so many rounds, with requests enough where clients make some."""
    plain = plain_copy(spec.plain) | {"rounds": rounds}
    source, stream = plain["data"]["source"], plain["data"]["stream"]
    if "requests" in source and stream["kind"] == "growing":
        slots = rounds * prod(hop["period"] for hop in plain["hops"]) * stream["slots"]
        source["requests"] = max(source["requests"], stream["history"] + slots + 1)
    return check_spec(plain)


def _plans(sim: Simulation, rounds: int, tell: Tell) -> Iterator[Plan]:
    """Every edge round as it would be planned."""
    total = rounds * prod(hop.period for hop in sim.hops)
    for done, plan in enumerate(plan_slots(sim, begin(sim), rounds), start=1):
        yield plan
        tell(done / total)


def _joules(sim: Simulation, tell: Tell) -> Floats:
    """Joules of computing and sending of every client in every edge round of 100 rounds, ``[E, C]``."""
    rows = [planned_j(sim.hops[0], plan) for plan in _plans(sim, ROUNDS, tell)]
    known = [row.double().numpy() for row in rows if row is not None]
    if len(known) < len(rows):
        reason = "joules are known beforehand only of clients with a fleet and a link with a rate"
        raise SpecError(Problem("hops.0", reason, "such as link: digital, fleet: cellular"))
    return np.stack(known)


def _gain(sim: Simulation, h: int) -> Tensor:
    """Gains of a hop, receivers first; without fading they are the same in every round."""
    channel, places = sim.hops[h].channel, sim.topology.positions
    assert channel is not None
    return channel.realise(places[h + 1], places[h], sim.topology.parents[h], sim.rng).gain
