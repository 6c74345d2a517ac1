"""One page for every part: what it is, its equation, an example for a spec, its keywords; and one page per family.

Words, keywords, bounds and papers come from the factories, equations and examples from ``part_pages.yaml``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from fedradio.cli.new import USES
from fedradio.core.registry import FAMILIES, Part, parts
from fedradio.report.terminal.catalog import default_text, type_name
from fedradio.report.terminal.words import markdown_table

NOTES = Path(__file__).with_name("part_pages.yaml")


@cache
def notes() -> dict[str, dict[str, Any]]:
    """Equation, symbols and example of every shipped part, by ``family/kind``."""
    return dict(yaml.safe_load(NOTES.read_text(encoding="utf-8")))


def pages() -> dict[str, str]:
    """Path below the documentation -> text of every page of parts."""
    families = {f"parts/{family}.md": family_page(family) for family in FAMILIES}
    return families | {page_of(part): part_page(part) for part in parts()}


def page_of(part: Part) -> str:
    return f"parts/{part.family}/{part.kind}.md"


def overview() -> str:
    """A table of all parts, family after family."""
    rows = [
        (f"[{part.family}](parts/{part.family}.md)", f"[`{part.kind}`]({page_of(part)})", part.summary)
        for part in parts()
    ]
    return markdown_table(("family", "kind", "what it is"), rows)


def family_page(family: str) -> str:
    rows = [(f"[`{part.kind}`]({family}/{part.kind}.md)", part.summary) for part in parts(family)]
    lines = [
        f"# {family.capitalize()}",
        f"*{FAMILIES[family].capitalize()}.*",
        markdown_table(("kind", "what it is"), rows),
    ]
    lines.append(f"`fedradio ls {family}` prints this list, `fedradio new {family} NAME` starts a part of your own.")
    return "\n\n".join(lines if family in USES else lines[:-1])


def part_page(part: Part) -> str:
    note = notes().get(f"{part.family}/{part.kind}", {})
    pieces = [f"# {part.kind} ({part.family})", part.doc, *_equation(note), *_example(note)]
    pieces += ["## Keywords", keywords(part)]
    if part.paper:
        pieces.append(f"**Paper:** {part.paper}.")
    pieces.append(
        f"On a terminal: `fedradio show {part.kind}`. All parts of this family: [{part.family}](../{part.family}.md)."
    )
    return "\n\n".join(pieces)


def keywords(part: Part) -> str:
    """Table of a factory's keywords."""
    rows = [
        (
            f"`{parameter.name}`",
            either(type_name(parameter.annotation)),
            "*required*" if parameter.required else f"`{default_text(parameter)}`",
            parameter.arg.unit,
            parameter.arg.bounds(),
            parameter.arg.doc,
        )
        for parameter in part.parameters()
    ]
    return (
        markdown_table(("keyword", "type", "default", "unit", "bounds", "meaning"), rows)
        if rows
        else "This part has no keywords."
    )


def _equation(note: dict[str, Any]) -> list[str]:
    if not note.get("equation"):
        return []
    lines = [rf"\[{line}\]" for line in note["equation"].strip().splitlines()]
    return [*lines, *([note["where"]] if "where" in note else [])]


def _example(note: dict[str, Any]) -> list[str]:
    if "example" not in note:
        return []
    base, keys = note.get("base", "demo"), settings(note["example"])
    flags = " ".join(f"'{key}={_flow(value)}'" for key, value in keys.items())
    return [
        "## Example",
        f"A spec of its own over the shipped `{base}`, and the same on the command line:",
        f"```yaml\n{example_spec(note)}```",
        f"```\nfedradio run {base} {flags}\n```",
    ]


def example_spec(note: dict[str, Any]) -> str:
    """The example as the text of a spec."""
    keys = settings(note["example"])
    lines = [f"base: {note.get('base', 'demo')}", "set:", *(f"  {key}: {_flow(value)}" for key, value in keys.items())]
    return "\n".join(lines) + "\n"


def settings(example: dict[str, Any]) -> dict[str, Any]:
    """Dotted keys of an example, as the command line takes them; parts and lists are values."""
    found: dict[str, Any] = {}
    for key, value in example.items():
        inner = value if isinstance(value, dict) and "kind" not in value else None
        below = settings(inner) if inner else {}
        found |= {f"{key}.{name}": each for name, each in below.items()} if inner else {str(key): value}
    return found


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)
    return str(text).strip().removesuffix("...").strip()


def either(kind: str) -> str:
    return "`" + kind.replace(" | ", "` or `") + "`"
