"""Data files of published tables and figures: their form, and what is refused."""

from __future__ import annotations

import pytest

from fedradio.core.errors import SpecError
from fedradio.papers.items import Item, parse_item

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
  quick: {seeds: 1, about: six rounds}
  paper: {seeds: 10, about: as published}
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
        ("about: six", "minutes: 4, about: six", "scales.quick.minutes", "unknown key"),
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
            "row 'in one place': 'acuracy' is not a column",
        ),
        ("notes: {accuracy", "notes: {other", "", "row 'everybody': 'other' is not a column"),
        ("label: in one place", "label: everybody", "", "two rows are named 'everybody'"),
        ("show: table", "show: curves", "", "curves need axes"),
        ("show: table", "show: bars\naxes: {x: rounds}", "", "axes belong to curves"),
        ("show: table", "show: curves\naxes: {legend: power}", "", "axes: 'power' is not a column"),
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


def test_a_row_also_needs_what_a_claim_is_about() -> None:
    test = "{column: energy, row: everybody, over: in one place, above: 1}"
    claims = f"claims: [{{id: dear, says: It costs more., source: V, tests: [{test}]}}]\nscales:"
    found = good(("scales:", claims))
    assert found.studied(found.rows[1]) == ("energy",)


RATIO = "accuracy: {title: ratio, measure: ratio, of: accuracy@5, against: in one place, within: 0.02}"
PLAIN = "accuracy: {title: test accuracy, measure: accuracy, within: 0.02}"


def test_a_column_may_be_about_two_rows() -> None:
    found = good((PLAIN, RATIO), ("published: {accuracy: [0.5]}", "published: {}"))
    everybody, central = found.rows
    column = found.columns["accuracy"]
    assert column.paired
    assert everybody.other("accuracy", column) == "in one place"
    assert central.other("accuracy", column) is None
    assert found.wants(everybody, "accuracy")
    assert not found.wants(central, "accuracy")  # there is nothing to compare it with
    assert found.needs(central, "accuracy")  # others are compared with it
    assert found.trains(central)
    own = good((PLAIN, RATIO), ("algorithm: central", "against: {accuracy: everybody}"))
    assert own.rows[1].other("accuracy", column) == "everybody"
    assert own.wants(own.rows[1], "accuracy")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (" of: accuracy@5,", "", "ratio needs of"),
        ("measure: ratio", "measure: accuracy", "ratio needs of"),
        (" of: accuracy@5,", " of: total_j, study: energy,", ""),
        ("measure: ratio, of: accuracy@5,", "measure: crossing@0.98, study: energy,", "not of a study"),
        (
            "measure: ratio, of: accuracy@5,",
            "measure: accuracy,",
            "against belongs to the measures crossing,",
        ),
        ("against: in one place,", "against: nobody,", "column 'accuracy': 'nobody' is not a row"),
        ("against: in one place,", "", "column 'accuracy' needs against"),
    ],
)
def test_a_wrong_column_about_two_rows_is_refused(old: str, new: str, reason: str) -> None:
    changes = ((PLAIN, RATIO), (old, new))
    if not reason:
        assert good(*changes).columns["accuracy"].study == "energy"
        return
    with pytest.raises(SpecError, match=reason):
        good(*changes)


def test_a_column_about_one_row_has_no_other() -> None:
    with pytest.raises(SpecError, match="column 'accuracy' is about one row: no against"):
        good(("algorithm: central", "against: {accuracy: everybody}"))
