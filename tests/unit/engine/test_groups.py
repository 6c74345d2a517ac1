"""Groups of clients: even, sorted, cut from the cohort alone; single clients are trained as if nobody else were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from fedradio.core.contracts import Batches, LocalRule, Picks, Start, Trained
from fedradio.core.rng import Rng
from fedradio.engine import Engine
from fedradio.engine.groups import check_groups, cut, job_of_rows, order, put_together, stack
from fedradio.losses.fedcpsl import FedCpslLoss
from fedradio.models import FlatModel, mlp, wrap

SGD = LocalRule(lr=0.1)
PAIR = FedCpslLoss(0.3, 0.2, 3, pair=True, lr_factor=2.0, momentum_own=0.5)

Make = Callable[..., Any]
some = partial(pytest.mark.parametrize, indirect=True)


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
        sizes[width, batch] = stack(cohort(model, SGD, torch.float32, updates=[1], ragged=False, batch=batch).job)
    assert sizes == {(16, 6): 64, (2000, 6): 4, (2000, 1000): 1}
    assert stack(cohort(model, replace(SGD, loss=PAIR), torch.float32, updates=[1], batch=6).job) == 2


@some("model", ["cnn5x5", "normed", "reader"])
def test_other_networks_are_trained_one_client_at_a_time(cohort: Make, model: FlatModel) -> None:
    assert cut(cohort(model, SGD, updates=[1, 3, 2]).job) == [[1], [2], [0]]


def test_clients_are_cut_by_the_cohort_or_one_by_one(cohort: Make) -> None:
    job = cohort(mlp((12,), 5), SGD, updates=[1, 3, 0, 2]).job
    assert cut(job) == cut(job, "auto") == [[1, 3, 0]]
    assert cut(job, "single") == [[1], [3], [0]]


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ([[0], [2]], "every client"),
        ([[0, 0], [2, 3]], "every client"),
        ([[0], [1], [2], [3]], "every client"),
        ([[2, 0], [3]], "sorted"),
    ],
)
def test_groups_that_are_refused(cohort: Make, groups: list[list[int]], reason: str) -> None:
    updates = [3, 0, 1, 2]
    check_groups(updates, [[0, 3], [2]])
    with pytest.raises(ValueError, match=reason):
        check_groups(updates, groups)
    with pytest.raises(ValueError, match=reason):
        Engine(1).train(cohort(mlp((12,), 5), SGD, updates=updates).job, groups)


def alone(work: Any, row: int) -> Any:
    """The cohort of one client: its rows of everything, as wide as its own batches and updates ask for."""
    one = slice(row, row + 1)
    steps = int(work.updates[row])

    def only(picks: Picks | None) -> Picks | None:
        if picks is None:
            return None
        count = picks.count[one, :steps]
        return Picks(picks.index[one, :steps, : max(1, int(count.max()))].clone(), count.clone())

    start = work.start
    batches = Batches(only(work.batches.labelled), only(work.batches.unlabelled), work.batches.fetch)
    rows = {name: getattr(start, name) for name in ("shift", "local")}
    mine = Start(
        start.w[start.group[one]].clone(),
        torch.zeros(1, dtype=torch.long),
        slots={name: kept[one].clone() for name, kept in start.slots.items()},
        ids=torch.tensor([row]),
        rows={name: each[one].clone() for name, each in start.rows.items()},
        known={name: each[one].clone() for name, each in start.known.items()},
        **{name: given[one].clone() for name, given in rows.items() if given is not None},
    )
    return work.change(start=mine, batches=batches, updates=work.updates[one])


def assert_rows_alone(work: Any, together: Trained) -> None:
    """Every client's row of a result equals, bit for bit, that of the client as a cohort of its own."""
    for row in (work.updates > 0).nonzero().flatten().tolist():
        single = alone(work, row).run(Engine(1), "single")
        for name in ("delta", "local", "loss", "targets"):
            got, want = getattr(together, name), getattr(single, name)
            assert (got is None) == (want is None)
            assert got is None or torch.equal(got[row].nan_to_num(-1.0), want[0].nan_to_num(-1.0)), name
        for got, want in ((getattr(one, name) for one in (together, single)) for name in ("slots", "rows", "notes")):
            assert got.keys() == want.keys()
            assert all(torch.equal(got[key][row].nan_to_num(-1.0), want[key][0].nan_to_num(-1.0)) for key in want)


@some("rule", ["sgd", "momentum_prox", "adam_kept"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_single_client_does_not_depend_on_the_others(
    cohort: Make, model: FlatModel, rule: LocalRule, workers: int
) -> None:
    """In single precision, where sums of stacked clients round differently, and with batches of every size."""
    work = cohort(model, rule, dtype=torch.float32, shift=True, batch=17)
    assert_rows_alone(work, work.run(Engine(workers), "single"))


@some("model", ["logistic", "mlp", "mlp2", "cnn5x5", "residual"])
@pytest.mark.parametrize("pair", [True, False])
def test_a_single_pair_does_not_depend_on_the_others(cohort: Make, model: FlatModel, pair: bool) -> None:
    rule = LocalRule(lr=0.1, momentum=0.6, loss=replace(PAIR, pair=pair))
    work = cohort(model, rule, dtype=torch.float32, shift=True, batch=9)
    g, (clients, steps) = Rng(4).torch(), work.batches.labelled.count.shape
    dark = Picks(
        torch.randint(50, (clients, steps, 5), generator=g), torch.randint(0, 6, (clients, steps), generator=g)
    )
    own = work.start.w[work.start.group] + 0.01 * torch.randn(clients, model.shared.size, generator=g)
    mixture = torch.linspace(0.1, 0.9, clients)
    work = work.change(batches=replace(work.batches, unlabelled=dark)).with_start(
        rows={"own": own} if pair else {}, known={"mixture": mixture} if pair else {}
    )
    assert_rows_alone(work, work.run(Engine(2), "single"))


def test_stacked_clients_round_differently(cohort: Make) -> None:
    """Otherwise the tests above would show nothing."""
    work = cohort(mlp((64,), 10, hidden=(32,)), SGD, dtype=torch.float32, updates=[9] * 6, batch=17)
    assert not torch.equal(work.run(Engine(1)).delta, work.run(Engine(1), "single").delta)


def test_rows_go_back_to_their_places() -> None:
    def trained(*values: float) -> Trained:
        column = torch.tensor(values)
        return Trained(
            column[:, None] * torch.ones(2), None, column, {"momentum": column[:, None]}, notes={"right": column}
        )

    whole = put_together([([2, 0], trained(2.0, 0.0)), ([1], trained(1.0))])
    assert whole.loss.tolist() == [0.0, 1.0, 2.0]
    assert whole.delta.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert whole.slots["momentum"].flatten().tolist() == [0.0, 1.0, 2.0]
    assert whole.notes["right"].tolist() == [0.0, 1.0, 2.0]
    assert (whole.local, whole.rows, whole.targets) == (None, {}, None)


@some("model", ["mlp", "normed"])
@some("rule", ["momentum_kept", "adam_kept"])
def test_a_cohort_cut_between_its_groups_gives_the_same_bits(model: FlatModel, rule: LocalRule, cohort: Make) -> None:
    """Rows 0..5 with 2, 8, 0, 4, 1, 3 updates, trained in three parts, one of them idle."""
    job = cohort(model, rule, torch.float32).job
    groups = cut(job, "single")
    whole = Engine(1).train(job, groups)
    pieces = [([5, 1], [[1], [0]]), ([3, 0, 4], [[0], [1], [2]]), ([2], [])]
    parts = [(rows, Engine(1).train(job_of_rows(job, rows), inner)) for rows, inner in pieces]
    joined = put_together(parts)
    assert torch.equal(joined.delta, whole.delta)
    assert torch.equal(joined.loss, whole.loss)
    assert joined.slots.keys() == whole.slots.keys()
    assert all(torch.equal(joined.slots[name], whole.slots[name]) for name in whole.slots)
    assert (joined.local is None) == (whole.local is None)
    assert whole.local is None or (joined.local is not None and torch.equal(joined.local, whole.local))
