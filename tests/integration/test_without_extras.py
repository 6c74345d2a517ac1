"""Without Ray and Flower: everything else works, and what needs them says so in one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.patience import PATIENCE_S

BLOCKED = """
import sys
class Hook:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("ray", "flwr"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hook())
from fedradio.cli import main
main()
"""

SPEC = """
name: small
rounds: 2
topology: {kind: flat, clients: 3}
model: {kind: logistic}
"""


def command(here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = [sys.executable, "-c", BLOCKED, *words]
    return subprocess.run(done, cwd=here, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@pytest.mark.wide
def test_all_else_works(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    for words in (
        ("run", "small.yaml", "--out", "r", "-q"),
        ("sweep", "small.yaml", "rule.lr=0.1,0.2", "--out", "s", "-q"),
        ("work", "s", "-q"),
        ("sweep", "small.yaml", "rule.lr=0.1,0.2", "--out", "s", "-q", "--on", "slurm"),
    ):
        done = command(tmp_path, *words)
        assert done.returncode == 0, (words, done.stderr)


@pytest.mark.parametrize("words", [("run", "small.yaml"), ("sweep", "small.yaml", "--out", "s"), ("resume", "r")])
def test_ray_is_asked_for_in_one_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    done = command(tmp_path, *words, "--on", "ray")
    assert done.returncode == 2
    assert "the package ray is not installed" in done.stderr
    assert "pip install 'fedradio[ray]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["small.yaml"]


@pytest.mark.parametrize("words", [("serve", "small.yaml"), ("join", "localhost:1", "--client", "0")])
def test_flower_is_asked_for_in_one_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    done = command(tmp_path, *words, "--insecure")
    assert done.returncode == 2
    assert "needs Flower, which is not" in done.stderr
    assert "pip install 'fedradio[flower]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_program_imports_neither(tmp_path: Path) -> None:
    code = [sys.executable, "-X", "importtime", "-c", "import fedradio.cli"]
    done = subprocess.run(code, capture_output=True, text=True, check=True)
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert {"fedradio", "typer"} <= names
    assert names.isdisjoint({"ray", "flwr"})
