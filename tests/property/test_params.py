"""Flat-parameter arithmetic against plain loops."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedradio.core.params import Layout, group_rank, group_share, group_sum
from fedradio.core.rng import Rng

shapes = st.lists(st.lists(st.integers(0, 4), max_size=3).map(tuple), max_size=5)
numbers = st.floats(-100, 100, width=32)
groups = st.integers(1, 5)


@st.composite
def grouped(draw: st.DrawFn, values: st.SearchStrategy[float] = numbers) -> tuple[list[float], list[int], int]:
    count = draw(groups)
    rows = draw(st.lists(st.tuples(values, st.integers(0, count - 1)), min_size=1, max_size=12))
    return [value for value, _ in rows], [group for _, group in rows], count


@given(shapes, st.integers(0, 3))
def test_flatten_undoes_views(sizes: list[tuple[int, ...]], lead: int) -> None:
    layout = Layout.of({str(i): shape for i, shape in enumerate(sizes)})
    assert layout.size == sum(field.size for field in layout.fields)
    row = torch.randn(layout.size, generator=Rng(0).torch())
    assert torch.equal(layout.flatten(layout.views(row)), row)
    rows = torch.randn(lead, layout.size, generator=Rng(1).torch())
    for field, view in zip(layout.fields, layout.views(rows).values(), strict=True):
        assert view.shape == (lead, *field.shape)
        assert torch.equal(view.reshape(lead, field.size), rows[:, field.span])


@given(shapes)
def test_a_view_writes_to_its_row(sizes: list[tuple[int, ...]]) -> None:
    layout = Layout.of({str(i): shape for i, shape in enumerate(sizes)})
    row = torch.zeros(layout.size)
    for i, view in enumerate(layout.views(row).values()):
        view.fill_(i + 1)
    assert row.tolist() == [i + 1 for i, field in enumerate(layout.fields) for _ in range(field.size)]


@given(grouped())
def test_group_sum(case: tuple[list[float], list[int], int]) -> None:
    values, group, count = case
    got = group_sum(torch.tensor(values).double(), torch.tensor(group), count)
    want = [sum(v for v, g in zip(values, group, strict=True) if g == r) for r in range(count)]
    assert got.tolist() == pytest.approx(want)


@given(grouped(st.floats(0, 100, width=32)))
def test_group_share(case: tuple[list[float], list[int], int]) -> None:
    values, group, count = case
    got = group_share(torch.tensor(values).double(), torch.tensor(group), count)
    totals = [sum(v for v, g in zip(values, group, strict=True) if g == r) for r in range(count)]
    want = [v / totals[g] if totals[g] > 0 else 0.0 for v, g in zip(values, group, strict=True)]
    assert got.tolist() == pytest.approx(want)


@given(grouped())
def test_group_rank(case: tuple[list[float], list[int], int]) -> None:
    keys, group, _ = case
    got = group_rank(torch.tensor(keys), torch.tensor(group))
    rows = list(zip(keys, group, strict=True))
    want = [
        sum(1 for j, (other, h) in enumerate(rows) if h == g and (other < key or (other == key and j < i)))
        for i, (key, g) in enumerate(rows)
    ]
    assert got.tolist() == want
