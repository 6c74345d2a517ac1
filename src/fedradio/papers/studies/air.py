"""Studies of over-the-air networks: clients' shares of the global mean, exact error of the sum, W-HFL's bound."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from fedradio.core.contracts import ChannelState
from fedradio.core.errors import Problem, SpecError
from fedradio.links.over_the_air import OverTheAir
from fedradio.papers.studies.planned import Finding, ShareProgress
from fedradio.policies.ramp import Ramp
from fedradio.rounds.planning import Planned, realise
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec
from fedradio.theory.whfl import (
    AggregationError,
    Moments,
    Printed,
    aggregation_error,
    client_shares,
    figure_4,
    flat_error,
    loss_33,
)


def bound(spec: Spec, progress: ShareProgress) -> Finding:
    """W-HFL's bound (33) on the loss, as printed, with the values of its Fig. 4: ``y`` after ``x`` cluster iterations.

    ``last`` is its end. Gains, antennas, noise and iterations are those of the spec.
    """
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
        near, far = (_channel(sim, h).gain for h in (0, 1))
        air = {"noise": hops[0]["channel"]["noise"], "antennas": hops[0]["link"]["antennas"]}
        setting = replace(setting, gain=near, edge_gain=far[0], edge_antennas=hops[1]["link"]["antennas"], **air)
        loss = loss_33(setting, rate, amplitude, edge)
    progress(1.0)
    return {"x": [t * iterations for t in range(spec.rounds + 1)], "y": loss.tolist(), "last": float(loss[-1])}


def _channel(sim: Simulation, h: int) -> ChannelState:
    """The channel of a hop in its first exchange; without fading it is the same in every round."""
    channel, topology = sim.hops[h].channel, sim.topology
    start = {} if channel is None else channel.start(topology.senders(h), topology.receivers(h))
    state, _ = realise(sim, h, topology.site(h, sim.clock(h, 0)), start)
    assert state is not None
    return state


def is_air(sim: Simulation) -> bool:
    """Whether one or two hops, all over the air, lead to the server."""
    return len(sim.hops) <= 2 and all(isinstance(hop.link, OverTheAir) for hop in sim.hops)


def unforeseen(sim: Simulation, planned: Planned) -> str:
    """Why shares and error are unknown before the run; empty if they are known.

    The closed form needs all clients on the air, equal weights and the mean of the gains.
    """
    if any(_link(sim, h).normaliser != "mean" for h in range(len(sim.hops))):
        return "with normaliser sum"
    if not bool(planned.airtime.arrived.all()):
        return "where not all clients are on the air"
    samples = sim.stream.stats(sim.stream.start())["samples"]
    if sim.algorithm.reveals & {"samples", "start_seen"} and int(samples.min()) < int(samples.max()):
        return "with weights by samples"
    return ""


def shares(sim: Simulation, planned: Planned) -> Tensor:
    """The share of each client in the global mean ``[C]``; over one hop its gain's share."""
    assert planned.x.channel is not None
    if len(sim.hops) == 1:
        return planned.x.channel.gain[0] / planned.x.channel.gain[0].sum()
    return client_shares(planned.x.channel.gain, sim.topology.parents[0], _channel(sim, 1).gain[0])


def expected_error(sim: Simulation, planned: Planned) -> AggregationError:
    """The exact error of the global mean per symbol, for independent payloads of power 1 from every client."""
    assert planned.x.channel is not None
    first = _link(sim, 0)
    iterations, clients = sim.hops[0].period, sim.topology.clients
    sent = Moments(
        gram=iterations * torch.eye(clients, dtype=torch.float64),
        power=torch.full((clients,), float(iterations), dtype=torch.float64),
        iterations=iterations,
    )
    amplitude = 1.0 if planned.x.alloc.amplitude is None else float(planned.x.alloc.amplitude.mean())
    noise = first.noise(planned.x.channel) / first.sigma_h2
    if len(sim.hops) == 1:
        return flat_error(planned.x.channel.gain[0], sent, amplitude, noise, first.antennas)
    above, policy = _channel(sim, 1), sim.hops[1].policy
    return aggregation_error(
        planned.x.channel.gain,
        sim.topology.parents[0],
        above.gain[0],
        sent,
        amplitude=amplitude,
        edge_amplitude=policy.amplitude(planned.x.clock.t) if isinstance(policy, Ramp) else 1.0,
        noise=noise,
        edge_noise=_link(sim, 1).noise(above) / _link(sim, 1).sigma_h2,
        antennas=first.antennas,
        edge_antennas=_link(sim, 1).antennas,
    )


def _link(sim: Simulation, h: int) -> OverTheAir:
    link = sim.hops[h].link
    assert isinstance(link, OverTheAir)
    return link
