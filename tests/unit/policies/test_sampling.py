"""Some clients of every receiver, drawn uniformly."""

import pytest
import torch

from fedradio.core.contracts import Clock, Fleet, Reason, View
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.links.ideal import ideal
from fedradio.policies.sampling import sampling

PARENT = torch.tensor([0] * 6 + [1] * 4)


def view(fleet: Fleet | None = None) -> View:
    signals = {"epoch_steps": torch.arange(1, 11)}
    return View(Clock(0), PARENT, 2, None, ideal(), fleet, None, 32.0, None, signals)


def test_sampling_takes_m_of_each_receiver() -> None:
    for seed in range(20):
        alloc, _ = sampling(clients=3, steps=2).decide(view(), {}, Rng(seed))
        assert torch.bincount(PARENT[alloc.active]).tolist() == [3, 3]
        assert bool((alloc.steps[alloc.active] == 2).all())
        assert bool((alloc.steps[~alloc.active] == 0).all())
        assert bool((alloc.reason[~alloc.active] == Reason.NOT_SELECTED).all())


def test_sampling_is_uniform() -> None:
    """Each of 6 clients is drawn with probability 3/6: 4 standard deviations of a share of 4000 draws is 0.032."""
    drawn = torch.stack([sampling(clients=3).decide(view(), {}, Rng(seed))[0].active for seed in range(4000)])
    share = drawn.double().mean(dim=0)
    assert float((share[:6] - 0.5).abs().max()) < 0.032
    assert float((share[6:] - 0.75).abs().max()) < 0.028


def test_a_clients_steps_do_not_depend_on_who_is_sampled() -> None:
    few, _ = sampling(clients=1, steps=(1, 9)).decide(view(), {}, Rng(4))
    many, _ = sampling(clients=4, steps=(1, 9)).decide(view(), {}, Rng(4))
    assert bool((few.steps[few.active] == many.steps[few.active]).all())
    assert bool(many.active[few.active].all())


def test_more_than_a_cell_is_refused() -> None:
    assert sampling(clients=4).check(PARENT, 2) == ""
    assert "only 4" in sampling(clients=5).check(PARENT, 2)
    with pytest.raises(SpecError, match="swap"):
        sampling(steps=(5, 2))
