"""The first dense layer in coordinates of the inputs: the changes of full rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
import torch
from support.training import assert_same, distance
from support.worlds import tiny
from torch import Tensor

from fedradio.algorithms.osafl import osafl
from fedradio.core.contracts import Batches, Ensemble, EvalJob, LocalRule, Picks, Start, TestSet, TrainJob
from fedradio.core.rng import Rng
from fedradio.data.video_files import video_files
from fedradio.engine import Engine, coordinates
from fedradio.engine.coordinates import spanned
from fedradio.engine.evaluate import evaluate
from fedradio.engine.layers import dense_layers
from fedradio.models import FlatModel, logistic, mlp
from fedradio.rounds.round import begin, run_round

Make = Callable[..., Any]
FILES = partial(video_files, genres=2, files_per_genre=3, requests=49, test_requests=30)


@dataclass(frozen=True)
class Line:
    """Inputs on a line, ``x = c (.6, .8, 0, 0)``: sample ``i`` has ``c = 5 + i`` and label 0."""

    @property
    def rank(self) -> int:
        return 1

    def basis(self) -> Tensor:
        return torch.tensor([[0.6, 0.8, 0.0, 0.0]], dtype=torch.float64)

    def coordinates(self, index: Tensor) -> Tensor:
        return (5.0 + index.double()).unsqueeze(-1)

    def key(self, index: Tensor) -> Tensor:
        return index

    def labels(self, index: Tensor) -> Tensor:
        return torch.zeros_like(index)

    def __call__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        raise AssertionError("inputs are not needed")


def test_a_change_by_hand() -> None:
    """One sample x = (3, 4, 0, 0) under equal probabilities: the logits' gradient is (-.5, .5), the change -.1 G x."""
    model = logistic((4,), 2)
    start = Start(torch.zeros(1, model.shared.size, dtype=torch.float64), torch.zeros(1).long())
    picks = Picks(torch.zeros(1, 1, 1).long(), torch.ones(1, 1).long())
    job = TrainJob(model, LocalRule(lr=0.1), 0, start, Batches(picks, None, Line()), torch.tensor([1]), Rng(0))
    weight, _ = model.shared.views(Engine(1).train(job, [[0]]).delta[0]).values()
    expected = torch.tensor([[0.15, 0.2, 0.0, 0.0], [-0.15, -0.2, 0.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(weight, expected)


def work_of(cohort: Make, rule: LocalRule, dtype: torch.dtype = torch.float64, **keywords: Any) -> Any:
    tapes = FILES(4, Rng(1))
    work = cohort(mlp(tapes.shape, tapes.classes, hidden=(16, 9)), rule, dtype, batch=16, **keywords)
    return work.change(batches=replace(work.batches, fetch=tapes.fetch))


def both(work: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """The cohort trained in coordinates and in full rows."""
    monkeypatch.setattr(coordinates, "PROJECT", True)
    narrow = work.run(Engine(1))
    monkeypatch.setattr(coordinates, "PROJECT", False)
    return narrow, work.run(Engine(1))


@pytest.mark.parametrize("rule", ["sgd", "schedule", "prox", "momentum", "momentum_prox"], indirect=True)
def test_changes_are_those_of_full_rows(cohort: Make, rule: LocalRule, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two start rows, uneven work, ragged batches; again after the buffers have been used."""
    narrow, full = both(work_of(cohort, rule), monkeypatch)
    assert_same(narrow, full, 1e-11)
    assert not torch.equal(narrow.delta, full.delta)  # it was done in another way
    engine, work = Engine(2), work_of(cohort, rule)
    monkeypatch.setattr(coordinates, "PROJECT", True)
    assert torch.equal(work.run(engine).delta, narrow.delta)
    assert torch.equal(work.run(engine).delta, narrow.delta)


def test_single_precision_after_five_updates(cohort: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = LocalRule(lr=0.02, momentum=0.8, prox=0.3)
    narrow, full = both(work_of(cohort, rule, torch.float32, updates=[5] * 6), monkeypatch)
    assert all(distance(one, other) < 5e-6 for one, other in zip(narrow.delta, full.delta, strict=True))
    torch.testing.assert_close(narrow.loss, full.loss, rtol=1e-6, atol=0)


@pytest.mark.parametrize("rule", ["adam", "adam_kept", "momentum_kept"], indirect=True)
def test_what_leaves_the_space_is_trained_in_full_rows(
    cohort: Make, rule: LocalRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow, full = both(work_of(cohort, rule), monkeypatch)
    assert torch.equal(narrow.delta, full.delta)
    shifted = work_of(cohort, LocalRule(lr=0.1), shift=True)
    narrow, full = both(shifted, monkeypatch)
    assert torch.equal(narrow.delta, full.delta)


def test_only_where_it_pays() -> None:
    """At most a quarter of the inputs' dimensions, and most parameters in the first layer."""

    def found(model: FlatModel, fetch: Any) -> bool:
        layers = dense_layers(model)
        assert layers is not None
        return spanned(fetch, layers) is not None

    assert found(mlp((4,), 2, hidden=(3,)), Line())
    assert not found(mlp((3,), 2, hidden=(3,)), Line())
    assert not found(mlp((4,), 2, hidden=(3, 9)), Line())
    assert not found(mlp((4,), 2, hidden=(3,)), lambda index: (index, index))


@pytest.mark.parametrize("members", [1, 2])
def test_evaluation(members: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In double precision accuracies are identical, losses within 1e-11."""
    tapes = FILES(4, Rng(1))
    model, test = mlp(tapes.shape, tapes.classes, hidden=(16, 9)), tapes.test
    rows = [model.init(Rng(i)).double()[None] for i in range(members)]
    seen = []
    for project in (True, False):
        monkeypatch.setattr(coordinates, "PROJECT", project)
        ensemble = Ensemble(tuple(rows), (0.3, 0.7)[:members] if members > 1 else (1.0,))
        seen.append(evaluate(EvalJob(model, ensemble, test, None, 3), 1))
    assert torch.equal(seen[0].group_top, seen[1].group_top)
    assert seen[0].loss == pytest.approx(seen[1].loss, rel=1e-11)
    own = Ensemble((model.init(Rng(0)).double().expand(4, -1),))
    assert isinstance(test, TestSet)
    assert (
        evaluate(EvalJob(model, own, test, None), 1).accuracy
        == evaluate(EvalJob(model, Ensemble((rows[0],)), test, None), 1).accuracy
    )


def test_scores_and_payloads_of_osafl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores compare full rows, which are also what is sent."""
    seen = []
    for project in (True, False):
        monkeypatch.setattr(coordinates, "PROJECT", project)
        sim = tiny(source=FILES, algorithm=osafl(), workers=1)
        state = begin(sim)
        for _ in range(2):
            state, record, _ = run_round(sim, state)
        seen.append((state, record))
    (narrow, one), (full, other) = seen
    torch.testing.assert_close(narrow.signals["score"], full.signals["score"], rtol=1e-5, atol=0)
    assert one.bits == other.bits
    assert one.metrics["loss"] == pytest.approx(other.metrics["loss"], rel=1e-5)
