"""State of a device: both cases, written and read; what cannot be read."""

from pathlib import Path

import pytest
import torch

from fedradio.core.errors import StoreError
from fedradio.remote.flower.state import NEVER, STATE_FILE, Pending, read_state, write_state

PENDING = Pending(
    "run", 1, 4, {"c": torch.ones(3)}, {"c": torch.zeros(3)}, {"c": torch.full((3,), 0.5)}, "first", "sum"
)


def test_the_next_request_settles_it() -> None:
    """After exchange 4: it counted if the last that did is 4, was lost if that is earlier; later ones are unknown."""
    assert PENDING.settled(4) is PENDING.counted
    assert PENDING.settled(3) is PENDING.lost
    assert PENDING.settled(NEVER) is PENDING.lost
    assert PENDING.settled(5) is None


def test_there_and_back(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None
    write_state(tmp_path, PENDING)
    back = read_state(tmp_path)
    assert back is not None
    assert (back.run, back.client, back.n, back.session, back.samples) == ("run", 1, 4, "first", "sum")
    assert torch.equal(back.before["c"], PENDING.before["c"])
    assert torch.equal(back.counted["c"], PENDING.counted["c"])
    assert torch.equal(back.lost["c"], PENDING.lost["c"])
    write_state(tmp_path, Pending("run", 1, 5, back.counted, back.counted))  # one tensor for both cases
    assert sorted(path.name for path in tmp_path.iterdir()) == [STATE_FILE]


def test_a_damaged_state_is_told(tmp_path: Path) -> None:
    (tmp_path / STATE_FILE).write_bytes(b"damaged")
    with pytest.raises(StoreError, match="not the state of a device"):
        read_state(tmp_path)
