"""Commands, options, files and links that README and pages name are there; what they print is for other tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.page_commands import OPTION, PAGES, PLACEHOLDER, ROOT, fenced, inline, options, trouble

OWN = ("bursts", "deadline_greedy")
"""Words of commands that use a part which the page itself makes; other tests run them."""

WRONG = ("model.hiden=",)
"""Words of commands that show what is refused."""

FOREIGN = {
    "-e",
    "-eq",
    "--node-config",
    "-c",
    "-L",
    "-p",
    "-n",
    "-m",
    "--no-deps",
    "--strict",
    "--logdir",
    "--time",
    "--backend-store-uri",
}
"""Options of other programs: pip, ssh, sbatch, pytest, mkdocs, trackers."""

SCRIPT = re.compile(r"python ((?:tools|examples|benchmarks)/\S+\.py)(.*)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FACES = ("README.md", "CONTRIBUTING.md", "SUPPORT.md", "SECURITY.md", "DATA.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_in_blocks_are_understood(page: Path) -> None:
    lines = [line for line in fenced(page) if line.startswith("fedradio ")]
    lines = [line for line in lines if not any(word in line for word in (*OWN, *WRONG))]
    assert [why for why in map(trouble, lines) if why] == []


def test_what_is_wrong_is_found() -> None:
    wrong = {
        "fedradio rum demo": "no command rum",
        "fedradio run demo --sead 3": "--sead",
        "fedradio run demo --seed three": "three",
        "fedradio run demoo": "no spec demoo",
        "fedradio run demo algorithm=fedaverage": "fedaverage",
        "fedradio sweep demo rule.ltr=1,2": "ltr",
        "fedradio reproduce rawhfl table9": "table9",
        "fedradio show nothing": "no part nothing",
        "fedradio export runs/a --to docx": "docx",
    }
    for line, word in wrong.items():
        assert word in trouble(line), line
    assert trouble("fedradio run demo --seed 3 algorithm=scaffold") == ""
    assert sum(line.startswith("fedradio ") for page in PAGES for line in fenced(page)) > 120


def test_options_inside_of_lines_exist() -> None:
    known = options() | FOREIGN
    unknown = set()
    for page in PAGES:
        for text in inline(page):
            if text.startswith(("fedradio ", "--")) or re.fullmatch(r"-[a-zA-Z]", text):
                unknown |= {(named(page), option) for option in OPTION.findall(text) if option not in known}
    programs = [path for folder in ("tools", "benchmarks") for path in (ROOT / folder).glob("*.py")]
    scripts = "".join(path.read_text(encoding="utf-8") for path in programs)
    assert {(page, option) for page, option in unknown if f'"{option}"' not in scripts} == set()


def test_commands_inside_of_lines_are_understood() -> None:
    wrong = []
    for page in PAGES:
        for text in inline(page):
            whole = text.replace("\\|", "|")
            if re.match(r"fedradio [a-z]", whole) and not re.search(r"[\[…]|\.\.\.|&&|; | > |[.= ]$", whole):
                words = whole.split()
                if len(words) > 2 and not any(PLACEHOLDER.match(word) for word in words):
                    wrong.append(trouble(whole))
    assert len(wrong) > 25
    assert [why for why in wrong if why and not any(word in why for word in OWN)] == []


def test_scripts_and_targets_exist() -> None:
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    count = 0
    for page in PAGES:
        for text in [*fenced(page), *inline(page)]:
            if target := re.fullmatch(r"make ([a-z]+)", text):
                assert re.search(rf"^{target[1]}:", make, re.MULTILINE), text
                count += 1
            if (script := SCRIPT.fullmatch(text)) and "..." not in text:
                source = (ROOT / script[1]).read_text(encoding="utf-8")
                assert all(f'"{option}"' in source for option in OPTION.findall(script[2])), text
                count += 1
    assert count > 20


@pytest.mark.parametrize("name", FACES)
def test_links_beside_the_documentation_lead_somewhere(name: str) -> None:
    """``mkdocs build --strict`` checks those of the documentation, with their anchors."""
    for target in LINK.findall((ROOT / name).read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if not re.match(r"[a-z]+:", target) and path:
            assert (ROOT / path).exists(), target
            if anchor:
                titles = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
                assert anchor in {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}, target
