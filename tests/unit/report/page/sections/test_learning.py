"""Learning curves on the page, and what is missing there."""

from support.pages import Outline

from fedradio.report.charts.chart import Group
from fedradio.report.page.sections.learning import learning_section
from fedradio.report.style import style
from fedradio.results.quantities import QUANTITIES
from fedradio.results.run import Run


def test_accuracy_and_loss_share_a_switch(small: Run) -> None:
    found = Outline(learning_section([Group("one", style("fedavg"), [small.digest])]))
    assert list(found.values("data-charts")) == ["accuracy-chart loss-chart"]
    assert list(found.values("value")) == ["rounds", "seconds", "joules", "bits"]


def test_undefined_costs_are_explained(small: Run) -> None:
    """Channel uses need no explanation: few links have them."""
    digest = small.digest
    bare = type(digest)(digest.states, series=digest.series, totals={"rounds": digest.totals["rounds"]})
    text = learning_section([Group("one", style("fedavg"), [bare])])
    assert all(QUANTITIES[name].absent in text for name in ("seconds", "joules", "bits"))
    assert 'class="switch"' not in text


def test_why_there_are_no_curves(empty: Run) -> None:
    none = learning_section([Group("one", style("fedavg"), [empty.digest])])
    assert "No evaluation is on record" in none
    assert "No run is complete" in learning_section([Group("one", style("fedavg"), [])])
