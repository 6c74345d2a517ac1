"""The section of a federation: medians by hand, and who was missing why."""

from types import SimpleNamespace
from typing import Any

from fedradio.report.page.sections.federation import federation, median
from fedradio.results.digest import DeviceTimes


def test_a_row_a_device() -> None:
    """Planned .1, .2 and .3 s, measured 2 and 4 s: 3 s are 15 times .2."""
    times = DeviceTimes(
        planned_s=[0.1, 0.2, 0.3],
        planned_j=[0.5, 0.5, 0.5],
        measured_s=[2.0, 4.0],
        train_s=[0.5, 1.5],
        wire_bits=[8e3, 8e3],
        why=["none", "crashed", "none"],
    )
    run: Any = SimpleNamespace(digest=SimpleNamespace(devices={3: times, 1: DeviceTimes(why=["deadline"])}))
    page = str(federation(run))
    assert "15 times" in page
    assert "2 of 3" in page
    assert "1 crashed" in page
    assert "1 deadline" in page
    assert "500 mJ" in page
    assert page.index(">1<") < page.index(">3<")
    assert "is not measured" in page
    assert median([]) is None
