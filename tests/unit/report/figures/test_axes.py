"""Axes and files of figures."""

from pathlib import Path

from PIL import Image

from fedradio.report.figures.axes import COLOURS, save_figure
from fedradio.report.figures.lines import curves


def test_figures_are_pictures(tmp_path: Path) -> None:
    figure = curves({"fedavg": ([1, 2], [3, 4]), "other": ([1, 2], [2, 5])}, "x", "y", "title")
    assert figure.axes[0].lines[0].get_color() == COLOURS["fedavg"]
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["fedavg", "other"]
    for ending in ("png", "pdf"):
        save_figure(figure, tmp_path / "new" / f"a.{ending}")
        assert (tmp_path / "new" / f"a.{ending}").stat().st_size > 1000
    assert Image.open(tmp_path / "new" / "a.png").size[0] == round(3.5 * 1.6 * 200)


def test_files_are_the_same_every_time_and_have_no_dates(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        for suffix in ("pdf", "png"):
            save_figure(curves({"fedavg": ([1, 2], [3, 4])}, "x", "y"), tmp_path / folder / f"map.{suffix}")
    for suffix in ("pdf", "png"):
        one, other = ((tmp_path / folder / f"map.{suffix}").read_bytes() for folder in ("a", "b"))
        assert one == other
        assert b"Date" not in one
        assert b"atplotlib" not in one
    assert b"FontFile2" in (tmp_path / "a" / "map.pdf").read_bytes()  # TrueType, embedded
    assert [file.name for file in sorted((tmp_path / "a").iterdir())] == ["map.pdf", "map.png"]
