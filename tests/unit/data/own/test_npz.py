"""Arrays in files of numpy: by their names, and never as pickles."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedradio.core.errors import FedradioError, SpecError
from fedradio.core.rng import Rng
from fedradio.data.own.npz import npz

X, Y = np.arange(24, dtype=np.float32).reshape(8, 3), np.arange(8) % 2


def saved(folder: Path, **arrays: Any) -> str:
    np.savez(folder / "t.npz", **arrays)
    return str(folder / "t.npz")


def test_arrays_by_name(tmp_path: Path) -> None:
    path = saved(tmp_path, inputs=X, y=Y, test_x=X[:2], test_y=Y[:2])
    made = npz(4, Rng(0), path=path, x="inputs", standardise=False, shape=(3, 1))
    assert torch.equal(made.x, torch.from_numpy(X).view(8, 3, 1))
    assert (made.y.tolist(), made.test_y.tolist()) == ([0, 1] * 4, [0, 1])


def test_ids_stay_whole(tmp_path: Path) -> None:
    made = npz(4, Rng(0), path=saved(tmp_path, x=X, y=Y), ids=True)
    assert made.x.dtype == torch.int64
    assert len(made.test_y) == 2


@pytest.mark.parametrize(
    ("arrays", "options", "words"),
    [
        ({"x": X}, {}, "no array 'y', only x"),
        ({"x": X, "y": Y}, {"x": "inputs"}, "no array 'inputs', only x, y"),
        ({"x": X, "y": Y[:3]}, {}, "t.npz: x has 8 samples and y has 3 labels"),
        ({"x": X * np.nan, "y": Y}, {}, "t.npz: x is nan at sample 0, position 0"),
        ({"x": X, "y": Y, "test_x": X}, {}, "test_x and test_y belong together"),
        ({"x": X, "y": Y, "test_x": X[:, :2], "test_y": Y}, {}, "samples of test_x have shape"),
        ({"x": X, "y": Y}, {"shape": (2, 2)}, "has 3 values, but the shape has 4"),
        ({"x": np.array([{}] * 8, dtype=object), "y": Y}, {}, "pickled objects, which are never loaded"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, arrays: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(FedradioError, match=words):
        npz(4, Rng(0), path=saved(tmp_path, **arrays), **options)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no", b"\x80\x04K\x01."], ids=["empty", "no zip", "pickle"])
def test_files_that_are_no_npz(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.npz").write_bytes(data)
    with pytest.raises(SpecError, match=r"t.np[yz]: not an npz file.*numpy.savez"):
        npz(4, Rng(0), path=str(tmp_path / "t.npz"))


def test_a_single_array_is_no_npz(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", X)
    with pytest.raises(SpecError, match=r"t.np[yz]: not an npz file.*numpy.savez"):
        npz(4, Rng(0), path=str(tmp_path / "t.npy"))
