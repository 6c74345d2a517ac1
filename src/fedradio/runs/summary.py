"""The summary of a run: counted round by round, and as ``summary.json`` holds it at the end."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from fedradio.core.contracts import EvaluationRecord, ExchangeRecord, RoundRecord
from fedradio.core.contracts.records import STRICT, is_better, main_score
from fedradio.core.units import add
from fedradio.runs.cache_summary import CacheSummary, RunningCache

OPTIONAL = (
    "rmse",
    "best_rmse",
    "least_cpu_hz",
    "least_power_w",
    "cache",
    "planned_s",
    "planned_j",
    "measured_s",
    "slower",
)
"""What stands in a summary only where there is some: of caches, and of real devices."""

Status = Literal["complete", "interrupted", "diverged", "failed"]


@dataclass
class RunningSummary:
    """The summary of a run so far: last and best evaluation, bits, participation. Plain numbers, for checkpoints.

    ``cpu_s`` are the CPU seconds of its rounds, None if some of them did not count theirs.
    """

    hop_bits: list[float | None] = field(default_factory=list)
    edge_rounds: int = 0
    counts: dict[str, float] = field(default_factory=lambda: {"clients": 0.0, "arrived": 0.0, "eligible": 0.0})
    has_eligible: bool = False
    last: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    best_round: int | None = None
    uses: float | None = None
    cpu_s: float | None = None
    least_cpu_hz: float | None = None
    least_power_w: float | None = None
    cache: RunningCache | None = None
    planned_s: list[float] = field(default_factory=list)
    planned_j: list[float] = field(default_factory=list)
    measured_s: list[float] = field(default_factory=list)

    __pydantic_config__ = STRICT

    def count(self, record: RoundRecord, exchanges: list[ExchangeRecord]) -> None:
        """Add a round: bits of every hop, channel uses, clients that took part, arrived and were eligible."""
        before = self.hop_bits or [0.0] * len(record.bits)
        self.hop_bits = [add(total, new) for total, new in zip(before, record.bits, strict=True)]
        for exchange in exchanges:
            if exchange.uses is not None:
                self.uses = (self.uses or 0.0) + exchange.uses
            self.least_cpu_hz, self.least_power_w = least_used(exchange, self.least_cpu_hz, self.least_power_w)
            if exchange.hop == 0:
                self.edge_rounds += 1
                self.counts["clients"] += len(exchange.ids)
                self.counts["arrived"] += sum(exchange.arrived)
                eligible = exchange.notes.get("eligible")
                self.counts["eligible"] += 0 if eligible is None else sum(eligible.values)
                self.has_eligible = eligible is not None
                for name in ("planned_s", "planned_j", "measured_s"):
                    known = getattr(exchange, name) if exchange.measured_s is not None else None
                    getattr(self, name).extend(value for value in known or () if value is not None)

    def median(self, name: str) -> float | None:
        """Median over the uploads of real devices of ``planned_s``, ``planned_j`` or ``measured_s``; None without."""
        values = getattr(self, name)
        return float(statistics.median(values)) if values else None

    def mean(self, name: str) -> float | None:
        """Mean number over edge rounds of ``clients``, ``arrived`` or ``eligible``; None where undefined."""
        known = self.edge_rounds > 0 and (name != "eligible" or self.has_eligible)
        return self.counts[name] / self.edge_rounds if known else None

    def spend(self, cpu_s: float, *, first: bool) -> None:
        """Add the CPU seconds of a round, the ``first`` of a run or not."""
        self.cpu_s = cpu_s if first else add(self.cpu_s, cpu_s)

    def see(self, record: EvaluationRecord) -> None:
        """Add an evaluation."""
        self.last = record.metrics
        name = main_score(record.metrics)
        if record.metrics and (not self.best or is_better(name, record.metrics[name], self.best[name])):
            self.best, self.best_round = record.metrics, record.round


@dataclass(frozen=True)
class Summary:
    """The headline numbers of a run, as in ``summary.json``; None is undefined. ``loss`` is the test loss.
    Where values are predicted, ``rmse`` and ``best_rmse`` take the place of the accuracies.

    ``bits`` are split over the hops in ``hop_bits``. ``clients`` took part in an edge round on average, ``arrived`` of
    them in time; ``eligible`` could have, where the policy says so. ``uses`` are channel uses, where symbols are sent.
    ``least_cpu_hz`` is the lowest frequency at which a client trained, ``least_power_w`` the lowest transmit power of a
    sender of any hop.
    ``cpu_s`` are the CPU seconds of all threads in its rounds, however busy the machine was. ``checkpoint_s`` of the
    wall time went into checkpoints; ``disk_bytes`` are those of the run folder, ``memory_bytes`` the most that the
    process has held. ``cache`` is the balance of the caches, where there are some.
    Of a federation of real devices ``planned_s`` and ``planned_j`` are medians of what an upload was planned to take,
    ``measured_s`` that of the seconds from a request to its reply, ``slower`` their ratio.
    """

    status: Status
    name: str
    accuracy: float | None
    best_accuracy: float | None
    best_round: int | None
    loss: float | None
    loss_at_best: float | None
    rounds: int
    time_s: float | None
    energy_j: float | None
    bits: float | None
    wall_s: float
    seed: int
    spec_sha256: str
    metrics: dict[str, float]
    hop_bits: list[float | None]
    clients: float | None
    arrived: float | None
    eligible: float | None
    uses: float | None = None
    rmse: float | None = None
    best_rmse: float | None = None
    checkpoint_s: float | None = None
    disk_bytes: int | None = None
    memory_bytes: int | None = None
    cpu_s: float | None = None
    least_cpu_hz: float | None = None
    least_power_w: float | None = None
    cache: CacheSummary | None = None
    planned_s: float | None = None
    planned_j: float | None = None
    measured_s: float | None = None
    slower: float | None = None

    __pydantic_config__ = STRICT


def least_used(
    exchange: ExchangeRecord, cpu_hz: float | None, power_w: float | None
) -> tuple[float | None, float | None]:
    """The lowest frequency at which a client trained, and the lowest power of a sender, in this exchange and in those
    before it, of which they are ``cpu_hz`` and ``power_w``; None if there is none."""
    trained = [i for i, steps in enumerate(exchange.steps) if steps > 0] if exchange.hop == 0 else []
    everybody = range(len(exchange.ids))
    return _least(cpu_hz, exchange.cpu_hz, trained), _least(power_w, exchange.power_w, everybody)


def _least(least: float | None, values: Sequence[float] | None, places: Iterable[int]) -> float | None:
    """The smallest of ``least`` and the values at these places; None if there is none."""
    known = [] if values is None else [values[place] for place in places]
    return min(known if least is None else [least, *known], default=None)


def plain_summary(summary: Summary) -> dict[str, Any]:
    """A summary as plain data; what is optional and undefined is left out."""
    return {key: value for key, value in asdict(summary).items() if key not in OPTIONAL or value is not None}
