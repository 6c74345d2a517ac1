from importlib.metadata import EntryPoint
from typing import Annotated, Any, Literal

import pytest

from fedradio.core import registry
from fedradio.core.errors import SpecError
from fedradio.core.registry import Arg, part, parts, register


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_PARTS", dict(registry._PARTS))
    monkeypatch.setattr(registry, "_plugins_loaded", False)


def test_a_part_describes_itself() -> None:
    @register("link", "smoke", paper="None, 2026")
    def smoke(*, puffs: Annotated[int, Arg("how many", ge=1, le=9, unit="puff")] = 3) -> None:
        """Signals by smoke.

        More words.
        """

    found = part("link", "smoke")
    (puffs,) = found.parameters()
    assert found.summary == "Signals by smoke."
    assert (puffs.name, puffs.annotation, puffs.default, puffs.required) == ("puffs", int, 3, False)
    assert puffs.arg.bounds() == ">= 1, <= 9"
    assert found in parts("link")


def test_registering_twice_or_without_words_or_in_no_family_is_refused() -> None:
    def documented() -> None:
        """Words."""

    def silent() -> None: ...

    register("link", "twice")(documented)
    with pytest.raises(ValueError, match="registered twice"):
        register("link", "twice")(documented)
    with pytest.raises(ValueError, match="docstring"):
        register("link", "silent")(silent)
    with pytest.raises(ValueError, match="unknown family"):
        register("radio", "x")


def test_a_keyword_that_would_hide_the_kind_is_refused() -> None:
    def ambiguous(*, kind: Annotated[str, Arg("which one")] = "a") -> None:
        """Words."""

    with pytest.raises(ValueError, match="link 'loud' has a keyword 'kind'"):
        register("link", "loud")(ambiguous)


def test_a_keyword_without_meaning_is_refused() -> None:
    @register("link", "vague")
    def vague(*, x: int = 1) -> None:
        """Words."""

    with pytest.raises(SpecError, match="Annotated"):
        part("link", "vague").parameters()


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (float, (0.5, 1), ("nine", True, None, 1.5, -0.1, float("nan"))),
        (int, (1,), (0.5, "1", True, 2)),
        (bool, (True,), (1, "yes")),
        (str, ("", "x"), (b"x", None)),
        (float | None, (None, 0.5), ("x", 2.0)),
        (Literal["a", 1], ("a", 1), ("b", True)),
        (tuple[int, float], ((1, 0.5),), ((1,), (0.5, 1), [1, 0.5])),
        (tuple[int, ...], ((), (1, 1)), ((1, 2), 1)),
        (tuple[()], ((),), ((1,), None)),
        (dict[Literal["a"], int], ({}, {"a": 1}), ({"b": 1}, {"a": 2}, "a")),
    ],
)
def test_a_default_must_fit_its_type(annotation: Any, good: tuple[Any, ...], bad: tuple[Any, ...]) -> None:
    def factory(*, x: Any) -> None:
        """Words."""

    register("link", "defaulting")(factory)
    factory.__annotations__["x"] = Annotated[annotation, Arg("a number", ge=0, le=1)]
    for default in good:
        factory.__kwdefaults__ = {"x": default}
        assert part("link", "defaulting").parameters()[0].default == default
    for default in bad:
        factory.__kwdefaults__ = {"x": default}
        with pytest.raises(SpecError, match=r"the default .* of keyword 'x' does not fit its own type"):
            part("link", "defaulting").parameters()


@pytest.mark.parametrize(
    ("annotation", "told"),
    [
        (float, "(float, >= 0)"),
        (tuple[float, ...], "(tuple[float, ...], >= 0)"),
        (Literal["a", "b"], "(Literal['a', 'b'], >= 0)"),
        (float | None, "(float | None, >= 0)"),
    ],
)
def test_a_default_that_does_not_fit_is_told_the_whole_type(annotation: Any, told: str) -> None:
    def factory(*, x: Any = "c") -> None:
        """Words."""

    register("link", "typed")(factory)
    factory.__annotations__["x"] = Annotated[annotation, Arg("a number", ge=0)]
    with pytest.raises(SpecError) as refused:
        part("link", "typed").parameters()
    assert told in refused.value.problems[0].reason


def test_unknown_kind_lists_the_known_ones() -> None:
    with pytest.raises(SpecError, match="ideal"):
        part("link", "idael")


def test_plugins_register_and_a_broken_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Good(EntryPoint):
        def load(self) -> Any:
            @register("link", "from_outside")
            def from_outside() -> None:
                """A third-party link."""

    class Broken(EntryPoint):
        def load(self) -> Any:
            raise ImportError("no such module")

    points = [Good("good", "good:parts", "fedradio.parts"), Broken("bad", "bad:parts", "fedradio.parts")]
    monkeypatch.setattr(registry, "entry_points", lambda **_: points)
    failures = registry.load_plugins()
    assert part("link", "from_outside").summary == "A third-party link."
    assert len(failures) == 1
    assert "bad" in failures[0]
    assert registry.load_plugins() == []
