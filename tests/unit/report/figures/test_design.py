"""Designs of figures: sizes, fonts, style files, and what is told of wrong ones."""

from pathlib import Path

import pytest

from fedradio.core.errors import Problem, SpecError
from fedradio.report.figures.design import COLUMN, Design, design


def problems(**wrong: object) -> list[Problem]:
    with pytest.raises(SpecError) as caught:
        design(**wrong)  # type: ignore[arg-type]
    return list(caught.value.problems)


def test_nothing_given_is_a_column() -> None:
    assert design() == COLUMN == Design(3.5)
    assert COLUMN.letters == 62
    assert COLUMN.height(2.3) == 2.3


@pytest.mark.parametrize(
    ("size", "width", "height"),
    [
        ("3.5x2.3", 3.5, 2.3),
        ("7", 7.0, None),
        ("8.89 x 5.08 cm", 3.5, 2.0),
        ("88.9mm", 3.5, None),
        ("252.945pt", 3.5, None),
        ((5.0, 4.0), 5.0, 4.0),
        ((5.0, None), 5.0, None),
    ],
)
def test_sizes(size: str | tuple[float, float | None], width: float, height: float | None) -> None:
    found = design(size)
    assert found.width_in == pytest.approx(width)
    assert found.height_in == (None if height is None else pytest.approx(height))


def test_a_wider_figure_has_more_letters_in_a_line_and_is_higher() -> None:
    assert design("7").letters == 124
    assert design("7").height(2.3) == pytest.approx(4.6)
    assert design("7x3").height(2.3) == 3.0
    assert design(font_size=15).letters == 31  # 14 points in the legend, twice the usual 7


def test_letters() -> None:
    rc = design(font="DejaVu Serif", font_size=10).rc
    assert (rc["font.family"], rc["font.size"], rc["axes.labelsize"], rc["legend.fontsize"]) == (
        ["DejaVu Serif"],
        10,
        10,
        9,
    )
    assert design(font="serif").rc["mathtext.fontset"] == "dejavuserif"


def test_a_style_file_goes_before_the_defaults_and_behind_what_is_given(tmp_path: Path) -> None:
    file = tmp_path / "paper.mplstyle"
    file.write_text(
        "# a comment\n\nfont.size: 11  # of everything\nfigure.figsize: 5, 4\n"
        'font.family: serif\nfont.serif: cmr10, DejaVu Serif\naxes.prop_cycle: cycler("color", ["#123456", "r"])\n'
    )
    found = design(style=file)
    assert (found.width_in, found.height_in) == (5.0, 4.0)
    assert found.rc["font.size"] == 11
    assert found.rc["axes.labelsize"] == 8  # ours
    assert found.rc["font.family"] == ["cmr10", "DejaVu Serif"]
    assert [turn["color"] for turn in found.rc["axes.prop_cycle"]] == ["#123456", "r"]
    assert design("3x2", font_size=6, style=file).rc["font.size"] == 6
    assert design("3x2", style=file).width_in == 3.0


def test_styles_of_matplotlib_have_names() -> None:
    assert design(style="ggplot").rc["axes.grid"] is True


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "paper.mplstyle"
    file.write_text("lines.linewith: 1\nfont.size: large-ish\nnothing\ntext.usetex: True\n")
    found = problems(size="big", font="DejaVu Sarif", font_size=200, style=file)
    assert [(one.path.rpartition("/")[2], one.reason.partition(":")[0]) for one in found] == [
        ("paper.mplstyle, line 1", "matplotlib has no such setting"),
        ("paper.mplstyle, line 2", "not a value of font.size"),
        ("paper.mplstyle, line 3", "not a setting"),
        ("paper.mplstyle", "text.usetex is not supported"),
        ("--size", "not a size"),
        ("--font", "this font is not installed"),
        ("--font-size", "font sizes must be between 3 and 72 points"),
    ]
    assert found[0].remedy == "did you mean 'lines.linewidth'?"
    assert "DejaVu Serif" in str(found[5].remedy)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    (one,) = problems(style=tmp_path / "none.mplstyle")
    assert one.reason == "cannot be read: no such file or directory"
    (one,) = problems(style="gplot")
    assert one.remedy == "did you mean 'ggplot'?"
    (one,) = problems(size="300x2")
    assert one.reason == "figures must measure between 1 and 40 inches"
