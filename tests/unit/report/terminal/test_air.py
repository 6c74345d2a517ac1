"""Shares and errors of the air on a terminal."""

import pytest
from support.whfl import FLAT, planned

from fedradio.report.terminal.air import error_table, shares_table


@pytest.mark.parametrize("overrides", [(), FLAT])
def test_tables_have_a_row_for_every_cause(overrides: tuple[str, ...]) -> None:
    sim, plan = planned(*overrides)
    assert shares_table(sim, plan).row_count == 4
    assert error_table(sim, plan).row_count >= 4
