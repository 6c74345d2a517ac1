"""What one pass over the exchange records yields."""

from collections.abc import Callable
from pathlib import Path

from support.past import two_rounds

from fedradio.report.charts.run_charts import client_joules
from fedradio.results.run import open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_joules_that_no_part_defines_are_not_zero(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "plain")
    found = open_run(tmp_path / "plain")
    assert found.digest.sending is not None
    assert found.digest.joules == {}
    assert client_joules(found) is None


def test_joules_of_clients_and_edge_rounds(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    found = two_rounds(tmp_path / "small", tiny("topology.clients=2", "rounds=3")).digest
    assert found.computing is not None
    assert found.sending is not None
    assert (found.computing.clients.tolist(), found.computing.edge_rounds.tolist()) == ([4.0, 2.0], [3.0, 3.0])
    assert (found.sending.clients.tolist(), found.sending.edge_rounds.tolist()) == ([1.0, 0.0], [0.5, 0.5])
    assert found.computing.uploads.tolist() == [1.0, 2.0, 3.0]
    assert found.totals["joules"].tolist() == [3.5, 7.0]
    assert found.series["train_loss"][1].tolist() == [2.0, 1.0]
