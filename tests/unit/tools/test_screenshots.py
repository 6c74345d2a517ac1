"""The script that makes the pictures of the gallery, and the pictures themselves."""

from __future__ import annotations

import io
import re
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image
from support.scripts import script

ROOT = Path(__file__).parents[3]
IMAGES = ROOT / "docs" / "images"

MOST, MOST_IN_ALL = 150_000, 1_500_000
"""Bytes of a picture, and of all pictures of the documentation."""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return script("tools/screenshots.py", monkeypatch)


def test_every_picture_of_the_gallery_has_commands_and_a_source(tool: ModuleType) -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    every = tool.commands(page)
    assert set(every) == set(tool.SOURCES) == set(re.findall(r"\(images/(\S+)\)", page))
    assert all(line.startswith("fedradio ") for lines in every.values() for line in lines)


def test_pictures_are_there_and_small(tool: ModuleType) -> None:
    sizes = {path: path.stat().st_size for path in IMAGES.rglob("*") if path.is_file()}
    assert {IMAGES / name for name in tool.SOURCES} <= set(sizes)
    assert {path.name: size for path, size in sizes.items() if size > MOST} == {}
    assert sum(sizes.values()) < MOST_IN_ALL


def test_a_picture_needs_the_commands_that_make_its_folder(tool: ModuleType) -> None:
    every = {
        "a.png": ["fedradio run demo --rounds 2", "fedradio figures runs/demo-seed1"],
        "b.png": ["fedradio sweep demo --out s"],
        "c.png": ["fedradio report runs/demo-seed1"],
    }
    assert tool.needed("c.png", every) == ["fedradio run demo --rounds 2", "fedradio report runs/demo-seed1"]
    assert tool.needed("b.png", every) == ["fedradio sweep demo --out s"]
    assert [tool.made_by(line) for lines in every.values() for line in lines] == ["runs/demo-seed1", "", "s", ""]


def test_pictures_are_made_small(tool: ModuleType) -> None:
    data = io.BytesIO()
    Image.linear_gradient("L").resize((3000, 300)).save(data, "PNG")
    with Image.open(io.BytesIO(tool.small(data.getvalue()))) as found:
        assert found.size == (tool.WIDTH, 100)
        assert len(found.getcolors()) <= tool.COLOURS


def test_a_picture_is_made_by_its_commands(tool: ModuleType, tmp_path: Path) -> None:
    every = tool.commands(tool.PAGE.read_text(encoding="utf-8"))
    made = tool.make("gallery/slot.png", every, tmp_path)
    with Image.open(io.BytesIO(made)) as found, Image.open(IMAGES / "gallery" / "slot.png") as kept:
        assert found.size == kept.size
