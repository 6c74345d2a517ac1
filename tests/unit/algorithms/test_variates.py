"""Control variates: the measures of their invariant, by hand."""

import pytest
from support.receiver import vector

from fedradio.algorithms.variates import variate_measures
from fedradio.core.contracts import Memory


def test_norm_and_violation_by_hand() -> None:
    """Masses 1 and 3, c_i = (4, 0) and (0, 4): the mean is (1, 3). c = (4, 3) is 5 long, and (3, 0) off."""
    rows = vector(4, 0, 0, 4).view(2, 2)
    found = variate_measures(Memory({"c": vector(4, 3)}, {"c": rows}), vector(1, 3))
    assert found == {"variate_norm": 5.0, "variate_error": pytest.approx(0.6)}
    assert variate_measures(Memory({"c": vector(1, 3)}, {"c": rows}), vector(1, 3))["variate_error"] == 0.0


def test_variates_of_length_0_have_an_absolute_violation() -> None:
    found = variate_measures(Memory({"c": vector(0, 0)}, {"c": vector(3, 4).view(1, 2)}), vector(2))
    assert found == {"variate_norm": 0.0, "variate_error": 5.0}
