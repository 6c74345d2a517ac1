"""What an agent sees and does: observations from the policy's view, and actions as allocations.

All arrays are ``[C]``, one entry a client. An observation has what the spec defines of: ``gain_db`` of the channel to
the client's receiver, ``budget_j`` of an edge round, ``cycles_per_step``, ``samples``, the ``loss`` of its last local
training (-1: none yet), its ``age`` (edge rounds since its payload last arrived), and whether it is ``able`` to take
part. An action has ``select`` (0 or 1), ``steps``, and with a fleet ``cpu`` and ``power`` as shares of the client's
highest frequency and power.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from fedradio.core.contracts import SUPERPOSITION, Allocation, Policy, Reason, View
from fedradio.policies.effort import Effort
from fedradio.rounds.planning import refuse_no_steps

Arrays = dict[str, Any]
"""Arrays ``[C]`` by name."""

LEAST_SHARE = 1e-9
"""Least share of frequency and power that an action may give, -90 dB: with none at all nothing ever ends."""


def observation_of(view: View, age: NDArray[np.int64]) -> Arrays:
    """What an agent sees of an edge round."""
    signals, able = view.signals, view.able
    found: Arrays = {}
    if view.channel is not None:
        gain = view.channel.power[view.parent, torch.arange(view.senders)]
        found["gain_db"] = (10 * torch.log10(gain)).numpy()
    if view.fleet is not None and bool(view.fleet.energy_j.isfinite().any()):
        found["budget_j"] = view.fleet.energy_j.numpy()
    if view.cycles_per_step is not None:
        found["cycles_per_step"] = view.cycles_per_step.numpy()
    found["samples"] = signals["samples"].numpy()
    found["loss"] = signals["loss"].nan_to_num(-1.0).numpy()
    found["age"] = age
    found["able"] = np.ones(view.senders) if able is None else able.numpy()
    return {name: values.astype(np.float32) for name, values in found.items()}


def observation_space(example: Arrays) -> spaces.Dict:
    """The space of observations that look like this one."""
    lowest = {"gain_db": -np.inf, "loss": -1.0}
    highest = {"able": 1.0}
    return spaces.Dict(
        {
            name: spaces.Box(lowest.get(name, 0.0), highest.get(name, np.inf), values.shape, np.float32)
            for name, values in example.items()
        }
    )


def action_space(view: View, max_steps: int) -> spaces.Dict:
    """The space of actions on clients that are seen like this."""
    clients = view.senders
    levers: dict[str, spaces.Space[Any]] = {
        "select": spaces.MultiBinary(clients),
        "steps": spaces.MultiDiscrete(np.full(clients, max_steps), start=np.ones(clients, dtype=np.int64)),
    }
    if view.fleet is not None:
        levers["cpu"] = spaces.Box(LEAST_SHARE, 1.0, (clients,), np.float64)
        if SUPERPOSITION not in view.link.offers:  # where the payload itself decides the power
            levers["power"] = spaces.Box(LEAST_SHARE, 1.0, (clients,), np.float64)
    return spaces.Dict(levers)


def allocation_of(action: Arrays, view: View) -> Allocation:
    """The allocation that an action means; a client without data stays out, whatever the action says."""
    active = torch.as_tensor(np.asarray(action["select"]), dtype=torch.bool)
    steps = torch.as_tensor(np.asarray(action["steps"]), dtype=torch.long)
    fleet = view.fleet
    alloc = Allocation(
        active=active,
        steps=torch.where(active, steps, 0),
        cpu_hz=None if fleet is None else _share(action, "cpu", len(active)) * fleet.f_max_hz,
        power_w=None if fleet is None else _share(action, "power", len(active)) * fleet.p_max_w,
        reason=torch.where(active, int(Reason.NONE), int(Reason.NOT_SELECTED)),
    )
    refuse_no_steps(view, alloc, "the action")
    return alloc


def action_of(alloc: Allocation, view: View, max_steps: int) -> Arrays:
    """The action that means an allocation, as far as actions can: steps and shares within their bounds."""
    found: Arrays = {
        "select": alloc.active.numpy().astype(np.int8),
        "steps": alloc.steps.clamp(1, max_steps).numpy().astype(np.int64),
    }
    if view.fleet is not None and alloc.cpu_hz is not None:
        found["cpu"] = _of_most(alloc.cpu_hz, view.fleet.f_max_hz)
        if SUPERPOSITION not in view.link.offers and alloc.power_w is not None:
            found["power"] = _of_most(alloc.power_w, view.fleet.p_max_w)
    return found


def most_steps(policy: Policy, view: View) -> int:
    """The most local steps that a policy may allot: its own limit, its fixed steps, or those of an epoch."""
    limit = getattr(policy, "max_steps", None)
    if limit is not None:
        return int(limit)
    effort = getattr(policy, "effort", None)
    if isinstance(effort, Effort) and effort.steps is not None:
        return effort.steps[1]
    epochs = effort.epochs[1] if isinstance(effort, Effort) and effort.epochs is not None else 1
    return max(1, epochs * int(view.signals["epoch_steps"].max()))


def _share(action: Arrays, name: str, clients: int) -> torch.Tensor:
    """Shares ``[C]`` of the highest value; all of it if the action does not say."""
    values = action[name] if name in action else np.ones(clients)
    return torch.as_tensor(np.asarray(values), dtype=torch.float64)


def _of_most(values: torch.Tensor, most: torch.Tensor) -> NDArray[np.float64]:
    """Shares of the highest values, not below the least one."""
    return (values.double() / most).clamp(LEAST_SHARE, 1.0).numpy()
