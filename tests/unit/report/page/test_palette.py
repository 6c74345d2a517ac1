"""Colours on light and dark pages."""

import pytest

from fedradio.report.page.palette import BACKGROUNDS, contrast, visible
from fedradio.report.style import STYLES


@pytest.mark.parametrize("colour", [style.colour for style in STYLES.values()])
def test_every_algorithm_stands_out_in_both_modes(colour: str) -> None:
    for background, least in BACKGROUNDS.values():
        assert contrast(visible(colour, background, least), background) >= least >= 3
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
