"""Samples in a device's folder: arrays, tensors and pictures; what no model can learn from is told."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from fedradio.core.errors import DataError
from fedradio.remote.flower.folders import read_folder, read_test

X = np.linspace(-1, 1, 6 * 4, dtype=np.float32).reshape(6, 1, 2, 2)
Y = np.array([0, 1, 2, 0, 1, 2])


def test_arrays_and_tensors_are_taken_as_they_are(tmp_path: Path) -> None:
    np.savez(tmp_path / "train.npz", x=X, y=Y)
    save_file({"x": torch.from_numpy(X[:2].copy()), "y": torch.tensor([2, 1])}, tmp_path / "test.safetensors")
    samples = read_folder(tmp_path)
    assert torch.equal(samples.x, torch.from_numpy(X))
    assert samples.y.tolist() == Y.tolist()
    assert samples.test_y.tolist() == [2, 1]
    assert read_test(tmp_path).y.tolist() == [2, 1]


def test_pictures_have_a_folder_a_class(tmp_path: Path) -> None:
    for place, (name, grey) in enumerate((("cat", 0), ("dog", 255))):
        folder = tmp_path / "train" / name
        folder.mkdir(parents=True)
        Image.new("RGB", (3, 2), (grey, grey, grey)).save(folder / f"{place}.png")
    samples = read_folder(tmp_path)
    assert samples.shape == (3, 2, 3)
    assert samples.y.tolist() == [0, 1]
    assert len(samples.test_y) == 0


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({}, "no train.npz, no train.safetensors"),
        ({"x": X}, "no array 'y'"),
        ({"x": np.full_like(X, np.nan), "y": Y}, "nan"),
        ({"x": X, "y": Y - 1}, "label"),
        ({"x": X[:0], "y": Y[:0]}, "no samples"),
        ({"x": X, "y": Y[:4]}, "4"),
    ],
)
def test_what_no_model_can_learn_from(arrays: dict[str, np.ndarray], reason: str, tmp_path: Path) -> None:
    if arrays:
        np.savez(tmp_path / "train.npz", **arrays)
    with pytest.raises(DataError, match=reason):
        read_folder(tmp_path)


def test_other_things_that_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a folder"):
        read_folder(tmp_path / "absent")
    with pytest.raises(DataError, match=r"no test\.npz"):
        read_test(tmp_path)
    (tmp_path / "train.safetensors").write_bytes(b"damaged")
    with pytest.raises(DataError, match="not a readable safetensors file"):
        read_folder(tmp_path)
    np.savez(tmp_path / "train.npz", x=X, y=Y)
    with pytest.raises(DataError, match=r"train\.npz and train\.safetensors both exist"):
        read_folder(tmp_path)
    (tmp_path / "train.safetensors").unlink()
    np.savez(tmp_path / "test.npz", x=X.reshape(6, 4), y=Y)
    with pytest.raises(DataError, match=r"test samples have shape \(4,\)"):
        read_folder(tmp_path)


def test_pictures_stored_in_grey_have_one_channel(tmp_path: Path) -> None:
    for name, mode in (("train", "L"), ("test", "L")):
        for label in ("a", "b"):
            folder = tmp_path / name / label
            folder.mkdir(parents=True)
            Image.new(mode, (3, 2), 51).save(folder / "0.png")
    samples = read_folder(tmp_path)
    assert (samples.shape, samples.test_x.shape) == ((1, 2, 3), (2, 1, 2, 3))
    assert float(samples.x[0, 0, 0, 0]) == pytest.approx(0.2)
    Image.new("RGB", (3, 2), (0, 0, 0)).save(tmp_path / "train" / "a" / "1.png")
    Image.new("RGB", (3, 2), (0, 0, 0)).save(tmp_path / "test" / "a" / "1.png")
    assert read_folder(tmp_path).shape == (3, 2, 3)
