"""The commit of the sources: of a checkout with and without changes, and of an installed package."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fedradio.core import commit
from fedradio.core.commit import checkout_commit

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "fedradio"
    package.mkdir(parents=True)
    (package / "a.py").write_text("A = 1\n")
    return tmp_path


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    return subprocess.run(
        ["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def committed(checkout: Path) -> str:
    git(checkout, "init", "-q")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "first")
    return git(checkout, "rev-parse", "HEAD")


@needs_git
def test_a_checkout_is_known_by_its_commit(checkout: Path, committed: str) -> None:
    assert checkout_commit(checkout) == committed


@needs_git
@pytest.mark.parametrize("name", ["a.py", "new.py"])
def test_changes_of_the_package_are_named(checkout: Path, committed: str, name: str) -> None:
    (checkout / "src" / "fedradio" / name).write_text("A = 2\n")
    assert checkout_commit(checkout) == f"{committed}+changes"


@needs_git
def test_other_files_do_not_count(checkout: Path, committed: str) -> None:
    (checkout / "notes.txt").write_text("x\n")
    assert checkout_commit(checkout) == committed


def test_an_installed_package_has_none(checkout: Path) -> None:
    assert checkout_commit(checkout) is None


def test_without_git_there_is_none(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / ".git").mkdir()
    monkeypatch.setenv("PATH", str(checkout))
    assert checkout_commit(checkout) is None


def test_it_is_about_these_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(commit, "checkout_commit", asked.append)
    commit.source_commit()
    assert (asked[0] / "src" / "fedradio" / "core" / "commit.py").is_file() or "site-packages" in str(asked[0])
