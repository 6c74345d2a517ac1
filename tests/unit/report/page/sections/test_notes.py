"""Further records: notes of parts, and metrics that share no axis."""

from fedradio.report.page.run_data import RunData
from fedradio.report.page.sections.notes import notes


def test_notes_and_metrics_are_listed_with_their_meaning(small: RunData) -> None:
    """Eligible clients: 2, then 1; the norm of variates: 2, then 3."""
    text = notes(small)
    assert "clients in a cell that could have taken part" in text
    assert "Its mean goes from 2 to 1." in text
    assert "variate norm" in text
    assert "metric of the evaluations" in text


def test_a_metric_has_the_unit_and_the_direction_that_the_run_declares(small: RunData) -> None:
    assert "[m]" not in notes(small)
    small.run.__dict__["declared_metrics"] = {"variate_norm": {"unit": "m", "better": "less"}}
    text = notes(small)
    assert "variate norm [m]" in text
    assert "metric of the evaluations; lower is better" in text


def test_nothing_else_is_on_record(empty: RunData) -> None:
    assert "recorded nothing beyond accuracies" in notes(empty)
