"""Runs that were never made, with known numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.records import evaluation, exchange, round_

from fedradio.core.contracts import ExchangeRecord, Note, Record, RoundRecord
from fedradio.results.client_states import StateReader
from fedradio.results.digest import Digest, series, totals
from fedradio.results.run import Run, open_run
from fedradio.runs.records import evaluation_row, exchange_row, header_row, round_row
from fedradio.spec.spec import Spec


def past(
    spec: Spec, accuracy: list[float], status: str | None = "complete", joules: float | None = 2.0, **summary: Any
) -> Run:
    """A run with one evaluation a round, each round ``joules`` and 10 bit, no clock; five clients."""
    told: Mapping[str, Any] | None = None
    if status is not None:
        total = None if joules is None else joules * len(accuracy)
        told = {"status": status, "time_s": None, "energy_j": total, "bits": 10.0 * len(accuracy)}
        told |= {"uses": None, "clients": 4.0} | summary
    found = Run(Path(f"{spec.name}-{spec.seed}"), spec, told)
    found.__dict__["rounds"] = [round_(t, energy_j=joules, bits=[4.0, 6.0]) for t in range(len(accuracy))]
    found.__dict__["evaluations"] = [evaluation(t, accuracy=a, loss=1 - a) for t, a in enumerate(accuracy, 1)]
    found.__dict__["environment"] = {"fedradio": "0.1"}
    found.__dict__["clients"] = 5
    return found


def digest_of(run: Run) -> Digest:
    """The digest of a run that was never made: its curves."""
    return Digest(StateReader(run.clients).states(), totals=totals(run), series=series(run))


def two_algorithms(tiny: Callable[..., Spec]) -> list[Run]:
    """Last accuracies 0.5, 0.6, 0.7 and 0.51, 0.62, 0.73: differences 0.01, 0.02, 0.03. Best ones 0.8 and 0.8 each."""
    one = [past(tiny(f"seed={s}"), [0.8, last]) for s, last in ((1, 0.5), (2, 0.6), (3, 0.7))]
    other = [past(tiny(f"seed={s}", "algorithm=fedprox"), [0.8, last]) for s, last in ((3, 0.73), (2, 0.62), (1, 0.51))]
    return one + other


def written(
    folder: Path, spec: Spec, records: Sequence[Record], senders: Sequence[int] = (2,), receivers: Sequence[int] = (1,)
) -> Run:
    """A run folder with these records, without a summary."""
    folder.mkdir()
    (folder / "spec.yaml").write_text(spec.yaml())
    write_records(folder / "records.jsonl", records, senders, receivers)
    return open_run(folder)


def two_rounds(folder: Path, spec: Spec) -> Run:
    """Two clients and a server at (0, 0). Both take part in round 1, of round 2 only client 0.

    Computing takes 1 and 2 J, then 3 J; sending 0.5 J of client 0 in each. So the rounds take 3.5 J each, client 0
    spends 5 J and client 1 2 J.
    """
    spent: dict[str, Any] = {"time_s": 10.0, "energy_j": 3.5, "compute_j": 3.0, "tx_j": [0.5], "bits": [50.0]}
    records: list[Record] = [
        _exchange(0, [0, 1], [1.0, 2.0], [0.5, 0.0], [2.0]),
        round_(0, **spent, train_loss=2.0),
        evaluation(1, {"accuracy": [0.4, 0.6]}, accuracy=0.5, loss=0.5, variate_norm=2.0),
        _exchange(1, [0], [3.0], [0.5], [1.0]),
        round_(1, **spent, train_loss=1.0),
        evaluation(2, {"accuracy": [0.5, 1.0]}, accuracy=0.75, loss=0.25, variate_norm=3.0),
    ]
    run = written(folder, spec, records)
    network = {"parents": [[0, 0]], "positions": [[[0.0, 1.0], [3.0, 4.0]], [[0.0, 0.0]]]}
    (folder / "network.json").write_text(json.dumps(network))
    return run


def _exchange(
    t: int, ids: list[int], compute_j: list[float], tx_j: list[float], eligible: list[float]
) -> ExchangeRecord:
    notes = {"eligible": Note("receiver", list(eligible))}
    return exchange(t, ids=ids, compute_j=compute_j, tx_j=tx_j, bits=50.0, notes=notes)


def write_records(path: Path, records: Iterable[Record], senders: Sequence[int], receivers: Sequence[int]) -> None:
    """Write ``records.jsonl`` as a run does, with its header."""
    rows = [header_row(list(senders), list(receivers)), *map(_row, records)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _row(record: Record) -> dict[str, Any]:
    if isinstance(record, ExchangeRecord):
        return exchange_row(record)
    return round_row(record) if isinstance(record, RoundRecord) else evaluation_row(record)
