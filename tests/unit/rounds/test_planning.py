"""Plans of exchanges: what the parts see of one, and what plans leave behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
import torch
from support.worlds import cells, tiny

from fedradio.algorithms.fedavg import central, fedavg
from fedradio.core.contracts import Allocation, Clock, Hop, Message, Policy, Reason, Slots, Stream, View
from fedradio.core.errors import OwnCodeError
from fedradio.core.rng import Rng
from fedradio.data.fifo import fifo
from fedradio.data.growing import growing
from fedradio.data.streams import static
from fedradio.links.ideal import ideal
from fedradio.links.over_the_air import over_the_air
from fedradio.network.power_law import power_law
from fedradio.policies.effort import effort
from fedradio.policies.fixed import Fixed, fixed
from fedradio.rounds.parts import STREAM
from fedradio.rounds.planning import _signals, data_signals, plan_exchange, plan_slots
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.tiers import start_tiers

GROWING = partial(growing, history=100, slots=2, activity=(1.0, 1.0))


@dataclass(frozen=True)
class Watching(Policy):
    """Everybody takes part; it remembers the views it was given."""

    seen: list[View] = field(default_factory=list)

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        self.seen.append(view)
        return Fixed(effort(1, None)).decide(view, state, rng)


def test_views_of_both_hops() -> None:
    below, above = Watching(), Watching()
    sim = cells(policy=below, above=Hop(ideal(), above), deadline_s=9.0)
    run_round(sim, begin(sim), evaluate=False)
    size = sim.model.shared.size
    assert [(view.hop, view.clock.t, view.clock.e, view.clock.n) for view in below.seen] == [(0, 0, 0, 0), (0, 0, 1, 1)]
    assert [(view.hop, view.clock.e) for view in above.seen] == [(1, 0)]
    first, relay = below.seen[0], above.seen[0]
    assert (first.message, relay.message) == (Message(1, size), Message(1, size))
    assert first.payload_bits == 32.0 * size
    assert (first.senders, first.receivers, relay.senders, relay.receivers) == (6, 2, 2, 1)
    assert (first.deadline_s, relay.deadline_s) == (9.0, None)
    assert first.cycles_per_step is not None
    assert relay.cycles_per_step is None
    assert relay.signals["epoch_steps"].tolist() == [0, 0]


def test_exchanges_know_when_they_open() -> None:
    """The second edge round opens after the first, at the slowest edge; the relay with the round, whose result edges
    have had since then; the next round after this one."""
    sim = cells()
    state, record, exchanges = run_round(sim, begin(sim), evaluate=False)
    first, second, relay = exchanges
    assert (first.now_s, relay.now_s) == (0.0, 0.0)
    assert first.time_s is not None
    assert second.now_s == max(first.time_s)
    _, _, later = run_round(sim, state, evaluate=False)
    assert later[0].now_s == record.time_s
    _, _, timeless = run_round(cells(fleet=None), begin(cells(fleet=None)), evaluate=False)
    assert [exchange.now_s for exchange in timeless] == [0.0, None, 0.0]


def test_a_plan_leaves_its_state_as_it_was() -> None:
    """What planning changes is returned: samples that arrived, and signals of them."""
    sim = cells(stream=GROWING)
    state = begin(sim)
    before = {name: rows.clone() for name, rows in state.parts[STREAM].items()}
    _, after = plan_exchange(sim, state, start_tiers(sim.topology, state.memory), 0, Clock(0))
    assert all(torch.equal(rows, before[name]) for name, rows in state.parts[STREAM].items())
    assert (after.parts[STREAM]["hi"] - before["hi"]).tolist() == [2] * 6
    assert (after.signals["samples"] - state.signals["samples"]).tolist() == [2] * 6
    assert after.memory is state.memory


def test_plans_of_slots_are_those_of_the_run() -> None:
    """The second round's plans see the samples that arrived in the first."""
    sim = cells(stream=GROWING, policy=fixed())
    plans = list(plan_slots(sim, begin(sim), 2))
    assert [plan.x.clock for plan in plans] == [Clock(0, 0, 0), Clock(0, 1, 1), Clock(1, 0, 2), Clock(1, 1, 3)]
    state, exchanges = begin(sim), []
    for _ in range(2):
        state, _, records = run_round(sim, state, evaluate=False)
        exchanges += [record for record in records if record.hop == 0]
    assert [plan.x.alloc.steps.tolist() for plan in plans] == [record.steps for record in exchanges]


def test_unable_senders_are_dropped_whatever_the_policy_says() -> None:
    sim = cells()
    state = begin(sim)
    nothing = state.signals["labelled"].clone()
    nothing[2] = 0
    sim = replace(sim, stream=_With(sim.stream, nothing))
    planned, _ = plan_exchange(sim, state, start_tiers(sim.topology, state.memory), 0, Clock(0))
    assert planned.x.alloc.active.tolist() == [True, True, False, True, True, True]
    assert planned.x.alloc.steps[2] == 0
    assert planned.x.alloc.reason[2] == Reason.NO_DATA


class _With:
    """A stream whose clients have these labelled samples."""

    def __init__(self, stream: object, labelled: torch.Tensor) -> None:
        self._stream, self._labelled = stream, labelled

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def stats(self, state: Slots) -> Slots:
        return self._stream.stats(state) | {"labelled": self._labelled}  # type: ignore[attr-defined, no-any-return]


def test_the_power_of_analogue_symbols_is_unknown_before_the_payload() -> None:
    sim = cells(link=over_the_air(), channel=power_law())
    state = begin(sim)
    planned, _ = plan_exchange(sim, state, start_tiers(sim.topology, state.memory), 0, Clock(0))
    assert planned.x.alloc.power_w is None
    assert planned.x.alloc.cpu_hz is not None


@pytest.mark.parametrize("central_training", [False, True])
@pytest.mark.parametrize(
    ("stream", "counted"),
    [(static, 1), (partial(growing, history=20), 4), (partial(fifo, capacity=(20, 30), slots=4), 3)],
)
def test_signals_of_data_are_kept_until_samples_arrive(
    stream: Callable[..., Stream], counted: int, central_training: bool
) -> None:
    """Of three rounds and the start: static data are counted once, growing ones every time, and buffers not before the
    first round. Kept signals are those of another simulation of the same world, which has its own."""
    algorithm = central(steps=1) if central_training else fedavg()
    sim, same = (tiny(stream=stream, algorithm=algorithm) for _ in range(2))
    _signals.cache_clear()
    state = begin(sim)
    for _ in range(3):
        state, _, _ = run_round(sim, state, evaluate=False)
    assert _signals.cache_info().misses == counted
    stream_state = state.parts[STREAM]
    copied = {name: rows.clone() for name, rows in stream_state.items()}
    kept, anew = (data_signals(one, slots) for one, slots in ((sim, stream_state), (same, copied)))
    assert kept.keys() == {"samples", "seen", "labelled", "label_counts", "epoch_steps"}
    assert all(torch.equal(anew[name], rows) for name, rows in kept.items())
    assert _signals.cache_info().misses == counted + 1


@dataclass(frozen=True)
class Given(Policy):
    """Everybody takes part, with these local steps."""

    steps: tuple[int, ...]

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        alloc, state = Fixed(effort(1, None)).decide(view, state, rng)
        return replace(alloc, steps=torch.tensor(self.steps)), state


def test_a_policy_that_gives_an_active_client_no_steps_is_refused_by_name() -> None:
    """AFA-CD, OSAFL and FedNova divide by them. A client without data is left out whatever its steps are."""
    sim = tiny(policy=Given((1, 1, 0, 1, 1, 1)))
    with pytest.raises(OwnCodeError, match=r"hops\.0\.policy, Given: .* client 2 .* 0 local steps"):
        run_round(sim, begin(sim), evaluate=False)
    nothing = begin(sim).signals["labelled"].clone()
    nothing[2] = 0
    sim = replace(sim, stream=_With(sim.stream, nothing))
    _, _, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.ids == [0, 1, 3, 4, 5]
