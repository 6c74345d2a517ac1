"""What a run remembers of its records for the headline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fedradio.core.contracts import ExchangeRecord, RoundRecord
from fedradio.rounds.account import add


@dataclass
class Tally:
    """Keeps the last and the best evaluation, and counts who took part. Plain numbers, for checkpoints."""

    hop_bits: list[float | None] = field(default_factory=list)
    edge_rounds: int = 0
    counts: dict[str, float] = field(default_factory=lambda: {"clients": 0.0, "arrived": 0.0, "eligible": 0.0})
    has_eligible: bool = False
    last: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    best_round: int | None = None
    uses: float | None = None

    def count(self, record: RoundRecord, exchanges: list[ExchangeRecord]) -> None:
        before = self.hop_bits or [0.0] * len(record.bits)
        self.hop_bits = [add(total, new) for total, new in zip(before, record.bits, strict=True)]
        for exchange in exchanges:
            if exchange.uses is not None:
                self.uses = (self.uses or 0.0) + exchange.uses
            if exchange.hop == 0:
                self.edge_rounds += 1
                self.counts["clients"] += sum(exchange.active)
                self.counts["arrived"] += sum(exchange.arrived)
                self.counts["eligible"] += sum(exchange.notes.get("eligible", []))
                self.has_eligible = "eligible" in exchange.notes

    def mean(self, name: str) -> float | None:
        """Mean over edge rounds."""
        known = self.edge_rounds > 0 and (name != "eligible" or self.has_eligible)
        return self.counts[name] / self.edge_rounds if known else None

    def see(self, t: int, metrics: dict[str, float]) -> None:
        self.last = metrics
        if not self.best or metrics["accuracy"] > self.best["accuracy"]:
            self.best, self.best_round = metrics, t

    def row(self, rounds: int) -> dict[str, Any]:
        """The evaluation after so many rounds, beside the best one so far."""
        return {
            "type": "eval",
            "t": rounds - 1,
            "rounds": rounds,
            **self.last,
            "best_accuracy": self.best["accuracy"],
            "best_round": self.best_round,
        }
