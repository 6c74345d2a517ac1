"""Small runs to be damaged: a complete one, one whose process was killed, and what they are beside."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.runs import checkpoint
from fedradio.runs.folder import SUMMARY_FILE
from fedradio.runs.run import Observer, run
from fedradio.spec.spec import Spec, check_spec

PLAIN = {
    "name": "tiny",
    "seed": 3,
    "rounds": 5,
    "topology": {"kind": "hierarchical", "edges": 2, "clients_per_edge": 2},
    "hops": [{"policy": {"kind": "fixed", "steps": 1}, "fleet": "cellular"}, {}],
    "model": "logistic",
    "rule": {"kind": "sgd", "lr": 0.1},
}


class Killed(BaseException):
    """The end of a process."""


class Killer(Observer):
    """Ends a run after its fourth round."""

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if state.t == 4:
            raise Killed


class Bases(NamedTuple):
    """Runs that are damaged, all with checkpoints after 2 and 3 rounds, and what they become.

    ``complete`` has 3 rounds, ``killed`` 4 of 5 on record; ``other`` is ``complete`` with another seed.
    """

    complete: Path
    killed: Path
    other: Path
    whole: Path


def make_bases(here: Path) -> Bases:
    """Make the runs in a folder; checkpoints are written after every round."""
    found = Bases(*(here / name for name in Bases._fields))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "SHARE", float("inf"))
        patch.setattr(checkpoint, "LEAST_S", 0.0)
        run(spec(rounds=3), found.complete, workers=1)
        run(spec(rounds=3, seed=4), found.other, workers=1)
        run(spec(), found.whole, workers=1)
        patch.setattr(checkpoint, "prune", lambda *_: None)
        with pytest.raises(Killed):
            run(spec(), found.killed, workers=1, observer=Killer())
    (found.killed / SUMMARY_FILE).unlink()
    for t in (1, 4):
        for ending in ("json", "safetensors"):
            (found.killed / f"checkpoints/round-00000{t}.{ending}").unlink()
    return found


def spec(**changes: int) -> Spec:
    return check_spec(PLAIN | changes)
