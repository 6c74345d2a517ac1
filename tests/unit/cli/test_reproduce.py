"""``fedradio reproduce``: exit codes and lists."""

from pathlib import Path

import pytest
from support.commands import Call

from fedradio.cli.reproduce import _exit_code
from fedradio.core.errors import SpecError
from fedradio.papers.absence import Absence, Reason


@pytest.mark.parametrize(("codes", "code"), [([], 0), ([5, 1], 5), ([5, 3, 1], 3), ([4], 4)])
def test_divergence_comes_first_then_the_first_failure(codes: list[int], code: int) -> None:
    failures = {Path(str(n)): Absence(Reason.FAILED, "why", one) for n, one in enumerate(codes)}
    assert _exit_code(failures) == code


def test_lists_of_one_paper_and_unknown_ones(call: Call, tmp_path: Path) -> None:
    text = call("reproduce", "whfl", "--out", tmp_path).output
    assert "fig2a" in text
    assert "table4" not in text
    assert isinstance(call("reproduce", "whlf").exception, SpecError)


def test_claims_of_the_shipped_items_are_listed(call: Call, tmp_path: Path) -> None:
    done = call("reproduce", "--claims", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "claim" in done.output
    assert not list(tmp_path.iterdir())
    assert isinstance(call("reproduce", "whlf", "--claims").exception, SpecError)
