"""Distinct inputs: shared ones give what every sample by itself gives, and only those are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from support.training import assert_same
from torch import Tensor, nn

from fedradio.core.contracts import Batches, LocalRule, Picks, Start, TestSet, TrainJob
from fedradio.core.rng import Rng
from fedradio.data.requests import Requests
from fedradio.data.video import Pairs
from fedradio.data.video_features import draw_catalogue, features_of
from fedradio.engine import Engine, distinct
from fedradio.engine.distinct import questions
from fedradio.models import FlatModel, cnn3x3, cnn_batchnorm, logistic, mlp, squeezenet, wrap

Make = Callable[..., Any]


@dataclass(frozen=True)
class Few:
    """A fetch of few inputs: sample ``i`` is ``x[row[i]]`` with label ``y[i]``; counts the inputs that it makes."""

    x: Tensor
    row: Tensor
    y: Tensor
    made: list[int]

    def __call__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        self.made.append(index.numel())
        return self.x[self.row[index]], self.y[index]

    def key(self, index: Tensor) -> Tensor:
        return self.row[index] * 7 - 3

    def labels(self, index: Tensor) -> Tensor:
        return self.y[index]


def few(model: FlatModel, inputs: int, samples: int = 50) -> Few:
    """``samples`` samples of so many different inputs; as many as samples: all differ."""
    g = Rng(3).torch()
    x = torch.randn(inputs, *model.shape, generator=g)
    row = torch.arange(samples) if inputs == samples else torch.randint(inputs, (samples,), generator=g)
    return Few(x, row, torch.randint(model.classes, (samples,), generator=g), [])


def both(work: Any, monkeypatch: pytest.MonkeyPatch, workers: int = 1) -> tuple[Any, Any]:
    """The cohort trained with and without sharing."""
    monkeypatch.setattr(distinct, "SHARE", True)
    shared = work.run(Engine(workers))
    monkeypatch.setattr(distinct, "SHARE", False)
    return shared, work.run(Engine(workers))


def with_fetch(work: Any, fetch: Any) -> Any:
    return work.change(batches=replace(work.batches, fetch=fetch))


def largest_error(found: Tensor, expected: Tensor) -> float:
    """Largest error of a client's change, relative to its norm."""
    return float(((found - expected).norm(dim=1) / expected.norm(dim=1).clamp(min=1e-300)).max())


def test_loss_and_gradient_by_hand() -> None:
    """Inputs 1, 1, 1, 2 labelled 0, 0, 1, 0 under p = (.5, .5): the loss log 2, of both inputs the gradient (-1/8, 1/8)
    of the logits, so that the weights change by (3/8, -3/8) and the biases by (1/4, -1/4)."""
    model = logistic((1,), 2)
    fetch = Few(torch.tensor([[1.0], [2.0]]), torch.tensor([0, 0, 0, 1]), torch.tensor([0, 0, 1, 0]), [])
    start = Start(torch.zeros(1, model.shared.size, dtype=torch.float64), torch.zeros(1).long())
    batches = Batches(Picks(torch.arange(4)[None, None], torch.tensor([[4]])), None, fetch)
    trained = Engine(1).train(TrainJob(model, LocalRule(lr=1.0), 0, start, batches, torch.tensor([1]), Rng(0)), [[0]])
    weight, bias = model.shared.views(trained.delta[0]).values()
    assert float(trained.loss[0]) == pytest.approx(np.log(2))
    assert weight.flatten().tolist() == pytest.approx([3 / 8, -3 / 8])
    assert bias.tolist() == pytest.approx([1 / 4, -1 / 4])
    assert fetch.made == [2]  # two inputs, not four


def test_padding_is_that_of_the_group() -> None:
    """Longer mini-batches of clients in other groups change nothing."""
    fetch, g = few(mlp((12,), 5), 3), Rng(1).torch()
    index, count = torch.randint(50, (2, 4, 6), generator=g), torch.tensor([[6, 3, 0, 5], [2, 6, 6, 9]])
    short = distinct.distinct(fetch, index, count, [4, 3], torch.zeros(()))
    longer = distinct.distinct(fetch, torch.cat([index, index], dim=2), count, [4, 3], torch.zeros(()))
    assert short is not None
    assert longer is not None
    assert short.number == longer.number
    assert short.index.shape[2] == 6
    for one, other in zip(vars(short).values(), vars(longer).values(), strict=True):
        assert not isinstance(one, Tensor) or torch.equal(one, other)


@pytest.mark.parametrize("inputs", [1, 4, 50], ids=["all equal", "some equal", "all different"])
@pytest.mark.parametrize("ragged", [False, True])
def test_every_rule_in_stacks(
    cohort: Make, rule: LocalRule, inputs: int, ragged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stacked clients, one without updates, some batches without samples, with and without gradient shifts."""
    for name in ("mlp", "mlp2"):  # logits by class and by sample
        model = {"mlp": mlp((12,), 5, hidden=(16,)), "mlp2": mlp((3, 4), 40, hidden=(16, 9))}[name]
        work = with_fetch(cohort(model, rule, ragged=ragged, shift=name == "mlp"), few(model, inputs))
        shared, plain = both(work, monkeypatch)
        assert_same(shared, plain, 1e-11)
        alone = with_fetch(cohort(model, rule, ragged=ragged, updates=[5]), few(model, inputs))
        assert_same(*both(alone, monkeypatch), 1e-11)


@pytest.mark.parametrize("rule", ["sgd", "momentum_prox", "adam"], indirect=True)
@pytest.mark.parametrize("model", ["cnn5x5", "residual", "dense_odd"], indirect=True)
def test_every_kind_of_module(cohort: Make, model: FlatModel, rule: LocalRule, monkeypatch: pytest.MonkeyPatch) -> None:
    work = with_fetch(cohort(model, rule, updates=[3, 20, 0]), few(model, 4))
    shared, plain = both(work, monkeypatch)
    assert_same(shared, plain, 1e-11)
    assert not torch.equal(shared.delta, plain.delta)  # it was done in another way


@pytest.mark.parametrize(("updates", "bound"), [(5, 1e-5), (20, 1e-4)])
def test_single_precision(cohort: Make, updates: int, bound: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (mlp((12,), 5, hidden=(16,)), cnn3x3((3, 8, 8), 10, width=4, features=16)):
        work = cohort(model, LocalRule(lr=0.05, momentum=0.5), torch.float32, updates=[updates] * 3, batch=16)
        shared, plain = both(with_fetch(work, few(model, 5)), monkeypatch)
        assert largest_error(shared.delta, plain.delta) < bound
        assert torch.allclose(shared.loss, plain.loss, rtol=1e-6)


@pytest.mark.parametrize("workers", [2, 7])
def test_workers_and_the_others_change_nothing(cohort: Make, workers: int) -> None:
    """Bit for bit: any number of workers; with grouping single, whoever else is in the cohort."""
    model = mlp((12,), 5, hidden=(16,))
    work = with_fetch(cohort(model, LocalRule(lr=0.1), updates=[4, 7, 5] * 30), few(model, 5))
    assert torch.equal(work.run(Engine(workers)).delta, work.run(Engine(1)).delta)
    together = work.run(Engine(workers), "single")
    for row in (0, 4, 89):
        picks = work.batches.labelled
        steps, most = int(work.updates[row]), int(picks.count[row].max())
        own = Picks(picks.index[row : row + 1, :steps, :most], picks.count[row : row + 1, :steps])
        start = replace(work.start, group=work.start.group[row : row + 1])
        one = work.change(batches=replace(work.batches, labelled=own), start=start, updates=work.updates[row : row + 1])
        assert torch.equal(one.run(Engine(1), "single").delta[0], together.delta[row])


def test_what_does_not_repeat_is_left_alone(cohort: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few equal inputs, dropout or batch norm, and fetches without keys: the bits of before."""
    model = mlp((12,), 5, hidden=(16,))
    shared, plain = both(with_fetch(cohort(model, LocalRule(lr=0.1)), few(model, 50)), monkeypatch)
    assert torch.equal(shared.delta, plain.delta)
    dropout = wrap(nn.Sequential(nn.Linear(12, 9), nn.ReLU(), nn.Dropout(0.3), nn.Linear(9, 5)), (12,), 5)
    for normed in (dropout, cnn_batchnorm((2, 8, 8), 5, width=2)):
        work = with_fetch(cohort(normed, LocalRule(lr=0.1)), few(normed, 4))
        shared, plain = both(work, monkeypatch)
        assert torch.equal(shared.delta, plain.delta)
        assert shared.local is None or torch.equal(shared.local, plain.local)


def test_no_key_is_asked_for_where_there_is_none(cohort: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("sorted the keys of a source that has none")

    monkeypatch.setattr(torch.Tensor, "sort", refuse)
    cohort(mlp((12,), 5, hidden=(16,)), LocalRule(lr=0.1)).run(Engine(1))


def test_dropout_behind_shared_features(cohort: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """SqueezeNet names its features: they are computed once per input, dropout masks are drawn per sample as before."""
    model = squeezenet((2, 17, 18), 5, dropout=0.5)
    work = with_fetch(cohort(model, LocalRule(lr=0.01), updates=[3, 2], batch=12, ragged=False), few(model, 3))
    made = work.batches.fetch.made
    shared, plain = both(work, monkeypatch)
    assert_same(shared, plain, 1e-11)
    assert made[:5] == [3, 3, 3, 3, 3]
    assert made[5:] == [12] * 5


def pairs() -> Pairs:
    g = Rng(2).torch()
    return Pairs(torch.randn(12, 12, generator=g), torch.randint(12, (50,), generator=g), torch.arange(50) % 5)


def test_video_sources(cohort: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sources of RawHFL and OSAFL offer keys: equal ones, equal inputs; labels as fetched."""
    law = Requests(np.full((2, 2), 0.5), np.full(2, 0.5), np.full((4, 4), 0.25), np.full((2, 2), 0.5))
    files = features_of(draw_catalogue(2, 2, Rng(0)), law, np.arange(51) % 4, np.arange(51) % 2)
    for fetch, model in ((pairs(), mlp((12,), 5, hidden=(16,))), (files, mlp(files.shape, 4, hidden=(16,)))):
        x, y = fetch(torch.arange(50))
        key = fetch.key(torch.arange(50).view(5, 10)).flatten()
        assert torch.equal(fetch.labels(torch.arange(50).view(5, 10)).flatten(), y)
        assert len(key.unique()) < 50
        for value in key.unique():
            assert (x[key == value] == x[key == value][0]).all()
        work = with_fetch(cohort(model, LocalRule(lr=0.05, prox=0.1), batch=16), fetch)
        assert_same(*both(work, monkeypatch), 1e-11)


def test_questions_by_hand() -> None:
    """Inputs a a b a of group 0 and b b b b of group 1, labels 0 1 0 0 and 0 0 0 1: two questions to a, three to b."""
    fetch = Few(
        torch.tensor([[1.0], [2.0]]), torch.tensor([0, 0, 1, 0, 1, 1, 1, 1]), torch.tensor([0, 1, 0, 0] * 2), []
    )
    fetch = replace(fetch, y=torch.tensor([0, 1, 0, 0, 0, 0, 0, 1]))
    group = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    test = TestSet(torch.arange(8), group, 2, True, fetch)
    found = questions(test, torch.zeros_like(group), group)
    assert found is not None
    assert found.index.tolist() == [0, 2]
    asked = zip(found.place.tolist(), found.group.tolist(), found.y.tolist(), found.count.tolist(), strict=True)
    assert [*asked] == [(0, 0, 0, 2), (0, 0, 1, 1), (1, 0, 0, 1), (1, 1, 0, 3), (1, 1, 1, 1)]
    assert found.of.tolist() == [0, 0, 1, 0, 1, 1, 1, 1]
    assert found.between(1, 2) == slice(2, 5)
    by_client = questions(test, group, group)
    assert by_client is not None
    assert (by_client.index.tolist(), by_client.bounds) == ([0, 2, 4], [(0, 2), (2, 3)])
