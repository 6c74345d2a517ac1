"""Charts of a sweep."""

import pytest

from fedradio.report.page.sections.sweep_charts import _medians_text, followed, unlike
from fedradio.results.quantities import entry


def test_medians_that_are_the_same_have_no_lowest() -> None:
    assert _medians_text({"a": 1.0, "b": 1.0}).startswith("the same in all variants (1")
    assert _medians_text({"a": 2.0, "b": 1.0, "c": 1.5}).startswith("lowest in b (1")
    assert "variants" not in _medians_text({"a": 2.0})


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
