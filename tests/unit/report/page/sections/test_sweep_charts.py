"""Charts of a sweep."""

import pytest

from fedradio.report.page.sections.sweep_charts import followed, unlike
from fedradio.results.quantities import entry


@pytest.mark.parametrize(
    ("values", "bands", "low", "high"),
    [
        ([90.0, 98.0], [], 89.6, 98.4),  # a twentieth of the span on either side
        ([90.0, 98.0], [89.0, 98.5], 88.6, 98.9),
        ([90.0, 98.0], [-300.0, 500.0], 87.6, 100.4),  # a quarter of the span
        ([1.0, 99.0], [], 0.0, 100.5),
        ([50.0], [], 44.5, 55.5),
    ],
)
def test_axes_follow_the_curves(values: list[float], bands: list[float], low: float, high: float) -> None:
    assert followed(entry("accuracy"), values, bands)["range"] == pytest.approx([low, high])


def test_amounts_of_unlike_size() -> None:
    assert unlike([1.0, 21.0])
    assert not unlike([1.0, 19.0])
    assert not unlike([0.0, 19.0])
    assert not unlike([])
