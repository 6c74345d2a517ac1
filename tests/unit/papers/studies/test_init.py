"""The names by which data files ask for studies."""

from fedradio.papers.published import published
from fedradio.papers.studies import STUDIES


def test_studies_are_named_after_their_functions() -> None:
    assert {name: study.__name__ for name, study in STUDIES.items()} == {name: name for name in STUDIES}


def test_every_study_is_asked_for_by_a_published_item() -> None:
    asked = {study for item in published().values() for row in item.rows for study in item.studied(row)}
    assert asked == STUDIES.keys()
