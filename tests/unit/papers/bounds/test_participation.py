"""Who took part in a run, by its records: weights, idle rounds, empty cells."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.records import exchange

from fedradio.core.contracts import ExchangeRecord
from fedradio.papers.bounds.participation import participation
from fedradio.papers.bounds.rawhfl import run_notes
from fedradio.papers.bounds.replay import replayed_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Maker = Callable[..., Spec]


def made(spec: Spec, folder: Path) -> Path:
    run(spec, folder)
    return folder


def test_weights_are_those_of_the_records(cells: Maker, tmp_path: Path) -> None:
    spec = cells("hops.0.policy={kind: sampling, clients: 2, steps: [1, 4]}", "rule.updates_per_step=3")
    opened = replayed_run(made(spec, tmp_path / "a"))
    part, busy = participation(opened, opened.sim.algorithm.averaging)  # type: ignore[arg-type]
    assert busy == [0, 1]
    assert (part.rounds, part.edge_rounds) == (2, 2)
    rows = [record.dense(6) for records in opened.exchanges for record in records if record.hop == 0]
    for alpha, steps, row in zip(part.alpha_u.flatten(0, 1), part.steps.flatten(0, 1), rows, strict=True):
        squares = [float(alpha[part.edge == b].square().sum()) for b in range(2)]
        assert [1 / square for square in squares] == pytest.approx(row.effective)
        assert steps.tolist() == [3 * n for n in row.steps]
    assert part.alpha_b.sum(1).tolist() == pytest.approx([1.0, 1.0])
    assert part.omega.tolist() == pytest.approx((part.alpha * part.steps).sum((1, 2)).tolist())


def only(record: ExchangeRecord, ids: list[int]) -> ExchangeRecord:
    """The record of an exchange in which only these senders took part."""
    return exchange(record.t, record.hop, ids=ids, e=record.e, steps=record.steps[: len(ids)])


def test_idle_rounds_and_empty_cells_are_told(cells: Maker, tmp_path: Path) -> None:
    opened = replayed_run(made(cells("rounds=3"), tmp_path / "a"))
    opened.exchanges[1] = [only(record, []) for record in opened.exchanges[1]]
    opened.exchanges[2][0] = only(opened.exchanges[2][0], [0, 1, 2])
    part, busy = participation(opened, opened.sim.algorithm.averaging)  # type: ignore[arg-type]
    assert busy == [0, 2]
    assert part.rounds == 2
    assert float(part.alpha_u[1, 0, 3:].sum()) == 0.0
    assert part.alpha_b[1, 0] > part.alpha_b[1, 1]
    told = " ".join(run_notes(opened, part, []))
    assert "1 round(s) without training" in told
    assert "some edges had no client" in told
