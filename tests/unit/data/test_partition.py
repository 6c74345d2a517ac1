"""Partitions: the papers' cases and what is refused. What holds for all inputs is in tests/property."""

from __future__ import annotations

import pytest
import torch

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.data.partition import dirichlet, iid, label_gaps, shards

FLAT = torch.zeros(20, dtype=torch.long)
LABELS = torch.arange(6000) % 10


def counts(parts: list[torch.Tensor], labels: torch.Tensor = LABELS) -> torch.Tensor:
    """Label counts ``[C, 10]``."""
    return torch.stack([torch.bincount(labels[part], minlength=10) for part in parts])


def test_pure_shards_of_fedcpsl() -> None:
    """20 clients x 2 shards of ten equal classes: 4 shards per class, one or two labels per client."""
    parts = shards(LABELS, 10, FLAT, Rng(0), pure=True)
    table = counts(parts)
    assert set(table.unique().tolist()) <= {0, 150, 300}
    assert ((table > 0).sum(1) <= 2).all()
    assert ((table / 150).sum(0) == 4).all()


def test_single_label_groups_of_whfl() -> None:
    """60 groups of one label, three per client."""
    table = counts(shards(LABELS, 10, FLAT, Rng(0), per_client=3, pure=True))
    assert ((table > 0).sum(1) <= 3).all()
    assert ((table / 100).sum(0) == 6).all()


def test_pure_shards_follow_the_largest_remainder() -> None:
    """Seven shards for classes of 50, 30 and 20 samples: quotas 3.5, 2.1, 1.4 give 4, 2, 1."""
    labels = torch.repeat_interleave(torch.arange(3), torch.tensor([50, 30, 20]))
    parts = shards(labels, 3, torch.zeros(7, dtype=torch.long), Rng(0), per_client=1, pure=True)
    owners = torch.tensor([int(labels[part][0]) for part in parts])
    assert torch.bincount(owners).tolist() == [4, 2, 1]


def test_pure_shards_give_rare_classes_one() -> None:
    labels = torch.cat((torch.zeros(96), torch.tensor([1, 2, 3, 4]))).long()
    parts = shards(labels, 10, torch.zeros(6, dtype=torch.long), Rng(0), per_client=1, pure=True)
    assert sorted(int(labels[part][0]) for part in parts) == [0, 0, 1, 2, 3, 4]


def test_plain_shards_straddle() -> None:
    labels = torch.repeat_interleave(torch.arange(3), 100)
    parts = shards(labels, 3, torch.zeros(4, dtype=torch.long), Rng(0), per_client=1)
    assert sorted(len(labels[part].unique()) for part in parts) == [1, 1, 2, 2]


def test_label_gaps_of_whfl() -> None:
    """Four edges of five clients, each lacking two labels of its own; every pair of edges shares six."""
    parent = torch.arange(4).repeat_interleave(5)
    table = counts(label_gaps(LABELS, 10, parent, Rng(0)))
    by_edge = table.view(4, 5, 10).sum(1)
    has = by_edge > 0
    for edge in range(4):
        assert (~has[edge]).nonzero().flatten().tolist() == [2 * edge, 2 * edge + 1]
        for other in range(edge):
            assert (has[edge] & has[other]).sum() == 6
    assert (by_edge[:, 8:] == 150).all()  # the labels that all have are spread evenly
    assert table.sum(1).max() - table.sum(1).min() <= 1


def test_label_gaps_with_edges_of_different_sizes() -> None:
    parent = torch.tensor([0, 0, 0, 1])
    table = counts(label_gaps(LABELS, 10, parent, Rng(0), missing=1))
    assert (table[:3, 0] == 0).all()
    assert table[3, 1] == 0
    assert table[:3, 5].sum() == 450
    assert table[3, 5] == 150


def test_six_labels_in_common() -> None:
    """The other reading: labels 0 to 5 with all four edges, each of 6 to 9 with one of them."""
    parent = torch.arange(4).repeat_interleave(5)
    table = counts(label_gaps(LABELS, 10, parent, Rng(0), labels="six_common"))
    by_edge = table.view(4, 5, 10).sum(1)
    assert (by_edge[:, :6] == 150).all()
    assert torch.equal(by_edge[:, 6:], 600 * torch.eye(4, dtype=torch.long))
    assert table.sum(1).max() - table.sum(1).min() <= 1


def test_labels_inside_an_edge_are_dealt_out() -> None:
    """An edge's samples and labels stay as they are; its clients have few labels each instead of all eight."""
    parent = torch.arange(4).repeat_interleave(5)
    even, few = (counts(label_gaps(LABELS, 10, parent, Rng(0), inside=way)) for way in ("samples", "labels"))
    assert torch.equal(even.view(4, 5, 10).sum(1), few.view(4, 5, 10).sum(1))
    assert torch.equal(even.sum(1), few.sum(1))
    assert ((even > 0).sum(1) == 8).all()
    assert int((few > 0).sum(1).max()) <= 4  # 300 samples of labels with 150 or 200 each
    orders = {tuple((few[edge] > 0).long().tolist()) for edge in range(20)}
    assert len(orders) > 10


def test_gaps_drawn_from_the_seed() -> None:
    parent = torch.arange(4).repeat_interleave(5)

    def lacked(seed: int) -> list[list[int]]:
        table = counts(label_gaps(LABELS, 10, parent, Rng(seed), drawn=True)).view(4, 5, 10).sum(1)
        return [(table[edge] == 0).nonzero().flatten().tolist() for edge in range(4)]

    assert lacked(0) == lacked(0)
    assert lacked(0) != lacked(1)
    assert len({label for pair in lacked(0) for label in pair}) == 8


def test_dirichlet_concentration() -> None:
    def spread(alpha: float) -> float:
        return float(counts(dirichlet(LABELS, 10, FLAT, Rng(0), alpha=alpha, min_samples=1)).double().std())

    assert spread(0.1) > 2 * spread(1.0) > 4 * spread(1000.0)


@pytest.mark.parametrize(
    ("part", "keywords", "where"),
    [
        (iid, {}, "data.partition: there are only 10 samples, fewer than the 20 clients"),
        (shards, {}, "data.partition.per_client: there are only 10 samples, fewer than the 40 shards"),
        (dirichlet, {}, "data.partition.min_samples: there are only 10 samples, fewer than the 200 samples"),
    ],
)
def test_too_few_samples(part, keywords: dict[str, int], where: str) -> None:
    with pytest.raises(SpecError, match="use more samples or fewer clients") as error:
        part(LABELS[:10], 10, FLAT, Rng(0), **keywords)
    assert str(error.value).startswith(where)


def test_hopeless_dirichlet() -> None:
    with pytest.raises(SpecError, match=r"data\.partition\.alpha.*client \d+ had too few.*larger alpha"):
        dirichlet(LABELS, 10, FLAT, Rng(0), alpha=0.001, min_samples=100)


def test_pure_shards_fewer_than_labels() -> None:
    with pytest.raises(SpecError, match=r"4 pure shards cannot contain 10 labels.*pure: false"):
        shards(LABELS, 10, FLAT[:2], Rng(0), pure=True)


def test_label_gaps_refusals() -> None:
    with pytest.raises(SpecError, match="single edge"):
        label_gaps(LABELS, 10, FLAT, Rng(0))
    parent = torch.arange(4).repeat_interleave(5)
    with pytest.raises(SpecError, match=r"need 12 classes, but there are 10.*at most 2"):
        label_gaps(LABELS, 10, parent, Rng(0), missing=3)
    with pytest.raises(SpecError, match=r"all but 10 of the 10 classes would be shared.*at most 4"):
        label_gaps(LABELS, 10, parent, Rng(0), missing=5, labels="six_common")
    with pytest.raises(SpecError, match="no data for client"):
        label_gaps(torch.arange(10) % 10, 10, parent, Rng(0))


def test_labels_that_do_not_occur() -> None:
    """A class without samples (possible in a drawn subset) is no obstacle."""
    labels = LABELS % 7
    for parts in (
        shards(labels, 10, FLAT, Rng(0), pure=True),
        dirichlet(labels, 10, FLAT, Rng(0)),
        label_gaps(labels, 10, torch.arange(20) % 4, Rng(0)),
    ):
        assert torch.cat(parts).sort().values.equal(torch.arange(6000))
