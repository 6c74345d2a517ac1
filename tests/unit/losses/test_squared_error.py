"""Squared error: by hand, and against autograd; values from the source to the score."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from support.reference import Reference
from support.worlds import after, cells, tiny

from fedradio.algorithms.apfl import apfl
from fedradio.algorithms.fedcpsl import fedcpsl
from fedradio.algorithms.feddisco import feddisco
from fedradio.core.contracts import Batch, Ensemble, EvalJob, Outputs, Samples, TestSet
from fedradio.core.contracts.loss import slopes_by_autograd
from fedradio.core.errors import DataError, SpecError
from fedradio.core.rng import Rng
from fedradio.data.own.npz import npz
from fedradio.data.own.tables import csv
from fedradio.data.partition import dirichlet, shards
from fedradio.data.sources import friedman, synthetic_regression
from fedradio.engine import Engine
from fedradio.engine.rules import sgd
from fedradio.losses.cross_entropy import CrossEntropy
from fedradio.losses.squared_error import SquaredError
from fedradio.metrics.f1 import macro_f1
from fedradio.models import logistic
from fedradio.rounds.round import begin, run_round

VALUES = partial(synthetic_regression, samples=240, test_samples=60)
REGRESSION = partial(tiny, source=VALUES, rule=sgd(lr=0.05, batch=8))


def test_two_samples_and_padding_by_hand() -> None:
    """z = 3 and 1 against y = 1 and 2: (4 + 1)/2 = 2.5, slopes 2 (z - y)/2 = 2 and -1."""
    z = torch.tensor([[[3.0], [1.0], [9.0]]])
    batch = Batch(torch.tensor([[1.0, 2.0, 0.0]]), torch.tensor([[0.5, 0.5, 0.0]]), z[:, :0], z[:, :0, 0])
    cost, slopes = SquaredError().slopes({"w": Outputs(z)}, batch)
    assert cost.tolist() == [2.5]
    assert slopes["w"].logits.flatten().tolist() == [2.0, -1.0, 0.0]
    found = slopes_by_autograd(SquaredError(), {"w": Outputs(z)}, batch)
    torch.testing.assert_close((cost, slopes["w"].logits), (found[0], found[1]["w"].logits))


def test_friedmans_function_by_hand() -> None:
    """10 sin(pi/2) + 0 + 0 + 5 = 15, and 0 + 20/4 + 10 + 0 = 15 at (0, ., 1, 1, 0)."""
    points = np.array([[0.5, 1.0, 0.5, 0.0, 1.0, 0.3], [0.0, 0.7, 1.0, 1.0, 0.0, 0.9]])
    assert friedman(points).tolist() == pytest.approx([15.0, 15.0])


def test_synthetic_values_have_mean_0_and_deviation_1() -> None:
    samples = synthetic_regression(3, Rng(1))
    samples.check()
    assert samples.y.dtype is torch.float32
    assert float(samples.y.mean()) == pytest.approx(0.0, abs=1e-5)
    assert float(samples.y.std(unbiased=False)) == pytest.approx(1.0, abs=1e-5)
    assert float(samples.x.std()) == pytest.approx(1.0, abs=0.02)


def test_rmse_of_groups_by_hand() -> None:
    """The model z = 2x: errors (1, -1) of client 0, RMSE 1; 3 of client 1: mean 2, mean squared error (1 + 9)/2."""
    model = logistic((1,), 1)
    x, y = torch.tensor([[1.0], [2.0], [0.0]]), torch.tensor([1.0, 5.0, 3.0])
    test = TestSet(torch.arange(3), torch.tensor([0, 0, 1]), 2, True, lambda index: (x[index], y[index]))
    row = torch.cat([torch.full((1,), 2.0), torch.zeros(1)])
    job = EvalJob(model, Ensemble((row[None],)), test, None, target="value")
    for backend in (Engine(1), Reference()):
        scores = backend.evaluate(job)
        assert scores.group_rmse is not None
        assert scores.group_rmse.tolist() == [1.0, 3.0]
        assert scores.loss == 5.0
        assert math.isnan(scores.accuracy)


def test_a_run_learns_and_records_an_rmse() -> None:
    """On one hop and on two; never an accuracy. Below 1, the RMSE of the mean."""
    for sim in (REGRESSION(), cells(source=VALUES, rule=sgd(lr=0.05, batch=8))):
        state = begin(sim)
        scores = []
        for _ in range(6):
            state, record, _ = run_round(sim, state)
            scores.append(dict(record.metrics))
        assert all(set(each) == {"rmse", "loss"} for each in scores)
        assert scores[-1]["rmse"] < min(scores[0]["rmse"], 0.9)
        assert scores[-1]["loss"] == pytest.approx(scores[-1]["rmse"] ** 2, rel=1e-6)


def test_groups_of_clients_have_an_rmse_each() -> None:
    sim = REGRESSION(test="client")
    _, record, _ = run_round(sim, begin(sim))
    assert set(record.metrics) == {"rmse", "rmse_spread", "loss"}
    assert record.evaluation is not None
    groups = [value for value in record.evaluation.groups["rmse"] if value is not None]
    assert sum(groups) / len(groups) == pytest.approx(record.metrics["rmse"], abs=1e-5)


def test_kernels_equal_the_reference_on_values() -> None:
    states = [after(REGRESSION(backend=backend), 2) for backend in (Engine(1), Reference())]
    one, other = (state.memory.shared["w"] for state in states)
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"partition": partial(shards, per_client=2)}, "data.partition"),
        ({"partition": partial(dirichlet, alpha=0.5)}, "data.partition"),
        ({"algorithm": fedcpsl(), "unlabelled": 0.5}, "algorithm"),
        ({"algorithm": apfl()}, "algorithm"),
        ({"algorithm": feddisco()}, "algorithm"),
        ({"rule": sgd(lr=0.1), "metrics": (macro_f1(),)}, "metrics.0"),
        ({"eval_top": 2}, "eval_top"),
    ],
)
def test_what_needs_classes_is_refused_with_the_reason(changes: dict[str, object], path: str) -> None:
    with pytest.raises(SpecError) as refused:
        REGRESSION(**changes)
    assert refused.value.problems[0].path == path
    assert "class" in refused.value.problems[0].reason or "real values" in refused.value.problems[0].reason


def test_losses_of_the_other_target_are_refused() -> None:
    with pytest.raises(SpecError, match="real values"):
        REGRESSION(rule=replace(sgd(lr=0.1), loss=CrossEntropy()))
    with pytest.raises(SpecError, match="classes"):
        tiny(rule=replace(sgd(lr=0.1), loss=SquaredError()))


def test_values_from_files(tmp_path: Path) -> None:
    """Decimals, negative numbers and repeated whole numbers are values as they stand."""
    y = np.array([0.5, -2.0, 3.0, 3.0, 1e3] * 4)
    x = np.arange(40.0).reshape(20, 2)
    lines = [f"{a},{b},{value}" for (a, b), value in zip(x, y, strict=True)]
    (tmp_path / "table.csv").write_text("a,b,y\n" + "\n".join(lines))
    np.savez(tmp_path / "arrays.npz", x=x, y=y)
    table = csv(2, Rng(0), "value", path=str(tmp_path / "table.csv"), label="y")
    arrays = npz(2, Rng(0), "value", path=str(tmp_path / "arrays.npz"))
    for samples in (table, arrays):
        samples.check()
        assert (samples.classes, samples.y.dtype, len(samples.test_y)) == (1, torch.float32, 4)
        assert sorted([*samples.y.tolist(), *samples.test_y.tolist()]) == sorted(y.tolist())


@pytest.mark.parametrize(("y", "reason"), [([1.0, math.nan], "finite"), ([[1.0, 2.0]] * 2, "one value")])
def test_wrong_values_are_refused(y: list[object], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        Samples.from_arrays(np.ones((2, 3)), y, target="value")
    with pytest.raises(DataError, match="relabel"):
        Samples.from_arrays(np.ones((2, 3)), [1.0, 2.0], target="value", relabel=True)
