"""A package with parts of one's own, announced by an entry point: in commands, in the processes of a sweep, resumed."""

from __future__ import annotations

import ast
import os
import signal
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import torch
from support.batches import made
from support.exchanges import exchange, sent, site
from support.gate import Gate
from support.patience import PATIENCE_S
from support.processes import alive, rounds_in, start, wait_for

from fedradio import Clock, Message, Rng, load_spec, run, sweep
from fedradio.core.errors import SpecError
from fedradio.core.registry import announced, part

PACKAGE = Path(__file__).parents[2] / "examples" / "own_package"
LONGEST_PART = 40

SPEC = """
name: small
rounds: 120
eval_every: 60
topology: {kind: flat, clients: 4}
hops: [{link: {kind: bursts, begin: 0.3}, channel: rain, policy: {kind: sampling, clients: 3, steps: 1}}]
model: {kind: logistic}
"""

AXIS = "hops.0.transforms=[],[feedback,one_bit]"
SWEEP = ("sweep", "small.yaml", AXIS, "--out", "s", "-q")


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """What ``pip install ./examples/own_package`` leaves in a folder of packages."""
    told = tomllib.loads((PACKAGE / "pyproject.toml").read_text())
    project, folder = told["project"], tmp_path / "packages"
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir(parents=True)
    for module in told["tool"]["setuptools"]["py-modules"]:
        (folder / f"{module}.py").write_text((PACKAGE / f"{module}.py").read_text())
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    entries = "".join(f"{name} = {module}\n" for name, module in project["entry-points"]["fedradio.parts"].items())
    (about / "entry_points.txt").write_text(f"[fedradio.parts]\n{entries}")
    return folder


def test_parts_are_short() -> None:
    """A class and its factory: below forty lines each."""
    body = ast.parse((PACKAGE / "my_parts.py").read_text()).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    factories = [node for node in body if isinstance(node, ast.FunctionDef)]
    assert [one.name for one in factories] == ["bursts", "rain", "one_bit"]
    lines = [_lines(one) + _lines(other) for one, other in zip(classes, factories, strict=True)]
    assert max(lines) < LONGEST_PART


def _lines(node: ast.ClassDef | ast.FunctionDef) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - min(one.lineno for one in (node, *node.decorator_list)) + 1


def test_parts_by_hand(my_parts: ModuleType) -> None:
    """(1, -3) becomes (2, -2) in 2 + 32 bits; 10 dB of rain are a tenth; whoever is in a burst is lost."""
    code, x = my_parts.one_bit(), exchange((0,), message=2)
    assert code.encode(x, sent(x, torch.tensor([[[1.0, -3.0]]])), {}, Rng(0)).payload.tolist() == [[[2.0, -2.0]]]
    assert code.message(Message(1, 2)).bits(32.0) == 34.0
    channel, place = my_parts.rain(change=1.0), site(torch.zeros(1, 2), torch.full((1, 2), 50.0), Clock(0))
    wet, state = channel.realise(place, channel.start(1, 1, Rng(0)), Rng(0))
    dry, _ = channel.realise(place, state, Rng(0))
    assert float(wet.gain / dry.gain) == pytest.approx(0.1)
    link, both = my_parts.bursts(begin=1.0, end=1.0), exchange((0, 0), message=2)
    airtime = link.plan(both, {"bad": torch.tensor([True, False])}, Rng(0))
    assert (airtime.arrived.tolist(), airtime.expect.tolist()) == ([False, True], [0.5, 0.5])
    _, after = link.combine(
        both, airtime, sent(both, torch.ones(2, 1, 2)), {"bad": torch.tensor([True, False])}, Rng(0)
    )
    assert after["bad"].tolist() == [False, True]


def test_a_sweep_is_killed_one_run_resumed_and_the_sweep_completed(
    site_packages: Path, tmp_path: Path, my_parts: ModuleType
) -> None:
    """All runs equal those made in one go, by a script that imports the parts."""
    (tmp_path / "small.yaml").write_text(SPEC)
    gate, packages = Gate(tmp_path / "gate", 110), os.pathsep.join([str(site_packages), *sys.path])
    with_parts = {"env": os.environ | {"PYTHONPATH": packages}}
    closed = gate.environment | {"PYTHONPATH": os.pathsep.join([str(gate.folder), packages])}
    parent = start(tmp_path, *SWEEP, env=closed)
    runs = tmp_path / "s" / "runs"
    wait_for(lambda: parent.poll() is not None or any(rounds_in(folder) for folder in runs.glob("*")))
    parent.send_signal(signal.SIGINT)
    _, told = parent.communicate(PATIENCE_S)
    assert parent.returncode == 130, told
    wait_for(lambda: not alive(tmp_path))
    begun = next(folder for folder in runs.glob("*") if 0 < rounds_in(folder) < 120)
    for command in (["resume", str(begun), "-q"], SWEEP):
        again = start(tmp_path, *command, **with_parts)
        _, told = again.communicate(PATIENCE_S)
        assert again.returncode == 0, told
    whole = {}
    for transforms in ("[]", "[feedback,one_bit]"):
        folder = tmp_path / "one go" / str(len(whole))
        run(load_spec(tmp_path / "small.yaml", [f"hops.0.transforms={transforms}"]), folder, workers=1)
        whole[(folder / "spec.yaml").read_text()] = made(folder)
    assert {(folder / "spec.yaml").read_text(): made(folder) for folder in runs.glob("*")} == whole


def test_parts_of_a_script_alone_are_refused_before_a_sweep_begins(my_parts: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    with pytest.raises(SpecError) as refused:
        sweep(tmp_path / "small.yaml", [AXIS], out=tmp_path / "s")
    places = [problem.path.split()[0] for problem in refused.value.problems]
    assert places == ["hops.0.link", "hops.0.channel", "hops.0.transforms.1"]
    assert all("docs/extend.md" in problem.remedy for problem in refused.value.problems)
    assert not (tmp_path / "s").exists()
    assert announced(part("link", "ideal"))
