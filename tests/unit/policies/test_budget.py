"""Baselines that spend their budgets at full power."""

from dataclasses import replace

import torch
from support.slots import (
    rawhfl_view,
)

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
