"""Local work: steps or epochs, the same for all or drawn."""

import pytest
import torch
from support.exchanges import exchange

from fedradio.core.contracts import Fleet, View
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.policies.fixed import fixed

PARENT = torch.tensor([0] * 6 + [1] * 4)


def view(fleet: Fleet | None = None) -> View:
    return exchange(PARENT, fleet=fleet, signals={"epoch_steps": torch.arange(1, 11)})


def test_epochs_follow_each_clients_data() -> None:
    alloc, _ = fixed(epochs=2).decide(view(), {}, Rng(0))
    assert alloc.steps.tolist() == [2 * n for n in range(1, 11)]


def test_neither_means_one_epoch_and_both_are_refused() -> None:
    alloc, _ = fixed().decide(view(), {}, Rng(0))
    assert alloc.steps.tolist() == list(range(1, 11))
    with pytest.raises(SpecError, match="keep one"):
        fixed(steps=1, epochs=1)


def test_steps_drawn_per_client_cover_their_range_uniformly() -> None:
    draws = torch.stack([fixed(steps=(1, 5)).decide(view(), {}, Rng(seed))[0].steps for seed in range(400)])
    counts = torch.bincount(draws.flatten(), minlength=6)[1:]
    assert int(counts.sum()) == 4000
    assert bool(((counts - 800).abs() < 4 * (4000 * 0.2 * 0.8) ** 0.5).all())
