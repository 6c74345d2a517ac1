"""The model's way down a hop: whoever has it late begins late, and whoever has it not stays silent."""

from dataclasses import replace
from functools import partial

import torch
from support.worlds import tiny

from fedradio.core.contracts import Broadcast
from fedradio.core.contracts.reasons import Reason
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.network.channel import urban_macro
from fedradio.network.topology import flat
from fedradio.rounds.accounts import receiver_times
from fedradio.rounds.planning import Observation, Planned, broadcast, decide, finalise, observe
from fedradio.rounds.round import begin, next_clock, open_round
from fedradio.rounds.simulation import Simulation


def seen() -> tuple[Simulation, Observation]:
    three = partial(flat, clients=3)
    sim = tiny(link=digital(), channel=urban_macro(), fleet=cellular, topology=three)
    now = open_round(sim, begin(sim))
    return sim, observe(sim, now.state, now.tiers, 0, next_clock(sim, now, 0))[0]


def planned(sim: Simulation, observation: Observation) -> Planned:
    state = begin(sim)
    return finalise(sim, state, observation, *decide(sim, state, observation))[0]


def slow(*reached: bool) -> Broadcast:
    """Seconds 1, 2, 3 for those who are reached, never for the others."""
    each = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    free = Broadcast.free(3, 1)
    mask = torch.tensor(reached)
    return replace(free, reached=mask, start_s=each.where(mask, torch.inf))


def test_a_free_downlink_changes_nothing() -> None:
    sim, before = seen()
    after = broadcast(before)
    assert after.view.down is not None
    assert (after.view.down.bits, after.view.down.reached.tolist()) == (0.0, [True] * 3)
    assert after.view.unable is not None
    assert after.view.unable.tolist() == [0] * 3
    plain, free = planned(sim, before), planned(sim, after)
    assert plain.x.ready_s is not None
    assert free.x.ready_s is not None
    assert torch.equal(plain.x.ready_s, free.x.ready_s)


def test_clients_begin_when_they_have_the_model_by_hand() -> None:
    """Three clients have the model after 1, 2 and 3 s: each is ready and done so much later."""
    sim, before = seen()
    free, late = planned(sim, broadcast(before)), planned(sim, broadcast(before, slow(True, True, True)))
    for early_s, late_s in ((free.x.ready_s, late.x.ready_s), (free.airtime.done_s, late.airtime.done_s)):
        assert early_s is not None
        assert late_s is not None
        assert torch.allclose(late_s - early_s, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    a, b = receiver_times(free, "slowest"), receiver_times(late, "slowest")
    assert a is not None
    assert b is not None
    assert 1.0 < float(b - a) < 3.5


def test_clients_without_the_model_stay_silent_and_nobody_waits_for_them() -> None:
    sim, before = seen()
    after = broadcast(before, slow(True, False, True))
    plan = planned(sim, after)
    assert plan.x.alloc.active.tolist() == [True, False, True]
    assert int(plan.x.alloc.reason[1]) == Reason.NO_MODEL
    times = receiver_times(plan, "slowest")
    assert times is not None
    assert bool(times.isfinite().all())


def test_other_reasons_come_first() -> None:
    _, before = seen()
    view = replace(before.view, unable=torch.tensor([0, int(Reason.NO_DATA), 0]))
    after = broadcast(replace(before, view=view), slow(False, False, True)).view
    assert after.unable is not None
    assert after.unable.tolist() == [int(Reason.NO_MODEL), int(Reason.NO_DATA), 0]
