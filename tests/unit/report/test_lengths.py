"""The unit of positions on maps."""

import pytest

from fedradio.report.lengths import length_unit
from fedradio.spec.spec import load_spec


@pytest.mark.parametrize(("name", "unit"), [("rawhfl", "m"), ("demo", "m"), ("whfl", "normalised")])
def test_only_clusters_have_normalised_lengths(name: str, unit: str) -> None:
    assert length_unit(load_spec(name)) == unit
