"""The larger models of the papers through the engine: equal to plain torch loops, and able to learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from support.reference import Reference
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedradio.core.contracts import Batches, LocalRule, Picks, Start, TrainJob
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.engine import Engine
from fedradio.engine.layers import dense_layers
from fedradio.models import FlatModel, cnn3x3, cnn_batchnorm, lstm, squeezenet, wrap

EXACT = 1e-9
Make = Callable[..., Any]


class Fire(nn.Module):
    def __init__(self, inputs: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeeze, 1)
        self.left = nn.Conv2d(squeeze, expand, 1)
        self.right = nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze(x).relu()
        return torch.cat([self.left(x).relu(), self.right(x).relu()], 1)


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 6)
        self.cells = nn.LSTM(6, 8, num_layers=3, batch_first=True)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        _, (hidden, _) = self.cells(self.embedding(x))
        logits: Tensor = self.head(hidden[-1])
        return logits


def _plain_squeezenet() -> nn.Module:
    def pool() -> nn.Module:
        return nn.MaxPool2d(3, 2, ceil_mode=True)

    start = [nn.Conv2d(2, 64, 3, 2), nn.ReLU(), pool(), Fire(64, 16, 64), Fire(128, 16, 64), pool()]
    middle = [Fire(128, 32, 128), Fire(256, 32, 128), pool(), Fire(256, 48, 192), Fire(384, 48, 192)]
    end = [Fire(384, 64, 256), Fire(512, 64, 256), nn.Conv2d(512, 5, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)]
    return nn.Sequential(*start, *middle, *end, nn.Flatten())


def _plain_cnn3x3() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 3, 3, padding="same"), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 6, 3, padding="same"), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(24, 7), nn.ReLU(), nn.Linear(7, 5),
    )  # fmt: skip


def _plain_batchnorm() -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in ((2, 3), (3, 6), (6, 12)):
        for channels in (inputs, outputs):
            layers += [nn.Conv2d(channels, outputs, 3, padding="same"), nn.BatchNorm2d(outputs), nn.ReLU()]
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(12, 5))


PAIRS: dict[str, tuple[Callable[[], FlatModel], Callable[[], nn.Module]]] = {
    "squeezenet": (lambda: squeezenet((2, 17, 18), 5, dropout=0.0), _plain_squeezenet),
    "cnn3x3": (lambda: cnn3x3((2, 9, 8), 5, width=3, features=7), _plain_cnn3x3),
    "cnn_batchnorm": (lambda: cnn_batchnorm((2, 9, 8), 5, width=3, dropout=(0.0, 0.0, 0.0)), _plain_batchnorm),
    "lstm": (lambda: lstm((5,), 4, ids=9, embedding=6, width=8), Reader),
}


def _plain_loop(plain: nn.Module, work: Any, row: int) -> tuple[list[Tensor], list[Tensor]]:
    """Parameters and floating-point buffers of one client after its updates with ``torch.optim.SGD``."""
    model, start = work.model, work.start
    whole = start.w[start.group[row]]
    tensors = model.views(whole if start.local is None else torch.cat([whole, start.local[row]]))
    own = {name: value for name, value in tensors.items() if "running" not in name}
    module = plain.double().train()
    parameters = list(module.parameters())
    order = [name for name, _ in model.module.named_parameters()]
    for parameter, name in zip(parameters, order, strict=True):
        parameter.data = own[name].clone()
    optimiser = torch.optim.SGD(parameters, work.rule.lr, work.rule.momentum)
    for j in range(int(work.updates[row])):
        x, y = work.batches.fetch(work.batches.labelled.index[row, j, : int(work.batches.labelled.count[row, j])])
        optimiser.zero_grad()
        torch.autograd.backward(cross_entropy(module(x.double() if x.is_floating_point() else x), y))
        optimiser.step()
    return parameters, [buffer for buffer in module.buffers() if buffer.is_floating_point()]


@pytest.mark.parametrize("momentum", [0.0, 0.8])
@pytest.mark.parametrize("name", PAIRS)
def test_a_plain_torch_loop(cohort: Make, name: str, momentum: float) -> None:
    """The networks as people write them, with torch's own optimiser, in double precision."""
    make, make_plain = PAIRS[name]
    model = make()
    work = cohort(model, LocalRule(lr=0.05, momentum=momentum), updates=[4, 3], ragged=False)
    trained = work.run(Engine(1))
    for row in range(2):
        parameters, buffers = _plain_loop(make_plain(), work, row)
        whole = work.start.w[work.start.group[row]] + trained.delta[row]
        ours = model.views(whole if trained.local is None else torch.cat([whole, trained.local[row]]))
        order = [name for name, _ in model.module.named_parameters()] + [field.name for field in model.buffers.fields]
        for key, theirs in zip(order, [*parameters, *buffers], strict=True):
            torch.testing.assert_close(ours[key], theirs.detach(), rtol=EXACT, atol=EXACT)
        assert float(trained.delta[row].norm()) > 1e-3


@pytest.mark.parametrize(
    "model",
    [squeezenet((2, 17, 18), 5), cnn_batchnorm((2, 9, 8), 5, width=3), lstm((5,), 4, ids=9, width=8)],
    ids=["squeezenet", "cnn_batchnorm", "lstm"],
)
def test_dropout_and_uneven_batches_as_in_the_reference(cohort: Make, model: FlatModel) -> None:
    assert dense_layers(model) is None
    work = cohort(model, LocalRule(lr=0.05, momentum=0.5, prox=0.3, keep_state=True), updates=[3, 0, 2], shift=True)
    got, want = work.run(Engine(2)), work.run(Reference())
    torch.testing.assert_close(got.delta, want.delta, rtol=EXACT, atol=EXACT)
    torch.testing.assert_close(got.loss, want.loss, rtol=EXACT, atol=EXACT)
    torch.testing.assert_close(got.slots, want.slots, rtol=EXACT, atol=EXACT)
    if want.local is not None:
        torch.testing.assert_close(got.local, want.local, rtol=EXACT, atol=EXACT)


def _train(model: FlatModel, x: Tensor, y: Tensor, rule: LocalRule, steps: int, batch: int) -> Tensor:
    """The row ``[D]`` after so many updates of a single client."""
    row, d = model.init(Rng(1)), model.shared.size
    index = torch.randint(len(y), (1, steps, batch), generator=Rng(2).torch())
    batches = Batches(Picks(index, torch.full((1, steps), batch)), None, lambda i: (x[i], y[i]))
    own = row[None, d:] if model.size > d else None
    start = Start(row[None, :d], torch.tensor([0]), local=own)
    trained = Engine(1).train(TrainJob(model, rule, 0, start, batches, torch.tensor([steps]), Rng(3)), [[0]])
    return torch.cat([row[:d] + trained.delta[0], row[d:] if trained.local is None else trained.local[0]])


@pytest.mark.parametrize(
    ("model", "rule", "steps"),
    [
        (squeezenet((3, 17, 17), 3), LocalRule(lr=0.003), 100),
        (cnn3x3((3, 8, 8), 3, width=4, features=8), LocalRule(lr=0.05, momentum=0.9), 40),
        (cnn_batchnorm((3, 8, 8), 3, width=4), LocalRule(lr=0.05, momentum=0.9), 60),
    ],
    ids=["squeezenet", "cnn3x3", "cnn_batchnorm"],
)
def test_images_are_learnt(model: FlatModel, rule: LocalRule, steps: int) -> None:
    """Three patterns under noise; new samples are told apart."""
    g = Rng(4).torch()
    side = model.shape[1]
    patterns = torch.randn(3, 3, 2, 2, generator=g).repeat_interleave((side + 1) // 2, 2)[:, :, :side]
    patterns = patterns.repeat_interleave((side + 1) // 2, 3)[..., :side]
    y = torch.arange(300) % 3
    x = patterns[y] + 0.5 * torch.randn(300, *model.shape, generator=g)
    row = _train(model, x[:200], y[:200], rule, steps, 16)
    assert (model.apply(row, x[200:]).argmax(1) == y[200:]).double().mean() > 0.9


def test_the_first_id_is_remembered() -> None:
    """The label is the first of four ids, which only the hidden state can carry to the last step."""
    model = lstm((4,), 3, embedding=8, width=16, layers=2)
    x = torch.randint(3, (400, 4), generator=Rng(5).torch())
    row = _train(model, x[:300], x[:300, 0], LocalRule(lr=0.3, momentum=0.9), 150, 32)
    assert (model.apply(row, x[300:]).argmax(1) == x[300:, 0]).double().mean() > 0.9


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 2)),
        nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 2), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(3, 2)),
    ],
    ids=["BatchNorm1d", "BatchNorm2d"],
)
def test_batch_norm_on_a_single_sample_is_named(cohort: Make, module: nn.Module) -> None:
    work = cohort(wrap(module, (4,), 2), LocalRule(lr=0.1, batch=1), updates=[2, 2], ragged=False, batch=1)
    work = work.change(start=replace(work.start, ids=torch.tensor([7, 9])))
    with pytest.raises(SpecError, match=r"client 7 .* one sample") as caught:
        work.run(Engine(1))
    assert caught.value.problems[0].path == "rule.batch"
    assert caught.value.problems[0].remedy


def test_batch_norm_over_pixels_takes_single_samples(cohort: Make) -> None:
    work = cohort(cnn_batchnorm((2, 9, 8), 5, width=3), LocalRule(lr=0.05), updates=[2, 1], ragged=False, batch=1)
    torch.testing.assert_close(work.run(Engine(1)).delta, work.run(Reference()).delta, rtol=EXACT, atol=EXACT)


def test_ids_of_the_wrong_kind_are_named_in_training(cohort: Make) -> None:
    work = cohort(lstm((5,), 4, ids=9, width=8), LocalRule(lr=0.1), updates=[1])
    numbers = replace(work.batches, fetch=lambda i: (torch.zeros(*i.shape, 5), torch.zeros(i.shape).long()))
    with pytest.raises(SpecError, match="not integers"):
        work.change(batches=numbers).run(Engine(1))
