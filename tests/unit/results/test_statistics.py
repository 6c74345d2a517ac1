"""Intervals, pairs and bands, by hand."""

import numpy as np
import pytest

from fedradio.results.statistics import Band, band, interval, paired, pooled

# Student's t, 97.5 %: t(1) = 12.706205, t(2) = 4.302653, t(4) = 2.776445 (any table)


def curve(*points: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    x, y = zip(*points, strict=True)
    return np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)


def test_interval_of_one_two_three() -> None:
    """Mean 2, s = 1, half = 4.302653 / sqrt(3)."""
    found = interval([1.0, 2.0, 3.0])
    assert (found.mean, found.n) == (2.0, 3)
    assert found.half == pytest.approx(2.484138, abs=1e-6)
    assert found.low == pytest.approx(-0.484138, abs=1e-6)
    assert found.high == pytest.approx(4.484138, abs=1e-6)


def test_interval_of_five_values() -> None:
    """2 4 4 4 6: mean 4, squares 8, s^2 = 2, half = 2.776445 sqrt(2 / 5)."""
    assert interval([2.0, 4.0, 4.0, 4.0, 6.0]).half == pytest.approx(2.776445 * np.sqrt(0.4), abs=1e-6)


def test_one_value_has_no_interval_and_none_no_mean() -> None:
    alone = interval([7.0])
    assert (alone.mean, alone.half, alone.low, alone.high, alone.n) == (7.0, None, None, None, 1)
    with pytest.raises(ValueError, match="no values"):
        interval([])


def test_excludes() -> None:
    assert not interval([1.0, 2.0, 3.0]).excludes(0.0)
    assert interval([1.0, 1.1, 1.2]).excludes(0.0)
    assert interval([-1.0, -1.1, -1.2]).excludes(0.0)
    assert not interval([5.0]).excludes(0.0)
    assert interval([1.0, 1.0]).excludes(0.0)
    assert not interval([0.0, 0.0]).excludes(0.0)


def test_pairs_cancel_what_seeds_share() -> None:
    """Seeds 1, 2, 3 are 10, 20, 30 apart, the differences 1, 2, 3: those of the first test. Seed 4 has no partner."""
    found = paired({1: 11.0, 2: 22.0, 3: 33.0, 4: 99.0}, {3: 30.0, 2: 20.0, 1: 10.0, 7: 5.0})
    assert found is not None
    assert (found.mean, found.n) == (2.0, 3)
    assert found.half == pytest.approx(2.484138, abs=1e-6)
    assert paired({1: 1.0}, {2: 1.0}) is None
    one = paired({1: 3.0}, {1: 1.0, 2: 5.0})
    assert one is not None
    assert (one.mean, one.half) == (2.0, None)


def test_band_on_a_shared_axis() -> None:
    found = band([curve((1, 1), (2, 5)), curve((1, 2), (2, 5)), curve((1, 3), (2, 5))])
    assert found.x.tolist() == [1, 2]
    assert found.mean.tolist() == [2, 5]
    assert found.low == pytest.approx([-0.484138, 5], abs=1e-6)
    assert found.high == pytest.approx([4.484138, 5], abs=1e-6)
    assert found.n == 3


def test_band_between_points_where_all_curves_are_defined() -> None:
    """y = x on 0..4 and y = x + 2 on 2..10 share 2..4: mean x + 1, half 12.706205 sqrt(2) / sqrt(2)."""
    found = band([curve((0, 0), (4, 4)), curve((2, 4), (10, 12))], points=5)
    assert found.x.tolist() == [2, 2.5, 3, 3.5, 4]
    assert found.mean == pytest.approx(found.x + 1)
    assert found.high - found.mean == pytest.approx([12.706205] * 5, abs=1e-5)


def test_band_of_one_curve_and_of_none() -> None:
    alone = band([curve((1, 3), (4, 9))])
    assert alone.x.tolist() == [1, 4]
    assert alone.low.tolist() == alone.mean.tolist() == alone.high.tolist() == [3, 9]
    with pytest.raises(ValueError, match="no curves"):
        band([])


def test_band_of_curves_that_never_meet() -> None:
    found = band([curve((0, 1), (1, 2)), curve((5, 4), (6, 7))])
    assert found.x.tolist() == [5]
    assert found.mean.tolist() == [3]


def test_bands_are_pooled_from_sizes_means_and_intervals() -> None:
    """1 and 3 beside 5: mean 3, squares 8, half = 4.302653 sqrt(8 / 2 / 3)."""
    x = np.array([1.0, 2.0])
    both = band([(x, np.array([1.0, 7.0])), (x, np.array([3.0, 7.0]))])
    found = pooled([both, band([(x, np.array([5.0, 7.0]))])])
    assert found.n == 3
    np.testing.assert_allclose(found.mean, [3.0, 7.0])
    np.testing.assert_allclose(found.high, [3.0 + 4.302653 * np.sqrt(4 / 3), 7.0], rtol=1e-6)
    np.testing.assert_allclose(found.low, [3.0 - 4.302653 * np.sqrt(4 / 3), 7.0], rtol=1e-6)


def test_pooled_curves_are_those_of_all_at_once_on_any_grid() -> None:
    curves = [curve((1, 0), (2, 4), (4, 8)), curve((1, 2), (3, 2)), curve((1, 1), (2, 1), (3, 9))]
    singles = [Band(x, y, y, y, 1) for x, y in curves]
    found, wanted = pooled(singles), band(curves)
    for name in ("x", "mean", "low", "high"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-12)
    assert pooled(singles[:1]) is singles[0]
