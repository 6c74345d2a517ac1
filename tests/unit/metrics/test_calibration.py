"""Expected calibration error by hand and against a loop over bins."""

import math

import pytest
import torch

from fedradio.core.rng import Rng
from fedradio.metrics.calibration import calibration

NOBODY = torch.zeros(4).long()


def test_calibration_by_hand() -> None:
    """Two bins, confidences .9 (hit), .8, .6 (hit) and .4: (|2 - 2.3| + |0 - .4|)/4."""
    p = torch.tensor([[0.9, 0.1, 0.0], [0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
    error = calibration(bins=2).score(p.log(), torch.tensor([0, 1, 1, 0]), NOBODY)["calibration_error"]
    assert error == pytest.approx(0.175, rel=1e-6)


def test_a_bin_ends_with_its_edge() -> None:
    """A hit of confidence 1/2 is in the first of two bins; in one bin with a miss of 1 both would cancel in part."""
    logits = torch.tensor([[0.5, 0.5], [1.0, 0.0]], dtype=torch.float64).log()
    y = torch.tensor([0, 1])
    assert calibration(bins=2).score(logits, y, NOBODY[:2]) == {"calibration_error": pytest.approx((0.5 + 1.0) / 2)}
    assert calibration(bins=1).score(logits, y, NOBODY[:2]) == {"calibration_error": pytest.approx((1.0 - 0.5) / 2)}


def test_sure_and_right_is_calibrated_sure_and_wrong_is_not() -> None:
    p = torch.eye(2)[torch.tensor([0, 1, 1])]
    assert calibration().score(p.log(), torch.tensor([0, 1, 1]), NOBODY[:3]) == {"calibration_error": 0.0}
    assert calibration().score(p.log(), torch.tensor([1, 0, 0]), NOBODY[:3]) == {"calibration_error": 1.0}


def test_against_a_loop_over_bins() -> None:
    g, bins, n = Rng(3).torch(), 15, 500
    logits = (3 * torch.randn(n, 6, generator=g)).log_softmax(1)
    y = torch.randint(6, (n,), generator=g)
    confidence, guess = logits.exp().double().max(1)
    wanted = 0.0
    for b in range(bins):
        inside = (confidence > b / bins) & (confidence <= (b + 1) / bins)
        if bool(inside.any()):
            accuracy = float((guess == y)[inside].double().mean())
            wanted += float(inside.double().mean()) * abs(accuracy - float(confidence[inside].mean()))
    found = calibration(bins=bins).score(logits, y, torch.zeros(n).long())["calibration_error"]
    assert found == pytest.approx(wanted, rel=1e-5)


def test_what_is_not_a_number_stays_so() -> None:
    p = torch.full((2, 3), math.nan)
    assert math.isnan(calibration().score(p, torch.tensor([0, 1]), NOBODY[:2])["calibration_error"])
