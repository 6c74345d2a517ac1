"""What shells are told after the Tab key."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from click.shell_completion import ShellComplete

from fedradio.cli.app import app

PROGRAM = "import sys; sys.argv = ['fedradio']; from fedradio.cli import main; main()"


def offered(line: str) -> list[str]:
    """The words that a shell is offered for the last word of a line."""
    _, *words, last = line.split(" ")
    shell = ShellComplete(typer.main.get_command(app), {}, "fedradio", "_FEDRADIO_COMPLETE")
    return [item.value for item in shell.get_completions(words, last)]


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("fedradio wat", ["watch"]),
        ("fedradio run rawhf", ["rawhfl"]),
        ("fedradio cp digits_", ["digits_central", "digits_flat"]),
        ("fedradio show fedpro", ["fedprox"]),
        ("fedradio show algorithm/fedpro", ["algorithm/fedprox"]),
        ("fedradio ls alg", ["algorithm"]),
        ("fedradio reproduce raw", ["rawhfl"]),
        ("fedradio reproduce rawhfl table4", ["table4", "table4_energy"]),
        ("fedradio run demo rule.l", ["rule.lr="]),
        ("fedradio run demo hops.0.pol", ["hops.0.policy=", "hops.0.policy.steps=", "hops.0.policy.epochs="]),
        ("fedradio run demo algorithm = fedpro", ["fedprox"]),  # so bash splits it
        ("fedradio run demo algorithm=fedpro", ["algorithm=fedprox"]),
        ("fedradio sweep demo hops.0.link=dig", ["hops.0.link=digital"]),
        ("fedradio run no_such_spec rule.", []),
    ],
)
def test_words_that_fit(line: str, some: list[str]) -> None:
    found = offered(line)
    assert set(some) <= set(found)
    last = line.rsplit(" ", 1)[-1]
    assert all(word.startswith(last) for word in found)
    assert bool(some) == bool(found)


def test_files_of_specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    for name in ("mine.yaml", "mine.txt", "specs/mine_too.yml"):
        (tmp_path / name).touch()
    assert offered("fedradio run mi") == ["mine.yaml"]
    assert offered("fedradio run specs/") == ["specs/mine_too.yml"]
    assert offered(f"fedradio run {tmp_path}/m") == [f"{tmp_path}/mine.yaml"]
    assert offered("fedradio run nowhere/") == []


def test_a_shell_gets_parts_of_the_users_own_and_nothing_else(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from fedradio import register\nfrom fedradio.algorithms.fedavg import FedAvg\n\n\n"
        '@register("algorithm", "zzz_mine")\ndef mine() -> FedAvg:\n    """Mine."""\n    return FedAvg()\n'
    )
    asked = {"_FEDRADIO_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "fedradio show zzz"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | asked | {"FEDRADIO_PARTS": str(mine)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert '"zzz_mine":"Mine."' in done.stdout
