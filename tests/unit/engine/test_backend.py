"""Every kernel that the engine chooses equals the plain reference loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from support.reference import Reference
from support.training import assert_same

from fedradio.core.contracts import LocalRule, Start
from fedradio.core.rng import Rng
from fedradio.engine import Engine
from fedradio.engine.layers import dense_layers
from fedradio.models import FlatModel, mlp

EXACT = 1e-9


SGD = LocalRule(lr=0.1)


ADAM_KEPT = LocalRule(lr=0.01, optimiser="adam", keep_state=True)


Make = Callable[..., Any]


some = partial(pytest.mark.parametrize, indirect=True)


def test_kernels_equal_the_reference(cohort: Make, model: FlatModel, rule: LocalRule) -> None:
    work = cohort(model, rule, shift=True)
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


def test_kernels_without_shifts_equal_the_reference(cohort: Make, model: FlatModel) -> None:
    work = cohort(model, SGD)
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
