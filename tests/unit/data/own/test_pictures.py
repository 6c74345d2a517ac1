"""Pictures in folders: classes by folder, one size, damaged files named."""

from pathlib import Path

import pytest
import torch
from PIL import Image

from fedradio.core.errors import DataError, FedradioError, SpecError
from fedradio.core.rng import Rng
from fedradio.data.own.pictures import image_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes of two pictures, 3 pixels wide and 2 high: dark ones of 51, light ones of 255."""
    for name, value in (("light", 255), ("dark", 51)):
        (tmp_path / "p" / name).mkdir(parents=True)
        for i in range(2):
            Image.new("RGB", (3, 2), (value,) * 3).save(tmp_path / "p" / name / f"{i}.png")
    return tmp_path / "p"


def test_classes_in_sorted_order(folder: Path) -> None:
    (folder / "dark" / "notes.txt").write_text("not a picture")
    (folder / ".hidden").mkdir()
    made = image_folder(4, Rng(0), path=str(folder), test_fraction=0, standardise=False)
    assert made.x.shape == (4, 3, 2, 3)
    assert made.x[:, 0, 0, 0].tolist() == pytest.approx([0.2, 0.2, 1, 1])
    assert (made.y.tolist(), made.classes, made.sample_bits) == ([0, 0, 1, 1], 2, 144.0)


def test_size_colour_and_test_folder(folder: Path) -> None:
    Image.new("L", (9, 9), 128).save(folder / "dark" / "9.jpg")
    made = image_folder(
        4, Rng(0), path=str(folder), size=(4, 5), colour="grey", test_path=str(folder), standardise=False
    )
    assert made.x.shape == made.test_x.shape == (5, 1, 4, 5)
    assert torch.equal(made.x, made.test_x)


def test_wrong_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    def refused(words: str, path: Path = folder, **options: str) -> None:
        with pytest.raises(FedradioError, match=words):
            image_folder(4, Rng(0), path=str(path), **options)  # type: ignore[arg-type]

    refused("cannot be read", tmp_path / "none")
    refused("cannot be read", folder / "dark" / "0.png")
    refused(r"has 0 folder\(s\): one folder per class", folder / "dark")
    (tmp_path / "other" / "dark").mkdir(parents=True)
    (tmp_path / "other" / "grey").mkdir()
    refused("no images in .*dark", tmp_path / "other")
    for name in ("dark", "grey"):
        Image.new("RGB", (3, 2)).save(tmp_path / "other" / name / "0.png")
    refused("do not have the same classes.*only one of them has grey", test_path=str(tmp_path / "other"))
    refused("leaves the test set empty", tmp_path / "other")
    Image.new("RGB", (5, 2)).save(folder / "light" / "5.png")
    with pytest.raises(SpecError, match=r"5.png has 5x2 pixels, but .*0.png has 3x2 .*source.size"):
        image_folder(4, Rng(0), path=str(folder))
    (folder / "dark" / "1.png").write_bytes((folder / "dark" / "1.png").read_bytes()[:40])
    with pytest.raises(DataError, match=r"1.png cannot be read as an image"):
        image_folder(4, Rng(0), path=str(folder))
