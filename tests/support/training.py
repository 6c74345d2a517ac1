"""Results of local training side by side."""

from __future__ import annotations

from torch import Tensor

from fedradio.core.contracts import Trained


def distance(got: Tensor, want: Tensor) -> float:
    """``|got - want| / |want|`` over the whole cohort."""
    return float((got - want).norm() / want.norm().clamp(min=1e-12))


def assert_same(got: Trained, want: Trained, tolerance: float) -> None:
    """The same changes, losses, local parts and optimiser memory."""
    assert distance(got.delta, want.delta) < tolerance
    assert distance(got.loss, want.loss) < tolerance
    assert (got.local is None) == (want.local is None)
    if got.local is not None and want.local is not None:
        assert distance(got.local, want.local) < tolerance
    assert got.slots.keys() == want.slots.keys()
    for name in want.slots:
        assert distance(got.slots[name].double(), want.slots[name].double()) < tolerance
