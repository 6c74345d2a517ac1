"""FedNova: normalised averaging, by hand."""

from typing import Any

import pytest
import torch
from support.receiver import NOTHING, Receiver, info, vector

from fedradio.algorithms.fedavg import fedavg
from fedradio.algorithms.fednova import fednova
from fedradio.core.errors import SpecError


def test_fednova_by_hand() -> None:
    """Receiver 0: p = (.25, .75), tau = (1, 2), tau_eff = 1.75 -> weights .25*1.75/1 and .75*1.75/2."""
    weights = fednova().weights(NOTHING, info())
    assert weights.tolist() == pytest.approx([0.4375, 0.65625, 0.25, 0.75])


def test_fednova_with_equal_steps_is_fedavg() -> None:
    equal = info()
    equal.known["effective"].fill_(3.0)
    assert torch.allclose(fednova().weights(NOTHING, equal), fedavg().weights(NOTHING, equal))


def test_fednova_remembers_steps() -> None:
    """Equal shares, tau (1, 3), changes (1, 6): tau_eff = 2, step (1/1 + 6/3)/2 * 2 = 3; later client 0 comes with 2
    steps and change 2, so tau_eff = 2.5 and the step is (2/2 + 6/3)/2 * 2.5 = 3.75."""
    server = Receiver(fednova(weighting="equal", buffer="gradients"), vector(0.0), 2)
    assert server.get({0: vector(1.0), 1: vector(6.0)}, {0: 1.0, 1: 3.0}).item() == pytest.approx(3.0)
    assert server.get({0: vector(2.0)}, {0: 2.0}).item() == pytest.approx(6.75)


def test_fednova_discounts_clients_that_were_never_seen_once() -> None:
    """One of four has come, with change 8 in 5 steps: a quarter of it, as of every other algorithm."""
    server = Receiver(fednova(weighting="equal", buffer="gradients"), vector(0.0), 4)
    assert server.get({0: vector(8.0)}, {0: 5.0}).item() == pytest.approx(2.0)


def test_fednova_as_printed_is_slowed_averaging_without_memory() -> None:
    """Shares 1/4 and 3/4 of all samples; an absent client weighs 0: .1 (2/4 + 4*3/4) = .35, then .1 * 2/4."""
    server = Receiver(fednova(form="printed", server_lr=0.1), vector(0.0), 2)
    assert server.get({0: vector(2.0), 1: vector(4.0)}, {0: 1.0, 1: 5.0}).item() == pytest.approx(0.35)
    assert server.get({0: vector(2.0)}).item() == pytest.approx(0.40)


def test_the_summed_form_by_hand() -> None:
    """Slowdown .1 times the plain sum of everybody's last change, whatever sizes and steps: .1 (2 + 4) = .6; then
    client 0 comes with 5 and client 1's 4 is repeated: .6 + .1 * 9; whoever never came adds nothing."""
    server = Receiver(fednova(form="summed", server_lr=0.1, buffer="gradients"), vector(0.0), 3)
    assert server.get({0: vector(2.0), 1: vector(4.0)}, {0: 1.0, 1: 5.0}).item() == pytest.approx(0.6)
    assert server.get({0: vector(5.0)}, {0: 3.0}).item() == pytest.approx(1.5)
    assert server.get({}).item() == pytest.approx(2.4)


@pytest.mark.parametrize(
    ("keywords", "match"),
    [
        ({"buffer": "none"}, "last changes of all clients"),
        ({"buffer": "models"}, "last changes of all clients"),
        ({"buffer": "gradients", "never_seen": "literal"}, "multiplied by 0"),
    ],
)
def test_refusals_of_the_summed_form(keywords: dict[str, Any], match: str) -> None:
    with pytest.raises(SpecError, match=match):
        fednova(form="summed", **keywords)


def test_fednova_with_literal_start() -> None:
    """Two of equal size, client 1 never seen: it counts with one step and the change -8. Client 0 brings 6 in 3 steps:
    tau_eff = 2, the step (6/3 - 8/1)/2 * 2 = -6."""
    server = Receiver(fednova(weighting="equal", buffer="gradients", never_seen="literal"), vector(8.0), 2)
    assert server.get({0: vector(6.0)}, {0: 3.0}).item() == pytest.approx(2.0)
