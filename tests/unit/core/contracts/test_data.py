"""Test sets and tapes: bounds of groups, checks, and moving to another device."""

from dataclasses import replace

import pytest
import torch
from support.elsewhere import received

from fedradio.core.contracts import Repeats, Samples, Tapes, TestSet
from fedradio.core.errors import DataError
from fedradio.data.tapes import Pool
from fedradio.data.video import Pairs


def test_bounds_of_groups_by_hand() -> None:
    """Two samples of group 0, none of group 1, three of group 2, none of group 3."""
    group = torch.tensor([0, 0, 2, 2, 2])
    found = TestSet(torch.arange(5), group, 4, True, lambda index: (index, index))
    assert found.bounds() == [(0, 2), (2, 2), (2, 5), (5, 5)]


def test_samples_know_their_shape_and_move_whole() -> None:
    x, y = torch.zeros(4, 1, 2, 3), torch.zeros(4).long()
    samples = Samples(x, y, x[:1], y[:1], classes=2, sample_bits=48.0)
    assert samples.shape == (1, 2, 3)
    moved = samples.to("meta")
    assert {one.device.type for one in (moved.x, moved.y, moved.test_x, moved.test_y)} == {"meta"}
    assert (moved.classes, moved.sample_bits) == (2, 48.0)


def test_tapes_stay_where_they_are() -> None:
    """Nothing is copied for the device on which they are."""
    number = torch.arange(3)
    test = TestSet(number[:1], number[:1], 1, False, lambda index: (index, index))
    tapes = Tapes(
        number, torch.tensor([0, 1, 3]), number, number >= 0, lambda index: (index, index), test, (1,), 3, 8.0
    )
    assert tapes.clients == 2
    assert tapes.to("cpu") is tapes


def test_tapes_of_wrong_samples_are_refused() -> None:
    number = torch.arange(3)

    def tapes(x: torch.Tensor, y: torch.Tensor) -> Tapes:
        test = TestSet(number, torch.zeros(3).long(), 1, False, Pool(x, y))
        return Tapes(number, torch.tensor([0, 1, 3]), y, number >= 0, Pool(x, y), test, (2,), 3, 8.0)

    good = tapes(torch.zeros(3, 2), number)
    good.check()
    for wrong, words in (
        (tapes(torch.full((3, 2), torch.nan), number), "x is not finite at sample 0"),
        (tapes(torch.zeros(3, 2), number + 1), "test_y is 3 at sample 2: labels must be 0 to 2"),
        (tapes(torch.zeros(3, 4), number), r"samples of x have shape \(4,\), but the tapes say \(2,\)"),
        (replace(good, offset=torch.tensor([0, 3, 3])), "the tape of client 1 is empty"),
    ):
        with pytest.raises(DataError, match=words):
            wrong.check()


def test_what_is_fetched_from_home_can_be_sent_to_another_process() -> None:
    """Samples are gathered where they are, on the CPU, and then moved: to the device that knows shapes alone."""
    pool = Pool(torch.randn(5, 2), torch.arange(5))
    moved = TestSet(torch.arange(5), torch.zeros(5).long(), 1, False, pool).to("meta")
    for fetch in (moved.fetch, received(moved.fetch)):
        x, y = fetch(torch.tensor([4, 1]))
        assert (x.device.type, tuple(x.shape), tuple(y.shape)) == ("meta", (2, 2), (2,))


def test_keys_and_labels_move_with_the_samples() -> None:
    """A fetch that knows which inputs repeat still does on another device; one that does not, does not."""
    pairs = Pairs(torch.randn(3, 2), torch.tensor([2, 0, 2, 1]), torch.arange(4))
    number = torch.arange(4)
    there = TestSet(number, torch.zeros(4).long(), 1, False, pairs).to("cpu").fetch
    for fetch in (there, received(there)):
        assert isinstance(fetch, Repeats)
        assert fetch.key(number).tolist() == [2, 0, 2, 1]
        assert fetch.labels(number.view(2, 2)).tolist() == [[0, 1], [2, 3]]
    pool = Pool(torch.randn(5, 2), torch.arange(5))
    assert not isinstance(TestSet(number, number, 1, False, pool).to("cpu").fetch, Repeats)
