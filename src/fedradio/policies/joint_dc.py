"""RawHFL's Algorithm 2: problem (29) relaxed to a difference of convex functions, linearised and solved repeatedly.

Every iteration solves problem (40), a linear programme: all of (36)-(39) are first-order expansions around the last
iterate. It is the published method, kept beside the exact optimum of :mod:`fedradio.policies.solvers`. As printed it
fails: nothing keeps it near the point where the expansions hold, and it drives ``f`` and ``P`` to 0. The repairs:

- a trust region: ``f`` and ``P`` change by at most a factor that shrinks from 4 to 1;
- scaled variables ``1_u``, ``Lbar/L_max``, ``f/f(i) - 1``, ``P/P(i) - 1`` (not ``P/P_max``: solutions lie
  near 1e-5 of it) and constraints in shares of deadline and budget;
- positive floors for ``f``, ``P`` and the relaxed selection: at ``1_u = 0`` the expansions of ``1_u t`` and ``1_u e``
  have no slope, and a client once left out would keep the plan it had then;
- ``rho = 0`` by default. The paper's 1 keeps what the first iteration selects, made at the start's frequencies and
  powers, for good (16 to 55 times the optimal energy); without it selections come out as 0 or 1 all the same;
- the objective gains the constant ``theta L_max sum(1_u)``, fixed by C2, so that joules do not drown in steps;
- the result is rounded and made feasible, for an iterate satisfies the expansions only.

Typos in the paper: beta in (35) and (36) is theta, and the squared logarithm of (37) and (39) divides. The weights
``alpha`` are equal and left out. Static and circuit powers, where the fleet has them, are expanded with their times;
waiting until the deadline costs ``1_u P_idle T`` less the idle power during these times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import clarabel
import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.params import group_sum
from fedradio.fleet.costs import compute_s, sender_j
from fedradio.links.rates import airtime_s, power_for_w
from fedradio.policies.slot import USUAL, Iteration, Offer, SlotProblem, Start, full_power_offer
from fedradio.policies.solvers import least_energy_offer, select

TRUST = 4.0
"""Factor by which frequency and power may change in the first of I iterations; the last one's is ``TRUST^(1/I)``."""
LEAST_SHARE = 0.01
"""Floor of a relaxed selection; without it the energy is 1.3 to 2.4 times the optimal one."""
LEAST_CPU, LEAST_POWER = 1e-6, 1e-15
"""Floors of frequency and power as shares of their maxima, where the fleet has no higher ones."""
NEARLY = 1e-4
"""A relaxed number of steps this little below an integer counts as that integer."""
TIE = 1e-6
"""Weight of a client's own cost (29) beside its relaxed selection when selections are rounded."""


@dataclass(frozen=True)
class Point:
    """An iterate, per client ``[U]``: ``share`` is the relaxed selection 1_u, ``selected_steps`` is Lbar_u / L_max."""

    share: Tensor
    selected_steps: Tensor
    cpu_hz: Tensor
    power_w: Tensor


def dc_decision(
    slot: SlotProblem,
    clients: int,
    max_steps: int,
    theta: float,
    overlap: int,
    before: Tensor,
    iteration: Iteration = USUAL,
) -> tuple[Offer, Tensor, dict[str, Tensor]]:
    """Offers, selection ``[S]`` and notes ``[R]`` of one slot: those of ``select``, and ``iterations``.

    The programme contains the clients that can make one step within deadline and budget. It starts where ``iteration``
    says and that is feasible, else at the least energy for one step, because the method needs a feasible start. A
    client whose final iterate cannot be made feasible goes back to that start.
    """
    initial = _feasible_start(slot, max_steps, theta, iteration.start)
    ids = initial.eligible.nonzero().flatten()
    offer, score, iterations = initial, torch.zeros(slot.clients, dtype=torch.float64), 0
    if len(ids):
        eligible = _only(slot, ids)
        start = Offer(*(getattr(initial, name)[ids] for name in Offer.__dataclass_fields__))
        point, iterations = _iterate(eligible, start, clients, max_steps, theta, overlap, before[ids], iteration)
        final = _feasible(eligible, point, start, max_steps)
        offer = Offer(*(_put(getattr(initial, name), ids, getattr(final, name)) for name in Offer.__dataclass_fields__))
        cost = (1 - theta) * final.energy_j - theta * final.steps
        score[ids] = TIE * cost - point.share
    # the Z largest relaxed selections of each cell: a cost of -1_u, in joules only by name
    relaxed = replace(offer, steps=torch.zeros_like(offer.steps), energy_j=score)
    active, notes = select(slot, relaxed, 0.0, clients, overlap, before)
    return offer, active, notes | {"iterations": torch.full((slot.receivers,), iterations)}


def _feasible_start(slot: SlotProblem, max_steps: int, theta: float, start: Start = "full_power") -> Offer:
    """Feasible start: full CPU and power where the budget allows, else the cheapest single step; or the reason."""
    single = least_energy_offer(slot, 1, 0.0)
    if start != "full_power":
        return single if start == "one_step" else least_energy_offer(slot, max_steps, theta)
    full = full_power_offer(slot, max_steps)
    ok = full.eligible
    usable = single.eligible & ~ok
    return Offer(
        eligible=ok | usable,
        steps=torch.where(usable, single.steps, full.steps),
        cpu_hz=torch.where(usable, single.cpu_hz, full.cpu_hz),
        power_w=torch.where(usable, single.power_w, full.power_w),
        energy_j=torch.where(usable, single.energy_j, torch.where(ok, full.energy_j, 0.0)),
        reason=torch.where(ok, full.reason, single.reason),
    )


def _iterate(
    slot: SlotProblem,
    start: Offer,
    clients: int,
    max_steps: int,
    theta: float,
    overlap: int,
    before: Tensor,
    iteration: Iteration,
) -> tuple[Point, int]:
    """Iterations of Algorithm 2; a programme that cannot be solved ends them at the last iterate."""
    members = group_sum(torch.ones_like(slot.parent), slot.parent, slot.receivers)
    wanted = members.clamp(max=clients)
    programme = _Programme(slot, wanted, overlap, before, max_steps)
    share = (wanted / members)[slot.parent].double().clamp(min=LEAST_SHARE)
    point = Point(share, share * start.steps / max_steps, start.cpu_hz, start.power_w)
    floor_hz = (LEAST_CPU * slot.fleet.f_max_hz).clamp(min=slot.fleet.cpu_min_hz)
    floor_w = (LEAST_POWER * slot.fleet.p_max_w).clamp(min=slot.fleet.tx_min_w)
    for i in range(iteration.most):
        seconds, joules = _expanded(slot, point, max_steps)
        cost = (1 - theta) * joules
        cost[0] += theta * max_steps + iteration.rho * (1 - 2 * point.share)
        cost[1] -= theta * max_steps
        factor = TRUST ** (1 - i / iteration.most)
        low = torch.stack((floor_hz / point.cpu_hz, floor_w / point.power_w)).clamp(min=1 / factor)
        high = torch.stack((slot.fleet.f_max_hz / point.cpu_hz, slot.fleet.p_max_w / point.power_w)).clamp(max=factor)
        solution = programme.solve(cost, seconds / slot.deadline_s, joules / slot.fleet.energy_j, low - 1, high - 1)
        if solution is None:
            return point, i
        last = torch.stack((point.share, point.selected_steps))
        moved = max(float((solution[:2] - last).abs().max()), float(solution[2:].abs().max()))
        share = solution[0].clamp(LEAST_SHARE, 1.0)
        point = Point(
            share=share,
            selected_steps=torch.minimum(torch.maximum(solution[1], share / max_steps), share),
            cpu_hz=torch.minimum(torch.maximum(point.cpu_hz * (1 + solution[2]), floor_hz), slot.fleet.f_max_hz),
            power_w=torch.minimum(torch.maximum(point.power_w * (1 + solution[3]), floor_w), slot.fleet.p_max_w),
        )
        if moved < iteration.precision:
            return point, i + 1
    return point, iteration.most


def _expanded(slot: SlotProblem, point: Point, max_steps: int) -> tuple[Tensor, Tensor]:
    """Linearised seconds (38), (39) and joules (36), (37): coefficients ``[4, U]`` of the variables of (40)."""
    f, p, share, selected_steps = point.cpu_hz, point.power_w, point.share, point.selected_steps
    tau = airtime_s(slot.bits, slot.bandwidth_hz, p, slot.unit_w)
    snr = p / slot.unit_w
    slope = -snr / ((1 + snr) * torch.log1p(snr))  # d log tau / d log P: the squared logarithm divides
    step = slot.cycles * max_steps / f
    joule = 0.5 * slot.fleet.capacitance * slot.cycles * max_steps * f**2
    none = torch.zeros_like(f)
    computing = torch.stack((none, step, -step * selected_steps, none))
    sending = torch.stack((tau, none, none, tau * share * slope))
    fleet = slot.busy_fleet
    up = p * tau / fleet.pa_efficiency
    joules = torch.stack((up + slot.idle_j, joule, 2 * joule * selected_steps, up * share * (1 + slope)))
    return computing + sending, joules + fleet.cpu_static_w * computing + fleet.circuit_w * sending


class _Programme:
    """Linear programme (40) around an iterate: minimise ``q z`` such that ``A z + s = b``, ``s = 0`` or ``s >= 0``.

    ``z [4 U]`` holds the variables ``x [4, U]`` client by client: 1_u, Lbar/L_max, f/f(i) - 1, P/P(i) - 1. ``A`` and
    ``b`` have a row per cell (C2, C3) or client, two in C5, C6:

    - C2, with equality: the sum of 1_u in a cell is the number ``wanted``
    - (34): ``LEAST_SHARE <= 1_u <= 1``
    - C3: the sum of 1_u over the clients selected ``before`` is at most the overlap, or more where it must be
    - (30): ``1_u / L_max <= Lbar/L_max <= 1_u``
    - C5, C6 and the trust region: ``low <= x[2:] <= high``
    - (40c), (40d): seconds and joules, in shares of deadline and budget, are at most ``1_u``

    Only C4, ``1/L_max <= L/L_max <= 1``, and (31), ``(1 - 1_u)/L_max <= L/L_max - Lbar/L_max <= 1 - 1_u``, which
    implies (32), contain the steps ``L``, and these have no other use. With (30) and (34) such an ``L`` always exists:
    ``max(1/L_max, Lbar/L_max + (1 - 1_u)/L_max) <= min(1, Lbar/L_max + 1 - 1_u)``. So they are left out.

    ``A`` and ``b`` are made once. Between iterations only ``q``, the bounds ``low`` and ``high`` in ``b``, and the
    coefficients of (40c) and (40d) in ``A`` change; these are all stored, zeros too.
    """

    def __init__(self, slot: SlotProblem, wanted: Tensor, overlap: int, before: Tensor, max_steps: int) -> None:
        n = slot.clients
        members = (slot.parent == torch.arange(slot.receivers)[:, None]).double()  # [R, U]
        members, wanted = members[wanted > 0], wanted[wanted > 0]
        repeated = (members * before).sum(1)
        least = wanted - (members.sum(1) - repeated)
        allowed = torch.maximum(least, torch.full_like(repeated, overlap)) + LEAST_SHARE * repeated
        each, planned = sp.identity(n), [[0, 0, 1, 0], [0, 0, 0, 1]]
        groups = [  # coefficients of x [4, U], bound
            (sp.kron(members.numpy(), [[1, 0, 0, 0]]), wanted.numpy()),  # C2
            (sp.kron(each, [[-1, 0, 0, 0]]), np.full(n, -LEAST_SHARE)),  # (34)
            (sp.kron(each, [[1, 0, 0, 0]]), np.ones(n)),
            (sp.kron((members * before).numpy(), [[1, 0, 0, 0]]), allowed.numpy()),  # C3
            (sp.kron(each, [[1 / max_steps, -1, 0, 0]]), np.zeros(n)),  # (30)
            (sp.kron(each, [[-1, 1, 0, 0]]), np.zeros(n)),
            (-sp.kron(each, planned), np.zeros(2 * n)),  # C5, C6 and the trust region
            (sp.kron(each, planned), np.zeros(2 * n)),
        ]
        constant = sp.vstack([coefficients for coefficients, _ in groups])
        constant.eliminate_zeros()
        changing = sp.kron(each, np.ones((1, 4)))
        self.a = sp.vstack((constant, changing, changing), format="csc")
        self.b = np.concatenate([bound for _, bound in groups] + [np.zeros(2 * n)])
        end = len(self.b)
        self.bounds = slice(end - 6 * n, end - 2 * n)
        rows = self.a.indices
        self.seconds = (end - 2 * n <= rows) & (rows < end - n)
        self.joules = end - n <= rows
        self.cones = [clarabel.ZeroConeT(len(members)), clarabel.NonnegativeConeT(end - len(members))]

    def solve(self, cost: Tensor, seconds: Tensor, joules: Tensor, low: Tensor, high: Tensor) -> Tensor | None:
        """Optimal variables ``[4, U]``, or None if the solver finds none."""
        selection = torch.zeros_like(cost)
        selection[0] = 1.0
        self.q = _by_client(cost)
        self.b[self.bounds] = np.concatenate((-_by_client(low), _by_client(high)))
        self.a.data[self.seconds] = _by_client(seconds - selection)
        self.a.data[self.joules] = _by_client(joules - selection)
        none = sp.csc_matrix((len(self.q), len(self.q)))  # no quadratic costs
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        found = clarabel.DefaultSolver(none, self.q, self.a, self.b, self.cones, settings).solve()
        if found.status not in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
            return None
        solution = torch.tensor(found.x, dtype=torch.float64).reshape(-1, len(cost)).T.contiguous()
        return solution if bool(solution.isfinite().all()) else None


def _by_client(values: Tensor) -> NDArray[np.float64]:
    """Rows of values ``[k, U]`` as one vector ``[U k]``, client by client."""
    return values.T.flatten().numpy()


def _feasible(slot: SlotProblem, point: Point, start: Offer, max_steps: int) -> Offer:
    """Feasible offers from an iterate: whole steps, with power, then frequency raised as far as the deadline demands.

    Where that breaks the budget the frequency falls to the lowest that is in time, then the steps become fewer.
    """
    fleet, deadline = slot.fleet, slot.deadline_s
    most = torch.floor(point.selected_steps / point.share * max_steps + NEARLY)
    steps = torch.arange(1, max_steps + 1, dtype=torch.float64)
    n = slot.cycles[:, None] * steps  # [U, L]
    unit, f_max, p_max = slot.unit_w[:, None], fleet.f_max_hz[:, None], fleet.p_max_w[:, None]
    left = (deadline - n / f_max).clamp(min=0.0)
    power = torch.maximum(power_for_w(slot.bits, slot.bandwidth_hz, left, unit), point.power_w[:, None])
    possible = (power <= p_max) & (steps <= most[:, None])
    power = torch.minimum(power, p_max)
    tau = airtime_s(slot.bits, slot.bandwidth_hz, power, unit)
    lowest = torch.minimum((n / (deadline - tau)).clamp(min=fleet.cpu_min_hz), f_max)
    cpu = torch.maximum(lowest, point.cpu_hz[:, None])
    affordable = sender_j(fleet, n, cpu, power, tau, deadline) <= fleet.energy_j[:, None]
    cpu = torch.where(affordable, cpu, lowest)
    joules = sender_j(fleet, n, cpu, power, tau, deadline)
    possible &= (joules <= fleet.energy_j[:, None]) & (compute_s(n, cpu) + tau <= deadline * (1 + 1e-13))
    best = (possible * steps).argmax(dim=1, keepdim=True)
    ok = possible.any(dim=1)

    def chosen(values: Tensor, otherwise: Tensor) -> Tensor:
        return torch.where(ok, values.gather(1, best).squeeze(1), otherwise)

    return replace(
        start,
        steps=torch.where(ok, best.squeeze(1) + 1, start.steps),
        cpu_hz=chosen(cpu, start.cpu_hz),
        power_w=chosen(power, start.power_w),
        energy_j=chosen(joules, start.energy_j),
    )


def _only(slot: SlotProblem, ids: Tensor) -> SlotProblem:
    """The same problem for the clients ``ids`` alone."""
    vectors = {name: getattr(slot.fleet, name)[ids] for name in ("cycles_per_bit", "f_max_hz", "p_max_w", "energy_j")}
    fleet = replace(slot.fleet, **vectors)
    return replace(slot, parent=slot.parent[ids], cycles=slot.cycles[ids], unit_w=slot.unit_w[ids], fleet=fleet)


def _put(all_rows: Tensor, ids: Tensor, rows: Tensor) -> Tensor:
    """A copy of ``all_rows [S]`` with ``rows`` at ``ids``."""
    out = all_rows.clone()
    out[ids] = rows.to(out.dtype)
    return out
