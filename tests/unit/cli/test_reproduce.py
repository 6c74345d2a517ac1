"""``fedradio reproduce``: exit codes, and the command that goes on."""

from pathlib import Path

import pytest
from support.commands import Call
from support.results import table4

from fedradio.cli.reproduce import _exit_code, _resume_command
from fedradio.core.errors import SpecError
from fedradio.papers.make import Trouble
from fedradio.papers.plan import OUT, plan_reproduction


@pytest.mark.parametrize(("codes", "code"), [([], 0), ([5, 1], 5), ([5, 3, 1], 3), ([4], 4)])
def test_divergence_comes_first_then_the_first_failure(codes: list[int], code: int) -> None:
    trouble = {Path(str(n)): Trouble("why", one) for n, one in enumerate(codes)}
    assert _exit_code(trouble) == code


def test_the_command_that_goes_on() -> None:
    quick, paper = plan_reproduction(table4(), "quick", None, OUT), plan_reproduction(table4(), "paper", 3, Path("a b"))
    assert _resume_command(quick, "table4", 1) == "fedradio reproduce rawhfl table4 --scale quick"
    assert _resume_command(paper, "table4", 2) == (
        "fedradio reproduce rawhfl table4 --scale paper --seeds 3 --jobs 2 --out 'a b'"
    )


def test_lists_of_one_paper_and_unknown_ones(call: Call, tmp_path: Path) -> None:
    text = call("reproduce", "whfl", "--out", tmp_path).output
    assert "fig2a" in text
    assert "table4" not in text
    assert isinstance(call("reproduce", "whlf").exception, SpecError)
