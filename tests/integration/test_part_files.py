"""Parts from a file of the user's own on the command line: loaded where the user says so, and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import exit_code
from support.part_file import HALVED
from support.patience import PATIENCE_S
from support.processes import FORKED_WORKERS, MAIN, rounds_in
from support.processes import fedradio as forked

from fedradio.core.registry import registered

SPEC = """
name: mine
rounds: 3
topology: {kind: flat, clients: 3}
model: logistic
algorithm: {kind: shortened, share: 0.25}
"""


def fedradio(here: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return forked(here, *words, before=FORKED_WORKERS if words[0] == "sweep" else "")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a spec, its file of parts, and a run that they gave."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mine.yaml").write_text(SPEC)
    (folder / "parts.py").write_text(HALVED)
    made = fedradio(folder, "run", "mine.yaml", "--parts", "parts.py", "--out", "whole", "-q")
    assert made.returncode == 0, made.stderr
    assert made.stderr.startswith("parts from parts.py: algorithm shortened (sha256 ")
    return folder


def test_the_text_is_kept_for_readers(here: Path) -> None:
    (stored,) = json.loads((here / "whole" / "description.json").read_text())["part_files"]
    assert (stored["name"], stored["source"]) == ("parts.py", HALVED)
    assert stored["parts"] == [["algorithm", "shortened"]]


@pytest.mark.parametrize("command", ["run", "validate", "plan", "sweep"])
def test_nothing_is_imported_unasked(here: Path, command: str) -> None:
    told = fedradio(here, command, "mine.yaml")
    assert told.returncode == 2
    assert "unknown algorithm" in told.stderr
    assert "--parts FILE" in " ".join(told.stderr.split())


def test_a_part_is_listed_and_shown(here: Path) -> None:
    assert "shortened" in fedradio(here, "ls", "algorithm", "--parts", "parts.py").stdout
    assert "how much of its change" in fedradio(here, "show", "shortened", "--parts", "parts.py").stdout
    assert fedradio(here, "validate", "mine.yaml", "--parts", "parts.py").returncode == 0


def test_the_environment_may_name_it(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.py"
    other.write_text(
        "from fedradio import register\nfrom fedradio.algorithms.fedavg import FedAvg\n\n\n"
        '@register("algorithm", "other")\ndef other() -> FedAvg:\n    """Mine."""\n    return FedAvg()\n'
    )
    monkeypatch.setenv("FEDRADIO_PARTS", os.pathsep.join([str(other), "parts.py"]))
    assert fedradio(here, "validate", "mine.yaml").returncode == 0
    assert fedradio(here, "validate", "mine.yaml", "algorithm=other").returncode == 0


def test_workers_of_a_sweep_see_it_and_equal_a_run(here: Path) -> None:
    words = ("sweep", "mine.yaml", "algorithm.share=0.25,1.0", "--parts", "parts.py", "--jobs", 2, "--out", "swept")
    made = fedradio(here, *words)
    assert made.returncode == 0, made.stderr
    models = sorted((here / "swept" / "runs").glob("*/model.safetensors"))
    assert len(models) == 2
    assert (here / "whole" / "model.safetensors").read_bytes() in [model.read_bytes() for model in models]


def test_a_sweep_is_not_continued_with_another_text(here: Path) -> None:
    (here / "edited.py").write_text(HALVED)
    words = ("sweep", "mine.yaml", "--rounds", 1, "--parts", "edited.py", "--out", "grown")
    assert fedradio(here, *words, "--seeds", 1).returncode == 0
    (here / "edited.py").write_text(HALVED + "# changed\n")
    told = fedradio(here, *words, "--seeds", 2)
    assert told.returncode == 5
    assert "its parts came from edited.py, which has changed since" in told.stderr.replace("\n", " ")
    assert len(list((here / "grown" / "runs").iterdir())) == 1


def test_resume_wants_the_same_file(here: Path) -> None:
    short = ("run", "mine.yaml", "--parts", "parts.py", "--rounds", 2, "--out", "short", "-q")
    assert fedradio(here, *short).returncode == 0
    without = fedradio(here, "resume", "short", "--rounds", 3)
    assert without.returncode == 5
    assert "fedradio resume short --parts parts.py" in without.stderr
    (here / "other.py").write_text(HALVED + "# changed\n")
    changed = fedradio(here, "resume", "short", "--rounds", 3, "--parts", "other.py")
    assert changed.returncode == 5
    assert "--changed-parts" in changed.stderr
    same = fedradio(here, "resume", "short", "--rounds", 3, "--parts", "parts.py", "-q")
    assert same.returncode == 0, same.stderr
    assert (here / "short" / "model.safetensors").read_bytes() == (here / "whole" / "model.safetensors").read_bytes()
    longer = ("resume", "short", "--rounds", 4, "--parts", "other.py", "--changed-parts", "-q")
    assert fedradio(here, *longer).returncode == 0
    environment = json.loads((here / "short" / "environment.json").read_text())
    texts = [each["files"] for each in (environment, *environment["resumed"])]
    assert [list(each) for each in texts] == [["parts.py"], ["parts.py"], ["other.py"]]
    assert texts[0] == texts[1]


def test_runs_are_read_without_the_file(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ("algorithm", "shortened") not in registered()
    for command in ("report", "export", "verify", "figures", "resume"):
        assert exit_code(command, here / "whole") == 0
    assert exit_code("compare", here / "whole", here / "whole") == 0


def test_diagnose_runs_rounds_again_and_wants_the_same_file(here: Path) -> None:
    without = fedradio(here, "diagnose", "whole")
    assert without.returncode == 5
    assert "fedradio diagnose whole --parts parts.py" in without.stderr
    elsewhere = fedradio(here / "whole", "diagnose", here / "whole")
    assert "whole --parts FILE" in elsewhere.stderr.replace("\n", " ")
    (here / "another.py").write_text(HALVED + "# changed\n")
    changed = fedradio(here, "diagnose", "whole", "--parts", "another.py")
    assert changed.returncode == 5
    assert "another.py is not the file that this run was made with" in changed.stderr.replace("\n", " ")
    told = fedradio(here, "diagnose", "whole", "--parts", "parts.py", "--json")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    first, second = found["rounds"][:2]
    assert (found["algorithm"], len(found["rounds"])) == ("shortened", 3)
    assert first["loss"] - first["drop"] == pytest.approx(second["loss"], rel=1e-5)


def test_a_file_that_was_changed_between_runs_is_told(here: Path) -> None:
    for seed, text in ((1, HALVED), (2, HALVED), (3, HALVED + "# changed\n")):
        (here / "moving.py").write_text(text)
        words = (
            "run",
            "mine.yaml",
            "--parts",
            "moving.py",
            "--rounds",
            1,
            "--seed",
            seed,
            "--out",
            f"seed{seed}",
            "-q",
        )
        assert fedradio(here, *words).returncode == 0
    note = "moving.py changed between these runs"
    assert note not in fedradio(here, "compare", "seed1", "seed2").stdout
    assert note in fedradio(here, "compare", "seed1", "seed3").stdout


SPLIT = HALVED.replace(
    "class Shortened(FedAvg):\n    share: float = 0.5", "class Shortened(FedAvg):\n    share: float = HALF"
)
SPLIT = SPLIT.replace("from fedradio import", "from own_numbers import HALF\n\nfrom fedradio import")


def test_a_file_beside_it_is_imported_kept_and_agreed_on(here: Path) -> None:
    """By the run, the workers of a sweep and resume; another text of it is refused like one of the file itself."""
    (here / "lib").mkdir()
    (here / "lib" / "split.py").write_text(SPLIT)
    (here / "lib" / "own_numbers.py").write_text("HALF = 0.5\n")
    (here / "own_numbers.py").write_text("raise RuntimeError('of another folder')\n")
    given = ("mine.yaml", "--parts", "lib/split.py", "--rounds", 2)
    made = fedradio(here, "run", *given, "--out", "split", "-q")
    assert made.returncode == 0, made.stderr
    assert "imports own_numbers.py from the same folder (sha256 " in made.stderr
    (stored,) = json.loads((here / "split" / "description.json").read_text())["part_files"]
    assert [(each["name"], each["source"]) for each in stored["neighbours"]] == [("own_numbers.py", "HALF = 0.5\n")]
    assert json.loads((here / "split" / "environment.json").read_text())["files"].keys() == {
        "split.py",
        "own_numbers.py",
    }
    sweep = ("sweep", *given, "--jobs", 2, "--out", "splits")
    assert fedradio(here, *sweep, "--seeds", 2).returncode == 0
    (here / "lib" / "own_numbers.py").write_text("HALF = 0.25\n")
    changed = fedradio(here, "resume", "split", "--rounds", 3, "--parts", "lib/split.py")
    assert changed.returncode == 5
    assert "own_numbers.py is not the file that this run was made with" in changed.stderr.replace("\n", " ")
    grown = fedradio(here, *sweep, "--seeds", 3)
    assert grown.returncode == 5
    assert "its parts came from own_numbers.py, which has changed since" in grown.stderr.replace("\n", " ")
    (here / "lib" / "own_numbers.py").write_text("HALF = 0.5\n")
    assert fedradio(here, "resume", "split", "--rounds", 3, "--parts", "lib/split.py", "-q").returncode == 0
    assert fedradio(here, *sweep, "--seeds", 3).returncode == 0


TRAP = "import pathlib; pathlib.Path(__file__).with_suffix('.sprung').touch()\n"

COMMANDS = f"""
import contextlib, sys
for line in sys.stdin:
    sys.argv[1:] = line.split()
    with contextlib.suppress(SystemExit):
        {MAIN}
"""


def test_a_folder_full_of_traps_springs_none(here: Path, tmp_path: Path) -> None:
    """Neighbouring modules with tempting names, and Python files inside of run folders and the working folder."""
    assert fedradio(tmp_path, "run", "digits_flat", "--rounds", 1, "--out", "run", "-q").returncode == 0
    names = ("parts.py", "fedradio_parts.py", "conftest.py", "sitecustomize.py", "mine.py", "shortened.py", "torch.py")
    for folder in (tmp_path, tmp_path / "run", tmp_path / "run" / "parts"):
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / name).write_text(TRAP)
    (tmp_path / "mine.yaml").write_text(SPEC + "about: parts.py\n")
    (tmp_path / "asked.py").write_text("import colorsys, statistics, typer, yaml\n" + HALVED)
    for name in ("colorsys.py", "statistics.py", "typer.py", "yaml.py", "numpy.py", "fedradio.py", "unasked.py"):
        (tmp_path / name).write_text(TRAP)
    (tmp_path / "__pycache__").mkdir()
    lines = (
        "compare run run",
        "verify run",
        "ls",
        "run mine.yaml",
        "sweep digits_flat --rounds 1 --seeds 1 --out sweep -q",
        "resume run --rounds 2 -q",
        "report run",
        "run mine.yaml --parts asked.py --rounds 1 --out asked -q",
    )
    told = subprocess.run(
        [sys.executable, "-P", "-c", COMMANDS],
        input="\n".join(lines),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert list(tmp_path.rglob("*.sprung")) == []
    assert {path.parent.name for path in tmp_path.rglob("summary.json")} == {"run", "asked", "digits_flat-seed1"}
    assert rounds_in(tmp_path / "run") == 2, told.stderr
