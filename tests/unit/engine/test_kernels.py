"""Every kernel equals the plain reference loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fedradio.core.contracts import Batches, LocalRule, Picks, Start, Trained
from fedradio.core.rng import Rng
from fedradio.engine import Engine, Reference
from fedradio.engine.dense import Dense
from fedradio.engine.layers import dense_layers
from fedradio.engine.local import order, prepare
from fedradio.models import FlatModel, logistic, mlp, wrap

EXACT = 1e-9
SGD = LocalRule(lr=0.1)
ADAM_KEPT = LocalRule(lr=0.01, optimiser="adam", keep_state=True)

Make = Callable[..., Any]
some = partial(pytest.mark.parametrize, indirect=True)


def distance(got: Tensor, want: Tensor) -> float:
    """``|got - want| / |want|`` over the whole cohort."""
    return float((got - want).norm() / want.norm().clamp(min=1e-12))


def assert_same(got: Trained, want: Trained, tolerance: float) -> None:
    assert distance(got.delta, want.delta) < tolerance
    assert distance(got.loss, want.loss) < tolerance
    assert (got.local is None) == (want.local is None)
    if got.local is not None and want.local is not None:
        assert distance(got.local, want.local) < tolerance
    assert got.slots.keys() == want.slots.keys()
    for name in want.slots:
        assert distance(got.slots[name].double(), want.slots[name].double()) < tolerance


def test_one_step_of_one_sample_by_hand() -> None:
    """Logistic regression from zero: p = (1/2, 1/2), so the step is -lr*(p - onehot) x^T."""
    model = logistic((2,), 2)
    x, y = torch.tensor([[3.0, -1.0]]), torch.tensor([1])
    batches = Batches(
        Picks(torch.zeros(1, 1, 1, dtype=torch.long), torch.ones(1, 1, dtype=torch.long)), None, lambda i: (x[i], y[i])
    )
    start = Start(model.init(Rng(0))[None], torch.tensor([0]))
    for backend in (Engine(1), Reference()):
        trained = backend.run(model, LocalRule(lr=0.2), 0, start, batches, torch.tensor([1]), Rng(0))
        w, b = model.shared.views(trained.delta[0]).values()
        torch.testing.assert_close(w, torch.tensor([[-0.3, 0.1], [0.3, -0.1]]))
        torch.testing.assert_close(b, torch.tensor([-0.1, 0.1]))
        torch.testing.assert_close(trained.loss, torch.tensor([2.0]).log())


@pytest.mark.parametrize("shift", [False, True], ids=["", "shift"])
def test_kernels_equal_the_reference(cohort: Make, model: FlatModel, rule: LocalRule, shift: bool) -> None:
    work = cohort(model, rule, shift=shift)
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


@some("rule", ["sgd", "prox", "momentum", "momentum_prox"])
def test_single_precision(cohort: Make, model: FlatModel, rule: LocalRule) -> None:
    work = cohort(model, rule, dtype=torch.float32, shift=True)
    assert_same(work.run(Engine(1)), work.run(Reference()), 1e-5)


@some("rule", ["adam"])
def test_single_precision_adam(cohort: Make, model: FlatModel, rule: LocalRule) -> None:
    """With a wide eps: Adam's first update is nearly the gradient's sign, and that of rounding is anybody's guess."""
    work = cohort(model, replace(rule, eps=1e-3), dtype=torch.float32, updates=[1, 1, 1], ragged=False)
    assert_same(work.run(Engine(1)), work.run(Reference()), 1e-4)


@some("rule", ["momentum_kept", "adam_kept"])
def test_kept_memory_carries_over(cohort: Make, model: FlatModel, rule: LocalRule) -> None:
    """Two rounds with what was kept in between."""
    results = []
    for backend in (Engine(1), Reference()):
        work = cohort(model, rule)
        first = work.run(backend)
        w = work.start.w[work.start.group] + first.delta
        start = Start(w, torch.arange(len(w)), local=first.local, slots=first.slots)
        results.append(work.change(start=start).run(backend))
    assert_same(*results, EXACT)


@pytest.mark.parametrize("batch", [1, 6])
def test_full_batches_in_large_stacks(cohort: Make, batch: int) -> None:
    """More clients than a stack holds, equal work: every group is a slice, the last one is smaller."""
    work = cohort(mlp((12,), 5, hidden=(16,)), SGD, updates=[4] * 70, ragged=False, batch=batch)
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


@some("rule", ["momentum_kept"])
def test_memory_that_is_not_kept_starts_from_zero_and_is_not_returned(cohort: Make, rule: LocalRule) -> None:
    kept = cohort(mlp((12,), 5), rule)
    work = kept.with_rule(keep_state=False)
    trained = work.run(Engine(1))
    assert trained.slots == {}
    assert torch.equal(trained.delta, work.with_start(slots={}).run(Engine(1)).delta)
    assert not torch.equal(trained.delta, kept.run(Engine(1)).delta)


def test_idle_clients_do_not_change(cohort: Make, model: FlatModel) -> None:
    work = cohort(model, ADAM_KEPT, updates=[2, 0, 1])
    trained = work.run(Engine(2))
    assert not trained.delta[1].any()
    assert trained.loss[1] == 0.0
    assert torch.isfinite(trained.delta).all()
    for name, rows in trained.slots.items():
        assert torch.equal(rows[1], work.start.slots[name][1])
    if trained.local is not None:
        assert torch.equal(trained.local[1], work.start.local[1])


def test_nobody_has_work(cohort: Make, model: FlatModel) -> None:
    work = cohort(model, SGD, updates=[1, 1]).change(updates=torch.tensor([0, 0]))
    assert not work.run(Engine(2)).delta.any()


@some("rule", ["sgd", "momentum", "adam"])
@some("model", ["mlp", "residual"])
def test_neutral_elements_bit_for_bit(cohort: Make, model: FlatModel, rule: LocalRule) -> None:
    work = cohort(model, rule, dtype=torch.float32)
    plain = work.run(Engine(1)).delta
    assert torch.equal(plain, work.with_rule(prox=0.0).run(Engine(1)).delta)
    nothing = torch.zeros(len(work.updates), model.shared.size)
    assert torch.equal(plain, work.with_start(shift=nothing).run(Engine(1)).delta)


@some("rule", ["sgd", "adam_kept"])
def test_workers_change_nothing(cohort: Make, model: FlatModel, rule: LocalRule) -> None:
    more = 80 if dense_layers(model) else 2  # enough for several groups
    work = cohort(model, rule, dtype=torch.float32, updates=[5, 3, 0, 5, 4, 1, 5] + [2] * more)
    one, *others = (work.run(Engine(workers)) for workers in (1, 2, 3))
    for other in others:
        assert torch.equal(one.delta, other.delta)
        assert torch.equal(one.loss, other.loss)
        assert all(torch.equal(one.slots[name], other.slots[name]) for name in one.slots)
        assert one.local is None or torch.equal(one.local, other.local)


@some("model", ["mlp", "normed"])
def test_inputs_stay_as_they_were(cohort: Make, model: FlatModel) -> None:
    work = cohort(model, ADAM_KEPT, shift=True)
    given = [t for t in (work.start.w, work.start.shift, work.start.local, *work.start.slots.values()) if t is not None]
    before = [t.clone() for t in given]
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    work.run(Engine(2))
    assert all(torch.equal(a, b) for a, b in zip(before, given, strict=True))
    assert torch.equal(state, torch.get_rng_state())
    assert threads == torch.get_num_threads()


@some("model", ["normed"])
def test_dropout_depends_on_the_generator_alone(cohort: Make, model: FlatModel) -> None:
    work = cohort(model, SGD)
    first = work.run(Engine(1)).delta
    assert torch.equal(first, work.run(Engine(1)).delta)
    assert not torch.equal(first, work.change(rng=Rng(6)).run(Engine(1)).delta)


@some("model", ["normed"])
def test_a_missing_local_part_is_named(cohort: Make, model: FlatModel) -> None:
    work = cohort(model, SGD).with_start(local=None)
    with pytest.raises(ValueError, match="local is missing"):
        work.run(Engine(1))


def test_workers_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Engine(0)


@some("model", ["logistic", "mlp", "mlp2", "dense_odd"])
def test_dense_stacks_are_recognised(model: FlatModel) -> None:
    assert dense_layers(model) is not None


@some("model", ["cnn5x5", "normed", "residual", "reader"])
def test_other_networks_are_not_dense(model: FlatModel) -> None:
    assert dense_layers(model) is None


def test_nested_stacks() -> None:
    nested = nn.Sequential(nn.Identity(), nn.Sequential(nn.Flatten(), nn.Linear(4, 3)), nn.ReLU(), nn.Linear(3, 2))
    layers = dense_layers(wrap(nested, (2, 2), 2))
    assert layers is not None
    assert [(layer.inputs, layer.outputs, layer.relu) for layer in layers] == [(4, 3, True), (3, 2, False)]


def test_what_only_looks_dense(cohort: Make) -> None:
    twice = nn.Linear(4, 4)
    hooked = nn.Linear(4, 4)
    hooked.register_forward_hook(lambda _module, _x, z: 2 * z)
    for module, shape in [
        (nn.Sequential(twice, nn.ReLU(), twice), (4,)),
        (nn.Sequential(hooked), (4,)),
        (nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()), (4,)),
        (nn.Sequential(nn.Linear(4, 4), nn.Flatten(), nn.Linear(8, 4)), (2, 4)),
    ]:
        model = wrap(module, shape, 4)
        assert dense_layers(model) is None
        work = cohort(model, SGD)
        assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


def test_groups_are_even_and_sorted() -> None:
    updates = [2, 5, 0, 5, 1, 3, 4]
    assert order(updates, 10) == [[1, 3, 6, 5, 0, 4]]
    assert order(updates, 4) == [[1, 3, 6], [5, 0, 4]]
    assert order(updates, 2) == [[1], [3, 6], [5], [0, 4]]
    assert order(updates, 1) == [[1], [3], [6], [5], [0], [4]]
    assert order([0, 0], 4) == []


def test_stacks_follow_the_size_of_the_work(cohort: Make) -> None:
    sizes = {}
    for width, batch in [(16, 6), (2000, 6), (2000, 1000)]:
        model = wrap(nn.Sequential(nn.Linear(100, width), nn.ReLU(), nn.Linear(width, 10)), (100,), 10)
        work = cohort(model, SGD, dtype=torch.float32, updates=[1], ragged=False, batch=batch)
        job = prepare(model, work.rule, 0, work.start, work.batches, work.updates, work.rng)
        layers = dense_layers(model)
        assert layers is not None
        sizes[width, batch] = Dense(layers).stack(job)
    assert sizes == {(16, 6): 64, (2000, 6): 4, (2000, 1000): 1}
