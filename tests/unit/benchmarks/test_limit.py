"""The limit of a round: which calls are noted, and what the best library makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from support.scripts import script
from torch import nn

from fedradio.spec.spec import Spec


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``benchmarks/limit.py``, from its file."""
    return script("benchmarks/limit.py", monkeypatch)


def test_calls_are_told_apart_by_shape_and_counted(tool: ModuleType) -> None:
    a, b = torch.ones(3, 4), torch.ones(4, 2)
    calls = tool.noted_calls(lambda: [a @ b, a @ b, a @ torch.ones(2, 4).t(), a + a])
    assert [(call.name, call.count) for call in calls] == [("aten::mm", 2), ("aten::mm", 1)]
    assert [call.arguments[1].stride() for call in calls] == [(2, 1), (1, 4)]


def test_operands_are_copies(tool: ModuleType) -> None:
    total, a = torch.zeros(2, 2), torch.ones(2, 2)
    (call,) = tool.noted_calls(lambda: total.addmm_(a, a))
    assert (call.name, total.tolist()) == ("aten::addmm", [[2, 2], [2, 2]])
    call()
    assert total.tolist() == [[2, 2], [2, 2]]


def test_forward_and_backward_of_layers_are_noted(tool: ModuleType) -> None:
    """A convolution, a layer of 8 x 3 weights without a gradient of its input, in one step."""
    layer, convolution = nn.Linear(3, 8), nn.Conv2d(1, 2, 3)

    def turn() -> None:
        layer(torch.ones(5, 3)).sum().backward()
        convolution(torch.ones(4, 1, 6, 6)).sum().backward()

    counts = Counter({call.name: call.count for call in tool.noted_calls(turn)})
    assert counts == {"aten::addmm": 1, "aten::mm": 1, "aten::convolution": 1, "aten::convolution_backward": 1}


def test_libraries_make_the_same_product(tool: ModuleType) -> None:
    a, b = torch.randn(5, 7, generator=torch.Generator().manual_seed(1)), torch.eye(7)[:, :3].contiguous()
    (call,) = tool.noted_calls(lambda: a @ b)
    found = tool.contenders(call)
    assert {"OpenBLAS"} < set(found) <= {"MKL", "torch's BLAS", "OpenBLAS", "oneDNN"}
    for library in {"OpenBLAS", "oneDNN"} & set(found):
        torch.testing.assert_close(torch.as_tensor(found[library]()), a[:, :3])


def test_the_limit_by_hand(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two calls of 3 s by the better library and one of 4 s: 10 s, of which the first library has 6."""
    calls = [tool.Call(None, (), {}, count=2), tool.Call(None, (), {}, count=1)]
    best = iter([("OpenBLAS", 3.0), ("oneDNN", 4.0)])
    monkeypatch.setattr(tool, "contenders", lambda _: {})
    monkeypatch.setattr(tool, "repetitions", lambda _: 1)
    monkeypatch.setattr(tool, "fastest", lambda *_: next(best))
    assert tool.limit(calls, 1) == tool.Limit(10.0, "OpenBLAS", 2)
    assert tool.limit([], 1) == tool.Limit(0.0, "", 0)


def test_small_products_are_repeated(tool: ModuleType) -> None:
    """2 x 10 x 10 x 10 = 2,000 operations make 100,000 repetitions; large ones are made once."""
    for side, times in ((10, 100_000), (500, 1)):
        (call,) = tool.noted_calls(lambda side=side: torch.ones(side, side) @ torch.ones(side, side))
        assert tool.repetitions(call) == times


@pytest.mark.parametrize(
    ("model", "name"), [("{kind: mlp, hidden: [16]}", "aten::"), ("{kind: cnn3x3}", "aten::convolution")]
)
def test_a_round_has_a_limit(
    model: str, name: str, tool: ModuleType, tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    from whole import Ours

    ours = Ours(tiny(f"model={model}"), tmp_path / "ours")
    calls = tool.noted_calls(ours)
    assert any(call.name.startswith(name) for call in calls)
    found = tool.limit(calls, 1)
    assert 0 < found.seconds < 5
    assert found.calls == len(calls)
    assert found.library in ("MKL", "torch's BLAS", "OpenBLAS", "oneDNN")
