"""Run folders and answers of an earlier version, and what is compared: numbers and names of figures.

``python -m support.recorded`` (in ``tests/``) runs the commands on ``recorded.tar.gz`` and writes ``recorded.json``
again. Do that only when an answer is meant to change, and say so in ``CHANGELOG.md``.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tarfile
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.commands import invoke

HERE = Path(__file__).parent
FOLDERS, ANSWERS = HERE / "recorded.tar.gz", HERE / "recorded.json"

COMMANDS = (
    "verify run sweep --json",
    "compare run --json",
    "compare sweep --json --target 0.2",
    "compare sweep",
    "plan small.yaml --json",
    "show joint",
    "validate small.yaml",
    "sweep small.yaml algorithm=fedavg,scaffold --seeds 2 --rounds 2 --out sweep",
    "reproduce rawhfl table4_energy --published-results",
    "reproduce whfl fig2a --claims",
)
"""Ten command lines; ``small.yaml`` is the spec of the stored runs."""

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\d)")
CLOCK = ("planning_ms", "wall_s")
ESTIMATE = re.compile(r"\(about [^)]* of CPU time\)")
"""What depends on the machine: seconds of planning and running, and estimates of them."""


def unpack(here: Path) -> None:
    """The stored folders: a run, a sweep of four runs, and the spec."""
    with tarfile.open(FOLDERS) as archive:
        archive.extractall(here, filter="data")


def numbers(text: str) -> list[str]:
    """All numbers of a text but estimates of time, sorted."""
    return sorted(NUMBER.findall(ESTIMATE.sub("", text)))


def leaves(value: Any) -> list[str]:
    """All numbers, truth values and names in plain data, sorted, without what the clock decides."""
    if isinstance(value, dict):
        return sorted(leaf for name, inner in value.items() if name not in CLOCK for leaf in leaves(inner))
    if isinstance(value, list):
        return sorted(leaf for inner in value for leaf in leaves(inner))
    name = isinstance(value, str) and " " not in value
    return [repr(value)] if name or isinstance(value, bool | int | float) else []


def answer(command: str) -> list[str]:
    """The numbers that a command prints."""
    done = invoke(*command.split())
    assert done.exit_code == 0, (command, done.output, done.exception)
    try:
        return leaves(json.loads(done.stdout))
    except json.JSONDecodeError:
        return numbers(done.stdout)


class _Text(HTMLParser):
    """The text of a page that a reader sees."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text.append(data)


def page(folder: str) -> list[str]:
    """The numbers that a reader sees on the page of a run or sweep, each once."""
    done = invoke("report", folder, "--out", "page.html", "--quiet")
    assert done.exit_code == 0, done.output
    reader = _Text()
    reader.feed(Path("page.html").read_text(encoding="utf-8"))
    return sorted(set(numbers(" ".join(reader.text))))


def tables(folder: str) -> dict[str, dict[str, list[str]]]:
    """The exported tables of a run or sweep: values by table and column."""
    done = invoke("export", folder, "--out", f"tables-{folder}", "--quiet")
    assert done.exit_code == 0, done.output
    found = {}
    for path in sorted(Path(f"tables-{folder}").glob("*.csv")):
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
        found[path.name] = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    return found


def figures(folder: str) -> list[str]:
    """The names of the figures that are drawn of a run or sweep."""
    done = invoke("figures", folder, "--out", f"figures-{folder}", "--quiet")
    assert done.exit_code == 0, done.output
    return sorted({path.stem for path in Path(f"figures-{folder}").iterdir()})


def answers() -> dict[str, Any]:
    """All that is compared; the stored folders are in the current one."""
    return {
        "commands": {command: answer(command) for command in COMMANDS},
        "pages": {folder: page(folder) for folder in ("run", "sweep")},
        "tables": {folder: tables(folder) for folder in ("run", "sweep")},
        "figures": {folder: figures(folder) for folder in ("run", "sweep")},
    }


def lost(before: list[str], after: list[str]) -> list[str]:
    """Numbers that were there more often before."""
    return sorted((Counter(before) - Counter(after)).elements())


if __name__ == "__main__":
    import os

    with TemporaryDirectory() as folder:
        os.chdir(folder)
        unpack(Path(folder))
        ANSWERS.write_text(json.dumps(answers()) + "\n", encoding="utf-8")
