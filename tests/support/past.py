"""Runs that are only pretended, with known accuracies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fedradio.results.run import PastRun
from fedradio.spec.spec import Spec


def past(
    spec: Spec, accuracy: list[float], status: str | None = "complete", joules: float | None = 2.0, **summary: Any
) -> PastRun:
    """A run with one evaluation a round, each round ``joules`` and 10 bit, no clock."""
    told: Mapping[str, Any] | None = None
    if status is not None:
        total = None if joules is None else joules * len(accuracy)
        told = {"status": status, "time_s": None, "energy_j": total, "bits": 10.0 * len(accuracy), "clients": 4.0}
        told |= summary
    found = PastRun(Path(f"{spec.name}-{spec.seed}"), spec, told)
    found.__dict__["rounds"] = [{"time_s": None, "energy_j": joules, "bits": [4.0, 6.0]} for _ in accuracy]
    found.__dict__["evaluations"] = [{"t": t, "accuracy": a, "loss": 1 - a} for t, a in enumerate(accuracy)]
    found.__dict__["environment"] = {"fedradio": "0.1"}
    return found


def two_algorithms(tiny: Callable[..., Spec]) -> list[PastRun]:
    """Last accuracies 0.5, 0.6, 0.7 and 0.51, 0.62, 0.73: differences 0.01, 0.02, 0.03. Best ones 0.8 and 0.8 each."""
    one = [past(tiny(f"seed={s}"), [0.8, last]) for s, last in ((1, 0.5), (2, 0.6), (3, 0.7))]
    other = [past(tiny(f"seed={s}", "algorithm=fedprox"), [0.8, last]) for s, last in ((3, 0.73), (2, 0.62), (1, 0.51))]
    return one + other
