"""Each side's part of the world: devices on samples of their own, the server on what they announce."""

from typing import Any

import pytest
import torch
from support.federations import Memory, federated, spec_of, trainers

from fedradio.core.contracts import Samples, Scale
from fedradio.core.errors import DataError
from fedradio.core.rng import Rng
from fedradio.remote.flower.federation import Federation
from fedradio.remote.flower.worlds import announced, announced_stream, check_samples, checked_signals, device_of
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build

OWN: dict[str, Any] = {"source": {"kind": "own", "shape": [1, 8, 8], "classes": 10}}


def samples(number: int, size: int = 40) -> Samples:
    """Noisy templates of ten classes: learnable, and other ones on every device."""
    generator = Rng(number).torch()
    templates = torch.randn(10, 1, 8, 8, generator=Rng(99).torch())
    y = torch.randint(10, (size + 20,), generator=generator)
    x = templates[y] + 0.5 * torch.randn(size + 20, 1, 8, 8, generator=generator)
    return Samples(x[:size], y[:size], x[size:], y[size:], 10, 512.0)


def test_a_device_on_samples_of_its_own() -> None:
    spec = spec_of(data=OWN)
    first, second = (device_of(spec, number, samples(7)) for number in (0, 1))
    assert int(announced(first)["samples"]) == 40
    picks = [
        one.stream.draw(one.stream.start(), torch.tensor([one.number]), torch.tensor([4]), 16, Rng(3)).labelled.index
        for one in (first, second)
    ]
    assert picks[0].shape == (1, 4, 16)
    assert not torch.equal(*picks)  # equal samples, other draws


@pytest.mark.parametrize(
    ("shape", "classes", "reason"),
    [
        ((1, 8, 8), 10, ""),
        ((64,), 10, r"shape \(1, 8, 8\), but those of the federation \(64,\)"),
        ((1, 8, 8), 9, "label 9 on this"),
    ],
)
def test_samples_that_do_not_fit(shape: tuple[int, ...], classes: int, reason: str) -> None:
    if not reason:
        check_samples(samples(1), shape, classes)
        return
    with pytest.raises(DataError, match=reason):
        check_samples(samples(1), shape, classes)


def test_specs_and_folders_belong_together() -> None:
    with pytest.raises(DataError, match="needs a folder with samples"):
        device_of(spec_of(data=OWN), 0, None)
    with pytest.raises(DataError, match="already has the samples of every client"):
        device_of(spec_of(), 0, samples(1))


def test_a_federation_learns_from_samples_that_the_server_never_has() -> None:
    spec = spec_of(data=OWN, rounds=8)
    given = {number: samples(number) for number in range(3)}
    mailbox = Memory(trainers(spec, samples=given))
    signals = {"samples": torch.tensor([40, 40, 40])}
    sim = build(spec, stream=lambda clients: announced_stream(spec, clients, signals, None))
    sim = federated(spec, mailbox, sim=sim)
    assert isinstance(sim.clients, Federation)
    sim.clients.own = True
    state, accuracies = begin(sim), []
    for _ in range(8):
        state, record, _ = run_round(sim, state)
        accuracies.append(record.metrics["accuracy"])
    assert accuracies[-1] > 0.6 > accuracies[0]
    assert len(record.groups["accuracy"]) == 3
    server = announced_stream(spec, 3, signals, samples(5))
    assert len(server.test().index) == 40
    pixels = torch.full((2, 1, 8, 8), 51, dtype=torch.uint8)
    stored = Samples(pixels, torch.zeros(2).long(), pixels, torch.zeros(2).long(), 10, 512.0, Scale(0.2, 0.5))
    test = announced_stream(spec, 3, signals, stored).test()
    assert float(test.fetch(test.index)[0].abs().max()) < 1e-6  # (51/255 - .2)/.5
    with pytest.raises(RuntimeError, match="on the devices"):
        server.draw({}, torch.tensor([0]), torch.tensor([1]), 4, Rng(0))


def test_clients_with_other_samples_than_the_specs_are_found() -> None:
    spec = spec_of()
    sim = build(spec, workers=1)
    signals = {number: announced(device_of(spec, number, None)) for number in range(3)}
    assert checked_signals(sim, signals) == []
    signals[1] = {"samples": torch.tensor([3])}
    assert checked_signals(sim, signals) == [1]
