"""Devices from a file: by hand, and refused with file and line."""

from pathlib import Path

import pytest

from fedradio.core.contracts import Fleet
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.fleet.devices import devices

HEAD = "cycles_per_bit,f_max_hz,p_max_dbm,energy_j\n"


def read(folder: Path, text: str, senders: int = 2, **floors: float) -> Fleet:
    (folder / "f.csv").write_text(text)
    return devices(senders, Rng(0), path=str(folder / "f.csv"), **floors)


def test_devices_by_hand(tmp_path: Path) -> None:
    """30 dBm are 1 W, 20 dBm a tenth."""
    fleet = read(tmp_path, HEAD + "25,1e9,30,0.5\n40,2e9,20,1\n", tx_min_w=0.1)
    assert fleet.cycles_per_bit.tolist() == [25, 40]
    assert fleet.f_max_hz.tolist() == [1e9, 2e9]
    assert fleet.p_max_w.tolist() == pytest.approx([1.0, 0.1])
    assert fleet.energy_j.tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("text", "floors", "words"),
    [
        ("f_max_hz\n1\n", {}, "line 1: the first line must be cycles_per_bit,f_max_hz,p_max_dbm,energy_j"),
        (HEAD + "25,1e9,30,1\n", {}, "1 devices, but the hop has 2 senders"),
        (HEAD + "25,1e9,30,1\n25,0,30,1\n", {}, "line 3: f_max_hz must be from 1 to 1e"),
        (HEAD + "25,1e9,30,1\n25,1e9,30,-1\n", {}, "line 3: energy_j must be from 0"),
        (HEAD + "25,1e9,30,1\n25,1e9,1 W,1\n", {}, "line 3: p_max_dbm is not a finite number: '1 W'"),
        (HEAD + "25,1e9,30,1\n25,1e9,20,1\n", {"cpu_min_hz": 2e9}, "fleet.cpu_min_hz: above the lowest f_max_hz"),
        (HEAD + "25,1e9,30,1\n25,1e9,20,1\n", {"tx_min_w": 0.2}, "fleet.tx_min_w: above the lowest p_max_dbm"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, floors: dict[str, float], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        read(tmp_path, text, **floors)
