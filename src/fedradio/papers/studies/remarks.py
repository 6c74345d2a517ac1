"""Study of W-HFL's Remarks 1 and 2: what clusters, clients, antennas, parameters and the rate do to bound and error."""

from __future__ import annotations

from statistics import median

import torch

from fedradio.core.errors import Problem, SpecError
from fedradio.papers.studies.air import local_steps, printed_setting, relayed_error
from fedradio.papers.studies.planned import Finding, ShareProgress
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, check_spec
from fedradio.theory.whfl import Moments, Printed, air_32, figure_4, learning_32, loss_33

LAYOUTS = 25
"""Layouts of a seed whose medians are taken: gains of the fourth power have heavy tails."""


def remarks(spec: Spec, progress: ShareProgress) -> Finding:
    """The bound and the exact error of a network of two hops of air, medians over layouts.

    ``printed`` is (33) after all rounds with the rates of Fig. 4, ``printed_still`` what (32) adds in a round in which
    the rate is 0. ``exact`` is the squared error of a round's global mean, all parameters together, where every client
    sends the same change of squared norm ``eta^2 tau^2 G^2`` with Fig. 4's first rate, ``exact_still`` that of changes
    of nothing. Powers are those of the spec's first round.
    """
    plain = spec.plain
    if [hop["link"]["kind"] for hop in plain["hops"]] != ["over_the_air"] * 2 or "layout" not in plain["topology"]:
        reason = "the remarks are about clusters with two over-the-air hops"
        raise SpecError(Problem("hops", reason, "such as whfl", plain["topology"]["kind"]))
    found: dict[str, list[float]] = {"printed": [], "printed_still": [], "exact": [], "exact_still": []}
    for layout in range(LAYOUTS):
        changed = plain | {"topology": plain["topology"] | {"layout": layout}}
        for name, value in _of_layout(check_spec(changed)).items():
            found[name].append(value)
        progress((layout + 1) / LAYOUTS)
    return {name: median(values) for name, values in found.items()}


def _of_layout(spec: Spec) -> dict[str, float]:
    """The four numbers of one layout."""
    sim, hops = build(spec), spec.plain["hops"]
    iterations, tau, d = hops[0]["period"], local_steps(spec), sim.model.shared.size
    one = torch.ones(1, 1, dtype=torch.float64)
    setting = printed_setting(sim, Printed(one, one[0], iterations=iterations, tau=tau, d=d))
    rate, amplitude, _ = figure_4(spec.rounds)
    near, far = (hop["policy"].get("scale", 1.0) * amplitude for hop in hops)
    still = torch.zeros(1, dtype=torch.float64)
    added = float(learning_32(setting, still) + sum(air_32(setting, still, near[:1], far[:1]).values()))
    symbols, clients = (d + 1) // 2, sim.topology.clients
    power = float(rate[0] * tau) ** 2 * setting.gradient_sq / symbols  # |x|^2 of a symbol

    def error(power: float) -> float:
        same = torch.ones(clients, clients, dtype=torch.float64)
        sent = Moments(iterations**2 * power * same, torch.full((clients,), iterations * power).double(), iterations)
        return symbols * relayed_error(sim, sent, float(near[0]), float(far[0])).total

    bound = float(loss_33(setting, rate, near, far)[-1])
    return {"printed": bound, "printed_still": added, "exact": error(power), "exact_still": error(0.0)}
