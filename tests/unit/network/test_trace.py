"""Gains from files: played by hand, and refused with file and line."""

from pathlib import Path

import numpy as np
import pytest
import torch

from fedradio.core.contracts import Clock, Site
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.network.trace import Trace, trace

HEAD = "time_s,receiver,sender,gain_db\n"


def played(channel: Trace, n: int, receivers: int = 1, senders: int = 1) -> list[list[float]]:
    """Gains of exchange ``n``."""
    site = Site(torch.zeros(receivers, 2), torch.zeros(senders, 2), torch.zeros(senders).long(), Clock(0, 0, n))
    state, after = channel.realise(site, {}, Rng(0))
    assert after == {}
    gains: list[list[float]] = state.gain.tolist()
    return gains


def test_the_last_gain_holds(tmp_path: Path) -> None:
    """-90 dB from 0 s, -80 dB from 10 s; exchanges every 4 s: the fourth is at 12 s."""
    (tmp_path / "g.csv").write_text(HEAD + "0,0,0,-90\n10,0,0,-80\n")
    channel = trace(path=str(tmp_path / "g.csv"), interval_s=4.0)
    gains = [played(channel, n)[0][0] for n in (0, 2, 3, 1000)]
    assert gains == pytest.approx([1e-9, 1e-9, 1e-8, 1e-8])
    assert [played(channel.every(10.0), n)[0][0] for n in (0, 1)] == pytest.approx([1e-9, 1e-8])
    assert len(channel.sha256) == 64


def test_pairs_change_at_times_of_their_own(tmp_path: Path) -> None:
    """Sender 1 is first measured at 5 s: that gain holds before, too."""
    (tmp_path / "g.csv").write_text(HEAD + "0,0,0,-10\n5,0,1,-20\n7,0,0,-30\n")
    channel = trace(path=str(tmp_path / "g.csv"), interval_s=6.0)
    assert played(channel, 0, senders=2) == [pytest.approx([0.1, 0.01])]
    assert played(channel, 1, senders=2) == [pytest.approx([0.1, 0.01])]
    assert played(channel, 2, senders=2) == [pytest.approx([1e-3, 0.01])]


def test_arrays_are_the_same_gains(tmp_path: Path) -> None:
    gain_db = np.array([[[-10.0, np.nan]], [[np.nan, -20.0]], [[-30.0, np.nan]]])
    np.savez(tmp_path / "g.npz", time_s=[0.0, 5.0, 7.0], gain_db=gain_db)
    channel = trace(path=str(tmp_path / "g.npz"), interval_s=6.0)
    assert [played(channel, n, senders=2)[0] for n in (0, 1, 2)] == [
        pytest.approx([0.1, 0.01]),
        pytest.approx([0.1, 0.01]),
        pytest.approx([1e-3, 0.01]),
    ]


def test_missing_pairs_are_refused_or_in_outage(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text(HEAD + "0,0,0,-10\n")
    with pytest.raises(SpecError, match="no gain for receiver 0 and sender 1 and 4 more"):
        played(trace(path=str(tmp_path / "g.csv"), interval_s=1.0), 0, 2, 3)
    channel = trace(path=str(tmp_path / "g.csv"), interval_s=1.0, missing="outage")
    assert played(channel, 0, 2, 3) == [pytest.approx([0.1, 0.0, 0.0]), [0.0, 0.0, 0.0]]


def test_a_trace_of_a_larger_network_is_refused(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text(HEAD + "0,0,0,-10\n0,0,5,-10\n")
    with pytest.raises(SpecError, match=r"has 1 receiver\(s\) and 6 sender\(s\), but the hop has 1 and 3"):
        played(trace(path=str(tmp_path / "g.csv"), interval_s=1.0), 0, 1, 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the first line must contain"),
        ("time,receiver,sender,gain\n0,0,0,1\n", "line 1: the first line must be"),
        (HEAD, "has no rows"),
        (HEAD + "0,0,0\n", "line 2: 3 values"),
        (HEAD + "0,0,0,-9\n\n1,0,0,x\n", "line 4: gain_db is not a finite number: 'x'"),
        (HEAD + "0,0,0,inf\n", "line 2: gain_db is not a finite number"),
        (HEAD + "nan,0,0,1\n", "line 2: time_s is not a finite number"),
        (HEAD + "0,-1,0,1\n", "line 2: receiver is not the number of a node"),
        (HEAD + "0,0,1.5,1\n", "line 2: sender is not the number of a node"),
        (HEAD + "0,0,99999999999999,1\n", "line 2: sender is not the number of a node"),
        (HEAD + "5,0,0,1\n5,0,0,2\n", "line 3: time_s 5 does not increase for receiver 0 and sender 0"),
        (HEAD + "5,0,0,1\n6,0,1,2\n4,0,0,2\n", "line 4: time_s 4 does not increase"),
    ],
)
def test_wrong_lines_are_told(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "g.csv").write_text(text)
    with pytest.raises(SpecError, match=words):
        trace(path=str(tmp_path / "g.csv"))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read: No such file"):
        trace(path=str(tmp_path / "none.csv"))
    with pytest.raises(SpecError, match="cannot be read"):
        trace(path="a\0b")
    (tmp_path / "g.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not a text file"):
        trace(path=str(tmp_path / "g.csv"))
    for name, arrays, words in (
        ("a", {"time_s": [0.0]}, "no array"),
        ("b", {"time_s": [0.0], "gain_db": [[1.0]]}, r"are not \[T\]"),
        ("c", {"time_s": [1.0, 1.0], "gain_db": np.zeros((2, 1, 1))}, "does not increase"),
        ("d", {"time_s": [0.0], "gain_db": np.full((1, 1, 1), np.inf)}, "infinite"),
        ("e", {"time_s": np.array([{}], dtype=object), "gain_db": np.zeros((1, 1, 1))}, "not a readable npz"),
    ):
        np.savez(tmp_path / name, **arrays)  # type: ignore[arg-type]
        with pytest.raises(SpecError, match=words):
            trace(path=str(tmp_path / f"{name}.npz"))
    (tmp_path / "f.npz").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(SpecError, match="not a readable npz"):
        trace(path=str(tmp_path / "f.npz"))
