"""A cell's masked sum, tried live."""

import pytest

from fedradio.core.rng import Rng
from fedradio.privacy import sum_trial, sums
from fedradio.privacy.sum_trial import try_sum


def test_a_sum_is_exact_and_its_bits_are_counted() -> None:
    trial = try_sum(12, 256, Rng(1))
    assert trial is not None
    assert trial.exact
    assert trial.exact_without_one
    assert (trial.report_bits, trial.dropout_bits) == (8192, 256)
    assert trial.setup_ms > 0
    assert trial.report_ms > 0


def test_a_wrong_sum_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sum_trial, "SCALE", sums.SCALE // 2)
    trial = try_sum(3, 16, Rng(1))
    assert trial is not None
    assert not trial.exact
    assert not trial.exact_without_one


def test_a_cell_that_is_too_small() -> None:
    assert try_sum(2, 16, Rng(1)) is None
