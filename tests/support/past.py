"""Runs that were never made, with known numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fedradio.results.run import PastRun, open_run
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


def written(folder: Path, spec: Spec, rows: list[dict[str, Any]]) -> PastRun:
    """A run folder with these records, without a summary."""
    folder.mkdir()
    (folder / "spec.yaml").write_text(spec.yaml())
    (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_run(folder)


def two_rounds(folder: Path, spec: Spec) -> PastRun:
    """Two clients and a server at (0, 0). Both take part in round 1, of round 2 only client 0.

    Computing takes 1 and 2 J, then 3 J; sending 0.5 J of client 0 in each. So the rounds take 3.5 J each, client 0
    spends 5 J and client 1 2 J.
    """
    rows = [
        _exchange(0, [True, True], [1.0, 2.0], [0.5, 0.0], [2.0]),
        _round(0, 3.0, [0.5], train_loss=2.0),
        _evaluation(0, 0.5, [0.4, 0.6]),
        _exchange(1, [True, False], [3.0, 0.0], [0.5, 0.0], [1.0]),
        _round(1, 3.0, [0.5], train_loss=1.0),
        _evaluation(1, 0.75, [0.5, 1.0]),
    ]
    run = written(folder, spec, rows)
    network = {"parents": [[0, 0]], "positions": [[[0.0, 1.0], [3.0, 4.0]], [[0.0, 0.0]]]}
    (folder / "network.json").write_text(json.dumps(network))
    return run


def _exchange(
    t: int, active: list[bool], compute_j: list[float], tx_j: list[float], eligible: list[float]
) -> dict[str, Any]:
    reason = [0 if one else 1 for one in active]
    who = {"active": active, "arrived": active, "reason": reason, "steps": [int(one) for one in active]}
    spent = {"compute_j": compute_j, "tx_j": tx_j, "bits": 50.0, "uses": None, "notes": {"eligible": eligible}}
    return {"type": "exchange", "t": t, "hop": 0, "e": 0, **who, **spent}


def _round(t: int, compute_j: float, tx_j: list[float], train_loss: float) -> dict[str, Any]:
    spent = {"time_s": 10.0, "energy_j": compute_j + sum(tx_j), "compute_j": compute_j, "tx_j": tx_j, "bits": [50.0]}
    return {"type": "round", "t": t, **spent, "train_loss": train_loss, "wall_s": 0.25}


def _evaluation(t: int, accuracy: float, groups: list[float]) -> dict[str, Any]:
    known = {"accuracy": accuracy, "loss": 1 - accuracy, "variate_norm": 2.0 + t, "groups": {"accuracy": groups}}
    return {"type": "eval", "t": t, "rounds": t + 1, **known, "best_accuracy": accuracy, "best_round": t + 1}
