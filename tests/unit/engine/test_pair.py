"""Training under an objective: every kernel equals the plain reference loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from support.reference import Reference
from support.training import distance
from torch import nn

from fedradio.core.contracts import (
    NO_SAMPLE,
    Backend,
    Batches,
    LocalRule,
    Objective,
    Picks,
    PseudoLabels,
    Start,
    Trained,
    TrainJob,
)
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.engine import Engine
from fedradio.models import FlatModel, logistic, mlp, wrap

EXACT = 1e-9
PAIR = Objective(alpha_p=0.3, alpha_r=0.2, unlabelled_batch=5, pair=True, lr_factor=2.0, momentum_own=0.6)
RULE = LocalRule(lr=0.1, momentum=0.8, objective=PAIR)
PLAIN = ["logistic", "mlp", "mlp2", "dense_odd", "cnn5x5", "residual", "reader"]
"""Models without norm layers."""

OBJECTIVES: dict[str, Objective] = {
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

Make = Callable[..., Any]
some = partial(pytest.mark.parametrize, indirect=True)


def assert_same(got: Trained, want: Trained, tolerance: float) -> None:
    assert distance(got.delta, want.delta) < tolerance
    assert distance(got.loss, want.loss) < tolerance
    for mine, theirs in ((got.own, want.own), (got.local, want.local)):
        assert (mine is None) == (theirs is None)
        if mine is not None and theirs is not None:
            assert distance(mine, theirs) < tolerance
    assert (got.nu is None) == (want.nu is None)
    if got.nu is not None and want.nu is not None:
        assert distance(got.nu, want.nu) < tolerance
    assert got.pseudo is not None
    torch.testing.assert_close(got.pseudo, want.pseudo, rtol=tolerance, atol=tolerance, equal_nan=True)


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
        work = work.change(batches=batches).with_start(own=own, mixture=mixture)
        return work.with_start(labels=_some_labels(index, model.classes, w)) if keeps(rule) else work

    return make


def keeps(rule: LocalRule) -> bool:
    return rule.objective is not None and rule.objective.keeps_labels


def _some_labels(index: torch.Tensor, classes: int, like: torch.Tensor) -> PseudoLabels:
    """Random labels of the samples that every client draws, and of sample 49, whoever draws it."""
    rows = [torch.unique(torch.cat([picks.flatten(), torch.tensor([49])])) for picks in index]
    number = torch.full((len(rows), max(map(len, rows)) + 2), NO_SAMPLE)
    for row, known in zip(number, rows, strict=True):
        row[: len(known)] = known
    draws = torch.randn(*number.shape, classes, generator=Rng(3, ("labels",)).torch())
    return PseudoLabels(number, draws.to(like).softmax(-1))


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
    start = Start(torch.zeros(1, 4).double(), torch.tensor([0]), own=own, mixture=torch.tensor([0.5]))
    objective = Objective(0.4, 0.4, 1, pair=True, lr_factor=2.0)
    rule = LocalRule(lr=0.1, objective=objective)
    for backend in (Engine(1), Reference()):
        trained = backend.train(TrainJob(model, rule, 0, start, batches, torch.tensor([1]), Rng(0)), [[0]])
        delta = torch.tensor([[-0.1, 0.1, -0.05, 0.05]], dtype=torch.float64)  # -lr (h - y) (2, 1)
        torch.testing.assert_close(trained.delta, delta)
        lit, dark = 0.25, 0.4 * 0.05 + 0.4 * 0.5 * 3 / 16 * math.log(5 / 3)
        weight, bias = 2 * lit + 3 * dark, lit + dark
        moved = -0.2 * torch.tensor([[weight, -weight, bias, -bias]], dtype=torch.float64)
        torch.testing.assert_close(trained.own - own, moved)
        torch.testing.assert_close(trained.loss, torch.tensor([1.4 * math.log(2.0)], dtype=torch.float64))
        assert trained.pseudo.tolist() == [1.0]  # a tie counts for the first class


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@some("model", PLAIN)
def test_kernels_equal_the_reference(pairs: Make, model: FlatModel, rule: LocalRule) -> None:
    work = pairs(model, replace(rule, objective=PAIR), shift=True)
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


@some("model", PLAIN)
def test_kernels_without_shifts_equal_the_reference(pairs: Make, model: FlatModel) -> None:
    work = pairs(model)
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
@some("model", ["mlp", "mlp2", "cnn5x5"])
def test_every_objective(pairs: Make, model: FlatModel, objective: Objective) -> None:
    work = pairs(model, replace(RULE, objective=objective), shift=True)
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
    work = pairs(model, replace(RULE, objective=replace(PAIR, pair=False)))
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


def test_dropout_in_pairs(pairs: Make) -> None:
    """The two models of a pair drop different units, the same ones whoever else is active."""
    module = nn.Sequential(nn.Linear(12, 30), nn.ReLU(), nn.Dropout(0.5), nn.Linear(30, 4))
    work = pairs(wrap(module, (12,), 4))
    trained = work.run(Engine(1))
    assert_same(trained, work.run(Reference()), EXACT)
    assert not torch.equal(trained.own, work.change(rng=Rng(6)).run(Engine(1)).own)
    # b = 1 and equal models: without dropout, or with the same masks, both would move alike
    equal = LocalRule(lr=0.1, objective=replace(PAIR, lr_factor=1.0, momentum_own=0.0))
    same = pairs(work.model, equal)
    same = same.with_start(own=same.start.w[same.start.group], mixture=torch.ones(6))
    twins = same.run(Engine(1))
    assert distance(twins.own - same.start.own, twins.delta) > 0.1


@some("model", PLAIN)
def test_equal_models_that_are_not_mixed_move_alike(pairs: Make, model: FlatModel) -> None:
    """b = 1, the same start, rate and momentum: the own models are the global ones."""
    rule = LocalRule(lr=0.1, momentum=0.6, objective=replace(PAIR, lr_factor=1.0))
    work = pairs(model, rule)
    work = work.with_start(own=work.start.w[work.start.group], mixture=torch.ones(6))
    trained = work.run(Engine(1))
    assert distance(trained.own - work.start.own, trained.delta) < EXACT


@some("model", ["mlp", "cnn5x5"])
def test_a_weight_of_zero_keeps_the_own_models(pairs: Make, model: FlatModel) -> None:
    work = pairs(model).with_start(mixture=torch.zeros(6))
    assert torch.equal(work.run(Engine(1)).own, work.start.own)


@some("model", ["mlp", "residual"])
def test_own_models_do_not_touch_the_global_ones(pairs: Make, model: FlatModel) -> None:
    work = pairs(model)
    single = work.with_rule(objective=replace(PAIR, pair=False)).run(Engine(1))
    assert torch.equal(single.delta, work.run(Engine(1)).delta)
    assert single.own is None


@some("model", ["mlp", "reader"])
def test_an_objective_without_terms_is_plain_training(pairs: Make, model: FlatModel) -> None:
    work = pairs(model, LocalRule(lr=0.1, momentum=0.8, objective=Objective()), shift=True)
    plain, trained = work.with_rule(objective=None).run(Engine(1)), work.run(Engine(1))
    assert distance(trained.delta, plain.delta) < EXACT
    assert distance(trained.loss, plain.loss) < EXACT
    assert torch.isnan(trained.pseudo).all()
    assert plain.pseudo is None


@some("model", ["mlp", "cnn5x5"])
def test_idle_clients_keep_their_models(pairs: Make, model: FlatModel) -> None:
    work = pairs(model, updates=[2, 0, 1])
    trained = work.run(Engine(2))
    assert torch.equal(trained.own[1], work.start.own[1])
    assert not torch.equal(trained.own[2], work.start.own[2])
    assert not trained.delta[1].any()
    assert trained.loss[1] == 0.0
    assert torch.isnan(trained.pseudo[1])
    nobody = work.change(updates=torch.zeros(3, dtype=torch.long)).run(Engine(2))
    assert torch.equal(nobody.own, work.start.own)


@some("model", ["mlp", "cnn5x5"])
def test_workers_change_nothing(pairs: Make, model: FlatModel) -> None:
    work = pairs(model, dtype=torch.float32, updates=[5, 3, 0, 5, 4, 1, 5] + [2] * (70 if model.size < 500 else 2))
    one, *others = (work.run(Engine(workers)) for workers in (1, 2, 3))
    for other in others:
        for name in ("delta", "own", "loss"):
            assert torch.equal(getattr(one, name), getattr(other, name))
        assert torch.equal(one.pseudo.nan_to_num(-1.0), other.pseudo.nan_to_num(-1.0))


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
        ).with_start(group=start.group[mine], shift=start.shift[mine], own=start.own[mine], mixture=start.mixture[mine])
        trained = alone.run(Engine(1))
        for name in ("delta", "own", "loss", "pseudo"):
            got, want = getattr(trained, name)[0], getattr(together, name)[row]
            torch.testing.assert_close(got, want, rtol=EXACT, atol=EXACT, equal_nan=True)


def cut(picks: Picks, mine: slice) -> Picks:
    return Picks(picks.index[mine], picks.count[mine])


@some("model", ["mlp", "residual"])
def test_inputs_stay_as_they_were(pairs: Make, model: FlatModel) -> None:
    work = pairs(model, shift=True)
    given = [work.start.w, work.start.shift, work.start.own, work.start.mixture]
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
            assert float(trained.pseudo[row]) == pytest.approx(sum(hits) / len(hits))
        else:
            assert math.isnan(trained.pseudo[row])


@pytest.mark.parametrize("backend", [Engine(1), Reference()])
def test_what_is_refused(pairs: Make, backend: Backend) -> None:
    work = pairs(mlp((12,), 5))
    for changes, path in (({"optimiser": "adam"}, "rule.kind"), ({"keep_state": True}, "rule.keep_state")):
        with pytest.raises(SpecError) as refused:
            work.with_rule(**changes).run(backend)
        assert [problem.path for problem in refused.value.problems] == [path]
    for changes in ({"own": None}, {"mixture": None}):
        with pytest.raises(ValueError, match="mixture is missing"):
            work.with_start(**changes).run(backend)
    with pytest.raises(ValueError, match="unlabelled is missing"):
        work.change(batches=replace(work.batches, unlabelled=None)).run(backend)


@some("model", ["normed"])
def test_norm_layers_in_pairs_are_refused(pairs: Make, model: FlatModel) -> None:
    for backend in (Engine(1), Reference()):
        with pytest.raises(SpecError, match="norm layers"):
            pairs(model).run(backend)


def test_a_batch_of_one_sample_is_refused_by_batch_norm(pairs: Make) -> None:
    work = pairs(wrap(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), (3,), 4), updates=[1], ragged=False)
    work = work.with_rule(objective=replace(PAIR, pair=False))
    few = replace(work.batches.labelled, count=torch.ones(1, 1, dtype=torch.long))
    none = replace(work.batches.unlabelled, count=torch.zeros(1, 1, dtype=torch.long))
    with pytest.raises(SpecError, match="one sample"):
        work.change(batches=replace(work.batches, labelled=few, unlabelled=none)).run(Engine(1))
    both = replace(none, count=torch.ones(1, 1, dtype=torch.long))
    assert work.change(batches=replace(work.batches, labelled=few, unlabelled=both)).run(Engine(1)).delta.any()
