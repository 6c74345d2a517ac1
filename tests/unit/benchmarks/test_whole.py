"""Rounds beside plain torch: the same jobs with the same results, and switches that go back."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from support.scripts import script

from fedradio import check_spec
from fedradio.engine import Engine, coordinates, distinct, memo
from fedradio.engine.groups import cut


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``benchmarks/whole.py``, from its file."""
    return script("benchmarks/whole.py", monkeypatch)


def spec(algorithm: str | dict[str, Any], **data: Any) -> dict[str, Any]:
    images = {"kind": "synthetic_images", "samples": 120, "test_samples": 40, "height": 4, "width": 4}
    return {
        "topology": {"kind": "flat", "clients": 3},
        "hops": [{"policy": {"kind": "fixed", "steps": 3}}],
        "data": {"source": images, **data},
        "model": {"kind": "mlp", "hidden": [8]},
        "rule": {"kind": "sgd", "lr": 0.1, "batch": 8},
        "algorithm": algorithm,
    }


@pytest.mark.parametrize("algorithm", ["fedavg", "fedcpsl"])
def test_plain_torch_does_the_same(tool: ModuleType, algorithm: str, tmp_path: Path) -> None:
    """Every client's shared model, and the hits of every prediction."""
    data = {} if algorithm == "fedavg" else {"unlabelled": 0.5, "test": "client"}
    ours = tool.Ours(check_spec(spec(algorithm, **data)), tmp_path / "ours")
    ours()
    (job,) = ours.jobs.trained
    trained = Engine(1).train(job, cut(job))
    for row, module in enumerate(tool.train(job)):
        w = job.start.w[int(job.start.group[row])] + trained.delta[row]
        if job.start.shift is None:
            torch.testing.assert_close(job.model.shared.flatten(module.state_dict()), w, rtol=1e-4, atol=1e-5)
    for one in ours.jobs.evaluated:
        scores = Engine(1).evaluate(one)
        sizes = torch.bincount(one.test.group).double()
        assert tool.evaluate(one) == pytest.approx(float((scores.group_top[:, -1] * sizes).sum()))
    assert tool.PlainTorch(ours).flops() > 0
    assert len(ours.evaluation_s) == 1


def test_work_is_saved_or_not(tool: ModuleType, tmp_path: Path) -> None:
    with tool.saving(False):
        assert (distinct.SHARE, memo.REMEMBER, coordinates.PROJECT) == (False, False, False)
    assert (distinct.SHARE, memo.REMEMBER, coordinates.PROJECT) == (True, True, True)


def test_medians_without_the_first_turn(tool: ModuleType) -> None:
    """Turns of 100, 3, 1 and 2 seconds: the median of the last three."""
    ticks = iter([0.0, 100.0, 100.0, 103.0, 103.0, 104.0, 104.0, 106.0])
    assert tool.in_turns({"one": lambda: None}, 3, lambda: next(ticks)) == {"one": 2.0}
