"""``fedradio theory`` as a user meets it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Maker = Callable[..., Spec]


def made(spec: Spec, folder: Path) -> Path:
    run(spec, folder)
    return folder


def test_the_command(cells: Maker, tiny: Maker, tmp_path: Path) -> None:
    made(cells(), tmp_path / "a")
    made(tiny("rule.momentum=0.9", "rounds=1"), tmp_path / "b")

    def command(*arguments: str) -> subprocess.CompletedProcess[Any]:
        line = [sys.executable, "-c", "from fedradio.cli import main; main()", "theory", *arguments]
        env = os.environ | {"COLUMNS": "140"}
        return subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)

    done = command("a", "--replay", "1", "--smoothness", "8", "--gap", "2.5")
    assert done.returncode == 0, done.stderr
    for words in ("Theorem 1", "lost payloads", "bound holds", "best rate by (27)", "given"):
        assert words in done.stdout
    refused = command("b")
    assert refused.returncode == 2
    assert "momentum" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert command("nowhere").returncode == 5
