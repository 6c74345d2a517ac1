"""The documentation has a page for every part, with an equation that is typeset and an example that is a valid spec."""

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from fedradio.core.errors import DataError, SpecError
from fedradio.core.registry import FAMILIES, Part, parts
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec

DOCS = Path(__file__).parents[2] / "docs"
SHIPPED = [part for part in parts() if part.factory.__module__.startswith("fedradio.")]


def refusal(spec: Spec) -> str:
    """Why a simulation cannot be built here, or nothing."""
    try:
        build(spec)
    except DataError as error:
        return "data to fetch" if "fedradio data fetch" in str(error) else str(error)
    except SpecError as error:
        if "on the devices of a federation" in str(error):
            return "samples of devices"
        return "a file of the user's" if "No such file or directory" in str(error) else str(error)
    return ""


def named(part: Part) -> str:
    return f"{part.family}/{part.kind}"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    sys.path.insert(0, str(DOCS))
    try:
        return import_module("part_pages")
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def typesetting() -> ModuleType:
    sys.path.insert(0, str(DOCS))
    try:
        return import_module("typeset")
    finally:
        sys.path.remove(str(DOCS))


def test_every_part_and_no_other_has_a_note(pages: ModuleType) -> None:
    assert set(pages.notes()) == set(map(named, SHIPPED))


@pytest.mark.parametrize("part", SHIPPED, ids=named)
def test_the_page_of_a_part_has_its_words_and_every_keyword(pages: ModuleType, part: Part) -> None:
    page = pages.part_page(part)
    assert part.doc in page
    assert part.paper in page
    for parameter in part.parameters():
        assert f"| `{parameter.name}` |" in page
        assert parameter.arg.doc in page.replace("\\|", "|")


@pytest.mark.parametrize("part", SHIPPED, ids=named)
def test_the_example_is_a_valid_spec_that_uses_the_part(pages: ModuleType, part: Part, tmp_path: Path) -> None:
    note = pages.notes()[named(part)]
    file = tmp_path / "example.yaml"
    file.write_text(pages.example_spec(note), encoding="utf-8")
    spec = load_spec(file)
    assert f"'kind': '{part.kind}'" in str(spec.plain) or f"'{part.kind}'" in str(spec.plain)
    overrides = [f"{key}={pages._flow(value)}" for key, value in pages.settings(note["example"]).items()]
    again = load_spec(note.get("base", "demo"), overrides)
    assert {**again.plain, "name": "", "about": ""} == {**spec.plain, "name": "", "about": ""}
    assert refusal(spec) in ("", "data to fetch", "a file of the user's", "samples of devices")


@pytest.mark.parametrize("part", SHIPPED, ids=named)
def test_the_equation_is_typeset(pages: ModuleType, typesetting: ModuleType, part: Part) -> None:
    note = pages.notes()[named(part)]
    page = typesetting.typeset(pages.part_page(part))
    equations = page.split('<div class="equation">')[1:]
    assert len(equations) == len((note["equation"] or "").strip().splitlines())
    for equation in equations:
        ElementTree.fromstring(equation.split("</div>")[0])
        assert "\\" not in equation.split("</div>")[0]


def test_there_is_a_page_for_every_family(pages: ModuleType) -> None:
    assert {f"parts/{family}.md" for family in FAMILIES} <= set(pages.pages())
    assert "[`fedavg`](algorithm/fedavg.md)" in pages.family_page("algorithm")
    assert "fedradio new algorithm" in pages.family_page("algorithm")


def test_equations_in_code_and_prose(typesetting: ModuleType) -> None:
    text = typesetting.typeset("a \\(x_1\\) b `\\(x\\)`\n```\n\\[y\\]\n```\n")
    assert text.startswith("a <span><math")
    assert "`\\(x\\)`" in text
    assert "\n\\[y\\]\n" in text


NUMBERED = {
    "rawhfl": ["(9)", "(10), (11)", "(12), (13), (14)", "(15), (16)", "(17)", "(29)"],
    "osafl": ["(15)", "(16)", "(19), (20), (21)", "(17), (35)", "(5)", "(7)", "(9)"],
    "whfl": ["(3), (7)", "(8)", "(9)", "(12), (13)", "(15)", "(16), (17)", "(18), (21)"],
    "fedcpsl": ["(4)", "(5)", "(11), (12)", "(13), (14)", "(15), (16)", "(17)", "(18)"],
    "theory": ["(21)", "(24)", "(34)", "(31)", "(33)", "(35)", "(39)"],
}
"""The papers' equations that the page of a system must show, by their numbers at the end of a line of its own."""


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_the_equations_of_a_page_are_typeset(typesetting: ModuleType, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    made = typesetting.CODE.split(typesetting.typeset(text))[::2]
    equations = re.findall(r"<math.*?</math>", "".join(made))
    for equation in equations:
        ElementTree.fromstring(equation)
        assert "\\" not in equation
    assert not re.search(r"\\[\[\]()]", "".join(made))
    shown = [line.removesuffix("\\]").rpartition("\\qquad ")[2] for line in text.splitlines() if line[:2] == "\\["]
    assert set(NUMBERED.get(page.stem, [])) <= set(shown)
