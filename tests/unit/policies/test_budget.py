"""Baselines that spend their budgets at full power."""

from dataclasses import replace

import torch
from support.slots import one_client, rawhfl_view

from fedradio.core.contracts import Reason
from fedradio.core.rng import Rng
from fedradio.fleet.profile import cellular
from fedradio.policies.budget import budget


def test_budget_baselines() -> None:
    v = rawhfl_view(11)
    own, _ = budget(share="own").decide(v, {}, Rng(0))
    common, _ = budget(share="common").decide(v, {}, Rng(0))
    nothing, _ = budget(share="all_or_nothing").decide(v, {}, Rng(0))
    eligible = own.active
    assert 0 < int(eligible.sum()) < 48
    assert torch.equal(common.active, eligible)
    assert set(common.steps[eligible].tolist()) == {int(own.steps[eligible].min())}
    assert not bool(nothing.active.any())
    assert set(nothing.reason.tolist()) <= {Reason.NOT_SELECTED, Reason.ENERGY, Reason.DEADLINE}
    rich = cellular(48, Rng(0), energy_j=(1e6, 1e6))
    everyone, _ = budget(share="all_or_nothing").decide(replace(v, fleet=rich, deadline_s=1e9), {}, Rng(0))
    assert everyone.steps.tolist() == [50] * 48


def test_common_steps_leave_time_to_wait_for() -> None:
    """Sending takes 10 of 30 s and 3 J, a step 1 s and .1 J, a second of waiting .3 J. With 6.5 J a client can
    afford 19 steps, 5.2 J, but not 12, 3 + 1.2 + 2.4 = 6.6 J, which it makes beside a client whose CPU fits no more."""
    v = one_client()
    assert v.fleet is not None
    assert v.channel is not None
    two = {name: getattr(v.fleet, name).repeat(2) for name in ("cycles_per_bit", "f_max_hz", "p_max_w")}
    channel = replace(v.channel, gain=v.channel.gain.repeat(1, 2))
    for budget_j, taking_part in ((6.5, [False, True]), (6.7, [True, True])):
        energy_j = torch.tensor([budget_j, 100.0], dtype=torch.float64)
        fleet = replace(v.fleet, **two, energy_j=energy_j, idle_w=0.3)
        cycles = torch.tensor([1e9, 1.55e9], dtype=torch.float64)
        both = replace(v, parent=v.parent.repeat(2), channel=channel, fleet=fleet, cycles_per_step=cycles, unable=None)
        alloc, _ = budget(share="common").decide(both, {}, Rng(0))
        assert alloc.active.tolist() == taking_part
        assert alloc.steps.tolist() == [12 * on for on in taking_part]
        assert alloc.reason.tolist() == [int(Reason.NONE if on else Reason.ENERGY) for on in taking_part]
