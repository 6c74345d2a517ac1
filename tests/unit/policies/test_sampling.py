"""Some clients of every receiver, drawn uniformly."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
import torch
from support.exchanges import exchange
from torch import Tensor

from fedradio.core.contracts import ChannelState, Fleet, Reason, View
from fedradio.core.errors import SpecError
from fedradio.core.params import group_rank
from fedradio.core.rng import Rng
from fedradio.links.digital import digital
from fedradio.policies import sampling as module
from fedradio.policies.sampling import sampling, smallest

PARENT = torch.tensor([0] * 6 + [1] * 4)


def view(parent: Tensor = PARENT, fleet: Fleet | None = None) -> View:
    return exchange(parent, fleet=fleet, signals={"epoch_steps": torch.arange(1, len(parent) + 1)})


def test_sampling_takes_m_of_each_receiver() -> None:
    for seed in range(20):
        alloc, _ = sampling(clients=3, steps=2).decide(view(), {}, Rng(seed))
        assert torch.bincount(PARENT[alloc.active]).tolist() == [3, 3]
        assert bool((alloc.steps[alloc.active] == 2).all())
        assert bool((alloc.steps[~alloc.active] == 0).all())
        assert bool((alloc.reason[~alloc.active] == Reason.NOT_SELECTED).all())


def test_sampling_is_uniform() -> None:
    """Each of 6 clients is drawn with probability 3/6: 4 standard deviations of a share of 4000 draws is 0.032."""
    cells = torch.cat([PARENT + 2 * pair for pair in range(40)])  # forty pairs of cells in a view
    drawn = [sampling(clients=3).decide(view(cells), {}, Rng(seed))[0].active.view(40, 10) for seed in range(100)]
    share = torch.cat(drawn).double().mean(dim=0)
    assert float((share[:6] - 0.5).abs().max()) < 0.032
    assert float((share[6:] - 0.75).abs().max()) < 0.028


def test_every_set_of_clients_is_equally_likely() -> None:
    """Not only every client: of 4 clients each of the 6 pairs comes in a sixth of 6000 draws, with a deviation of
    28.9; five of them are 145. Draws of two rounds are independent: a pair follows itself in a sixth of the cases."""
    fours = view(torch.arange(200) // 4)  # fifty cells in a view
    rounds = [sampling(clients=2).decide(fours, {}, Rng(seed))[0].active.view(50, 4) for seed in range(120)]
    pairs = torch.stack([drawn.nonzero()[:, 1].view(50, 2) for drawn in rounds])
    counts = [int((pairs == torch.tensor(pair)).all(dim=2).sum()) for pair in combinations(range(4), 2)]
    assert sum(counts) == 6000
    assert all(abs(count - 1000) < 145 for count in counts)
    again = int((pairs[::2] == pairs[1::2]).all(dim=2).sum())
    assert abs(again - 500) < 103  # of 3000, deviation 20.4


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


@pytest.mark.parametrize("m", [1, 3, 20])
@pytest.mark.parametrize("groups", [1, 7])
def test_partial_selection_equals_the_ranks(groups: int, m: int) -> None:
    """Of keys with and without ties, in groups of any order, in an empty group, and where the first limit is too low
    for a group."""
    for seed in range(5):
        draws = Rng(seed).child(groups, m).numpy()
        group = torch.from_numpy(draws.integers(0, groups, size=3000))
        keys = torch.from_numpy(draws.random(3000))
        high = torch.where(group == groups - 1, 0.9 + keys / 10, keys)
        for values in (keys, (keys * 50).floor() / 50, torch.zeros_like(keys), high):
            assert torch.equal(smallest(values, group, groups, m), group_rank(values, group) < m)
        assert torch.equal(smallest(keys, group, groups + 1, m), group_rank(keys, group) < m)


def test_few_keys_are_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2 x 5000 keys those below (4 * 2 + 16)/5000 are ranked, about 48."""
    ranked = []
    monkeypatch.setattr(module, "group_rank", lambda keys, group: ranked.append(len(keys)) or group_rank(keys, group))
    smallest(torch.from_numpy(Rng(1).numpy().random(10_000)), torch.arange(10_000) % 2, 2, 2)
    assert len(ranked) == 1
    assert 4 <= ranked[0] <= 200


def radio_view(*gain: float, deadline_s: float | None = 1.5, power: float | None = None, steps_s: float = 0.0) -> View:
    """Clients of one receiver that send 40 bits at 2 W on 40 Hz: SNR 1 and 1 s at gain 1, SNR 3 and .5 s at gain 3.

    ``power``: the realised ``|h|^2`` of all. A local step takes ``steps_s``.
    """
    n = len(gain)
    one = torch.ones(n, dtype=torch.float64)
    h = None if power is None else torch.full((1, 1, n), power**0.5, dtype=torch.complex128)
    rows = torch.tensor([gain], dtype=torch.float64)
    return exchange(
        [0] * n,
        channel=ChannelState(rows, 2.0 / 40.0, coefficient=h, rayleigh=h is not None),
        link=digital(bandwidth_hz=40.0, bits_per_value=10.0),
        fleet=Fleet(one, one, 2.0 * one, one, 0.0),
        cycles_per_step=steps_s * one,
        message=4,
        deadline_s=deadline_s,
        signals={"epoch_steps": torch.ones(n, dtype=torch.long)},
    )


def drawn(v: View, **keywords: Any) -> set[int]:
    """The clients that a policy draws over 40 exchanges."""
    allocs = [sampling(clients=2, steps=1, **keywords).decide(v, {}, Rng(seed))[0] for seed in range(40)]
    return {int(i) for alloc in allocs for i in alloc.active.nonzero()}


def test_clients_that_miss_the_deadline_at_full_power_are_not_drawn() -> None:
    """At gain .1 the airtime is 7.3 s: too long for 1.5 s. The idle have their reason; ``ignore`` draws everybody."""
    v = radio_view(1.0, 0.1, 3.0, 0.1, 1.0)
    assert drawn(v) == {0, 2, 4}
    assert drawn(v, deadline="ignore") == {0, 1, 2, 3, 4}
    assert drawn(replace(v, deadline_s=None)) == {0, 1, 2, 3, 4}
    alloc, _ = sampling(clients=2).decide(v, {}, Rng(0))
    assert int(alloc.active.sum()) == 2
    assert alloc.reason[[1, 3]].tolist() == [Reason.DEADLINE] * 2
    assert sorted(alloc.reason[[0, 2, 4]].tolist()) == [Reason.NONE, Reason.NONE, Reason.NOT_SELECTED]


def test_computing_counts_against_the_deadline() -> None:
    """A step takes .8 s: with .5 s on the air client 2 makes 1.5 s, with 1 s the others do not. Then one is drawn."""
    alloc, _ = sampling(clients=2, steps=1).decide(radio_view(1.0, 1.0, 3.0, steps_s=0.8), {}, Rng(0))
    assert alloc.active.tolist() == [False, False, True]
    nobody, _ = sampling(clients=2, steps=2).decide(radio_view(1.0, 1.0, 3.0, steps_s=0.8), {}, Rng(0))
    assert not bool(nobody.active.any())
    assert nobody.reason.tolist() == [Reason.DEADLINE] * 3


def test_relays_have_their_own_rounds_behind_them() -> None:
    """On an outer hop a sender that has its change after .8 s needs the fast channel."""
    v = replace(radio_view(1.0, 3.0, 3.0), hop=1, elapsed_s=torch.tensor([0.0, 0.8, 1.2]).double())
    assert drawn(v) == {0, 1}


def test_the_draw_does_not_foresee_the_fading() -> None:
    """Policies plan with the mean channel: at gain 1 all are drawn though ``|h|^2 = .01`` makes them late."""
    assert drawn(radio_view(1.0, 1.0, 1.0, power=0.01)) == {0, 1, 2}
    assert drawn(radio_view(0.1, 1.0, 1.0, power=100.0)) == {1, 2}


def test_who_is_skipped_does_not_change_the_draw_of_the_others() -> None:
    """The same keys: where the late have none, the next in line are drawn."""
    for seed in range(20):
        free, _ = sampling(clients=3, steps=1, deadline="ignore").decide(radio_view(*[1.0] * 6), {}, Rng(seed))
        same, _ = sampling(clients=3, steps=1).decide(radio_view(*[1.0] * 6), {}, Rng(seed))
        fewer, _ = sampling(clients=3, steps=1).decide(radio_view(*[1.0] * 5, 0.1), {}, Rng(seed))
        assert torch.equal(free.active, same.active)
        assert bool(fewer.active[:5][free.active[:5]].all())
