"""Records by hand: every builder fills in what a test does not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedradio.core.contracts import EvaluationRecord, ExchangeRecord, RoundRecord


def exchange(t: int = 0, hop: int = 0, *, ids: Sequence[int] = (0, 1), **fields: Any) -> ExchangeRecord:
    """An exchange of one receiver in which these senders took part and arrived, one step each."""
    active = len(ids)
    known: dict[str, Any] = {"e": 0, "arrived": [True] * active, "why": ["none"] * active, "steps": [1] * active}
    known |= dict.fromkeys(("cpu_hz", "power_w", "seconds", "compute_j", "tx_j", "bits", "uses", "time_s"))
    known |= {"rest": "not_selected", "idle": {}, "effective": [float(active)], "notes": {}}
    return ExchangeRecord(t=t, hop=hop, ids=list(ids), **known | fields)


def round_(t: int = 0, **fields: Any) -> RoundRecord:
    """A round of one hop in which nothing is defined."""
    known: dict[str, Any] = {"time_s": None, "energy_j": None, "compute_j": None, "tx_j": [None], "bits": [None]}
    return RoundRecord(t=t, **known | {"train_loss": None, "wall_s": 0.25} | fields)


def evaluation(done: int, groups: dict[str, list[float | None]] | None = None, **metrics: float) -> EvaluationRecord:
    """The evaluation after so many rounds."""
    return EvaluationRecord(done, metrics, groups or {})
