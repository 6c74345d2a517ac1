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

    ``last`` is its end. Gains, antennas, noise, iterations and the factors on the power are those of the spec. Over one
    hop of air it is the limit of (32) that the paper does not print.
    """
    sim, hops = build(spec), spec.plain["hops"]
    kinds = [hop["link"]["kind"] for hop in hops]
    if len(kinds) > 2 or len(set(kinds)) > 1 or kinds[0] not in ("ideal", "over_the_air"):
        reason = "the bound covers one or two hops, all over the air or all error-free"
        raise SpecError(Problem("hops", reason, "such as whfl/mnist/iid/i4 or whfl/mnist/iid/ideal", kinds))
    iterations, one = hops[0]["period"], torch.ones(1, 1, dtype=torch.float64)
    setting = Printed(one, one[0], iterations=iterations, tau=local_steps(spec), d=sim.model.shared.size)
    rate, amplitude, _ = figure_4(spec.rounds)
    loss = loss_33(setting, rate)
    if kinds[0] == "over_the_air":
        powers = [hop["policy"].get("scale", 1.0) * amplitude for hop in hops]
        loss = loss_33(printed_setting(sim, setting), rate, *powers)
    progress(1.0)
    return {"x": [t * iterations for t in range(spec.rounds + 1)], "y": loss.tolist(), "last": float(loss[-1])}


def local_steps(spec: Spec) -> int:
    """The local steps tau of every client and iteration; refused where they are not one number."""
    steps = spec.plain["hops"][0]["policy"].get("steps")
    if not isinstance(steps, int):
        raise SpecError(
            Problem("hops.0.policy.steps", "the bound needs a fixed number of local steps", "steps: 1", steps)
        )
    return steps


def printed_setting(sim: Simulation, setting: Printed) -> Printed:
    """The printed bound's setting with the gains, noise and antennas of one or two hops of air."""
    first, channel = _link(sim, 0), _channel(sim, 0)
    air = replace(setting, gain=channel.gain, noise=first.noise(channel), antennas=first.antennas)
    if len(sim.hops) == 1:
        return replace(air, sigma_h2=first.sigma_h2)
    edges = _channel(sim, 1).gain[0]
    return replace(air, edge_gain=edges, edge_antennas=_link(sim, 1).antennas, sigma_h2=first.sigma_h2)


def _channel(sim: Simulation, h: int) -> ChannelState:
    """The channel of a hop in its first exchange; without fading it is the same in every round."""
    channel, topology = sim.hops[h].channel, sim.topology
    rng = sim.rng.child("channel", h)
    start = {} if channel is None else channel.start(topology.senders(h), topology.receivers(h), rng)
    state, _ = realise(sim, h, topology.site(h, sim.clock(h, 0)), start)
    assert state is not None
    return state


def is_air(sim: Simulation) -> bool:
    """Whether one or two hops, all over the air, lead to the server."""
    return len(sim.hops) <= 2 and all(isinstance(hop.link, OverTheAir) for hop in sim.hops)


def unforeseen(sim: Simulation, planned: Planned) -> str:
    """Why shares and error are unknown before the run; empty if they are known.

    The closed form needs all clients on the air, and equal weights.
    """
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
    if len(sim.hops) == 1:
        noise = first.noise(planned.x.channel) / first.sigma_h2
        return flat_error(planned.x.channel.gain[0], sent, amplitude, noise, first.antennas, first.normaliser)
    policy = sim.hops[1].policy
    edge_amplitude = policy.amplitude(planned.x.clock.t) if isinstance(policy, Ramp) else 1.0
    return relayed_error(sim, sent, amplitude, edge_amplitude)


def relayed_error(sim: Simulation, sent: Moments, amplitude: float, edge_amplitude: float) -> AggregationError:
    """The exact error of the global mean per symbol over two hops of air, with these amplitudes."""
    (first, second), (near, far) = (_link(sim, 0), _link(sim, 1)), (_channel(sim, 0), _channel(sim, 1))
    return aggregation_error(
        near.gain,
        sim.topology.parents[0],
        far.gain[0],
        sent,
        amplitude=amplitude,
        edge_amplitude=edge_amplitude,
        noise=first.noise(near) / first.sigma_h2,
        edge_noise=second.noise(far) / second.sigma_h2,
        antennas=first.antennas,
        edge_antennas=second.antennas,
        normaliser=first.normaliser,
        edge_normaliser=second.normaliser,
    )


def noise_text(sim: Simulation) -> str:
    """The noise of a client's symbol in words, with the density that its link's unit and rate make of it."""
    link, channel = _link(sim, 0), _channel(sim, 0)
    noise = link.noise(channel)
    said = f"noise {noise:.4g} a symbol"
    if link.power_unit_w is None or link.symbol_rate_hz is None:
        return said
    return f"{said}, a density of {noise * link.power_unit_w / link.symbol_rate_hz:.4g} W/Hz"


def _link(sim: Simulation, h: int) -> OverTheAir:
    link = sim.hops[h].link
    assert isinstance(link, OverTheAir)
    return link
