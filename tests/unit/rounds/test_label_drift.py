import pytest
import torch

from fedradio.rounds.label_drift import data_notes, start_signals


def stats(seen: list[int], counts: list[list[int]]) -> dict[str, torch.Tensor]:
    return {"seen": torch.tensor(seen), "label_counts": torch.tensor(counts)}


def test_drift_by_hand() -> None:
    """Client 0 held (3, 1, 0, 0), then (2, 2, 0, 0): 1/4 away. Client 1 held (1, 1, 1, 5), then (0, 0, 2, 6): 2/8."""
    start = stats([4, 8], [[3, 1, 0, 0], [1, 1, 1, 5]])
    signals = start | start_signals(start)
    now = stats([5, 10], [[2, 2, 0, 0], [0, 0, 2, 6]])
    notes = data_notes(signals, now)
    assert notes["fresh"].tolist() == [1, 2]
    assert notes["label_drift"].tolist() == notes["label_shift"].tolist() == pytest.approx([0.25, 0.25])
    assert notes["top_labels"].tolist() == pytest.approx([1.0, 0.75])  # labels 0 and 1; 3 and 0
    assert notes["least_labels"].tolist() == pytest.approx([1.0, 0.0])  # of those it held: 1 and 0; 0 and 1
    later = data_notes(signals | now, stats([5, 11], [[2, 2, 0, 0], [0, 0, 2, 6]]))
    assert later["fresh"].tolist() == [0, 1]
    assert later["label_drift"].tolist() == [0.0, 0.0]
    assert later["label_shift"].tolist() == pytest.approx([0.25, 0.25])


def test_data_that_stays_has_no_notes() -> None:
    start = stats([4], [[3, 1]])
    assert data_notes(start | start_signals(start), start) == {}
