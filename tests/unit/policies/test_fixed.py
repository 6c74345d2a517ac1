"""Everybody, at full CPU and power."""

import torch
from support.exchanges import exchange

from fedradio.core.contracts import Fleet, View
from fedradio.core.rng import Rng
from fedradio.fleet.profile import cellular
from fedradio.policies.fixed import fixed

PARENT = torch.tensor([0] * 6 + [1] * 4)


def view(fleet: Fleet | None = None) -> View:
    return exchange(PARENT, fleet=fleet, signals={"epoch_steps": torch.arange(1, 11)})


def test_fixed_takes_everyone() -> None:
    alloc, _ = fixed(steps=5).decide(view(), {}, Rng(0))
    assert bool(alloc.active.all())
    assert alloc.steps.tolist() == [5] * 10
    assert alloc.cpu_hz is None
    assert alloc.power_w is None


def test_full_cpu_and_power_where_there_is_a_fleet() -> None:
    fleet = cellular(10, Rng(0))
    alloc, _ = fixed().decide(view(fleet), {}, Rng(0))
    assert alloc.cpu_hz is fleet.f_max_hz
    assert alloc.power_w is fleet.p_max_w
