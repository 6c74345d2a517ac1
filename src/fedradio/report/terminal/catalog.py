"""Tables of parts, of their keywords, and of problems, for the terminal."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin

from rich.table import Table

from fedradio.core.errors import Problem
from fedradio.core.registry import Parameter, Part
from fedradio.report.terminal.words import plain_table


def parts_table(parts: Sequence[Part]) -> Table:
    """The table of parts, one per line; a family is named once."""
    families = [part.family for part in parts]
    named = [now if now != before else "" for now, before in zip(families, ["", *families], strict=False)]
    rows = [[name, part.kind, part.summary.replace("``", "")] for name, part in zip(named, parts, strict=True)]
    return plain_table(("family", "kind", "what it is"), rows)


def parameters_table(part: Part) -> Table:
    """The table of a part's keywords: type, default, unit, bounds, meaning."""
    rows = [
        [
            each.name,
            type_name(each.annotation),
            default_text(each),
            each.arg.unit or "",
            each.arg.bounds(),
            each.arg.doc,
        ]
        for each in part.parameters()
    ]
    return plain_table(("keyword", "type", "default", "unit", "bounds", "meaning"), rows)


def type_name(annotation: Any) -> str:
    """A type as it is written in a spec."""
    if get_origin(annotation) is Literal:
        return " | ".join(map(str, get_args(annotation)))
    if get_origin(annotation) is tuple:
        inner = [type_name(item) for item in get_args(annotation) if item is not Ellipsis]
        return f"[{inner[0]}, ...]" if Ellipsis in get_args(annotation) else f"[{', '.join(inner)}]"
    if get_origin(annotation) is dict:
        keys, value = get_args(annotation)
        return "{" + ", ".join(f"{key}: {type_name(value)}" for key in get_args(keys) or (type_name(keys),)) + "}"
    if get_args(annotation):
        return " | ".join(type_name(item) for item in get_args(annotation))
    if annotation is type(None):
        return "null"
    return annotation.__name__ if inspect.isclass(annotation) else str(annotation)


def default_text(parameter: Parameter) -> str:
    """The default of a keyword as it is written in a spec, or ``required``."""
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None:
        return "null"
    if isinstance(value, tuple):
        return "[" + ", ".join(f"{item:g}" if isinstance(item, float) else str(item) for item in value) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def problems_table(problems: Sequence[Problem]) -> Table:
    """The table of problems: path, reason, value given, remedy."""
    given = ["" if problem.value is None else repr(problem.value) for problem in problems]
    short = [text if len(text) <= 60 else text[:60] + "..." for text in given]
    rows = [[one.path, one.reason, text, one.remedy] for one, text in zip(problems, short, strict=True)]
    return plain_table(("where", "problem", "given", "how to fix it"), rows)
