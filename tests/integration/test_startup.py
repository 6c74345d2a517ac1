"""Start-up: what commands import. Nobody waits for torch or a plotting library that is not used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HEAVY = ("torch", "scipy.stats", "matplotlib", "plotly", "sklearn", "cvxpy", "pandas", "ray", "flwr")
"""Slow to import, each by a quarter of a second or more."""

TELL = "import sys; print('imported:', *[name for name in sys.argv[1].split(',') if name in sys.modules])"

COMMAND = """
import atexit, sys
heavy = sys.argv.pop(1)
atexit.register(lambda: print("imported:", *[name for name in heavy.split(",") if name in sys.modules]))
from fedradio.cli import main
main()
"""

SPEC = """
name: small
rounds: 2
topology: {kind: flat, clients: 4}
hops: [{policy: {kind: fixed, steps: 2}}]
model: {kind: logistic}
"""


def imported(done: subprocess.CompletedProcess[str]) -> set[str]:
    lines = [line for line in done.stdout.splitlines() if line.startswith("imported:")]
    assert lines, done.stderr
    return set(lines[-1].split()[1:])


def python(code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, ",".join(HEAVY), *arguments]
    env = os.environ | {"COLUMNS": "160"}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs of one spec and a sweep."""
    here = tmp_path_factory.mktemp("stored")
    (here / "small.yaml").write_text(SPEC)
    for arguments in (("run", "small.yaml"), ("run", "small.yaml", "--seed", "7"), ("sweep", "small.yaml", "seed=3")):
        done = python(COMMAND, *arguments, "--quiet", cwd=here)
        assert done.returncode == 0, done.stderr
    return here


@pytest.mark.parametrize("statement", ["import fedradio", "import fedradio.cli", "import fedradio; fedradio.open_run"])
def test_importing_the_package_is_light(statement: str, tmp_path: Path) -> None:
    assert imported(python(f"{statement}; {TELL}", cwd=tmp_path)) == set()


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("nosuch",), ("ls", "--help"), ("cp", "demo", "mine.yaml")], ids=" ".join
)
def test_help_version_and_typos_import_nothing_slow(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = python(COMMAND, *arguments, cwd=tmp_path)
    assert done.returncode == (2 if arguments == ("nosuch",) else 0), done.stderr
    assert imported(done) <= ({"torch"} if arguments[0] == "ls" else set())


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (("report", "runs/small-seed0"), {"plotly"}),
        (("report", "sweeps/small"), {"plotly"}),
        (("compare", "runs/small-seed0", "runs/small-seed7"), set()),
        (("compare", "sweeps/small"), set()),
        (("export", "runs/small-seed0"), set()),
        (("figures", "runs/small-seed0", "--format", "pdf"), {"matplotlib"}),
        (("reproduce", "whfl"), {"torch"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_commands_import_what_they_use(arguments: tuple[str, ...], allowed: set[str], stored: Path) -> None:
    done = python(COMMAND, *arguments, cwd=stored)
    assert done.returncode == 0, done.stderr
    assert imported(done) <= allowed


def test_a_run_draws_nothing_and_plans_nothing(tmp_path: Path) -> None:
    done = python(COMMAND, "run", "demo", "--rounds", "1", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert imported(done) == {"torch"}


PLUGIN = """
from typing import Annotated
from fedradio import Arg, register
from fedradio.algorithms.fedavg import FedAvg

@register("algorithm", "borrowed")
def borrowed(*, server_lr: Annotated[float, Arg("global rate", gt=0)] = 1.0) -> FedAvg:
    '''Federated averaging under another name.'''
    return FedAvg(server_lr=server_lr)
"""


@pytest.fixture
def plugin(tmp_path: Path) -> dict[str, str]:
    """An installed package that announces a part; the environment in which it is found."""
    site = tmp_path / "site"
    info = site / "borrowed-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "borrowed_parts.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: borrowed\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fedradio.parts]\nborrowed = borrowed_parts\n")
    return {"PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}


@pytest.mark.parametrize(
    "run",
    [
        lambda: [sys.executable, "-m", "fedradio", "run", "small.yaml", "algorithm=borrowed", "--quiet"],
        lambda: [sys.executable, "-m", "fedradio", "sweep", "small.yaml", "algorithm=borrowed", "--quiet"],
        lambda: [sys.executable, "-m", "fedradio", "show", "borrowed"],
        lambda: [sys.executable, "-c", "import fedradio; fedradio.load_spec('small.yaml', ['algorithm=borrowed'])"],
    ],
    ids=["run", "a worker of a sweep", "show", "library"],
)
def test_parts_of_other_packages_are_seen_everywhere(
    run: Callable[[], list[str]], plugin: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    done = subprocess.run(run(), cwd=tmp_path, env=os.environ | plugin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
