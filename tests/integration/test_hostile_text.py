"""Names, paths and values from elsewhere: no command lets them steer the terminal or be read as markup."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from support.commands import exit_code
from support.sealing import reseal

from fedradio.core.files import sealed
from fedradio.core.format import FORMAT
from fedradio.results.sweep_file import MARKER
from fedradio.spec.spec import Spec

SPEC = """
name: small
rounds: 2
topology: {kind: flat, clients: 4}
hops: [{policy: {kind: fixed, steps: 2}}]
model: {kind: logistic}
"""

HOSTILE = "a\x1b]0;x\x07b[red]c[]d\re\x9b31mf\u202eg"
"""It sets the title of the window, rings, is red, returns to the start of the line, is red again, and turns around."""
SHOWN = "a]0;xb[red]c[]de31mfg"
QUOTED = repr(HOSTILE)

STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
OWN = re.compile(r"\x1b\[\??[0-9;]*[A-Za-z]|\r")
"""What rich itself writes: colours, and cursor movements of bars."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs and a sweep with hostile names in every file that they have."""
    here = tmp_path_factory.mktemp("stored")
    (here / "small.yaml").write_text(SPEC)
    for number, folder in enumerate((here / HOSTILE, here / "other")):
        assert exit_code("run", here / "small.yaml", "--seed", number, "--out", folder, "--quiet") == 0
        spoil(folder, number)
    sweep = here / f"{HOSTILE}sweep"
    shutil.copytree(here / HOSTILE, sweep / "runs" / "a-seed0")
    cell = {"label": HOSTILE, "stem": "a", "runs": {"0": "a-seed0", "1": "a-seed1"}, "set": {HOSTILE: HOSTILE}}
    spec = yaml.safe_load((here / HOSTILE / "spec.yaml").read_text())
    head = {
        "format": FORMAT,
        "fedradio": "0",
        "name": HOSTILE,
        "axes": {HOSTILE: [HOSTILE]},
        "seeds": [0],
        "base": spec,
    }
    (sweep / MARKER).write_bytes(sealed(head | {"base": spec, "cells": [cell | {"spec": spec}]}))
    return here


def spoil(folder: Path, number: int) -> None:
    """Put hostile names into the files of a run."""
    spec = yaml.safe_load((folder / "spec.yaml").read_text())
    spec |= {"name": HOSTILE, "about": HOSTILE, "algorithm": spec["algorithm"] | {"weighting": f"{HOSTILE}{number}"}}
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec))
    environment = json.loads((folder / "environment.json").read_text())
    (folder / "environment.json").write_text(json.dumps(environment | {"fedradio": f"{HOSTILE}{number}"}))
    reseal(folder, name=HOSTILE, spec_sha256=Spec(spec).sha256())


COMMANDS: dict[str, tuple[list[str], str]] = {
    "run refuses a folder": (["run", "small.yaml", "--out", HOSTILE], SHOWN),
    "run into a folder": (["run", "small.yaml", "--out", f"{HOSTILE}new"], f"run folder: {SHOWN}new"),
    "run quietly": (["run", "small.yaml", "--out", f"{HOSTILE}quiet", "-q"], f"{SHOWN}quiet\n"),
    "run no file": (["run", f"{HOSTILE}.yaml"], SHOWN),
    "run with an override": (["run", "small.yaml", f"rule.lr={HOSTILE}"], QUOTED),
    "run with a quoted override": (["run", "small.yaml", f"rule.lr={json.dumps(HOSTILE)}"], QUOTED),
    "run with an unknown key": (["run", "small.yaml", f"{HOSTILE}=1"], "unknown key"),
    "run with a wrong option": (["run", "small.yaml", f"--{HOSTILE}"], "No such option"),
    "run with a wrong number": (["run", "small.yaml", "--seed", HOSTILE], QUOTED),
    "resume": (["resume", HOSTILE], QUOTED),
    "resume nothing": (["resume", f"{HOSTILE}none"], f"{SHOWN}none is not a run folder"),
    "ls": (["ls", HOSTILE], SHOWN),
    "show": (["show", HOSTILE], SHOWN),
    "cp": (["cp", HOSTILE, "x"], SHOWN),
    "cp to a file": (["cp", "demo", f"{HOSTILE}.yaml"], f"{SHOWN}.yaml; edit it"),
    "validate": (["validate", f"{HOSTILE}.yaml"], SHOWN),
    "validate part": (["validate", "small.yaml", f"algorithm={json.dumps(HOSTILE)}"], QUOTED),
    "plan": (["plan", "small.yaml", "--figure", f"{HOSTILE}.gif"], repr(f"{HOSTILE}.gif")),
    "plan compare": (["plan", "small.yaml", "hops.0.policy=joint", "--compare", HOSTILE], ""),
    "compare": (["compare", HOSTILE, "other"], "red"),
    "compare one": (["compare", HOSTILE], f"\n{SHOWN}"),
    "compare no metric": (["compare", HOSTILE, "--metric", HOSTILE], QUOTED),
    "compare no baseline": (["compare", HOSTILE, "--baseline", HOSTILE + "x"], repr(HOSTILE + "x")),
    "compare a sweep": (["compare", f"{HOSTILE}sweep"], f"left out, not begun: {SHOWN}sweep/runs/a-seed1 ({SHOWN}"),
    "compare as JSON": (["compare", HOSTILE, "other", "--json"], json.dumps(HOSTILE)[1:-1].replace("\\", "\\\\")),
    "figures": (["figures", HOSTILE, "--format", "pdf"], f"{SHOWN}/figures/accuracy-rounds.pdf"),
    "figures quietly": (["figures", HOSTILE, "--format", "pdf", "-q"], f"{SHOWN}/figures/accuracy-rounds.pdf"),
    "figures of several": (["figures", HOSTILE, "other", "--out", f"{HOSTILE}figures", "--format", "pdf"], SHOWN),
    "figures format": (["figures", HOSTILE, "--format", HOSTILE], QUOTED),
    "report": (["report", HOSTILE, "--out", f"{HOSTILE}.html"], f"{SHOWN}.html"),
    "report no page": (["report", HOSTILE, "--out", HOSTILE], QUOTED),
    "report of a sweep": (["report", f"{HOSTILE}sweep", "--out", f"{HOSTILE}sweep.html"], f"{SHOWN}sweep.html"),
    "export": (["export", HOSTILE], f"{SHOWN}/export/runs.csv: 1 row"),
    "export to nothing": (["export", HOSTILE, "--to", HOSTILE], QUOTED),
    "diagnose": (["diagnose", HOSTILE], QUOTED),
    "diagnose into nothing": (["diagnose", HOSTILE, "--figure", f"{HOSTILE}.gif"], repr(f"{HOSTILE}.gif")),
    "sweep": (["sweep", "small.yaml", f"rule.lr={json.dumps(HOSTILE)},0.1"], QUOTED),
    "sweep no seeds": (["sweep", "small.yaml", "--seeds", HOSTILE], QUOTED),
    "sweep into a folder": (["sweep", "small.yaml", "rule.lr=0.1", "--out", HOSTILE], SHOWN),
    "sweep list": (["sweep", "small.yaml", "--out", f"{HOSTILE}list", "--list"], f"in {SHOWN}list"),
    "data fetch": (["data", "fetch", HOSTILE], QUOTED),
    "data fetch from": (["data", "fetch", "mnist", "--from", HOSTILE], f"{SHOWN} contains no files"),
    "data path": (["data", "path", HOSTILE], QUOTED),
    "reproduce": (["reproduce", HOSTILE], QUOTED),
    "reproduce an item": (["reproduce", "whfl", HOSTILE], QUOTED),
    "reproduce list": (["reproduce", "whfl", "--out", HOSTILE], f"runs: {SHOWN}/"),
    "no command": ([HOSTILE], QUOTED),
}


@pytest.mark.parametrize("forced", [False, True], ids=["piped", "terminal"])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_lets_names_steer_the_terminal(
    name: str,
    forced: bool,
    stored: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = tmp_path / "here"
    shutil.copytree(stored, here)
    monkeypatch.chdir(here)
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "400")
    if forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
    words, expected = COMMANDS[name]
    exit_code(*words)
    out, err = capsys.readouterr()
    printed = out + err
    assert "Traceback" not in printed
    plain = OWN.sub("", printed) if forced else printed
    assert not STEERING.search(plain)
    assert expected in plain
