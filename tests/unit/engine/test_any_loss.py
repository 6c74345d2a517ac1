"""Training under any loss: every kernel equals the plain reference loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from support.reference import Reference
from support.training import assert_same as assert_same_training
from support.training import distance
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedradio.core.contracts import (
    NO_SAMPLE,
    Backend,
    Batch,
    Batches,
    KeptTargets,
    LocalRule,
    Loss,
    Outputs,
    Picks,
    Start,
    Trained,
    TrainJob,
)
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.engine import Engine
from fedradio.losses.cross_entropy import CrossEntropy
from fedradio.losses.fedcpsl import FedCpslLoss
from fedradio.models import FlatModel, logistic, mlp, wrap

EXACT = 1e-9
PAIR = FedCpslLoss(alpha_p=0.3, alpha_r=0.2, unlabelled_batch=5, pair=True, lr_factor=2.0, momentum_own=0.6)
RULE = LocalRule(lr=0.1, momentum=0.8, loss=PAIR)
PLAIN = ["logistic", "mlp", "mlp2", "dense_odd", "cnn5x5", "residual", "reader"]
"""Models without norm layers."""

LOSSES: dict[str, FedCpslLoss] = {
    "pair": PAIR,
    "single": replace(PAIR, pair=False),
    "gradient": replace(PAIR, pseudo="gradient"),
    "gradient_rate": replace(PAIR, pseudo="gradient", pseudo_rate=0.3),
    "labelled": replace(PAIR, unlabelled_batch=0),
    "no_momentum": replace(PAIR, momentum_own=0.0),
    "hard": replace(PAIR, alpha_r=0.0),
    "no_pull": replace(PAIR, alpha_p=0.0),
}
RULES: dict[str, LocalRule] = {
    "sgd": LocalRule(lr=0.1),
    "momentum": LocalRule(lr=0.05, momentum=0.8),
    "prox": LocalRule(lr=0.1, prox=0.7, schedule=lambda t, j: 0.9**t / (1 + j)),
    "momentum_prox": LocalRule(lr=0.05, momentum=0.8, prox=0.3),
}

EVERY_RULE: dict[str, LocalRule] = RULES | {
    "adam": LocalRule(lr=0.01, optimiser="adam"),
    "adam_kept": LocalRule(lr=0.01, optimiser="adam", keep_state=True),
    "momentum_kept": LocalRule(lr=0.05, momentum=0.8, keep_state=True),
}

Make = Callable[..., Any]
some = partial(pytest.mark.parametrize, indirect=True)


def assert_same(got: Trained, want: Trained, tolerance: float) -> None:
    assert distance(got.delta, want.delta) < tolerance
    assert distance(got.loss, want.loss) < tolerance
    assert got.rows.keys() == want.rows.keys()
    pairs = [(got.rows[name], want.rows[name]) for name in want.rows]
    for mine, theirs in (*pairs, (got.local, want.local), (got.targets, want.targets)):
        assert (mine is None) == (theirs is None)
        if mine is not None and theirs is not None:
            assert distance(mine, theirs) < tolerance
    torch.testing.assert_close(got.notes, want.notes, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.fixture
def pairs(cohort: Make) -> Make:
    """A cohort with unlabelled batches, models of the clients' own and weights from 0 to 1; the first client has no
    labelled samples at all, the second no unlabelled ones."""

    def make(model: FlatModel, rule: LocalRule = RULE, ragged: bool = True, **options: Any) -> Any:
        work = cohort(model, rule, ragged=ragged, **options)
        g = Rng(2, ("dark",)).torch()
        lit, width = work.batches.labelled, 5
        clients, steps = lit.count.shape
        shape = (clients, steps)
        index = torch.randint(50, (*shape, width), generator=g)
        count = torch.randint(0, width + 1, shape, generator=g) if ragged else torch.full(shape, width)
        count[count == 1] = 2
        labelled = lit.count.clone()
        if ragged:
            labelled[0], count[1] = 0, 0
        batches = Batches(Picks(lit.index, labelled), Picks(index, count), work.batches.fetch)
        w = work.start.w
        own = w[work.start.group] + torch.randn(clients, w.shape[1], generator=g).to(w) * 0.1
        mixture = torch.tensor([0.75, 0.0, 0.5, 1.0, 0.3, 0.9])[torch.arange(clients) % 6]
        work = work.change(batches=batches).with_start(rows={"own": own}, known={"mixture": mixture})
        return work.with_start(targets=_some_labels(index, model.classes, w)) if keeps(rule) else work

    return make


def keeps(rule: LocalRule) -> bool:
    return rule.loss is not None and rule.loss.keeps_targets


def _some_labels(index: torch.Tensor, classes: int, like: torch.Tensor) -> KeptTargets:
    """Random labels of the samples that every client draws, and of sample 49, whoever draws it."""
    rows = [torch.unique(torch.cat([picks.flatten(), torch.tensor([49])])) for picks in index]
    number = torch.full((len(rows), max(map(len, rows)) + 2), NO_SAMPLE)
    for row, known in zip(number, rows, strict=True):
        row[: len(known)] = known
    draws = torch.randn(*number.shape, classes, generator=Rng(3, ("labels",)).torch())
    return KeptTargets(number, draws.to(like).softmax(-1))


def test_one_step_of_a_pair_by_hand() -> None:
    """Logistic regression on one labelled and one unlabelled sample, b = 1/2, ap = ar.

    The received model is zero, so h = nu = (1/2, 1/2): its labelled gradient is (h - y) x^T, its unlabelled one 0. The
    own model says q = (3/4, 1/4) by its biases, p = (5/8, 3/8), r = (3/5, 1/3). With label 1 the labelled gradient is
    r_1 (q - y) = (1/4, -1/4). Unlabelled: q <nu, r> - nu r = (7/20 - 3/10, 7/60 - 1/6) = (1/20, -1/20), and
    b q (log p - <q, log p>) = (1/2)(3/16) log(5/3) (1, -1).
    """
    model = logistic((1,), 2)
    x, y = torch.tensor([[2.0], [3.0]], dtype=torch.float64), torch.tensor([1, 0])
    one = torch.ones(1, 1, dtype=torch.long)
    batches = Batches(Picks(0 * one[..., None], one), Picks(one[..., None], one), lambda i: (x[i], y[i]))
    own = torch.tensor([[0.0, 0.0, math.log(3.0), 0.0]], dtype=torch.float64)
    start = Start(
        torch.zeros(1, 4).double(), torch.tensor([0]), rows={"own": own}, known={"mixture": torch.tensor([0.5])}
    )
    loss = FedCpslLoss(0.4, 0.4, 1, pair=True, lr_factor=2.0)
    rule = LocalRule(lr=0.1, loss=loss)
    for backend in (Engine(1), Reference()):
        trained = backend.train(TrainJob(model, rule, 0, start, batches, torch.tensor([1]), Rng(0)), [[0]])
        delta = torch.tensor([[-0.1, 0.1, -0.05, 0.05]], dtype=torch.float64)  # -lr (h - y) (2, 1)
        torch.testing.assert_close(trained.delta, delta)
        lit, dark = 0.25, 0.4 * 0.05 + 0.4 * 0.5 * 3 / 16 * math.log(5 / 3)
        weight, bias = 2 * lit + 3 * dark, lit + dark
        moved = -0.2 * torch.tensor([[weight, -weight, bias, -bias]], dtype=torch.float64)
        torch.testing.assert_close(trained.rows["own"] - own, moved)
        torch.testing.assert_close(trained.loss, torch.tensor([1.4 * math.log(2.0)], dtype=torch.float64))
        assert trained.notes["pseudo_accuracy"].tolist() == [1.0]  # a tie counts for the first class


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@some("model", PLAIN)
def test_kernels_equal_the_reference(pairs: Make, model: FlatModel, rule: LocalRule) -> None:
    work = pairs(model, replace(rule, loss=PAIR), shift=True)
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


@some("model", PLAIN)
def test_kernels_without_shifts_equal_the_reference(pairs: Make, model: FlatModel) -> None:
    work = pairs(model)
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@some("model", ["mlp", "mlp2", "cnn5x5"])
def test_every_loss(pairs: Make, model: FlatModel, loss: FedCpslLoss) -> None:
    work = pairs(model, replace(RULE, loss=loss), shift=True)
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


@pytest.mark.parametrize("updates", [[4] * 40, [3]], ids=["stacked", "alone"])
def test_full_batches(pairs: Make, updates: list[int]) -> None:
    work = pairs(mlp((12,), 5, hidden=(16,)), updates=updates, ragged=False)
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


@some("model", ["mlp", "cnn5x5"])
def test_single_precision(pairs: Make, model: FlatModel) -> None:
    work = pairs(model, dtype=torch.float32, shift=True)
    assert_same(work.run(Engine(1)), work.run(Reference()), 1e-4)


@some("model", ["normed"])
def test_norm_layers_without_a_pair(pairs: Make, model: FlatModel) -> None:
    """Batch statistics of labelled and unlabelled samples together; dropout; parameters that stay local."""
    work = pairs(model, replace(RULE, loss=replace(PAIR, pair=False)))
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


def test_dropout_in_pairs(pairs: Make) -> None:
    """The two models of a pair drop different units, the same ones whoever else is active."""
    module = nn.Sequential(nn.Linear(12, 30), nn.ReLU(), nn.Dropout(0.5), nn.Linear(30, 4))
    work = pairs(wrap(module, (12,), 4))
    trained = work.run(Engine(1))
    assert_same(trained, work.run(Reference()), EXACT)
    assert not torch.equal(trained.rows["own"], work.change(rng=Rng(6)).run(Engine(1)).rows["own"])
    # b = 1 and equal models: without dropout, or with the same masks, both would move alike
    equal = LocalRule(lr=0.1, loss=replace(PAIR, lr_factor=1.0, momentum_own=0.0))
    same = pairs(work.model, equal)
    same = same.with_start(rows={"own": same.start.w[same.start.group]}, known={"mixture": torch.ones(6)})
    twins = same.run(Engine(1))
    assert distance(twins.rows["own"] - same.start.rows["own"], twins.delta) > 0.1


@some("model", PLAIN)
def test_equal_models_that_are_not_mixed_move_alike(pairs: Make, model: FlatModel) -> None:
    """b = 1, the same start, rate and momentum: the own models are the global ones."""
    rule = LocalRule(lr=0.1, momentum=0.6, loss=replace(PAIR, lr_factor=1.0))
    work = pairs(model, rule)
    work = work.with_start(rows={"own": work.start.w[work.start.group]}, known={"mixture": torch.ones(6)})
    trained = work.run(Engine(1))
    assert distance(trained.rows["own"] - work.start.rows["own"], trained.delta) < EXACT


@some("model", ["mlp", "cnn5x5"])
def test_a_weight_of_zero_keeps_the_own_models(pairs: Make, model: FlatModel) -> None:
    work = pairs(model).with_start(known={"mixture": torch.zeros(6)})
    assert torch.equal(work.run(Engine(1)).rows["own"], work.start.rows["own"])


@some("model", ["mlp", "residual"])
def test_own_models_do_not_touch_the_global_ones(pairs: Make, model: FlatModel) -> None:
    work = pairs(model)
    single = work.with_rule(loss=replace(PAIR, pair=False)).run(Engine(1))
    assert torch.equal(single.delta, work.run(Engine(1)).delta)
    assert single.rows == {}


@some("model", ["mlp", "reader"])
def test_an_loss_without_terms_is_plain_training(pairs: Make, model: FlatModel) -> None:
    work = pairs(model, LocalRule(lr=0.1, momentum=0.8, loss=FedCpslLoss()), shift=True)
    plain, trained = work.with_rule(loss=None).run(Engine(1)), work.run(Engine(1))
    assert distance(trained.delta, plain.delta) < EXACT
    assert distance(trained.loss, plain.loss) < EXACT
    assert torch.isnan(trained.notes["pseudo_accuracy"]).all()
    assert plain.notes == {}


@some("model", ["mlp", "cnn5x5"])
def test_idle_clients_keep_their_models(pairs: Make, model: FlatModel) -> None:
    work = pairs(model, updates=[2, 0, 1])
    trained = work.run(Engine(2))
    assert torch.equal(trained.rows["own"][1], work.start.rows["own"][1])
    assert not torch.equal(trained.rows["own"][2], work.start.rows["own"][2])
    assert not trained.delta[1].any()
    assert trained.loss[1] == 0.0
    assert torch.isnan(trained.notes["pseudo_accuracy"][1])
    nobody = work.change(updates=torch.zeros(3, dtype=torch.long)).run(Engine(2))
    assert torch.equal(nobody.rows["own"], work.start.rows["own"])


@some("model", ["mlp", "cnn5x5"])
def test_workers_change_nothing(pairs: Make, model: FlatModel) -> None:
    work = pairs(model, dtype=torch.float32, updates=[5, 3, 0, 5, 4, 1, 5] + [2] * (70 if model.size < 500 else 2))
    one, *others = (work.run(Engine(workers)) for workers in (1, 2, 3))
    for other in others:
        for name in ("delta", "loss"):
            assert torch.equal(getattr(one, name), getattr(other, name))
        assert torch.equal(one.rows["own"], other.rows["own"])
        assert torch.equal(
            one.notes["pseudo_accuracy"].nan_to_num(-1.0), other.notes["pseudo_accuracy"].nan_to_num(-1.0)
        )


@some("model", ["mlp", "cnn5x5"])
def test_results_do_not_depend_on_who_else_is_active(pairs: Make, model: FlatModel) -> None:
    work = pairs(model, shift=True)
    together = work.run(Engine(1))
    start, batches = work.start, work.batches
    for row in range(len(work.updates)):
        mine = slice(row, row + 1)
        alone = work.change(
            updates=work.updates[mine],
            batches=replace(batches, labelled=cut(batches.labelled, mine), unlabelled=cut(batches.unlabelled, mine)),
        ).with_start(
            group=start.group[mine],
            shift=start.shift[mine],
            rows={"own": start.rows["own"][mine]},
            known={"mixture": start.known["mixture"][mine]},
        )
        trained = alone.run(Engine(1))
        for part in (
            lambda t: t.delta,
            lambda t: t.loss,
            lambda t: t.rows["own"],
            lambda t: t.notes["pseudo_accuracy"],
        ):
            got, want = part(trained)[0], part(together)[row]
            torch.testing.assert_close(got, want, rtol=EXACT, atol=EXACT, equal_nan=True)


def cut(picks: Picks, mine: slice) -> Picks:
    return Picks(picks.index[mine], picks.count[mine])


@some("model", ["mlp", "residual"])
def test_inputs_stay_as_they_were(pairs: Make, model: FlatModel) -> None:
    work = pairs(model, shift=True)
    given = [work.start.w, work.start.shift, work.start.rows["own"], work.start.known["mixture"]]
    before = [t.clone() for t in given]
    state = torch.get_rng_state()
    work.run(Engine(2))
    assert all(torch.equal(a, b) for a, b in zip(before, given, strict=True))
    assert torch.equal(state, torch.get_rng_state())


def test_the_share_of_right_pseudo_labels(pairs: Make) -> None:
    """Of the samples that were drawn, padding and later updates excepted; the received model decides."""
    work = pairs(mlp((12,), 5, hidden=(16,)))
    trained, dark = work.run(Engine(1)), work.batches.unlabelled
    for row, updates in enumerate(work.updates.tolist()):
        hits = []
        for j in range(updates):
            x, y = work.batches.fetch(dark.index[row, j, : dark.count[row, j]])
            hits += (work.model.apply(work.start.w[row % 2], x).argmax(1) == y).tolist()
        if hits:
            assert float(trained.notes["pseudo_accuracy"][row]) == pytest.approx(sum(hits) / len(hits))
        else:
            assert math.isnan(trained.notes["pseudo_accuracy"][row])


@pytest.mark.parametrize("backend", [Engine(1), Reference()])
def test_what_is_refused(pairs: Make, backend: Backend) -> None:
    work = pairs(mlp((12,), 5))
    for changes, path in (({"optimiser": "adam"}, "rule.kind"), ({"keep_state": True}, "rule.keep_state")):
        with pytest.raises(SpecError) as refused:
            work.with_rule(**changes).run(backend)
        assert [problem.path for problem in refused.value.problems] == [path]
    with pytest.raises(ValueError, match="own is missing"):
        work.with_start(rows={}).run(backend)
    with pytest.raises(ValueError, match="unlabelled is missing"):
        work.change(batches=replace(work.batches, unlabelled=None)).run(backend)


@some("model", ["normed"])
def test_norm_layers_in_pairs_are_refused(pairs: Make, model: FlatModel) -> None:
    for backend in (Engine(1), Reference()):
        with pytest.raises(SpecError, match="norm layers"):
            pairs(model).run(backend)


def test_a_batch_of_one_sample_is_refused_by_batch_norm(pairs: Make) -> None:
    work = pairs(wrap(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), (3,), 4), updates=[1], ragged=False)
    work = work.with_rule(loss=replace(PAIR, pair=False))
    few = replace(work.batches.labelled, count=torch.ones(1, 1, dtype=torch.long))
    none = replace(work.batches.unlabelled, count=torch.zeros(1, 1, dtype=torch.long))
    with pytest.raises(SpecError, match="one sample"):
        work.change(batches=replace(work.batches, labelled=few, unlabelled=none)).run(Engine(1))
    both = replace(none, count=torch.ones(1, 1, dtype=torch.long))
    assert work.change(batches=replace(work.batches, labelled=few, unlabelled=both)).run(Engine(1)).delta.any()


class Near(Loss):
    """Cross entropy, and the squared distance from the logits and features of both anchors."""

    anchors = ("received", "previous")
    reads_features = True

    def costs(self, out: Mapping[str, Outputs], batch: Batch) -> Mapping[str, Tensor]:
        (z, f), (z0, f0), (z1, f1) = (out[name] for name in ("w", "received", "previous"))
        assert f is not None
        assert f0 is not None
        assert f1 is not None
        ce = cross_entropy(z.transpose(1, 2), batch.y, reduction="none")
        far = (z - z0).square().sum(-1) + (f - f1).square().sum(-1) + ((f0 - f) * (z1 - z).sum(-1, True)).sum(-1)
        return {"w": batch.mean(ce + 0.1 * far)}


@pytest.mark.parametrize("name", ["momentum", "prox", "adam", "adam_kept", "momentum_kept"])
@some("model", ["logistic", "mlp", "mlp2", "cnn5x5", "residual", "reader", "normed"])
def test_a_loss_with_anchors_and_features_equals_the_reference(cohort: Make, model: FlatModel, name: str) -> None:
    work = cohort(model, replace(EVERY_RULE[name], loss=Near()), shift=True)
    size = work.start.w.shape[1]
    previous = torch.randn(len(work.updates), size, generator=Rng(4).torch(), dtype=torch.float64)
    work = work.with_start(rows={"previous": 0.1 * previous})
    assert_same_training(work.run(Engine(1)), work.run(Reference()), EXACT)
    assert distance(work.run(Engine(1)).delta, work.with_rule(loss=None).run(Engine(1)).delta) > 1e-3


@some("model", ["mlp", "cnn5x5", "normed"])
def test_any_loss_kernel_trains_cross_entropy_as_the_fused_one(cohort: Make, model: FlatModel) -> None:
    class Same(CrossEntropy):
        """Cross entropy without a fused kernel."""

    work = cohort(model, EVERY_RULE["momentum_kept"], shift=True)
    assert_same_training(work.with_rule(loss=Same()).run(Engine(1)), work.run(Engine(1)), EXACT)
    chosen = work.with_rule(loss=CrossEntropy()).run(Engine(1))
    assert torch.equal(chosen.delta, work.run(Engine(1)).delta)
