"""Files of parts: what they register, and what is refused without leaving anything behind."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.part_file import HALVED

from fedradio.core import part_files
from fedradio.core.errors import SpecError
from fedradio.core.part_files import load_part_file
from fedradio.core.registry import FAMILIES, forget, part, parts, registered


@pytest.fixture(autouse=True)
def unloaded() -> Iterator[None]:
    """What a test loads is gone after it."""
    before = {(each.family, each.kind) for each in parts()}
    yield
    forget(set(registered()) - before)
    part_files._LOADED.clear()
    part_files.PART_MODULES.clear()
    for name in [name for name in sys.modules if name.startswith("fedradio_part_file")]:
        del sys.modules[name]


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "mine.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(path: Path, sha256: str | None = None) -> str:
    before, modules = registered(), set(sys.modules)
    with pytest.raises(SpecError) as caught:
        load_part_file(path, sha256)
    assert registered() == before
    assert not {name for name in set(sys.modules) - modules if name.startswith("fedradio_part_file")}
    (problem,) = caught.value.problems
    assert (problem.path, problem.value) == ("--parts", str(path))
    return problem.reason


def test_a_file_registers_its_parts_once(tmp_path: Path) -> None:
    path = written(tmp_path, HALVED)
    file = load_part_file(path)
    assert file == load_part_file(path)
    assert part_files.part_files() == [file]
    assert file.parts == (("algorithm", "shortened"),)
    assert file.named == "algorithm shortened"
    assert file.sha256 == hashlib.sha256(HALVED.encode()).hexdigest()
    assert file.source == HALVED
    assert part("algorithm", "shortened").factory().share == 0.5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", "registers no part"),
        ("x = \n", "line 1: invalid syntax"),
        ("import fedradio\n\nraise RuntimeError('broken')\n", "line 3: RuntimeError: broken"),
        (HALVED + "\nnothing_of_that_name\n", "NameError: name 'nothing_of_that_name' is not defined"),
        (HALVED.replace('"shortened")', '"fedavg")'), "algorithm 'fedavg' is registered twice"),
        (HALVED.replace('"""FedAvg whose clients send a share of their change."""', ""), "needs a docstring"),
        (HALVED + "raise SystemExit(0)\n", "SystemExit: 0"),
        (b"\xff\xfe", "not UTF-8 text"),
        ("x = 1\0\n", "null bytes"),
        ("from .helper import x\n", "line 1: ImportError: attempted relative import"),
        ("import nothing_beside_it\n", "line 1: ModuleNotFoundError: No module named 'nothing_beside_it'"),
    ],
)
def test_a_file_that_cannot_be_used_leaves_nothing_behind(tmp_path: Path, text: str | bytes, reason: str) -> None:
    assert reason in refused(written(tmp_path, text))
    assert part_files.part_files() == []


KEYWORDS: dict[str, tuple[str, str]] = {
    "mu": ("keyword 'mu' has no Arg", 'write mu: Annotated[float, Arg("what it means")]'),
    "mu=0.1": ("keyword 'mu' has no Arg", 'write mu: Annotated[float, Arg("what it means")] = 0.1'),
    "mu: int = 3": ("keyword 'mu' has no Arg", 'write mu: Annotated[int, Arg("what it means")] = 3'),
    "mu: Annotated[int, 'words'] = 3": ("keyword 'mu' has no Arg", "write mu: Annotated["),
    "mu: Annotated[list, Arg('all')] = None": ("a type that no spec can hold", "or int, bool, str, Literal"),
    "mu: 'Nothing' = 3": ("its annotations cannot be read (NameError: name 'Nothing' is not defined)", ""),
}


@pytest.mark.parametrize(
    ("family", "keyword"),
    [*(("algorithm", keyword) for keyword in KEYWORDS), *((family, "mu") for family in FAMILIES)],
)
def test_a_keyword_that_does_not_say_what_it_is(tmp_path: Path, family: str, keyword: str) -> None:
    head = "from typing import Annotated\n\nfrom fedradio import Arg, register\n\n\n"
    path = written(
        tmp_path, f'{head}@register("{family}", "mine")\ndef mine(\n    *,\n    {keyword},\n):\n    """Mine."""\n'
    )
    before = registered()
    with pytest.raises(SpecError) as caught:
        load_part_file(path)
    assert registered() == before
    (problem,) = caught.value.problems
    reason, remedy = KEYWORDS[keyword]
    line = 7 if "annotations" in reason else 9
    assert problem.path == f"{family}/mine"
    assert problem.reason.startswith(f"mine.py, line {line}: ")
    assert reason in problem.reason
    assert remedy in problem.remedy


def test_a_keyword_that_no_spec_could_set(tmp_path: Path) -> None:
    text = 'from fedradio import register\n\n\n@register("link", "mine")\ndef mine(mu=1):\n    """Mine."""\n'
    with pytest.raises(SpecError, match=r"mine.py, line 5: 'mu' is not keyword-only.*write \*, mu: "):
        load_part_file(written(tmp_path, text))


def test_a_missing_file(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "mine.py")
    assert "Is a directory" in refused(tmp_path)
    assert "null" in refused(tmp_path / "mi\0ne.py")


def test_two_ways_to_a_file_are_one_file(tmp_path: Path) -> None:
    file = load_part_file(written(tmp_path, HALVED))
    (tmp_path / "link.py").symlink_to("mine.py")
    assert load_part_file(tmp_path / "link.py") is file
    assert load_part_file(tmp_path / ".." / tmp_path.name / "mine.py") is file


def test_only_the_bytes_that_were_agreed_on_are_run(tmp_path: Path) -> None:
    path = written(tmp_path, HALVED)
    assert "has changed since it was loaded" in refused(path, "0" * 64)
    file = load_part_file(path, hashlib.sha256(HALVED.encode()).hexdigest())
    written(tmp_path, HALVED + "\n")
    assert "has changed since it was loaded" in refused(path)
    assert part_files.part_files() == [file]
