"""Charts of a sweep."""

from fedradio.report.page.sections.sweep_charts import _medians_text


def test_medians_that_are_the_same_have_no_lowest() -> None:
    assert _medians_text({"a": 1.0, "b": 1.0}).startswith("the same in all variants (1")
    assert _medians_text({"a": 2.0, "b": 1.0, "c": 1.5}).startswith("lowest in b (1")
    assert "variants" not in _medians_text({"a": 2.0})
