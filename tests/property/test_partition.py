"""What every partition keeps, whatever the labels: each sample exactly once, nobody without data, determinism."""

from __future__ import annotations

from collections.abc import Callable

import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from support.examples import examples
from torch import Tensor

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.data.partition import dirichlet, iid, label_gaps, shards

CLASSES = 6
Cut = Callable[[Tensor, Tensor, Rng], list[Tensor]]

label_lists = st.lists(st.integers(0, CLASSES - 1), min_size=30, max_size=300)
parents = st.lists(st.integers(0, 3), min_size=1, max_size=20)
seeds = st.integers(0, 2**32)
some = examples(40)


def conserved(cut: Cut, labels: list[int], parent: list[int], seed: int) -> list[Tensor]:
    """The parts, after the checks that hold for every partition; inputs that are refused do not count."""
    y, edges = torch.tensor(labels), torch.tensor(parent)
    try:
        parts = cut(y, edges, Rng(seed))
    except SpecError:
        assume(False)
    assert len(parts) == len(parent)
    assert all(part.dtype == torch.int64 and len(part) for part in parts)
    assert torch.cat(parts).sort().values.equal(torch.arange(len(labels)))
    again = cut(y, edges, Rng(seed))
    assert all(a.equal(b) for a, b in zip(parts, again, strict=True))
    return parts


@some
@given(label_lists, parents, seeds)
def test_iid(labels: list[int], parent: list[int], seed: int) -> None:
    parts = conserved(lambda y, edge, rng: iid(y, CLASSES, edge, rng), labels, parent, seed)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@some
@given(label_lists, parents, seeds, st.integers(1, 4), st.booleans())
def test_shards(labels: list[int], parent: list[int], seed: int, per_client: int, pure: bool) -> None:
    def cut(y: Tensor, edge: Tensor, rng: Rng) -> list[Tensor]:
        return shards(y, CLASSES, edge, rng, per_client=per_client, pure=pure)

    parts = conserved(cut, labels, parent, seed)
    y = torch.tensor(labels)
    if pure:
        assert all(len(y[part].unique()) <= per_client for part in parts)
    else:
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) <= per_client


@some
@given(label_lists, parents, seeds, st.sampled_from([0.01, 0.3, 100.0]), st.integers(1, 5))
def test_dirichlet(labels: list[int], parent: list[int], seed: int, alpha: float, least: int) -> None:
    def cut(y: Tensor, edge: Tensor, rng: Rng) -> list[Tensor]:
        return dirichlet(y, CLASSES, edge, rng, alpha=alpha, min_samples=least)

    assert min(len(part) for part in conserved(cut, labels, parent, seed)) >= least


@some
@given(label_lists, st.lists(st.integers(0, 2), max_size=8).map(lambda more: [0, 1, *more]), seeds, st.integers(1, 2))
def test_label_gaps(labels: list[int], parent: list[int], seed: int, missing: int) -> None:
    def cut(y: Tensor, edge: Tensor, rng: Rng) -> list[Tensor]:
        return label_gaps(y, CLASSES, edge, rng, missing=missing)

    parts = conserved(cut, labels, parent, seed)
    y = torch.tensor(labels)
    for j, edge in enumerate(sorted(set(parent))):
        mine = torch.cat([part for part, owner in zip(parts, parent, strict=True) if owner == edge])
        assert not set(range(j * missing, (j + 1) * missing)) & set(y[mine].tolist())
        sizes = [len(part) for part, owner in zip(parts, parent, strict=True) if owner == edge]
        assert max(sizes) - min(sizes) <= 1
