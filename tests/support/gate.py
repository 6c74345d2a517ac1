"""A gate in the rounds of other processes: from one round on they wait until the gate opens or they are asked to stop.

A test that interrupts a run must not depend on how long its rounds take: at a closed gate the run cannot end before the
signal comes. Interpreters have the gate if they start with its environment, forked processes if they execute its code.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

CODE = """
import sys, time
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from pathlib import Path

CLOSED, ROUND = Path({closed!r}), {round}


def close_at(module):
    from fedradio.remote.courier import Courier
    from fedradio.runs.interrupt import Interrupts

    open_round, note, begin, asked, couriers = module.open_round, Interrupts._note, Courier.__enter__, [], []

    def noted(self, *signal):
        asked.append(signal)
        note(self, *signal)

    def begun(self):
        couriers[:] = [self]
        return begin(self)

    def gated(sim, state):
        while state.t >= ROUND and CLOSED.exists() and not asked and not any(each._stopped for each in couriers):
            time.sleep(0.01)
        return open_round(sim, state)

    Interrupts._note, Courier.__enter__, module.open_round = noted, begun, gated


class Gate(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "fedradio.rounds.round":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            close_at(module)

        spec.loader.exec_module = exec_module
        return spec


if "fedradio.rounds.round" in sys.modules:
    close_at(sys.modules["fedradio.rounds.round"])
else:
    sys.meta_path.insert(0, Gate())
"""


@dataclass(frozen=True)
class Gate:
    """A gate that is closed before the given round (the first is 0); its files are in a folder of its own."""

    folder: Path
    round: int

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.close()
        (self.folder / "sitecustomize.py").write_text(self.code)

    @property
    def _closed(self) -> Path:
        return self.folder / "closed"

    @property
    def code(self) -> str:
        return CODE.format(closed=str(self._closed), round=self.round)

    def close(self) -> None:
        self._closed.touch()

    def open(self) -> None:
        self._closed.unlink(missing_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of this process, with the gate."""
        paths = [str(self.folder), os.environ.get("PYTHONPATH", "")]
        return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
