"""Norm layers beside analogue payloads: averaged with the same weights, so with the senders' shares of the air."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from torch import nn

from fedradio import Hop, begin, compose, run_round
from fedradio.algorithms.fedavg import fedavg
from fedradio.core.contracts import Backend, Channel, Stream, Topology
from fedradio.engine.rules import sgd
from fedradio.links.ideal import ideal
from fedradio.links.over_the_air import over_the_air
from fedradio.models.model import FlatModel, wrap
from fedradio.policies.fixed import fixed


def normed() -> FlatModel:
    """One feature, two classes, and behind them a layer norm with two scales that travel on the side channel."""
    return wrap(nn.Sequential(nn.Linear(1, 2), nn.LayerNorm(2, bias=False)), (1,), 2, norms="shared")


@pytest.mark.parametrize(("parents", "air"), [([(0, 0)], 0), ([(0, 1), (0, 0)], 1)], ids=["clients", "edges"])
def test_norms_weigh_senders_as_the_air_does(
    parents: Sequence[Sequence[int]],
    air: int,
    tree: Callable[..., Topology],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
    given_gains: Callable[..., Channel],
) -> None:
    """``s = sum_m a_m e_m s_m / sum_m a_m e_m`` with weights ``a`` and shares of the air ``e_m = M beta_m / sum beta``.

    Two clients, on the air themselves or below edges of their own that are, with gains 8 and 1: ``e = 2 (8, 1) / 9``.
    They have 1 and 2 samples, so ``a = (1, 2) / 3``, and their norm layers become 5 and 10. By hand: ``a e`` is as
    (8, 2), the shares are .8 and .2, and ``s = .8 * 5 + .2 * 10 = 6``; worth ``1 / (.64 + .04) = 25/17`` equal senders.
    With the weights alone it would be 25/3, with the gains alone 50/9.
    """
    hops = [Hop(ideal(), fixed()) for _ in parents]
    hops[air] = Hop(over_the_air(), fixed(), channel=given_gains((8.0, 1.0)))
    sim = compose(
        topology=tree(*parents), hops=hops, stream=holding((1, 2)), model=normed(), algorithm=fedavg(), rule=sgd()
    )
    sim = replace(sim, backend=given_changes((0.0, 0.0), norms=(5.0, 10.0)))
    state, _, exchanges = run_round(sim, begin(sim), evaluate=False)
    assert state.memory.shared["model/norms"].tolist() == pytest.approx([6.0, 6.0])
    assert exchanges[air].effective == pytest.approx([25 / 17])
