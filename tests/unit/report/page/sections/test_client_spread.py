"""Accuracies of clients that have test sets of their own."""

from fedradio.report.page.run_data import RunData
from fedradio.report.page.sections.client_spread import spread


def test_the_last_evaluation_and_how_the_spread_moved(small: RunData) -> None:
    """0.4 and 0.6 after round 1, 0.5 and 1 after round 2: deviations of 0.1 and 0.25."""
    text = spread(small, "@algorithm")
    assert "After round 2 the worst of 2 clients has 50.00 %, the median 75.00 %, the best 100.00 %" in text
    assert "changes from 10.00 % after round 1 to 25.00 % after round 2" in text
    assert 'id="spread-chart"' in text
    assert 'id="fan-chart"' in text


def test_one_evaluation_has_nothing_to_compare_with(small: RunData) -> None:
    del small.run.evaluations[1]
    text = spread(small, "@algorithm")
    assert "there is nothing to compare it with yet" in text
    assert 'id="fan-chart"' not in text


def test_why_there_is_none(small: RunData, empty: RunData) -> None:
    assert "No evaluation is on record" in spread(empty, "@algorithm")
    for record in small.run.evaluations:
        record.groups["accuracy"] = [None, None]
    assert "No client has its own test samples" in spread(small, "@algorithm")
    for record in small.run.evaluations:
        record.groups.clear()
    assert "All clients share one test set" in spread(small, "@algorithm")
