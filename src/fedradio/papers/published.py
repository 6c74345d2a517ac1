"""The shipped tables and figures of the four papers, by paper and name."""

from __future__ import annotations

import functools
import re
from importlib import resources

from fedradio.core.errors import Problem, SpecError, suggest
from fedradio.papers.claims import twin_claims
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
        claims = {name: item.claims for (where, name), item in by_name.items() if where == paper}
        problems += [Problem(f"published/{paper}", twin, "another id") for twin in twin_claims(claims)]
    if problems:
        raise SpecError(problems)
    return by_name


def items(paper: str | None = None) -> list[Item]:
    """All items, or those of one paper; an unknown paper is refused with a suggestion."""
    if paper is not None and paper not in PAPERS:
        remedy = suggest(paper.lower(), list(PAPERS)) or f"one of: {', '.join(PAPERS)}"
        raise SpecError(Problem("PAPER", "no such paper", remedy, paper))
    return [item for (where, _), item in published().items() if paper in (None, where)]


def matching(paper: str, name: str) -> list[Item]:
    """The item of that name, or all panels of a figure (``fig9``: ``fig9a``, ``fig9b``).

    An unknown name is refused with a suggestion.
    """
    known = {item.name: item for item in items(paper)}
    if name in known:
        return [known[name]]
    panels = [item for key, item in known.items() if re.fullmatch(rf"{re.escape(name)}[a-z]?(_\w+)?", key)]
    if not panels:
        remedy = suggest(name.lower(), list(known)) or f"one of: {', '.join(known)}"
        raise SpecError(Problem("ITEM", f"no such table or figure in {PAPERS[paper]}", remedy, name))
    return panels


def _order(name: str) -> tuple[bool, int, str]:
    """Sort key: tables before figures, by number, then by letter."""
    number = re.search(r"\d+", name)
    return not name.startswith("table"), int(number.group()) if number else 0, name
