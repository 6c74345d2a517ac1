"""Top-m accuracies and the worst groups, by hand; ranks of equals."""

import math

import pytest
import torch

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.metrics.accuracy import group_means, rank, top, worst

P = torch.tensor([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.4, 0.35, 0.25]])
Y = torch.tensor([1, 1, 0, 0])
"""Ranks of the labels: 1, 0, 2, 0."""


def test_top_accuracies_by_hand() -> None:
    """Groups 0 (three samples) and 2: hits of one guess 1/3 and 1, of two 2/3 and 1, of three 1 and 1."""
    client = torch.tensor([0, 0, 0, 2])
    found = {name: value for m in (1, 2, 3) for name, value in top(m=m).score(P.log(), Y, client).items()}
    assert found == pytest.approx({"top_1_accuracy": 2 / 3, "top_2_accuracy": 5 / 6, "top_3_accuracy": 1.0})


def test_more_guesses_than_classes_are_refused() -> None:
    with pytest.raises(SpecError, match=r"metric.m: the data has 3 classes \(given 4\)"):
        top(m=4).score(P.log(), Y, torch.zeros(4).long())


@pytest.mark.parametrize(("share", "wanted"), [(0.1, 0.5), (0.25, 0.5), (0.26, 0.55), (0.5, 0.55), (1.0, 0.675)])
def test_the_worst_groups_by_hand(share: float, wanted: float) -> None:
    """Accuracies .9, .5, .7 and .6 of ten samples each; a group between them has no samples."""
    client = torch.tensor([0, 1, 3, 4]).repeat_interleave(10)
    right = torch.cat([torch.arange(10) < n for n in (9, 5, 7, 6)]).long()
    logits = torch.eye(2)[right]
    assert worst(share=share).score(logits, torch.ones(40).long(), client)["worst_accuracy"] == pytest.approx(wanted)


def test_seven_hundredths_of_a_hundred_groups_are_seven() -> None:
    """.07 * 100 is a little more than 7."""
    client, y = torch.arange(100), torch.ones(100).long()
    assert worst(share=0.07).score(torch.eye(2)[(client >= 7).long()], y, client) == {"worst_accuracy": 0.0}
    six = worst(share=0.07).score(torch.eye(2)[(client >= 6).long()], y, client)
    assert six["worst_accuracy"] == pytest.approx(1 / 7)


def test_ranks_of_equals_and_of_what_is_not_a_number() -> None:
    likelihood = torch.tensor([[0.2, 0.2, 0.6], [0.2, 0.2, 0.6], [math.nan, 0.2, 0.1], [math.nan, 0.2, 0.1]])
    assert rank(likelihood, torch.tensor([[0], [1], [0], [1]])).flatten().tolist() == [1, 2, 3, 1]


def test_ranks_against_a_stable_sort() -> None:
    likelihood = torch.randint(4, (200, 7), generator=Rng(1).torch()).float()
    y = torch.randint(7, (200, 1), generator=Rng(2).torch())
    order = likelihood.argsort(dim=1, descending=True, stable=True)
    assert torch.equal(rank(likelihood, y), (order == y).int().argmax(dim=1, keepdim=True))


def test_means_of_groups_with_samples() -> None:
    assert group_means(torch.tensor([1.0, 3.0, 5.0]), torch.tensor([0, 0, 2])).tolist() == [2.0, 5.0]
