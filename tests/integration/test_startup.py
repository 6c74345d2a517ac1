"""Start-up: what commands import. Nobody waits for torch or a plotting library that is not used."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.batches import sweep_here
from support.commands import exit_code
from support.fork_server import ForkedProcess
from support.patience import PATIENCE_S
from support.processes import MAIN

from fedradio.cli.app import COMMANDS as names

HEAVY = ("torch", "scipy.stats", "matplotlib", "plotly", "pandas", "ray", "flwr")
"""Slow to import, each by a quarter of a second or more."""

PARTS = ("fedradio._parts", "pydantic", "numpy")
"""Neither help nor a wrong option needs them."""

STATEMENTS = """
import json, sys
lines, heavy = map(json.loads, sys.argv[1:])
for line in lines:
    exec(line)
    print("imported:", json.dumps([0, [name for name in heavy if name in sys.modules]]))
"""

COMMANDS = """
import json, sys
lines, heavy = map(json.loads, sys.argv[1:])
from fedradio.cli import main
for line in lines:
    sys.argv[1:] = line.split()
    try:
        main()
    except SystemExit as end:
        print("imported:", json.dumps([end.code, [name for name in heavy if name in sys.modules]]))
"""

SPEC = """
name: small
rounds: 2
topology: {kind: flat, clients: 4}
hops: [{policy: {kind: fixed, steps: 2}}]
model: {kind: logistic}
"""


def imported(
    here: Path, code: str, *lines: str, warm: bool = False, also: tuple[str, ...] = ()
) -> list[tuple[int, set[str]]]:
    """After each line, which one process executes: its exit code, and the slow modules, or others, imported so far.

    The process begins with nothing, or with what every run needs.
    """
    process = ForkedProcess(here, code, json.dumps(lines), json.dumps([*HEAVY, *also]), env=os.environ, warm=warm)
    stdout, stderr = process.communicate(PATIENCE_S)
    told = [json.loads(line[9:]) for line in stdout.splitlines() if line.startswith("imported:")]
    assert len(told) == len(lines), stderr
    return [(exit_code, set(found)) for exit_code, found in told]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs of one spec and a sweep."""
    here = tmp_path_factory.mktemp("stored")
    (here / "small.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        sweep_here(patch)
        patch.chdir(here)
        for words in (("run", "small.yaml"), ("run", "small.yaml", "--seed", "7"), ("sweep", "small.yaml", "seed=3")):
            assert exit_code(*words, "--quiet") == 0
    return here


def test_importing_the_package_is_light(tmp_path: Path) -> None:
    statements = ("import fedradio", "import fedradio.cli", "import fedradio; fedradio.open_run")
    assert imported(tmp_path, STATEMENTS, *statements) == [(0, set())] * 3


def test_help_version_and_typos_import_nothing_slow(tmp_path: Path) -> None:
    told = imported(tmp_path, COMMANDS, "--help", "--version", "nosuch", "cp demo mine.yaml")
    assert told == [(0, set()), (0, set()), (2, set()), (0, set())]


def test_help_and_wrong_options_of_commands_import_neither_parts_nor_anything_slow(tmp_path: Path) -> None:
    """One process asks for the help of every command and gives it a wrong option: all together import nothing."""
    lines = [f"{name} {option}" for name in names for option in ("--help", "--typo")]
    told = imported(tmp_path, COMMANDS, *lines, also=PARTS)
    assert dict(zip(lines, told, strict=True)) == {line: (2 if "typo" in line else 0, set()) for line in lines}


def test_readers_import_what_they_use(stored: Path) -> None:
    light = ("compare runs/small-seed0 runs/small-seed7", "compare sweeps/small", "export runs/small-seed0")
    pages = ("report runs/small-seed0", "report sweeps/small")
    assert imported(stored, COMMANDS, *light, *pages) == [(0, set())] * 3 + [(0, {"plotly"})] * 2
    assert imported(stored, COMMANDS, "figures runs/small-seed0 --format pdf") == [(0, {"matplotlib"})]


def test_a_run_draws_nothing_and_plans_nothing(tmp_path: Path) -> None:
    """Nor do other commands that know all parts."""
    lines = ("run demo --rounds 1 --quiet", "reproduce whfl", "ls")
    assert imported(tmp_path, COMMANDS, *lines, warm=True) == [(0, {"torch"})] * 3


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
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (MAIN, ("run", "small.yaml", "algorithm=borrowed", "-q")),
        (MAIN, ("sweep", "small.yaml", "algorithm=borrowed", "-q")),
        (MAIN, ("show", "borrowed")),
        ("import fedradio; fedradio.load_spec('small.yaml', ['algorithm=borrowed'])", ()),
    ],
    ids=["run", "a worker of a sweep", "show", "library"],
)
def test_parts_of_other_packages_are_seen_everywhere(
    code: str, words: tuple[str, ...], plugin: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    process = ForkedProcess(tmp_path, code, *words, env=plugin)
    _, told = process.communicate(PATIENCE_S)
    assert (process.wait(), told) == (0, "")
