"""Files that a file of parts imports from its own folder: behind all that is installed, and with their checksums."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.part_file import HALVED

from fedradio.core import neighbours, part_files
from fedradio.core.errors import SpecError
from fedradio.core.part_files import load_part_file
from fedradio.core.registry import forget, parts, registered


@pytest.fixture(autouse=True)
def unloaded() -> Iterator[None]:
    """What a test loads is gone after it."""
    before, modules = {(each.family, each.kind) for each in parts()}, set(sys.modules)
    yield
    forget(set(registered()) - before)
    for known in (part_files._LOADED, part_files.PART_MODULES, neighbours._FOLDERS, neighbours._READ):
        known.clear()
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def written(folder: Path, **texts: str) -> Path:
    """A folder with these modules; ``parts`` is the file of parts."""
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "parts.py"


def importing(text: str, kind: str = "shortened") -> str:
    return f"{text}\n{HALVED.replace('shortened', kind)}"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_what_is_imported_is_kept_and_nothing_else(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        parts=importing("import own_one"),
        own_one="from own_pack.inner import X\nfrom own_bare import deep\n",
        own_pack__init="",
        own_pack__inner="from . import sister\nX = sister.Y\n",
        own_pack__sister="Y = 1\n",
        own_bare__deep="",
        unasked="raise RuntimeError\n",
    )
    (tmp_path / "own_pack" / "init.py").rename(tmp_path / "own_pack" / "__init__.py")
    file = load_part_file(path)
    assert list(file.checksums) == [
        "own_bare/deep.py",
        "own_one.py",
        "own_pack/__init__.py",
        "own_pack/inner.py",
        "own_pack/sister.py",
    ]
    assert file.checksums["own_pack/sister.py"] == sha256("Y = 1\n")
    assert "unasked" not in sys.modules
    assert not list(tmp_path.rglob("__pycache__"))
    assert not any(isinstance(each, neighbours._Finder) for each in sys.meta_path)
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize("name", ["colorsys", "typer", "torch", "math"])
@pytest.mark.parametrize("on_path", [False, True])
def test_nothing_that_is_installed_is_shadowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, on_path: bool
) -> None:
    """Neither when its folder happens to be the first on Python's path."""
    if on_path:
        monkeypatch.syspath_prepend(tmp_path)
    if name == "colorsys":
        monkeypatch.delitem(sys.modules, name, raising=False)
    path = written(tmp_path, parts=importing(f"import {name}"), **{name: "raise RuntimeError('a trap')\n"})
    assert load_part_file(path).neighbours == ()


def test_the_working_folder_does_not_go_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "lib", parts=importing("import own_one"), own_one="X = 1\n")
    written(tmp_path, own_one="raise RuntimeError('a trap')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    assert load_part_file(path).checksums == {"own_one.py": sha256("X = 1\n")}


def test_modules_that_were_loaded_before_are_kept_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, parts=importing("import own_early"), own_early="X = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("own_early")
    assert load_part_file(path).checksums == {"own_early.py": sha256("X = 1\n")}


def test_files_of_one_folder_share_their_neighbours(tmp_path: Path) -> None:
    common = "RUNS = []\nRUNS.append(1)\n"
    first = written(tmp_path, parts=importing("import own_common"), own_common=common)
    written(tmp_path, second=importing("import own_common, parts", "other"))
    load_part_file(first)
    second = load_part_file(tmp_path / "second.py")
    assert list(second.checksums) == ["own_common.py", "parts.py"]
    assert second.parts == (("algorithm", "other"),)
    assert sys.modules["own_common"].RUNS == [1]


def test_a_file_that_another_one_has_imported_is_not_run_twice(tmp_path: Path) -> None:
    first = written(tmp_path, parts=importing("RUNS = []\nRUNS.append(1)"))
    written(tmp_path, second=importing("import parts", "other"), plain="")
    written(tmp_path, third=importing("import plain", "third"))
    assert load_part_file(tmp_path / "second.py").parts == (("algorithm", "shortened"), ("algorithm", "other"))
    file = load_part_file(first)
    assert file.parts == (("algorithm", "shortened"),)
    assert file is load_part_file(first)
    assert sys.modules["parts"].RUNS == [1]
    load_part_file(tmp_path / "third.py")
    with pytest.raises(SpecError, match="registers no part"):
        load_part_file(tmp_path / "plain.py")
    (tmp_path / "plain.py").write_text("X = 1\n")
    with pytest.raises(SpecError, match="has changed"):
        load_part_file(tmp_path / "plain.py")


def test_files_that_import_each_other(tmp_path: Path) -> None:
    first = written(tmp_path, parts=importing("import second"), second=importing("import parts", "other"))
    file = load_part_file(first)
    assert file.parts == (("algorithm", "other"), ("algorithm", "shortened"))
    assert list(file.checksums) == ["second.py"]
    other = load_part_file(tmp_path / "second.py")
    assert other.parts == (("algorithm", "other"),)
    assert list(other.checksums) == ["parts.py"]


def test_files_that_import_each_other_and_fail_leave_nothing_behind(tmp_path: Path) -> None:
    first = written(tmp_path, parts=importing("import second\n1 / 0"), second=importing("import parts", "other"))
    with pytest.raises(SpecError, match="ZeroDivisionError"):
        load_part_file(first)
    written(tmp_path, parts=importing("import second"))
    assert load_part_file(first).parts == (("algorithm", "other"), ("algorithm", "shortened"))


def test_two_folders_may_not_give_modules_of_one_name(tmp_path: Path) -> None:
    here = written(tmp_path / "a", parts=importing("import own_twice"), own_twice="X = 1\n")
    there = written(tmp_path / "b", parts=importing("import own_twice", "other"), own_twice="X = 2\n")
    load_part_file(here)
    with pytest.raises(SpecError, match=r"imports own_twice from its folder.*rename one"):
        load_part_file(there)
    assert sys.modules["own_twice"].X == 1
    alone = written(tmp_path / "c", parts=importing("", "third"))
    load_part_file(alone)
    assert sys.modules["own_twice"].X == 1


def test_another_text_is_not_run(tmp_path: Path) -> None:
    path = written(
        tmp_path, parts=importing("try:\n    import own_one\nexcept Exception:\n    pass"), own_one="X = 1\n"
    )
    text = path.read_text()
    for agreed in ({}, {"own_one.py": sha256("X = 2\n")}):
        with pytest.raises(SpecError, match="has changed since it was loaded"):
            load_part_file(path, sha256(text), agreed)
        assert "own_one" not in sys.modules
    load_part_file(path, sha256(text), {"own_one.py": sha256("X = 1\n")})
    written(tmp_path, own_one="X = 2\n")
    with pytest.raises(SpecError, match="has changed since it was loaded"):
        load_part_file(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = \n", "own_one.py, line 1: invalid syntax"),
        ("\nx = 1 / 0\n", "own_one.py, line 2: ZeroDivisionError"),
    ],
)
def test_a_broken_neighbour_is_named_and_leaves_nothing_behind(tmp_path: Path, text: str, reason: str) -> None:
    path = written(tmp_path, parts=importing("import own_one"), own_one=text)
    with pytest.raises(SpecError, match=reason):
        load_part_file(path)
    assert "own_one" not in sys.modules
    written(tmp_path, own_one="X = 1\n")
    assert len(load_part_file(path).neighbours) == 1


def test_a_link_leads_to_the_folder_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a", parts=importing("import own_one"), own_one="X = 1\n")
    (tmp_path / "link.py").symlink_to(path)
    assert list(load_part_file(tmp_path / "link.py").checksums) == ["own_one.py"]
