"""What sizes tell: by hand, and the ends of the scale."""

import numpy as np
import pytest

from fedradio.core.rng import Rng
from fedradio.privacy.leaks import drawn_sizes, size_leak


def test_the_share_that_is_named_by_hand() -> None:
    popularity = np.array([0.5, 0.3, 0.2])
    leak = size_leak([5, 5, 7], popularity, "none")
    assert leak.named == pytest.approx(0.7)
    assert leak.more == 0
    padded = size_leak([5, 5, 7], popularity, "largest")
    assert padded.named == pytest.approx(0.5)
    assert padded.more == pytest.approx(8 / 5.4 - 1)


def test_sizes_are_log_uniform() -> None:
    sizes = drawn_sizes(4000, 5e6, 50e6, Rng(1))
    assert 5e6 <= min(sizes) <= max(sizes) <= 50e6
    assert np.mean(np.log10(sizes)) == pytest.approx(np.log10(5e6) + 0.5, abs=0.02)
    assert set(drawn_sizes(5, 7, 7, Rng(1))) == {7}
    assert drawn_sizes(5, 1e6, 2e6, Rng(1)) == drawn_sizes(9, 1e6, 2e6, Rng(1))[:5]


def test_different_sizes_name_everything_and_padding_less_and_less() -> None:
    sizes, popularity = drawn_sizes(256, 5e6, 50e6, Rng(1)), np.full(256, 1 / 256)
    named = [size_leak(sizes, popularity, padding).named for padding in ("none", "padme", "power_of_two", "largest")]
    assert named[0] == pytest.approx(1)
    assert named == sorted(named, reverse=True)
    assert named[3] == pytest.approx(1 / 256)
