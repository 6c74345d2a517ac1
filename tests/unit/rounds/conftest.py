"""Parts of rounds that can be computed by hand: few samples, given changes, given gains, given turns, given losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from fedradio.core.contracts import (
    Airtime,
    Allocation,
    Channel,
    ChannelState,
    EvalJob,
    Exchange,
    Link,
    Noted,
    Policy,
    Reason,
    Scores,
    Site,
    Slots,
    Stream,
    Tapes,
    TestSet,
    Topology,
    Trained,
    TrainJob,
    View,
)
from fedradio.core.rng import Rng
from fedradio.data.streams import static
from fedradio.engine import Engine
from fedradio.links.ideal import Ideal


@dataclass(frozen=True)
class GivenChanges:
    """A backend that does not train: client ``i`` changes every shared number by ``change[i]``, and its norm layers'
    numbers become ``norms[i]``."""

    change: Sequence[float]
    norms: Sequence[float] | None = None

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        model, start = job.model, job.start
        assert start.ids is not None
        change = start.w.new_tensor(self.change)[start.ids].unsqueeze(1)
        local = None
        if self.norms is not None and start.local is not None:
            local = start.w.new_tensor(self.norms)[start.ids].unsqueeze(1).expand_as(start.local)
        return Trained(change.repeat(1, model.shared.size), local, torch.zeros(len(start.ids)), {})

    def evaluate(self, job: EvalJob) -> Scores:
        return Engine(1).evaluate(job)


@dataclass(frozen=True)
class Turns(Policy):
    """A policy with a list: the senders ``active[e]`` take part in exchange ``e``, at full CPU and power. It notes the
    ``cycles`` of a local step as it sees them."""

    active: Sequence[Sequence[int]]
    steps: int = 1
    notes = frozenset({"cycles"})

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        active = torch.zeros(view.senders, dtype=torch.bool)
        active[list(self.active[view.clock.e])] = True
        alloc = Allocation(
            active=active,
            steps=torch.where(active, self.steps, 0),
            cpu_hz=None if view.fleet is None else view.fleet.f_max_hz,
            power_w=None if view.fleet is None else view.fleet.p_max_w,
            reason=torch.where(active, int(Reason.NONE), int(Reason.NOT_SELECTED)),
            notes={} if view.cycles_per_step is None else {"cycles": Noted("sender", view.cycles_per_step)},
        )
        return alloc, state


@dataclass(frozen=True)
class GivenGains(Channel):
    """A channel that never changes: sender ``m`` is heard with ``gain[m]``, by every receiver."""

    gain: Sequence[float]
    noise_w_hz: float = 0.0

    def realise(self, site: Site, state: Slots, rng: Rng) -> tuple[ChannelState, Slots]:
        rows = torch.tensor(self.gain, dtype=torch.float64).expand(len(site.receivers_m), -1)
        return ChannelState(rows.contiguous(), self.noise_w_hz), state


@dataclass(frozen=True)
class GivenLosses(Ideal):
    """An ideal link of 32 bits a number that loses the payloads of the senders ``lost``, in every exchange."""

    lost: Sequence[int]

    def plan(self, x: Exchange, state: Slots, rng: Rng) -> Airtime:
        airtime = super().plan(x, state, rng)
        lost = torch.zeros(x.senders, dtype=torch.bool)
        lost[list(self.lost)] = True
        reason = torch.where(lost, int(Reason.OUTAGE), airtime.reason)
        return replace(airtime, arrived=airtime.arrived & ~lost, reason=reason)


@pytest.fixture
def given_changes() -> type[GivenChanges]:
    return GivenChanges


@pytest.fixture
def turns() -> type[Turns]:
    return Turns


@pytest.fixture
def given_gains() -> type[GivenGains]:
    return GivenGains


@pytest.fixture
def given_losses() -> Callable[..., Link]:
    """``given_losses(1, 2)``: a link that loses the payloads of senders 1 and 2."""
    return lambda *lost: GivenLosses(32.0, lost)


@pytest.fixture
def tree() -> Callable[..., Topology]:
    """``tree((0, 0, 1), (0, 0))``: three clients, two edges, a server; all in one place."""

    def make(*parents: Sequence[int]) -> Topology:
        sizes = [*map(len, parents), 1]
        places = tuple(torch.zeros(size, 2, dtype=torch.float64) for size in sizes)
        return Topology(tuple(torch.tensor(parent) for parent in parents), places)

    return make


@pytest.fixture
def holding() -> Callable[..., Stream]:
    """``holding((2, 1), unlabelled=(0, 3))``: samples of every client, of 8 bits, one feature ``x`` and label 0 of two;
    ``x`` is one number a client, 1 unless given."""

    def make(labelled: Sequence[int], unlabelled: Sequence[int] = (), x: Sequence[float] = ()) -> Stream:
        lit = torch.tensor(labelled)
        size = lit + torch.tensor(unlabelled or [0] * len(labelled))
        owner = torch.repeat_interleave(torch.arange(len(size)), size)
        offset = torch.cat((torch.zeros(1, dtype=torch.long), size.cumsum(0)))
        number = torch.arange(len(owner))
        value = torch.tensor(x or [1.0] * len(labelled))[owner].unsqueeze(1)

        def fetch(index: Tensor) -> tuple[Tensor, Tensor]:
            return value[index], torch.zeros_like(index)

        test = TestSet(number[:2], torch.zeros_like(number[:2]), 1, False, fetch)
        known = number - offset[owner] < lit[owner]
        return static(Tapes(number, offset, torch.zeros_like(number), known, fetch, test, (1,), 2, 8.0), Rng(0))

    return make
