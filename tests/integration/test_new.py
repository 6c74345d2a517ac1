"""``fedradio new``: of every family, the files run, are tested, sweep and resume as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import processes
from support.commands import invoke
from support.patience import PATIENCE_S
from support.processes import FORKED_WORKERS

from fedradio.cli.new import USES, files
from fedradio.core.errors import SpecError, StoreError


def fedradio(here: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return processes.fedradio(here, *words, before=FORKED_WORKERS)


def command(here: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", *map(str, words)], cwd=here, capture_output=True, text=True, timeout=PATIENCE_S
    )


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a new part of every family, called ``my_FAMILY``."""
    here = tmp_path_factory.mktemp("begun")
    for family in USES:
        assert invoke("new", family, f"my_{family}", "--out", here).exit_code == 0
    return here


def test_new_parts_pass_their_tests(begun: Path) -> None:
    tested = command(begun, "pytest", "-q", "-p", "no:cacheprovider", *sorted(begun.glob("test_*.py")))
    assert tested.returncode == 0, tested.stdout
    assert f"{len(USES)} passed" in tested.stdout


TOGETHER = """
base: my_model.yaml
name: together
rounds: 2
algorithm: my_algorithm
data: {source: my_source}
loss: my_loss
metrics: [my_metric]
hops: [{policy: my_policy, link: my_link, transforms: [my_transform], receiver: my_receiver}]
"""


@pytest.mark.parametrize("spec", ["together.yaml", pytest.param("my_channel.yaml", marks=pytest.mark.wide)])
def test_new_parts_sweep_resume_and_are_read_without_their_files(begun: Path, tmp_path: Path, spec: str) -> None:
    (begun / "together.yaml").write_text(TOGETHER)
    parts = [word for family in USES for word in ("--parts", begun / f"my_{family}.py")]
    swept = fedradio(
        tmp_path, "sweep", begun / spec, "--rounds", 2, *parts, "--seeds", "1,2", "--jobs", 2, "--out", "s"
    )
    assert swept.returncode == 0, swept.stderr
    run = next((tmp_path / "s" / "runs").glob("*seed1"))
    longer = fedradio(tmp_path, "resume", run, "--rounds", 3, *parts)
    assert longer.returncode == 0, longer.stderr
    whole = ("run", begun / spec, "--rounds", 3, "--seed", 1, *parts, "--out", "whole", "-q")
    assert fedradio(tmp_path, *whole).returncode == 0
    assert (run / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()
    assert fedradio(tmp_path, "report", run).returncode == 0


@pytest.mark.parametrize("family", USES)
def test_new_files_are_clean(family: str, tmp_path: Path) -> None:
    for name, text in files(family, "sound_name").items():
        (tmp_path / name).write_text(text)
        assert max(map(len, text.splitlines())) <= 120
        assert "my_part" not in text
        assert "MyPart" not in text
    checked = command(tmp_path, "ruff", "check", "--select", "E,F,UP,B", "--line-length", 120, tmp_path)
    assert checked.returncode == 0, checked.stdout


def test_wrong_wishes(tmp_path: Path) -> None:
    for words, reason in (
        (("algorihtm", "mine"), "did you mean 'algorithm'?"),
        (
            ("algorithm", "Mine!"),
            "1 to 41 lower-case letters, digits and underscores, and begins with a letter",
        ),
        (("algorithm", "1st"), "begins with a letter"),
        (("algorithm", "class"), "a word of Python"),
        (("algorithm", "torch"), "a file torch.py would hide"),
        (("algorithm", "random"), "a file random.py would hide"),
        (("algorithm", "fedavg"), "the algorithm fedavg already exists"),
    ):
        refused = invoke("new", *words, "--out", tmp_path).exception
        assert isinstance(refused, SpecError)
        assert reason in str(refused)
    assert invoke("new", "model", "mine", "--out", tmp_path).exit_code == 0
    taken = invoke("new", "model", "mine", "--out", tmp_path).exception
    assert isinstance(taken, SpecError)
    assert "already exists" in str(taken)
    (tmp_path / "file").write_text("")
    nowhere = invoke("new", "model", "mine", "--out", tmp_path / "file").exception
    assert isinstance(nowhere, StoreError)
    assert invoke("new", "model", "mine", "--out", tmp_path / "new").exit_code == 0  # the folder is made
    assert (tmp_path / "new" / "mine.py").is_file()
