"""Data files of published tables and figures: their form, and those that are shipped."""

from __future__ import annotations

import re

import pytest

from fedradio.core.errors import SpecError
from fedradio.papers.items import Item, parse_item
from fedradio.papers.make import load_specs
from fedradio.papers.plan import plan_reproduction
from fedradio.papers.published import PAPERS, items, matching, published
from fedradio.papers.studies import STUDIES
from fedradio.results.measures import measure

GOOD = """
title: Accuracy and energy
source: a paper, Table IV
show: table
columns:
  accuracy: {title: test accuracy, measure: accuracy, within: 0.02}
  energy: {title: energy, study: energy, measure: total_j, unit: J, digits: 0, within_share: 0.15}
rows:
  - label: everybody
    algorithm: fedavg
    published: {accuracy: [0.45, 0.2], energy: [2848]}
    quick: {spec: demo, set: ["rounds=6"]}
    paper: {spec: demo}
    notes: {accuracy: read off a picture}
  - label: in one place
    algorithm: central
    published: {accuracy: [0.5]}
    quick: {skip: does not fit}
    paper: {spec: digits_central}
scales:
  quick: {seeds: 1, minutes: 4, about: six rounds}
  paper: {seeds: 10, minutes: 1800, about: as published}
"""


def good(*changes: tuple[str, str]) -> Item:
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_item(text, "rawhfl", "table4")


def test_a_file_is_read_with_its_defaults() -> None:
    found = good()
    assert (found.paper, found.name, found.size("paper").seeds) == ("rawhfl", "table4", 10)
    assert found.columns["accuracy"].digits == 4
    assert found.rows[0].source("quick").set == ("rounds=6",)
    assert found.rows[0].published["accuracy"] == (0.45, 0.2)


@pytest.mark.parametrize(
    ("old", "new", "path", "reason"),
    [
        ("label: everybody", "labl: everybody", "rows.0.labl", "unknown key"),
        ("show: table", "show: tables", "show", "input should be"),
        ("seeds: 1,", "seeds: 0,", "scales.quick.seeds", "greater than or equal to 1"),
        ("minutes: 4,", "minutes: 0,", "scales.quick.minutes", "greater than 0"),
        ("[0.45, 0.2]", "[1, 2, 3]", "rows.0.published.accuracy", "at most 2"),
        ("[0.45, 0.2]", "[]", "rows.0.published.accuracy", "at least 1"),
        ("{spec: digits_central}", "{}", "rows.1.paper", "either a spec or a reason to skip"),
        ("{skip: does not fit}", "{skip: no, spec: demo}", "rows.1.quick", "input should be a valid string"),
        ("{skip: does not fit}", "{skip: never, spec: demo}", "rows.1.quick", "either a spec or a reason to skip"),
        ("{skip: does not fit}", "{skip: never, set: [a=1]}", "rows.1.quick", "nothing to set"),
        (", within: 0.02", "", "", "column 'accuracy' has published numbers"),
        (
            "published: {accuracy: [0.5]}",
            "published: {acuracy: [0.5]}",
            "",
            "row 'in one place': 'acuracy' is no column",
        ),
        ("notes: {accuracy", "notes: {other", "", "row 'everybody': 'other' is no column"),
        ("label: in one place", "label: everybody", "", "two rows are called 'everybody'"),
        ("show: table", "show: curves", "", "curves need axes"),
        ("show: table", "show: bars\naxes: {x: rounds}", "", "axes belong to curves"),
        ("title: Accuracy and energy\n", "", "title", "field required"),
        ("title: Accuracy and energy\n", "title: ''\n", "title", "at least 1 character"),
        ("source: a paper", "name: mine\nsource: a paper", "name", "unknown key"),
    ],
)
def test_a_wrong_file_is_refused_with_path_and_reason(old: str, new: str, path: str, reason: str) -> None:
    with pytest.raises(SpecError) as refusal:
        good((old, new))
    wanted = f"published/rawhfl/table4.yaml: {path}" if path else "published/rawhfl/table4.yaml"
    assert any(
        problem.path.startswith(wanted) and reason in problem.reason.lower() for problem in refusal.value.problems
    ), refusal.value


def test_all_problems_of_a_file_come_together() -> None:
    with pytest.raises(SpecError) as refusal:
        good(("seeds: 1,", "seeds: 0,"), ("show: table", "show: tables"))
    assert {problem.path.split(": ")[1] for problem in refusal.value.problems} == {"scales.quick.seeds", "show"}


def test_a_picture_without_a_study_or_runs_is_refused() -> None:
    with pytest.raises(SpecError, match="map needs a study"):
        good(("show: table", "show: map"), (" study: energy,", ""))


def test_agreement_is_the_wider_of_both_tolerances() -> None:
    column = good(("within: 0.02", "within: 0.02, within_share: 0.1")).columns["accuracy"]
    assert column.tolerance(0.1) == pytest.approx(0.02)
    assert column.tolerance(-0.5) == pytest.approx(0.05)
    assert column.agrees(0.45, 0.5)
    assert not column.agrees(0.449, 0.5)


def test_a_row_needs_what_was_published_for_it() -> None:
    found = good()
    everybody, central = found.rows
    assert found.trains(everybody)
    assert found.studied(everybody) == ("energy",)
    assert found.studied(central) == ()  # its energy was not published
    alone = good(("published: {accuracy: [0.5]}", "published: {}"))
    assert alone.studied(alone.rows[1]) == ("energy",)  # a row of our own has everything


def test_studies_alone_train_nothing() -> None:
    text = GOOD.replace("measure: accuracy,", "measure: share, study: energy,")
    found = parse_item(text, "rawhfl", "table4")
    assert not any(found.trains(row) for row in found.rows)
    assert found.picture == "energy"


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
    "whfl": {"fig2a", "fig2b", "fig2c", "fig3", "fig4"},
    "fedcpsl": {"table1", "fig1", "fig2", "fig3", "fig4", "fig5"},
}
"""Every table and figure with results of the four papers."""

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
            measure(column.measure)
    assert {study for row in one.rows for study in one.studied(row)} <= STUDIES.keys()
    assert one.size("quick").minutes <= 10
    assert one.size("quick").seeds <= one.size("paper").seeds
    assert all(row.paper.spec is not None for row in one.rows if one.trains(row))
