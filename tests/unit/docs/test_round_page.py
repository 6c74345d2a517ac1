"""The page on the verbs of a round says what the code says, and its example prints what it shows."""

import contextlib
import io
import re
from pathlib import Path

from fedradio.rounds import round as rounds

PAGE = (Path(__file__).parents[3] / "docs" / "round.md").read_text(encoding="utf-8")


def test_the_table_of_verbs_is_that_of_the_code() -> None:
    assert rounds.__doc__ is not None
    rows = rounds.__doc__.split("\n")
    ruler = next(row for row in rows if row.startswith("=="))
    edges = [match.span() for match in re.finditer("=+", ruler)]
    cells = [[row[first:last].strip() for first, last in edges] for row in rows if row.split("  ")[0] in VERBS]
    assert [row[0] for row in cells] == list(VERBS)
    written = [
        line.strip("| ").split(" | ") for line in PAGE.split("## Which")[0].splitlines() if line.startswith("| `")
    ]
    assert [[cell.strip("`") for cell in row] for row in written] == cells


VERBS = ("observe", "broadcast", "decide", "finalise", "work", "gather", "merge", "record")


def test_the_example_prints_what_the_page_shows() -> None:
    code, shown = re.findall(r"```(?:python)?\n(.*?)```", PAGE, re.DOTALL)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "round.md", "exec"), {})
    assert said.getvalue() == shown
