"""One planned edge round as flat rows in SI units: clients, cells, modes, and the objectives of its problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from fedradio.core.contracts import Reason
from fedradio.policies.joint import Joint
from fedradio.policies.objectives import EPSILON, Plan, Point, osafl_points, rawhfl_points
from fedradio.policies.per_client import PerClient
from fedradio.policies.slot import slot_of
from fedradio.rounds.accounts import planned_j
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation

Row = dict[str, Any]


def placement(planned: Planned) -> list[str]:
    """Each client's role in the edge round: ``selected``, ``eligible`` (but not selected) or ``out``."""
    able = planned.x.alloc.reason == int(Reason.NOT_SELECTED)
    pairs = zip(planned.x.alloc.active.tolist(), able.tolist(), strict=True)
    return ["selected" if active else "eligible" if eligible else "out" for active, eligible in pairs]


def client_rows(sim: Simulation, planned: Planned) -> list[Row]:
    """One row per client; the values of the plan are None for clients that are not selected."""
    parent, positions = sim.topology.parents[0], sim.topology.positions
    distance = (positions[0] - positions[1][parent]).norm(dim=1)
    x, joules = planned.x, planned_j(planned)
    rows = []
    for i, place in enumerate(placement(planned)):
        on = place == "selected"
        gain = None if x.channel is None else float(10 * torch.log10(x.channel.gain[int(parent[i]), i]))
        rows.append(
            {
                "client": i,
                "cell": int(parent[i]),
                "distance_m": float(distance[i]),
                "gain_db": gain,
                "place": place,
                "reason": None if on else Reason(int(x.alloc.reason[i])).name.lower(),
                "steps": int(x.alloc.steps[i]) if on else None,
                "cpu_hz": _at(x.alloc.cpu_hz, i, on),
                "power_w": _at(x.alloc.power_w, i, on),
                "seconds": _at(planned.airtime.done_s, i, on),
                "joules": _at(joules, i, on),
            }
        )
    return rows


def cell_rows(sim: Simulation, planned: Planned) -> list[Row]:
    """One row per cell: clients, selected clients, and the policy's notes."""
    notes = {name: note.values for name, note in planned.x.alloc.notes.items() if note.axis == "receiver"}
    parent = sim.topology.parents[0]
    return [
        {
            "cell": cell,
            "clients": int((parent == cell).sum()),
            "selected": int(planned.x.alloc.active[parent == cell].sum()),
            **{name: float(values[cell]) for name, values in notes.items()},
        }
        for cell in range(sim.topology.receivers(0))
    ]


def mode_row(mode: str, planned: Planned, planning_ms: float, points: Sequence[Point]) -> Row:
    """The row of one mode of a policy: totals, medians of the selected, and the objectives beside their optima."""
    places, joules, on = placement(planned), planned_j(planned), planned.x.alloc.active
    objectives: Row = {}
    for point in points:
        if point.best is not None:
            objectives[point.best] = points[0].quantities[point.best]
            objectives[f"{point.best}, optimum"] = point.quantities[point.best]
    return {
        "mode": mode,
        "eligible": len(places) - places.count("out"),
        "selected": places.count("selected"),
        "steps": int(planned.x.alloc.steps.sum()),
        "joules": None if joules is None else float(joules.sum()),
        "cpu_hz": _median(planned.x.alloc.cpu_hz, on),
        "power_w": _median(planned.x.alloc.power_w, on),
        "planning_ms": planning_ms,
        **objectives,
    }


def fleet_row(fleet: str, planned: Planned) -> Row:
    """The row of one fleet: who takes part, joules and those of waiting among them, seconds until the last is done, the
    ranges of frequencies and powers of those who take part, and the ranges of work per bit and energy budget of all
    clients; a budget of None is none."""
    fleet_of_hop = planned.x.fleet
    assert fleet_of_hop is not None
    cycles, budget_j = fleet_of_hop.cycles_per_bit, fleet_of_hop.energy_j
    limited = budget_j.isfinite()
    places, joules, on = placement(planned), planned_j(planned), planned.x.alloc.active
    awake = planned_j(replace(planned, x=replace(planned.x, fleet=replace(fleet_of_hop, idle_w=0.0))))
    cpu_hz, power_w = _range(planned.x.alloc.cpu_hz, on), _range(planned.x.alloc.power_w, on)
    return {
        "fleet": fleet,
        "eligible": len(places) - places.count("out"),
        "selected": places.count("selected"),
        "steps": int(planned.x.alloc.steps.sum()),
        "joules": None if joules is None else float(joules.sum()),
        "waiting_j": None if joules is None or awake is None else float((joules - awake).sum()),
        "seconds": _range(planned.airtime.done_s, on)[1],
        "least_cpu_hz": cpu_hz[0],
        "most_cpu_hz": cpu_hz[1],
        "least_power_w": power_w[0],
        "most_power_w": power_w[1],
        "least_cycles_per_bit": float(cycles.min()),
        "most_cycles_per_bit": float(cycles.max()),
        "least_budget_j": _range(budget_j, limited)[0],
        "most_budget_j": _range(budget_j, limited)[1],
    }


def objective_points(
    sim: Simulation, planned: Planned, before: Tensor | None = None, epsilon: float = EPSILON
) -> list[Point]:
    """The objectives of the policy's problem at its plan and at the exact optimum; empty for policies without any.

    ``before [S]`` are the clients selected in the previous edge round, None for none.
    """
    policy, alloc = sim.hops[0].policy, planned.x.alloc
    if not isinstance(policy, Joint | PerClient) or alloc.cpu_hz is None or alloc.power_w is None:
        return []
    slot, chosen = slot_of(planned.x), Plan(alloc.active, alloc.steps, alloc.cpu_hz, alloc.power_w)
    if isinstance(policy, PerClient):
        return osafl_points(slot, chosen, max_steps=policy.max_steps, epsilon=epsilon)
    return rawhfl_points(
        slot,
        chosen,
        clients=policy.clients,
        max_steps=policy.max_steps,
        theta=policy.theta,
        overlap=policy.overlap,
        before=torch.zeros_like(alloc.active) if before is None else before,
    )


def _at(values: Tensor | None, i: int, on: bool) -> float | None:
    return float(values[i]) if on and values is not None else None


def _range(values: Tensor | None, on: Tensor) -> tuple[float | None, float | None]:
    """Least and most of the values of the selected; None without any."""
    if values is None or not bool(on.any()):
        return None, None
    return float(values[on].min()), float(values[on].max())


def _median(values: Tensor | None, on: Tensor) -> float | None:
    return None if values is None or not bool(on.any()) else float(values[on].median())
