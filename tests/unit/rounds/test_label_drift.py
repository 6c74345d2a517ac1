import pytest
import torch

from fedradio.core.rng import Rng
from fedradio.rounds import label_drift
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


def test_kept_shares_change_nothing() -> None:
    """Notes of four exchanges are equal with shares kept and computed anew, of two worlds in turn; what belongs to the
    start is computed once a world."""
    counts = torch.randint(0, 9, (2, 5, 20, 10), generator=Rng(1).torch())
    worlds = [[{"seen": world.sum(dim=(1, 2))[t] + t, "label_counts": world[t]} for t in range(5)] for world in counts]

    def notes(clear: bool) -> list[dict[str, torch.Tensor]]:
        found = []
        for world in worlds:
            signals = world[0] | start_signals(world[0])
            for now in world[1:]:
                if clear:
                    label_drift._shares.cache_clear()
                    label_drift._extremes.cache_clear()
                found.append(data_notes(signals, now))
                signals = signals | now
        return found

    anew, kept = notes(clear=True), notes(clear=False)
    label_drift._extremes.cache_clear()
    again = notes(clear=False)
    assert label_drift._extremes.cache_info().misses == 2
    for notes_anew, *others in zip(anew, kept, again, strict=True):
        assert all(torch.equal(other[name], rows) for other in others for name, rows in notes_anew.items())
