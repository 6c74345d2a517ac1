"""Sweeps and exports as a user meets them."""

import os
import re
import sys
from pathlib import Path

import pytest
from support.processes import FORKED_WORKERS, fedradio

from fedradio import cli
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep

SPEC_FILE = """
name: small
rounds: 2
topology: {kind: flat, clients: 4}
hops: [{policy: {kind: fixed, steps: 2}}]
model: {kind: mlp, hidden: [16, 16]}
rule: {momentum: 0.9}
"""


AXES = ("rule.lr=0.1,10000", "algorithm={kind: fedavg, server_lr: 10000},fedprox")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "small.yaml").write_text(SPEC_FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    """Exit code and output of the command line, in this process."""
    monkeypatch.setattr(sys, "argv", ["fedradio", *arguments])
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as end:
        cli.main()
    code = end.value.code
    assert code is None or isinstance(code, int)
    return (code or 0, *capsys.readouterr())


def test_a_sweep_with_a_cell_that_diverges(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In processes of their own: the other variants complete, and the same command later makes nothing."""
    command = ("sweep", "small.yaml", *AXES, "--seeds", "2")
    done = fedradio(Path.cwd(), *command, before=FORKED_WORKERS, env=os.environ | {"COLUMNS": "200"})
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "4 variants x 2 seeds = 8 runs in sweeps/small" in done.stderr
    assert re.search(r"\[8/8\] ", done.stderr)
    assert re.search(r"rule.lr=0.1, algorithm=fedprox +2/2 +\d+\.\d+ ± \d+\.\d+ .* - +- ", done.stdout)
    assert re.search(r"rule.lr=10000, algorithm=fedprox +0/2 +- ", done.stdout)
    assert "diverged: rule.lr=10000, algorithm=fedprox, seed 1 (sweeps/small/runs/" in done.stderr
    assert "test loss is NaN or infinite" in done.stderr
    assert "to retry the failed runs" not in done.stderr
    assert done.stderr.splitlines()[-1] == "3 of 8 runs are not complete: 3 diverged (exit code 3)"
    assert "8 runs made, 0 already done; sweep folder: sweeps/small\nfedradio compare sweeps/small\n" in done.stdout
    code, out, err = called(monkeypatch, capsys, *command, "--quiet")
    assert (code, out) == (3, "sweeps/small\n")
    assert "it diverged before" in err


def test_list_runs_nothing(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = called(monkeypatch, capsys, "sweep", "small.yaml", *AXES, "--seeds", "1,2,7", "--list")
    assert code == 0
    assert "4 variants x 3 seeds = 12 runs" in out
    assert "algorithm-fedprox_rule.lr-0.1-seed1" in out or "rule.lr-0.1_algorithm-fedprox-seed1" in out
    assert [path.name for path in here.iterdir()] == ["small.yaml"]


def test_list_shows_the_names_in_a_folder_that_is_there(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fedradio.sweeps.sweep.run_batch", lambda *_, **__: [])
    run_sweep(plan_sweep("small.yaml", ["rule.lr=0.1,0.2"], seeds=(1,)), here / "s")
    code, out, _ = called(monkeypatch, capsys, "sweep", "small.yaml", "rule.lr=0.1,0.2", "rule.batch=8", "--list")
    assert code == 0
    assert "rule.lr-0.1-2-seed" not in out
    command = ("sweep", "small.yaml", "rule.lr=0.1,0.2", "rule.batch=8", "--seeds", "2", "--list", "--out")
    code, out, _ = called(monkeypatch, capsys, *command, "s")
    assert code == 0
    assert "rule.lr-0.1-2-seed1, rule.lr-0.1-2-seed2" in out
    assert "4 variants, 2 seeds, 6 runs in s\n" in out
    assert called(monkeypatch, capsys, *command, ".")[0] == 5


def test_wrong_sweeps(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = called(monkeypatch, capsys, "sweep", "small.yaml", "rule.lr=-1,0.1", "algorithm=fedavg,fedagv")
    assert code == 2
    assert "2 problems" in err
    assert "[rule.lr=-1, algorithm=fedavg and" in err
    code, _, err = called(
        monkeypatch, capsys, "sweep", "small.yaml", "hops.0.policy={kind: sampling, clients: 9},fixed"
    )
    assert code == 2
    assert "[hops.0.policy=sampling(clients=9)]" in err
    assert called(monkeypatch, capsys, "sweep", "small.yaml", "--seeds", "none")[0] == 2
    assert called(monkeypatch, capsys, "sweep", "nothing.yaml")[0] == 2
    assert called(monkeypatch, capsys, "sweep", "small.yaml", "--jobs", "0")[0] == 2
    assert called(monkeypatch, capsys, "sweep", "small.yaml", "--out", ".")[0] == 5
    assert [path.name for path in here.iterdir()] == ["small.yaml"]


def test_failures_tell_how_to_run_them_again(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fedradio.sweeps.processes.COMMAND", (sys.executable, "-c", "raise SystemExit('no luck')"))
    command = ("sweep", "small.yaml", "rule.lr=0.1,0.2", "--seeds", "7,", "--rounds", "3", "--out", "a [b] :cat:")
    command += ("--workers", "2", "--jobs", "2")
    code, out, err = called(monkeypatch, capsys, *command)
    assert code == 1
    assert "failed: rule.lr=0.2, seed 7 (a [b] :cat:/runs/rule.lr-0.2-seed7)" in err
    assert "no luck" in err
    options = "--seeds 7, --rounds 3 --jobs 2 --workers 2 --out 'a [b] :cat:'"
    again = f"fedradio sweep small.yaml rule.lr=0.1,0.2 {options}"
    assert "2 variants x 1 seed = 2 runs in a [b] :cat:\n" in err
    assert out.endswith("0 runs made, 0 already done; sweep folder: 'a [b] :cat:'\n")
    last = f"2 of 2 runs are not complete: 2 failed (exit code 1); to retry the failed runs: {again}\n"
    assert err.endswith(last)
    assert re.search(r"rule.lr=0.1 +0/1 +- ", out)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fedradio.sweeps.sweep.run_sweep", interrupted)
    monkeypatch.setattr("fedradio.sweeps.sweep.check_variants", lambda *_: [])  # there may be no such device here
    code, _, err = called(monkeypatch, capsys, *command)
    assert code == 130
    assert f"resume with: {again}\n" in err
    _, _, err = called(monkeypatch, capsys, "sweep", "small.yaml", "--device", "cuda", "--out", "new", "--quiet")
    assert "resume with: fedradio sweep small.yaml --device cuda --out new\n" in err


def test_export(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(monkeypatch, capsys, "run", "small.yaml", "--out", "one", "--quiet")[0] == 0
    code, out, _ = called(monkeypatch, capsys, "export", "one")
    assert code == 0
    assert "one/export/rounds.csv: 2 rows\n" in out
    assert "one/export/runs.csv: 1 row\n" in out
    assert "x [b]/rounds.csv: 2 rows\n" in called(monkeypatch, capsys, "export", "one", "--out", "x [b]")[1]
    code, out, _ = called(monkeypatch, capsys, "export", "one", "--to", "parquet", "--out", "tables", "--quiet")
    assert (code, out) == (0, "")
    assert (here / "tables/exchanges.parquet").is_file()
    assert called(monkeypatch, capsys, "export", "tables")[0] == 5
    assert called(monkeypatch, capsys, "export", "one", "--to", "excel")[0] == 2
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = called(monkeypatch, capsys, "export", "one", "--to", "parquet")
    assert code == 2
    assert "pip install 'fedradio[parquet]'" in err
