"""What is read of a run."""

from collections.abc import Callable
from pathlib import Path

from fedradio.report.page.run_data import RunData
from fedradio.results.run import open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_joules_that_nobody_defines_are_not_zero(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "plain")
    data = RunData(open_run(tmp_path / "plain"))
    assert data.exchanges.sending is not None
    assert data.joules == {}
    assert data.client_joules() is None
