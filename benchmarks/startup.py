"""CPU of starting commands beside that of ``import torch``: ``python benchmarks/startup.py [--repeat 5]``.

Commands take turns, one process at a time, each in a home of its own; CPU seconds are those of user and system. A ratio
is the median over the turns of a command's seconds over those of ``import torch`` in the same turn. Exit code 1 where a
ratio is above its bar.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from against import Spread, cpu_s
from rich.console import Console
from rich.table import Table

IMPORT_TORCH = ("-c", "import torch")

EXIT_CODES = {"nosuch": 2, "run --typo": 2}
"""Of commands that must fail."""

COMMANDS: dict[str, tuple[tuple[str, ...], float | None]] = {
    "import torch": (IMPORT_TORCH, None),
    "--help": (("-m", "fedradio", "--help"), 0.25),
    "--version": (("-m", "fedradio", "--version"), 0.25),
    "nosuch": (("-m", "fedradio", "nosuch"), 0.25),
    "run --help": (("-m", "fedradio", "run", "--help"), 0.33),
    "run --typo": (("-m", "fedradio", "run", "--typo"), 0.33),
    "figures --help": (("-m", "fedradio", "figures", "--help"), 0.33),
    "ls": (("-m", "fedradio", "ls"), 1.4),
    "show fedavg": (("-m", "fedradio", "show", "fedavg"), 1.4),
    "validate demo": (("-m", "fedradio", "validate", "demo"), 1.6),
    "run demo --rounds 1": (("-m", "fedradio", "run", "demo", "--rounds", "1", "--quiet"), None),
    "report of it": (("-m", "fedradio", "report", "runs/demo-seed1"), None),
    "compare of it": (("-m", "fedradio", "compare", "runs/demo-seed1"), None),
}
"""What follows ``python``, and the most CPU that it may take, in units of ``import torch``."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="turns of every command")
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as home:
        for name, (command, _) in COMMANDS.items():
            cpu_s(
                command, Path(home), EXIT_CODES.get(name, 0)
            )  # compiles and reads files for the first time; does not count
        for turn in range(options.repeat):
            for name, (command, _) in COMMANDS.items():
                extra = ("--out", f"turn{turn}") if name.startswith("run demo") else ()
                seconds[name].append(cpu_s((*command, *extra), Path(home), EXIT_CODES.get(name, 0)))
    table = Table("command", "CPU ms (least to most)", "of import torch", "bar", title=f"median of {options.repeat}")
    above = []
    for name, (_, bar) in COMMANDS.items():
        pairs = zip(seconds[name], seconds["import torch"], strict=True)
        ratio = statistics.median([mine / torch_s for mine, torch_s in pairs])
        table.add_row(name, Spread.of(seconds[name]).text(1e3, 0), f"{ratio:.2f}", "" if bar is None else f"{bar:.2f}")
        if bar is not None and ratio > bar:
            above.append(name)
    Console(width=120).print(table)
    if above:
        sys.exit(f"above their bars: {', '.join(above)}")


if __name__ == "__main__":
    main()
