"""The shipped tables and figures of the four papers, by paper and name."""

from __future__ import annotations

import functools
import re
from importlib import resources

from fedradio.core.errors import Problem, SpecError, suggest
from fedradio.papers.items import Item, parse_item

PAPERS = {"rawhfl": "RawHFL", "osafl": "OSAFL", "whfl": "W-HFL", "fedcpsl": "FedCPSL"}
"""Titles of the papers by the name of their folder, in the order they are listed."""


@functools.cache
def published() -> dict[tuple[str, str], Item]:
    """Every shipped item by paper and name, tables before figures; raises the problems of all files at once."""
    root = resources.files("fedradio") / "published"
    by_name: dict[tuple[str, str], Item] = {}
    problems: list[Problem] = []
    for paper in PAPERS:
        folder = root / paper
        files = [entry for entry in folder.iterdir() if entry.name.endswith(".yaml")] if folder.is_dir() else []
        for entry in sorted(files, key=lambda file: _order(file.name)):
            name = entry.name.removesuffix(".yaml")
            try:
                by_name[paper, name] = parse_item(entry.read_text(encoding="utf-8"), paper, name)
            except SpecError as error:
                problems += error.problems
    if problems:
        raise SpecError(problems)
    return by_name


def items(paper: str | None = None) -> list[Item]:
    """All items, or those of one paper; an unknown paper is refused with a suggestion."""
    if paper is not None and paper not in PAPERS:
        remedy = suggest(paper.lower(), list(PAPERS)) or f"one of: {', '.join(PAPERS)}"
        raise SpecError(Problem("PAPER", "no such paper", remedy, paper))
    return [item for (where, _), item in published().items() if paper in (None, where)]


def matching(paper: str, *names: str) -> list[Item]:
    """The items of these names in their order, each once; ``fig9`` stands for all its panels (``fig9a``, ``fig9b``).

    Unknown names are refused with suggestions, all at once.
    """
    known = {item.name: item for item in items(paper)}
    found: dict[str, Item] = {}
    problems: list[Problem] = []
    for name in names:
        panels = [name] if name in known else [key for key in known if _is_panel(key, name)]
        found |= {key: known[key] for key in panels}
        if not panels:
            remedy = suggest(name.lower(), list(known)) or f"one of: {', '.join(known)}"
            problems.append(Problem("ITEM", f"no such table or figure in {PAPERS[paper]}", remedy, name))
    if problems:
        raise SpecError(problems)
    return list(found.values())


def _is_panel(item: str, figure: str) -> bool:
    """Whether an item is a panel of the figure of this name."""
    return re.fullmatch(rf"{re.escape(figure)}[a-z]?(_\w+)?", item) is not None


def _order(name: str) -> tuple[bool, int, str]:
    """Sort key: tables before figures, by number, then by letter."""
    number = re.search(r"\d+", name)
    return not name.startswith("table"), int(number.group()) if number else 0, name
