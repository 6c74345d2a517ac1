"""Evaluation against plain loops over samples and clients."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
import torch
from support.reference import Reference
from torch import Tensor, nn

from fedradio.core.contracts import Backend, Ensemble, EvalJob, Metric, Scores, TestSet
from fedradio.core.rng import Rng
from fedradio.engine import Engine, distinct, memo
from fedradio.engine.evaluate import evaluate, probabilities
from fedradio.models import FlatModel, logistic, mlp, wrap

SIZES = [5, 11, 3, 8]


def _test_set(model: FlatModel, per_client: bool, sizes: list[int] = SIZES) -> tuple[TestSet, Tensor, Tensor]:
    g = Rng(0).torch()
    x = torch.randn(60, *model.shape, generator=g)
    y = torch.randint(model.classes, (60,), generator=g)
    index = torch.randperm(60, generator=g)[: sum(sizes)]
    group = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return TestSet(index, group, len(sizes), per_client, lambda i: (x[i], y[i])), x[index], y[index]


def _rows(model: FlatModel, n: int) -> Tensor:
    starts = torch.stack([model.init(Rng(i)) for i in range(n)])
    return starts + 0.3 * torch.randn(n, model.size, generator=Rng(9).torch())


def scored(
    model: FlatModel,
    ensemble: Ensemble,
    test: TestSet,
    local: Tensor | None,
    workers: int,
    chunk: int | None = None,
    top: int = 1,
) -> Scores:
    return evaluate(EvalJob(model, ensemble, test, local, top), workers, chunk)


def _plain(probabilities: Tensor, y: Tensor) -> tuple[float, float]:
    pairs = list(zip(probabilities.tolist(), y.tolist(), strict=True))
    losses = [-math.log(p[label]) for p, label in pairs]
    hits = [p.index(max(p)) == label for p, label in pairs]
    return sum(hits) / len(y), sum(losses) / len(y)


@pytest.mark.parametrize("workers", [1, 3])
def test_one_model_for_everybody(workers: int) -> None:
    model = mlp((6,), 4, hidden=(8,))
    row = _rows(model, 1)
    test, x, y = _test_set(model, per_client=True)
    scores = scored(model, Ensemble((row,)), test, None, workers, chunk=7)
    p = model.apply(row[0], x).softmax(1)
    expected = [_plain(p[test.group == g], y[test.group == g]) for g in range(4)]
    assert scores.group_accuracy.tolist() == pytest.approx([a for a, _ in expected])
    assert scores.accuracy == pytest.approx(sum(a for a, _ in expected) / 4)
    assert scores.loss == pytest.approx(sum(b for _, b in expected) / 4, rel=1e-5)


def test_one_model_per_client_on_its_own_samples_mixed_with_everybodys() -> None:
    model = mlp((6,), 4, hidden=(8,))
    everybody, own = _rows(model, 1), _rows(model, 4)
    test, x, y = _test_set(model, per_client=True)
    scores = scored(model, Ensemble((everybody, own), (0.25, 0.75)), test, None, 2)
    losses = []
    for client in range(4):
        mine = test.group == client
        p = 0.25 * model.apply(everybody[0], x[mine]).softmax(1) + 0.75 * model.apply(own[client], x[mine]).softmax(1)
        accuracy, loss = _plain(p, y[mine])
        assert scores.group_accuracy[client] == pytest.approx(accuracy)
        losses.append(loss)
    assert scores.loss == pytest.approx(sum(losses) / 4, rel=1e-5)


def test_one_model_per_client_on_all_samples() -> None:
    model = logistic((6,), 4)
    own = _rows(model, 3)
    test, x, y = _test_set(model, per_client=False, sizes=[20])
    scores = scored(model, Ensemble((own,)), test, None, 2, chunk=6)
    expected = [_plain(model.apply(row, x).softmax(1), y) for row in own]
    assert scores.group_accuracy.tolist() == pytest.approx([a for a, _ in expected])
    assert scores.loss == pytest.approx(sum(b for _, b in expected) / 3, rel=1e-5)


def test_local_parts_complete_the_row() -> None:
    model = wrap(nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 4)), (6,), 4)
    rows = _rows(model, 4).abs()
    test, x, y = _test_set(model, per_client=True)
    shared, local = rows[:1, : model.shared.size], rows[:, model.shared.size :]
    scores = scored(model, Ensemble((shared,)), test, local, 1)
    losses = []
    for client in range(4):
        mine = test.group == client
        p = model.apply(torch.cat([shared[0], local[client]]), x[mine]).softmax(1)
        losses.append(_plain(p, y[mine])[1])
    assert scores.loss == pytest.approx(sum(losses) / 4, rel=1e-5)


def test_chunks_and_workers_change_nothing() -> None:
    model = mlp((6,), 4, hidden=(8,))
    test, _, _ = _test_set(model, per_client=True)
    ensemble = Ensemble((_rows(model, 1),))
    scores = [scored(model, ensemble, test, None, 1, chunk=chunk) for chunk in (1, 2, 5, 27, 1000)]
    for other in scores[1:]:
        assert torch.equal(scores[0].group_accuracy, other.group_accuracy)
        assert scores[0].loss == pytest.approx(other.loss, rel=1e-5)
    parallel = [scored(model, ensemble, test, None, workers, chunk=2) for workers in (1, 2, 3)]
    assert all(parallel[0].loss == other.loss for other in parallel[1:])


def test_sure_models_stay_finite() -> None:
    """Probabilities that underflow: mixing happens in the logarithm."""
    model = logistic((6,), 4)
    test, _, _ = _test_set(model, per_client=False, sizes=[20])
    sure = Ensemble((_rows(model, 1) * 1e4, _rows(model, 1) * -1e4), (0.5, 0.5))
    assert math.isfinite(scored(model, sure, test, None, 1).loss)
    only = Ensemble((_rows(model, 1), torch.full((1, model.size), 7.0)), (1.0, 0.0))
    alone = Ensemble((_rows(model, 1),))
    assert scored(model, only, test, None, 1).loss == pytest.approx(scored(model, alone, test, None, 1).loss)


def test_groups_without_samples_do_not_count() -> None:
    model = logistic((6,), 4)
    test, _, _ = _test_set(model, per_client=True, sizes=[5, 0, 3])
    scores = scored(model, Ensemble((_rows(model, 3),)), test, None, 1)
    assert scores.group_accuracy.isnan().tolist() == [False, True, False]
    assert scores.accuracy == pytest.approx(float(scores.group_accuracy[[0, 2]].mean()))


def test_models_and_clients_must_match() -> None:
    model = logistic((6,), 4)
    test, _, _ = _test_set(model, per_client=True)
    with pytest.raises(ValueError, match="3 models for 4 clients"):
        scored(model, Ensemble((_rows(model, 3),)), test, None, 1)


@pytest.mark.parametrize("per_client", [True, False])
def test_top_m_against_a_sorted_list(per_client: bool) -> None:
    model = mlp((6,), 4, hidden=(8,))
    members = (_rows(model, 1), _rows(model, 4))
    test, x, y = _test_set(model, per_client)
    ensemble = Ensemble(members, (0.4, 0.6))
    scores = scored(model, ensemble, test, None, 2, chunk=5, top=4)
    assert scores.group_top.shape == (4, 4)
    for client in range(4):
        mine = test.group == client if per_client else torch.ones_like(test.group, dtype=torch.bool)
        p = 0.4 * model.apply(members[0][0], x[mine]).softmax(1) + 0.6 * model.apply(
            members[1][client], x[mine]
        ).softmax(1)
        order = [sorted(range(4), key=row.__getitem__, reverse=True) for row in p.tolist()]
        for m in range(1, 5):
            hits = [label in likely[:m] for likely, label in zip(order, y[mine].tolist(), strict=True)]
            assert float(scores.group_top[client, m - 1]) == pytest.approx(sum(hits) / len(hits))
    assert scores.top.tolist() == pytest.approx(scores.group_top.mean(dim=0).tolist())
    assert scores.top[-1] == 1.0
    plain = scored(model, ensemble, test, None, 2, chunk=5)
    assert torch.equal(plain.group_top, scores.group_top[:, :1])
    assert torch.equal(plain.group_accuracy, scores.group_top[:, 0])
    assert (plain.loss, plain.accuracy) == (scores.loss, scores.accuracy)


def test_top_m_of_equals_and_of_what_is_not_a_number() -> None:
    """All classes alike: lower numbers come first, as in argmax. Not a number: never a hit."""
    model = logistic((6,), 4)
    test, _, y = _test_set(model, per_client=False, sizes=[20])
    scores = scored(model, Ensemble((torch.zeros(1, model.size),)), test, None, 1, top=3)
    assert scores.top.tolist() == pytest.approx([float((y < m).double().mean()) for m in (1, 2, 3)])
    broken = scored(model, Ensemble((torch.full((1, model.size), math.inf),)), test, None, 1, top=3)
    assert broken.top.tolist() == [0.0, 0.0, 0.0]


@dataclass(frozen=True)
class Listing(Metric):
    """A metric that keeps what it is given."""

    given: list[tuple[Tensor, Tensor, Tensor]] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return ("count",)

    def score(self, logits: Tensor, y: Tensor, client: Tensor) -> dict[str, float]:
        self.given.append((logits, y, client))
        return {"count": float(len(y))}


@pytest.mark.parametrize("per_client", [True, False])
@pytest.mark.parametrize("backend", [Engine(2), Reference()])
def test_metrics_see_every_prediction_once(per_client: bool, backend: Backend) -> None:
    """Mixed log-probabilities, labels, and groups: the clients, whose samples are their own or everybody's."""
    model = mlp((6,), 4, hidden=(8,))
    members, weight = (_rows(model, 1), _rows(model, 4)), (0.4, 0.6)
    test, x, y = _test_set(model, per_client)
    listing = Listing()
    scores = backend.evaluate(EvalJob(model, Ensemble(members, weight), test, None, metrics=(listing,)))
    ((logits, labels, client),) = listing.given
    assert scores.metrics == {"count": len(labels)} == {"count": len(y) * (1 if per_client else 4)}
    for c in range(4):
        mine = test.group == c if per_client else torch.ones_like(test.group, dtype=torch.bool)
        mixed = sum(
            a * model.apply(row, x[mine]).softmax(1)
            for a, row in zip(weight, (members[0][0], members[1][c]), strict=True)
        )
        torch.testing.assert_close(logits[client == c].exp(), mixed)
        assert torch.equal(labels[client == c], y[mine])


@dataclass(frozen=True)
class Few:
    """A fetch of nine inputs: sample ``i`` is ``x[row[i]]`` with label ``y[i]``."""

    x: Tensor
    row: Tensor
    y: Tensor

    def __call__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        return self.x[self.row[index]], self.y[index]

    def key(self, index: Tensor) -> Tensor:
        return self.row[index]

    def labels(self, index: Tensor) -> Tensor:
        return self.y[index]


@pytest.mark.parametrize("members", [(1,), (4,), (1, 4)], ids=["one for all", "one per client", "mixed"])
@pytest.mark.parametrize("per_client", [True, False])
@pytest.mark.parametrize("top", [1, 4])
def test_distinct_inputs_give_the_scores_of_all_samples(
    members: tuple[int, ...], per_client: bool, top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In double precision: accuracies and top-m identical, losses to 1e-12; metrics see every sample."""
    model, sizes, g = mlp((6,), 4, hidden=(8,)), [30, 0, 60, 25], Rng(4).torch()
    fetch = Few(
        torch.randn(9, 6, generator=g), torch.randint(9, (115,), generator=g), torch.randint(4, (115,), generator=g)
    )
    group = torch.repeat_interleave(torch.arange(4), torch.tensor(sizes))
    test = TestSet(torch.randperm(115, generator=g), group, 4, per_client, fetch)
    ensemble = Ensemble(tuple(_rows(model, n).double() for n in members), (0.4, 0.6)[: len(members)])
    seen = {}
    for share in (True, False):
        monkeypatch.setattr(distinct, "SHARE", share)
        listing = Listing()
        scores = evaluate(EvalJob(model, ensemble, test, None, top, (listing,)), 2)
        by_workers = [evaluate(EvalJob(model, ensemble, test, None, top), workers) for workers in (1, 7)]
        assert all(other.loss == scores.loss for other in by_workers)
        seen[share] = scores, listing.given[0]
    (shared, given), (plain, all_given) = seen[True], seen[False]
    assert torch.equal(shared.group_top.nan_to_num(), plain.group_top.nan_to_num())
    assert shared.loss == pytest.approx(plain.loss, rel=1e-12)
    for one, other in zip(given, all_given, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_only_distinct_inputs_go_through_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model, g = mlp((6,), 4, hidden=(8,)), Rng(4).torch()
    fetch = Few(torch.randn(9, 6, generator=g), torch.arange(90) % 9, torch.zeros(90).long())
    test = TestSet(torch.arange(90), torch.arange(3).repeat_interleave(30), 3, True, fetch)
    seen: list[int] = []
    apply = model.apply
    monkeypatch.setattr(model, "apply", lambda row, x: (seen.append(len(x)), apply(row, x))[1])
    scored(model, Ensemble((_rows(model, 1),)), test, None, 1)
    scored(model, Ensemble((_rows(model, 3),)), test, None, 1)
    assert seen == [9, 9, 9, 9]


def test_samples_that_are_judged_together_are_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch norm without running statistics looks at all samples of a chunk, also in evaluation."""
    module = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8, affine=False, track_running_stats=False), nn.Linear(8, 4))
    model, g = wrap(module, (6,), 4), Rng(4).torch()
    fetch = Few(torch.randn(9, 6, generator=g), torch.randint(9, (90,), generator=g), torch.zeros(90).long())
    test = TestSet(torch.arange(90), torch.arange(3).repeat_interleave(30), 3, True, fetch)
    own, common = _rows(model, 3), _rows(model, 1)
    ensembles = Ensemble((own, common), (0.5, 0.5), kept=(True, False)), Ensemble((common,))
    seen = {}
    for save in (True, False):
        monkeypatch.setattr(distinct, "SHARE", save)
        monkeypatch.setattr(memo, "REMEMBER", save)
        known = memo.Memo()
        seen[save] = [evaluate(EvalJob(model, each, test, None), 1, memo=known).loss for each in ensembles]
    assert seen[True] == seen[False]


def test_probabilities_are_those_that_evaluations_judge() -> None:
    """One model for all, one per client, and a mixture with weights of the clients' own."""
    model = mlp((3,), 4, hidden=(5,))
    rows = torch.stack([model.init(Rng(seed)) for seed in range(3)])
    x, client = torch.randn(7, 3, generator=Rng(9).torch()), torch.tensor([0, 2, 1, 1, 0, 2, 2])
    one = probabilities(model, Ensemble((rows[:1],)), x, client)
    assert one.dtype == torch.float64
    assert one.numpy() == pytest.approx(model.apply(rows[0], x).softmax(dim=1).numpy(), abs=1e-6)
    share = torch.tensor([0.2, 0.5, 1.0])
    mixed = probabilities(model, Ensemble((rows, rows[:1]), (share, 1 - share)), x, client)
    for i, c in enumerate(client.tolist()):
        own, common = (model.apply(row, x[i : i + 1]).softmax(dim=1)[0] for row in (rows[c], rows[0]))
        assert mixed[i].numpy() == pytest.approx((share[c] * own + (1 - share[c]) * common).numpy(), abs=1e-6)
