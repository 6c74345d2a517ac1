"""Views of the dense kernel's buffers: shapes, shared memory, and the same views every time."""

from __future__ import annotations

import pytest
import torch

from fedradio.engine import workspace
from fedradio.engine.layers import dense_layers
from fedradio.engine.workspace import Workspace
from fedradio.models import mlp


def made(class_major: bool = False) -> Workspace:
    """Three clients with batches of four: 5 inputs, 6 hidden units, 2 classes."""
    layers = dense_layers(mlp((5,), 2, hidden=(6,)))
    assert layers is not None
    return Workspace(layers, 3, 4, ("momentum",), class_major, torch.zeros(1, dtype=torch.float64))


@pytest.mark.parametrize("class_major", [False, True])
def test_shapes_and_shared_memory(class_major: bool) -> None:
    space = made(class_major)
    first, last = space.view(2, 3).layers
    assert first.weight.w.shape == (2, 6, 5)
    assert first.w_t.shape == (2, 5, 6)
    assert (first.z.shape, first.g_t.shape) == ((2, 3, 6), (2, 6, 3))
    assert (last.class_major, first.class_major) == (class_major, False)
    assert last.bias is not None
    assert last.bias.w.shape == ((2, 2, 1) if class_major else (2, 1, 2))
    assert (last.z_t if class_major else last.z).is_contiguous()
    last.z[1, 2, 0] = 7.0
    assert last.z_t[1, 0, 2] == 7.0
    first.weight.w.fill_(3.0)
    assert bool((space.params[space.layers[0].weight]["w"][:2] == 3.0).all())
    assert first.weight.momentum is not None
    assert first.weight.adam_m is None


def test_one_client_has_no_axis_of_clients() -> None:
    view = made().view(1, 4)
    assert view.layers[0].weight.w.shape == (6, 5)
    assert view.ones.tolist() == [[1.0]] * 4
    assert view.minus_t.tolist() == [[-1.0] * 4]


def test_views_are_kept_but_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    space = made()
    first = space.view(2, 3)
    assert space.view(2, 3) is first
    monkeypatch.setattr(workspace, "MOST_VIEWS", 1)
    space.view(3, 4)
    assert space.view(2, 3) is not first
