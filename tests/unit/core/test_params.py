"""Rows of parameters and sums over groups, by hand; what holds for any input is in ``tests/property``."""

import torch

from fedradio.core.params import Field, Layout, group_rank, group_share, group_sum


def test_a_layout_has_no_gaps() -> None:
    layout = Layout.of({"w": (2, 3), "b": (2,), "scale": ()})
    assert [(field.name, field.offset, field.size) for field in layout.fields] == [
        ("w", 0, 6),
        ("b", 6, 2),
        ("scale", 8, 1),
    ]
    assert layout.size == 9
    assert Field("b", (2,), 6).span == slice(6, 8)


def test_writing_to_a_view_writes_to_the_row() -> None:
    layout = Layout.of({"w": (2, 2), "b": (2,)})
    rows = torch.zeros(3, 6)
    views = layout.views(rows)
    assert views["w"].shape == (3, 2, 2)
    views["b"][1] = torch.tensor([7.0, 8.0])
    assert rows[1].tolist() == [0, 0, 0, 0, 7, 8]
    assert layout.flatten(layout.views(rows[1])).tolist() == rows[1].tolist()
    assert Layout(()).flatten({}).shape == (0,)


def test_groups_by_hand() -> None:
    """Values 1, 2, 3 of group 0 and 4 of group 2; group 1 has nobody."""
    values, group = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 0, 0, 2])
    assert group_sum(values, group, 3).tolist() == [6.0, 0.0, 4.0]
    assert group_share(values, group, 3).tolist() == torch.tensor([1 / 6, 2 / 6, 3 / 6, 1.0]).tolist()
    assert group_share(torch.zeros(2), torch.tensor([0, 0]), 1).tolist() == [0.0, 0.0]


def test_ranks_by_hand() -> None:
    """Ties go by position."""
    keys, group = torch.tensor([5.0, 1.0, 5.0, 2.0, 9.0]), torch.tensor([1, 0, 1, 1, 0])
    assert group_rank(keys, group).tolist() == [1, 0, 2, 0, 1]
