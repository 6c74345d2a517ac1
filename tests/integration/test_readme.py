"""The README: every command that it shows can be typed as it is."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.batches import sweep_here
from support.commands import exit_code
from support.processes import fedradio

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

SKIPPED = {
    "make": "sets up a machine and runs everything",
    "python -m pip": "installs",
    "fedradio data fetch": "needs the network",
}
"""Commands that are not run, by how they begin, and why."""

SHORTER = {
    "fedradio run": "--rounds 2",
    "fedradio sweep": "--rounds 2 --seeds 1 --jobs 1",
    "fedradio reproduce rawhfl": "--dry-run",
}
"""What is added to commands, by how they begin, so that they take seconds. The page shows no output of these."""

EXPECTED = {
    "fedradio cp demo": "`fedradio run mine.yaml`",
    "fedradio run mine.yaml": "run folder: runs/demo-seed7",
    "fedradio resume": "runs/demo-seed7 is complete",
    "fedradio sweep": "4 runs in sweeps/demo",
    "fedradio compare": "algorithm=scaffold",
    "fedradio report": "sweeps/demo/report.html",
    "fedradio figures": "sweeps/demo/figures/accuracy-bits.pdf",
    "fedradio export": "evaluations.csv",
    "fedradio plan": "policy joint",
    "fedradio run rawhfl_cache": "predicted",
    "fedradio new": "fedradio run ours.yaml --parts ours.py",
    "fedradio run ours.yaml": "parts from ours.py: algorithm ours (sha256 ",
    "fedradio run demo data.source": "with      data.source={kind: csv, path: mine.csv, label: y}",
    "fedradio reproduce": "fedradio reproduce PAPER ITEM",
}
"""A piece of what every command prints, by how it begins; of several beginnings the longest."""


def lines(page: str = "README.md") -> list[str]:
    """The commands of the README or of another page, without comments."""
    found = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    blocks = [text for language, text in found if not language]
    texts = [re.sub(r"\s+#\s.*", "", line).strip() for block in blocks for line in block.splitlines()]
    return [line for line in texts if line and not line.startswith("#")]


def begins(line: str, starts: dict[str, str]) -> str | None:
    return next((more for start, more in starts.items() if line.startswith(start)), None)


def own_csv() -> None:
    """Samples of two features and a label."""
    rows = [f"{n % 7 / 7},{n % 5 / 5},{n % 10}" for n in range(3000)]
    Path("mine.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")


COMBINATION = "fedradio run fedcpsl"
"""Runs that a page tells the results of; they are checked, and not made."""


@pytest.mark.parametrize("line", [line for line in lines("docs/numbers.md") if line.startswith(COMBINATION)])
def test_combinations_are_valid(line: str) -> None:
    assert exit_code("validate", *shlex.split(line)[2:]) == 0


def apart(words: list[str]) -> tuple[int, str]:
    """Exit code and output of a command in a process of its own: parts that it registers are not ours."""
    done = fedradio(Path.cwd(), *words[1:])
    return done.returncode, done.stdout + done.stderr


def told(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code and output of a command."""
    if "--parts" in words:
        return apart(words)
    capsys.readouterr()
    code = exit_code(*words[1:])
    both = capsys.readouterr()
    return code, both.out + both.err


def test_every_command_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sweep_here(monkeypatch)
    monkeypatch.setenv("COLUMNS", "150")
    own_csv()
    wanted = [line for line in lines() if begins(line, SKIPPED) is None]
    failed = []
    for line in wanted:
        words = shlex.split(f"{line} {begins(line, SHORTER) or ''}")
        assert words[0] == "fedradio", line
        code, text = told(words, capsys)
        expected = EXPECTED[max((start for start in EXPECTED if line.startswith(start)), key=len)]
        if code != 0 or expected not in text:
            failed.append((line, code, expected, text))
    assert failed == []
    assert len(wanted) >= 14


def test_python_blocks_run(tmp_path: Path) -> None:
    found = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    blocks = [text for language, text in found if language == "python"]
    assert blocks
    for text in blocks:
        subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=True, capture_output=True)
