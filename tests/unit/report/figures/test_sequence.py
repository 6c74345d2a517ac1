"""The message sequence chart as a figure."""

from pathlib import Path

import pytest

from fedradio.privacy.steps import Step, Walk
from fedradio.report.figures.axes import save
from fedradio.report.figures.sequence import NAMES, sequence_figure

STEPS = (
    Step("1", "UE", None, "content to tag", None, 0.03),
    Step("2", "UE", "BS", "request", 144, 0.5),
    Step("8", "BS", "ES", "order", 96, 0.01),
    Step("9", "ES", None, "opens the order", None, 0.02),
    Step("10", "ES", "BS", "ticket, payload", 1_000_272, 0.4),
    Step("$", "BS", "ISP", "octets", 24, 0.0),
)


def test_every_step_is_drawn_inside_the_figure() -> None:
    figure = sequence_figure(Walk(STEPS, True, 10))
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    for wanted in (*NAMES.values(), "octets", "ms", "request", "144", "1,000,272", "0.40", "opens the order"):
        assert wanted in texts
    figure.canvas.draw()
    frame = figure.bbox
    for text in axes.texts:
        if text.get_text():
            box = text.get_window_extent()
            assert frame.x0 <= box.x0 <= box.x1 <= frame.x1, text.get_text()
            assert frame.y0 <= box.y0 <= box.y1 <= frame.y1, text.get_text()


@pytest.mark.parametrize("ending", ["pdf", "png", "svg"])
def test_files_are_the_same_every_time(ending: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(sequence_figure(Walk(STEPS, True, 10)), tmp_path / f"{name}.{ending}")
    first, second = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("a", "b"))
    assert first == second
    assert len(first) > 2000
