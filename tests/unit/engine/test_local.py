"""What every kernel shares: rows of clients and the optimisers' arithmetic."""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.core.contracts import LocalRule
from fedradio.engine.local import adam, adam_scales, add_prox_and_shift, select


def test_rows_that_follow_each_other_are_a_slice() -> None:
    assert select([3, 4, 5]) == slice(3, 6)
    found = select([3, 5])
    assert isinstance(found, Tensor)
    assert found.tolist() == [3, 5]


def test_pulls_and_shifts_are_added_to_the_gradient() -> None:
    """``g + mu (w - w0) + shift`` with g = 1, mu = .5, w = 4, w0 = 2, shift = 10."""
    g, w, w0, shift = (torch.full((2,), value) for value in (1.0, 4.0, 2.0, 10.0))
    add_prox_and_shift(g, w, w0, shift, 0.5)
    assert g.tolist() == [12.0, 12.0]
    add_prox_and_shift(g, w, w0, None, 0.0)
    assert g.tolist() == [12.0, 12.0]


def test_adam_against_its_textbook_form() -> None:
    """Three updates with bias-corrected moments, written out."""
    rule = LocalRule(lr=0.1, optimiser="adam", beta1=0.8, beta2=0.9, eps=1e-3)
    w, m, v = torch.ones(2).double(), torch.zeros(2).double(), torch.zeros(2).double()
    wanted, mean, square = w.clone(), m.clone(), v.clone()
    for n, values in enumerate(([1.0, -2.0], [3.0, 0.5], [-1.0, 0.0]), start=1):
        g = torch.tensor(values).double()
        mean, square = 0.8 * mean + 0.2 * g, 0.9 * square + 0.1 * g * g
        wanted = wanted - 0.1 * (mean / (1 - 0.8**n)) / ((square / (1 - 0.9**n)).sqrt() + 1e-3)
        adam(rule, w, g, m, v, *adam_scales(rule, n, 0.1))
    torch.testing.assert_close(w, wanted)
    torch.testing.assert_close(v, square)
