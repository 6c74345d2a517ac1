"""Every edge round of a spec as its policy plans it, without learning: what studies count and add up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedradio.rounds.exchange import Planned, plan_slots
from fedradio.rounds.round import begin
from fedradio.rounds.simulation import Simulation
from fedradio.spec.spec import Spec, check_spec
from fedradio.spec.yaml import plain_copy

Share = Callable[[float], None]
"""Hears the share of a study that is done."""

Finding = dict[str, Any]
"""What a study found, as plain data for JSON."""

Study = Callable[[Spec, Share], Finding]

Floats = NDArray[np.float64]

ROUNDS = 100
"""Rounds of RawHFL's figures and tables; with four edge rounds each they are its 400."""


def for_rounds(spec: Spec, rounds: int) -> Spec:
    """The same for so many rounds, with requests enough where clients make some."""
    plain = plain_copy(spec.plain) | {"rounds": rounds}
    source, stream = plain["data"]["source"], plain["data"]["stream"]
    if "requests" in source and stream["kind"] == "growing":
        slots = rounds * prod(hop["period"] for hop in plain["hops"]) * stream["slots"]
        source["requests"] = max(source["requests"], stream["history"] + slots + 1)
    return check_spec(plain)


def planned_slots(sim: Simulation, rounds: int, tell: Share) -> Iterator[Planned]:
    """Every edge round of so many rounds as it would be planned."""
    total = rounds * prod(hop.period for hop in sim.hops)
    for done, planned in enumerate(plan_slots(sim, begin(sim), rounds), start=1):
        yield planned
        tell(done / total)
