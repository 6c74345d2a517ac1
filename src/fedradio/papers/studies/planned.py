"""Planned edge rounds of a spec, without learning, which studies count and add up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedradio.rounds.planning import Planned, plan_slots
from fedradio.rounds.round import begin
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, check_spec
from fedradio.spec.yaml import plain_copy

ShareProgress = Callable[[float], None]
"""Progress of one study: called with the share that is done."""

Finding = dict[str, Any]
"""The result of a study, as plain data for JSON."""

Study = Callable[[Spec, ShareProgress], Finding]
"""A study of a spec."""

Floats = NDArray[np.float64]

ROUNDS = 100
"""Rounds of RawHFL's figures and tables; with four edge rounds each they are its 400."""


def for_rounds(spec: Spec, rounds: int) -> Spec:
    """The spec with so many rounds, and with enough requests for them if clients make requests."""
    plain = plain_copy(spec.plain) | {"rounds": rounds}
    source, stream = plain["data"]["source"], plain["data"]["stream"]
    if "requests" in source and stream["kind"] == "growing":
        slots = rounds * spec.edge_rounds * stream["slots"]
        source["requests"] = max(source["requests"], stream["history"] + slots + 1)
    return check_spec(plain)


_last: dict[tuple[str, int], list[Planned]] = {}


def planned_rounds(spec: Spec, rounds: int, progress: ShareProgress) -> list[Planned]:
    """The planned edge rounds of a spec with so many rounds; those asked for last are kept for the next study."""
    key = spec.sha256(), rounds
    if key not in _last:
        slots = list(planned_slots(build(for_rounds(spec, rounds)), rounds, progress))
        _last.clear()
        _last[key] = slots
    progress(1.0)
    return _last[key]


def forget_plans() -> None:
    """Forget the planned edge rounds that were asked for last, so that the next study plans them again."""
    _last.clear()


def planned_slots(sim: Simulation, rounds: int, progress: ShareProgress) -> Iterator[Planned]:
    """The planned edge rounds of so many rounds."""
    total = rounds * sim.edge_rounds
    for done, planned in enumerate(plan_slots(sim, begin(sim), rounds), start=1):
        yield planned
        progress(done / total)
