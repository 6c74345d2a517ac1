"""What is read of a run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.report.page import run_page
from fedradio.report.page.run_data import RunData
from fedradio.results import run as results
from fedradio.results.run import open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_joules_that_nobody_defines_are_not_zero(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "plain")
    data = RunData(open_run(tmp_path / "plain"))
    assert data.exchanges.sending is not None
    assert data.exchanges.joules == {}
    assert data.client_joules() is None


def test_joules_of_clients_and_edge_rounds(small: RunData) -> None:
    computing, sending = small.exchanges.computing, small.exchanges.sending
    assert computing is not None
    assert sending is not None
    assert (computing.clients.tolist(), computing.edge_rounds.tolist()) == ([4.0, 2.0], [3.0, 3.0])
    assert (sending.clients.tolist(), sending.edge_rounds.tolist()) == ([1.0, 0.0], [0.5, 0.5])


def test_a_page_reads_the_records_once(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes, read_records = [], results.read_records
    monkeypatch.setattr(results, "read_records", lambda *args: passes.append(args) or read_records(*args))
    run_page(open_run(made))
    assert passes == [(made,)]
