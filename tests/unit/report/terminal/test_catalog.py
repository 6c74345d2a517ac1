"""Parts and problems on a terminal."""

from typing import Literal

from support.terminal import shown

from fedradio.core.errors import Problem
from fedradio.core.registry import part
from fedradio.report.terminal.catalog import default_text, problems_table, type_name


def test_types_and_defaults_for_people() -> None:
    assert type_name(int | tuple[int, int] | None) == "int | [int, int] | null"
    assert type_name(tuple[int, ...]) == "[int, ...]"
    assert type_name(Literal["a", "b"]) == "a | b"
    assert type_name(dict[Literal["a", "b"], int] | None) == "{a: int, b: int} | null"
    assert type_name(dict[str, float]) == "{str: float}"
    defaults = {p.name: default_text(p) for p in part("rule", "adam").parameters()}
    assert defaults["eps"] == "1e-07"
    assert defaults["keep_state"] == "true"
    assert {p.name: default_text(p) for p in part("schedule", "step").parameters()}["at"] == "required"


def test_problems_show_markup_as_it_is() -> None:
    text = shown(problems_table([Problem("a[0]", "[red]bad[/red]", "use [1, 2]", "x" * 200)]))
    assert "[red]bad[/red]" in text
    assert "use [1, 2]" in text
    assert "..." in text
