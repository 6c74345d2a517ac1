"""Files of parts: what they register and import, and what is refused without leaving anything behind."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest
from support.part_file import HALVED

from fedradio.core import part_files
from fedradio.core.errors import SpecError
from fedradio.core.part_files import ChangedError, load_part_file
from fedradio.core.registry import FAMILIES, part, registered

pytestmark = pytest.mark.usefixtures("unloaded_parts")


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "mine.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(path: Path, sha256: str | None = None) -> str:
    before, modules, path_before = registered(), set(sys.modules), list(sys.path)
    with pytest.raises(SpecError) as caught:
        load_part_file(path, sha256)
    assert registered() == before
    assert not {name for name in set(sys.modules) - modules if name == "mine" or name.startswith("fedradio_part_file")}
    assert sys.path == path_before
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


def folder_of(folder: Path, **texts: str) -> Path:
    """A folder with these modules; the first one is a file of parts, whose path is returned."""
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / f"{next(iter(texts))}.py"


def importing(text: str, kind: str = "shortened") -> str:
    return f"{text}\n{HALVED.replace('shortened', kind)}"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_what_is_imported_from_the_folder_is_kept_and_nothing_else(tmp_path: Path) -> None:
    path = folder_of(
        tmp_path,
        mine=importing("import own_one"),
        own_one="from own_pack.inner import X\nfrom own_bare import deep\n",
        own_pack__init="",
        own_pack__inner="from . import sister\nX = sister.Y\n",
        own_pack__sister="Y = 1\n",
        own_bare__deep="",
        unasked="raise RuntimeError\n",
    )
    (tmp_path / "own_pack" / "init.py").rename(tmp_path / "own_pack" / "__init__.py")
    before = list(sys.path)
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
    assert sys.path == before


@pytest.mark.parametrize("name", ["colorsys", "typer", "math"])
def test_nothing_that_is_installed_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    path = folder_of(tmp_path, mine=importing(f"import {name}"), **{name: "raise RuntimeError('a trap')\n"})
    assert load_part_file(path).neighbours == ()


@pytest.mark.parametrize("stem", ["profile", "my-parts", "math"])
def test_a_file_of_any_name_is_loaded_and_hides_nothing(tmp_path: Path, stem: str) -> None:
    folder_of(tmp_path, **{stem: importing("import cProfile, math\nmath.sqrt")})
    assert load_part_file(tmp_path / f"{stem}.py").parts == (("algorithm", "shortened"),)
    assert sys.modules.get("my-parts") is None
    assert not str(getattr(sys.modules["profile"], "__file__", "")).startswith(str(tmp_path))


def test_two_folders_may_have_files_of_one_name(tmp_path: Path) -> None:
    first = load_part_file(folder_of(tmp_path / "a", mine=importing("")))
    second = load_part_file(folder_of(tmp_path / "b", mine=importing("", "other")))
    assert (first.parts, second.parts) == ((("algorithm", "shortened"),), (("algorithm", "other"),))


def test_modules_that_were_loaded_before_are_kept_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder_of(tmp_path, mine=importing("import own_early"), own_early="X = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("own_early")
    assert load_part_file(path).checksums == {"own_early.py": sha256("X = 1\n")}
    assert str(tmp_path) in sys.path


def test_files_of_one_folder_share_their_neighbours(tmp_path: Path) -> None:
    first = folder_of(tmp_path, mine=importing("import own_common"), own_common="RUNS = []\nRUNS.append(1)\n")
    folder_of(tmp_path, second=importing("import own_common, mine", "other"))
    load_part_file(first)
    second = load_part_file(tmp_path / "second.py")
    assert list(second.checksums) == ["mine.py", "own_common.py"]
    assert second.parts == (("algorithm", "other"),)
    assert sys.modules["own_common"].RUNS == [1]


def test_a_shared_neighbour_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    load_part_file(folder_of(tmp_path, mine=importing("import own_common"), own_common="X = 1\n"))
    second = folder_of(tmp_path, second=importing("import own_common", "other"), own_common="X = 2\n")
    with pytest.raises(ChangedError) as refused:
        load_part_file(second)
    assert refused.value.problems[0].value == str(tmp_path / "own_common.py")
    assert ("algorithm", "other") not in registered()


def test_a_file_that_another_one_has_imported_is_not_run_twice(tmp_path: Path) -> None:
    first = folder_of(tmp_path, mine=importing("RUNS = []\nRUNS.append(1)"))
    folder_of(tmp_path, second=importing("import mine", "other"), plain="")
    folder_of(tmp_path, third=importing("import plain", "third"))
    assert load_part_file(tmp_path / "second.py").parts == (("algorithm", "shortened"), ("algorithm", "other"))
    file = load_part_file(first)
    assert file.parts == (("algorithm", "shortened"),)
    assert file is load_part_file(first)
    assert sys.modules["mine"].RUNS == [1]
    load_part_file(tmp_path / "third.py")
    with pytest.raises(SpecError, match="registers no part"):
        load_part_file(tmp_path / "plain.py")
    (tmp_path / "plain.py").write_text("X = 1\n")
    with pytest.raises(SpecError, match="has changed"):
        load_part_file(tmp_path / "plain.py")


def test_files_that_import_each_other(tmp_path: Path) -> None:
    first = folder_of(tmp_path, mine=importing("import second"), second=importing("import mine", "other"))
    file = load_part_file(first)
    assert file.parts == (("algorithm", "other"), ("algorithm", "shortened"))
    assert list(file.checksums) == ["second.py"]
    other = load_part_file(tmp_path / "second.py")
    assert other.parts == (("algorithm", "other"),)
    assert list(other.checksums) == ["mine.py"]


def test_files_that_import_each_other_and_fail_leave_nothing_behind(tmp_path: Path) -> None:
    first = folder_of(tmp_path, mine=importing("import second\n1 / 0"), second=importing("import mine", "other"))
    with pytest.raises(SpecError, match="ZeroDivisionError"):
        load_part_file(first)
    folder_of(tmp_path, mine=importing("import second"))
    assert load_part_file(first).parts == (("algorithm", "other"), ("algorithm", "shortened"))


def test_two_folders_may_not_give_modules_of_one_name(tmp_path: Path) -> None:
    here = folder_of(tmp_path / "a", mine=importing("import own_twice"), own_twice="X = 1\n")
    there = folder_of(tmp_path / "b", mine=importing("import own_twice", "other"), own_twice="X = 2\n")
    load_part_file(here)
    with pytest.raises(SpecError, match=r"imports own_twice from its folder.*rename one"):
        load_part_file(there)
    assert sys.modules["own_twice"].X == 1


def test_only_neighbours_that_were_agreed_on_are_accepted(tmp_path: Path) -> None:
    path = folder_of(tmp_path, mine=importing("import own_one"), own_one="X = 1\n")
    text = path.read_text()
    for agreed in ({}, {"own_one.py": sha256("X = 2\n")}, {"own_one.py": sha256("X = 1\n"), "own_two.py": ""}):
        with pytest.raises(SpecError, match="has changed since it was loaded"):
            load_part_file(path, sha256(text), agreed)
        assert "own_one" not in sys.modules
        assert ("algorithm", "shortened") not in registered()
    load_part_file(path, sha256(text), {"own_one.py": sha256("X = 1\n")})
    folder_of(tmp_path, own_one="X = 2\n")
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
    path = folder_of(tmp_path, mine=importing("import own_zero, own_one"), own_zero="X = 1\n", own_one=text)
    with pytest.raises(SpecError, match=reason):
        load_part_file(path)
    assert not {"own_zero", "own_one"} & set(sys.modules)
    folder_of(tmp_path, own_one="X = 1\n")
    assert len(load_part_file(path).neighbours) == 2


def test_a_link_leads_to_the_folder_of_the_file(tmp_path: Path) -> None:
    path = folder_of(tmp_path / "a", mine=importing("import own_one"), own_one="X = 1\n")
    (tmp_path / "link.py").symlink_to(path)
    assert list(load_part_file(tmp_path / "link.py").checksums) == ["own_one.py"]
