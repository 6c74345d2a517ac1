"""Averaging as functions, by hand."""

import torch
from support.receiver import info, knowledge, vector

from fedradio.algorithms.averaging import add_total, shares_of_all, shares_of_arrived, sizes, sizes_revealed
from fedradio.core.contracts import Delivery, Held


def test_masses() -> None:
    known = {"samples": torch.tensor([10, 30])}
    assert sizes("samples", known, 2).tolist() == [10.0, 30.0]
    assert sizes("equal", known, 2).tolist() == [1.0, 1.0]
    assert (sizes_revealed("samples"), sizes_revealed("equal")) == ({"samples"}, frozenset())


def test_shares_of_the_arrived_and_of_all() -> None:
    """Receiver 0 has masses 1 and 3, receiver 1 has 2 and 2, of which one is lost. Of all: whether active or not."""
    lost = info([True, True, True, False])
    assert shares_of_arrived(vector(1, 3, 2, 2), lost).tolist() == [0.25, 0.75, 1.0, 0.0]
    one = knowledge(torch.tensor([1]), torch.tensor([0, 0, 1]), {})
    assert shares_of_all(vector(1, 3, 5), one).tolist() == [0.25, 0.75, 1.0]


def test_the_total_is_added_at_the_global_rate() -> None:
    """w = 1 and 2, totals 10 and 20, rate 3. What receivers remember stays."""
    held = Held({"w": vector(1, 2).view(2, 1)}, {"age": vector(4)}, {"v": vector(5)})
    total = Delivery(vector(10, 20).view(2, 1, 1), None, None)
    merged = add_total(held, total, 3.0)
    assert merged.held.shared["w"].flatten().tolist() == [31.0, 62.0]
    assert (merged.held.ledger, merged.held.receiver) == (held.ledger, held.receiver)
    assert merged.published == {}
    assert torch.equal(add_total(held, total).held.shared["w"], held.shared["w"] + total.total[:, 0])
