"""Tables of parts, of their keywords, and of problems, for the terminal."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin

from rich.table import Table
from rich.text import Text

from fedradio.core.errors import Problem
from fedradio.core.registry import Parameter, Part


def parts_table(parts: Sequence[Part]) -> Table:
    """The table of parts, one per line."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("family", "kind", "what it is"):
        table.add_column(column, overflow="fold")
    last = ""
    for part in parts:
        table.add_row(part.family if part.family != last else "", part.kind, Text(part.summary.replace("``", "")))
        last = part.family
    return table


def parameters_table(part: Part) -> Table:
    """The table of a part's keywords: type, default, unit, bounds, meaning."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("keyword", "type", "default", "unit", "bounds", "meaning"):
        table.add_column(column, overflow="fold")
    for parameter in part.parameters():
        table.add_row(
            parameter.name,
            Text(type_name(parameter.annotation)),
            Text(default_text(parameter)),
            parameter.arg.unit or "",
            parameter.arg.bounds(),
            Text(parameter.arg.doc),
        )
    return table


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
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("where", "problem", "given", "how to fix it"):
        table.add_column(column, overflow="fold")
    for problem in problems:
        given = "" if problem.value is None else repr(problem.value)
        given = given if len(given) <= 60 else given[:60] + "..."
        table.add_row(*map(Text, (problem.path, problem.reason, given, problem.remedy)))
    return table
