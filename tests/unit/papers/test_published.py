"""The shipped tables and figures: all there, and all can be made."""

from __future__ import annotations

import re

import pytest

from fedradio.core.errors import SpecError
from fedradio.papers.make import load_specs
from fedradio.papers.plan import plan_reproduction
from fedradio.papers.published import PAPERS, items, matching, published
from fedradio.papers.studies import STUDIES
from fedradio.results.measures import measure, paired_measure


def test_unknown_papers_and_items_are_refused_with_suggestions() -> None:
    with pytest.raises(SpecError, match="did you mean 'rawhfl'"):
        items("rawfl")
    with pytest.raises(SpecError, match="did you mean 'table4'"):
        matching("rawhfl", "table44")
    with pytest.raises(SpecError, match=r"one of: .*fig5"):
        matching("rawhfl", "abstract")


def test_a_figure_stands_for_its_panels() -> None:
    assert [one.name for one in matching("rawhfl", "fig9")] == ["fig9a", "fig9b"]
    assert [one.name for one in matching("whfl", "fig2")] == ["fig2a", "fig2b", "fig2c"]
    assert [one.name for one in matching("rawhfl", "fig10")] == ["fig10"]
    with pytest.raises(SpecError):
        matching("rawhfl", "fig1")


SHIPPED = {
    "rawhfl": {"table2", "table3", "table4", "fig4", "fig5", "fig6", "fig7", "fig8", "fig9", "fig10"},
    "osafl": {"table1", "table2", "table3", "table4", "table5", "fig1", "fig2", "fig3", "fig4", "fig5", "fig6"},
    "whfl": {"fig2a", "fig2b", "fig2c", "fig3", "fig4", "remarks"},
    "fedcpsl": {"table1", "fig1", "fig2", "fig3", "fig4", "fig5", "epochs", "phases", "semi", "uplink"},
}
"""Every table and figure with results of the four papers, and studies of ours on their sentences and readings."""


LONGER = {("whfl", "fig3"): 30}
"""Minutes of quick items with convolutions, which take longer than ten."""

SPLIT = re.compile(r"(?<=\d)[a-z]?(_\w+)?$")
"""A figure's panels may be items of their own."""


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_with_results_is_there(paper: str) -> None:
    names = {one.name for one in items(paper)}
    whole = {name if name in SHIPPED[paper] else SPLIT.sub("", name) for name in names}
    assert whole == SHIPPED[paper]


@pytest.mark.parametrize(("paper", "name"), list(published()), ids="/".join)
def test_a_shipped_item_can_be_made(paper: str, name: str) -> None:
    """Its specs are right at both scales, its measures and studies are known, its quick scale is quick."""
    one = published()[paper, name]
    for scale in ("quick", "paper"):
        specs = load_specs(plan_reproduction(one, scale, 1).units)
        assert all(spec.rounds >= 1 for spec in specs.values())
    for column in one.columns.values():
        if column.study is None:
            name = column.of or column.measure
            paired_measure(name) if column.paired and column.of is None else measure(name)
    assert {study for row in one.rows for study in one.studied(row)} <= STUDIES.keys()
    assert one.size("quick").minutes <= LONGER.get((paper, one.name), 10)
    assert one.size("quick").seeds <= one.size("paper").seeds
    assert all(row.paper.spec is not None for row in one.rows if one.trains(row))
