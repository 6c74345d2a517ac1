"""Replayed rounds for W-HFL's theory: what clients sent, what the air made of it, and gradients of the loss."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedradio.core.contracts import Airtime, Delivery, Exchange, Fading, Link, LinkTrait, Message, Piece, Sent, Slots
from fedradio.core.errors import Problem, SpecError
from fedradio.core.progress import Progress
from fedradio.core.rng import Rng
from fedradio.engine.threads import parallel_map
from fedradio.links.over_the_air import OverTheAir
from fedradio.papers.bounds.coverage import why
from fedradio.papers.bounds.replay import RoundAgain, StoredRun, client_data, rounds_again
from fedradio.papers.studies.air import relayed_error
from fedradio.rounds.simulation import Simulation
from fedradio.runs.folder import MODEL_FILE
from fedradio.runs.tensors import read_tensors
from fedradio.theory import estimate
from fedradio.theory.whfl import AggregationError, Moments, flat_error, moments


@dataclass(frozen=True)
class Listened(Link):
    """A link that does what it did, and notes every exchange with its payloads in ``heard``."""

    link: Link
    heard: list[tuple[Exchange, Sent]]

    @property
    def offers(self) -> frozenset[LinkTrait]:
        return self.link.offers

    @property
    def needs(self) -> frozenset[Piece]:
        return self.link.needs

    @property
    def takes(self) -> frozenset[Fading]:
        return self.link.takes

    @property
    def notes(self) -> frozenset[str]:
        return self.link.notes

    def bits(self, message: Message) -> float | None:
        return self.link.bits(message)

    def start(self, senders: int, receivers: int) -> Slots:
        return self.link.start(senders, receivers)

    def plan(self, x: Exchange, state: Slots, rng: Rng) -> Airtime:
        return self.link.plan(x, state, rng)

    def combine(self, x: Exchange, airtime: Airtime, sent: Sent, state: Slots, rng: Rng) -> tuple[Delivery, Slots]:
        self.heard.append((x, replace(sent, payload=sent.payload.clone())))
        return self.link.combine(x, airtime, sent, state, rng)


@dataclass(frozen=True)
class ReplayedRound:
    """Measurements of round t: its rate, local steps (``steps`` at most, ``fewest``) and amplitudes; the exact
    ``error`` of the air per symbol, and what it was, ``measured = |theta(t+1) - v(t+1)|^2``; the largest
    ``gradient_sq = |change sent|^2 / (eta tau)^2``; ``F`` at both ends, and its smoothness and convexity between."""

    t: int
    w: Tensor
    after: Tensor
    lr: float
    steps: int
    fewest: int
    amplitude: float
    edge_amplitude: float | None
    error: AggregationError
    measured: float
    gradient_sq: float
    loss: float
    end: float
    smoothness: float
    convexity: float


def replay(run: StoredRun, rounds: int, progress: Progress, probe: bool = True) -> list[ReplayedRound]:
    """Run the first ``rounds`` rounds again with links that are listened to, and measure them."""
    heard: list[tuple[Exchange, Sent]] = []
    hops = tuple(replace(hop, link=Listened(hop.link, heard)) for hop in run.sim.hops)
    replayed = []
    for again in rounds_again(run, rounds, progress, sim=replace(run.sim, hops=hops)):
        replayed.append(_measured(run.sim, again, list(heard), probe))
        heard.clear()
    return replayed


def last_model(run: StoredRun, otherwise: Tensor) -> Tensor:
    """The run's last model ``[d]``; of a run that did not end, ``otherwise``."""
    path = run.folder / MODEL_FILE
    if not path.exists():
        return otherwise
    stored, w = read_tensors(path), torch.zeros_like(otherwise)
    for name, view in run.sim.model.shared.views(w).items():
        view.copy_(stored[name])
    return w


def _measured(sim: Simulation, again: RoundAgain, heard: list[tuple[Exchange, Sent]], probe: bool) -> ReplayedRound:
    first = [(x, sent) for x, sent in heard if x.hop == 0]
    amplitude = _amplitude([x for x, _ in first], 0)
    above = [x for x, _ in heard if x.hop == 1]
    edge_amplitude = _amplitude(above, 1) if above else None
    sent = torch.stack([_by_client(one) for _, one in first])  # [I, U, d]
    steps = torch.stack([x.alloc.steps for x, _ in first]) * sim.rule.updates_per_step
    lr, tau = sim.rule.rates(again.t, 1)[0], int(steps.max())
    true = again.w.double() + sent.double().sum(dim=0).mean(dim=0)
    loss, end, smooth, curved = _slopes(sim, again, probe)
    return ReplayedRound(
        t=again.t,
        w=again.w,
        after=again.after.clone(),
        lr=lr,
        steps=tau,
        fewest=int(steps.min()),
        amplitude=amplitude,
        edge_amplitude=edge_amplitude,
        error=_exact_error(sim, first[0][0], moments(sent), amplitude, edge_amplitude),
        measured=float(estimate.squared_norm(again.after.double() - true)),
        gradient_sq=float(estimate.squared_norm(sent).max()) / (lr * tau) ** 2 if lr > 0 else 0.0,
        loss=loss,
        end=end,
        smoothness=smooth,
        convexity=curved,
    )


def _by_client(sent: Sent) -> Tensor:
    """Payloads in the order of the clients ``[U, d]``; every client sent one block."""
    return sent.payload[sent.ids.argsort(), 0]


def _amplitude(exchanges: list[Exchange], hop: int) -> float:
    """The amplitude of all senders of a hop in a round; 1 where the policy sets none."""
    found: set[float] = set()
    for x in exchanges:
        found |= {1.0} if x.alloc.amplitude is None else set(x.alloc.amplitude.double().tolist())
    if len(found) != 1:
        raise SpecError(Problem(f"hops.{hop}.policy", why("W-HFL", "all senders must have the same amplitude"), "ramp"))
    return found.pop()


def _exact_error(
    sim: Simulation, x: Exchange, sent: Moments, amplitude: float, edge_amplitude: float | None
) -> AggregationError:
    """The exact error of the air for what was sent, per symbol."""
    if edge_amplitude is not None:
        return relayed_error(sim, sent, amplitude, edge_amplitude)
    link = sim.hops[0].link
    assert isinstance(link, OverTheAir)
    assert x.channel is not None
    noise = link.noise(x.channel) / link.sigma_h2
    return flat_error(x.channel.gain[0], sent, amplitude, noise, link.antennas, link.normaliser)


def _slopes(sim: Simulation, again: RoundAgain, probe: bool) -> tuple[float, float, float, float]:
    """The mean loss of the clients before and after a round; largest smoothness and smallest convexity of theirs."""
    data = client_data(sim, again.stream, torch.arange(sim.topology.clients), again.t)
    points = torch.stack([again.w, again.after])

    def client(i: int) -> tuple[float, float, float, float]:
        losses, slopes = zip(*(estimate.gradient(sim.model, w, *data.samples(i)) for w in points), strict=True)
        both = torch.stack(slopes)
        return *losses, estimate.smoothness(points, both), estimate.convexity(points, both)

    rows = parallel_map(client, range(len(data)), sim.workers)
    loss, end, smooth, curved = torch.tensor(rows, dtype=torch.float64).T
    largest = float(smooth.max())
    moved = float(estimate.squared_norm(again.after - again.w).sqrt())
    if probe and moved > 0:
        samples = data.samples(int(smooth.argmax()))
        largest = max(
            largest,
            estimate.probed_smoothness(
                lambda at: estimate.gradient(sim.model, at, *samples)[1], again.w, again.after - again.w, moved
            ),
        )
    return float(loss.mean()), float(end.mean()), largest, float(curved.min())
