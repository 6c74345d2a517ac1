"""Pydantic's validation errors as problems: the path in the user's spec, the value given, and a remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from pydantic import ValidationError

from fedradio.core.errors import Problem, suggest
from fedradio.core.registry import FAMILIES, PART_LISTS, Parameter, part, parts
from fedradio.spec.schema import STEERS, spec_schema

OUT_OF_BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")
"""Types of the errors about numbers that are too small or too large."""


def problems_of(error: ValidationError, data: dict[str, Any]) -> list[Problem]:
    """The problems of a validation error, one per path.

    Branches of a union that fail together are one problem; a problem inside a value replaces those of the whole value.
    """
    merged: dict[str, Problem] = {}
    for item in error.errors(include_url=False):
        problem = _problem(item, data)
        known = merged.get(problem.path)
        if known is not None and problem.reason not in known.reason:
            problem = Problem(problem.path, f"{known.reason}, or {problem.reason}", known.remedy, problem.value)
        merged[problem.path] = problem if known is None or problem.reason != known.reason else known
    inside = {path for path in merged if any(other.startswith(f"{path}.") for other in merged)}
    return [problem for path, problem in merged.items() if path not in inside]


def _unknown_key(where: str, path: Sequence[str], data: dict[str, Any]) -> Problem:
    if where == "parts":
        remedy = "use --parts FILE on the command line, or the environment variable FEDRADIO_PARTS"
        return Problem(where, "a spec cannot load part files", remedy)
    keys = _known_keys(path[:-1], data)
    return Problem(where, "unknown key", suggest(path[-1], keys) or f"known here: {', '.join(keys)}")


def _problem(item: Any, data: dict[str, Any]) -> Problem:
    path, node = _locate(item["loc"], data, item["type"])
    where, kind = ".".join(path) or "spec", item["type"]
    family = _family(path)
    if kind == "extra_forbidden":
        return _unknown_key(where, path, data)
    if family and (kind in ("union_tag_invalid", "union_tag_not_found") or item["loc"][-1] == "kind"):
        kinds = [p.kind for p in parts(family)]
        given = node.get("kind") if isinstance(node, dict) else node
        remedy = suggest(str(given), kinds) or f"one of: {', '.join(kinds)};"
        remedy += " --parts FILE loads your own"
        return Problem(where.removesuffix(".kind"), f"unknown {family}", remedy, given)
    if kind == "missing":
        known = _keyword(path, data)
        return Problem(where, "is required", f"set it: {known.arg.doc}" if known else "")
    if kind in ("tuple_type", "list_type") and node is not None:
        alone = path[-1] in PART_LISTS and (isinstance(node, str) or (isinstance(node, dict) and "kind" in node))
        single = alone or not isinstance(node, dict)
        return Problem(where, "must be a list", f"{where}={[node]}".replace("'", "") if single else "[...]", node)
    if kind in ("too_long", "too_short") and isinstance(node, list):
        limit = f"at most {item['ctx']['max_length']} items" if kind == "too_long" else "at least 1 item"
        return Problem(where, f"needs {limit}", value=len(node))
    reason = (item["msg"][0].lower() + item["msg"][1:]).replace("input should ", "must ", 1)
    if kind == "int_type" and isinstance(node, float) and node.is_integer():
        return Problem(where, "must be a whole number", f"write it out: {int(node)}", node)
    if kind == "string_pattern_mismatch":
        return Problem(
            where, "not a valid name", "use letters, digits, dots, dashes and underscores, at most 64 characters", node
        )
    if kind == STEERS:
        return Problem(where, reason, "use plain text; the only control character allowed is the newline", node)
    if kind in ("model_type", "model_attributes_type", "tuple_type", "list_type"):
        return _no_mapping(where, family if _is_part(path) else None, node)
    if kind == "none_required":
        return Problem(where, "no such part is registered yet", "leave it out", node)
    if kind in OUT_OF_BOUNDS and (known := _keyword(path, data)):
        return Problem(where, reason, f"{known.name} {known.arg.bounds()}: {known.arg.doc}", node)
    known = _keyword(path, data)
    return Problem(where, reason, known.arg.doc if known else "", node)


def _no_mapping(where: str, family: str | None, node: Any) -> Problem:
    """The problem of a plain value where a part, a hop or a list must be."""
    if node is None:
        return Problem(where, "must not be null", "leave it out for the default")
    if family is None:
        return Problem(where, "must be a mapping of keys to values", f"such as {where}={{key: value}}", node)
    kind = parts(family)[0].kind
    return Problem(where, f"must be a {family}", f"{where}={kind}, or {{kind: {kind}, ...}}", node)


def _locate(loc: Sequence[str | int], data: Any, kind: str) -> tuple[list[str], Any]:
    """The path in the user's own data: pydantic's tags of union branches are left out."""
    path: list[str] = []
    node = data
    for number, name in enumerate(loc):
        inside: Any = node if isinstance(node, dict) else dict(enumerate(node)) if isinstance(node, list) else {}
        tag = _is_part(path) and name == inside.get("kind")  # also where a keyword has that name
        if name in inside and not (tag and number + 1 < len(loc)):
            node = inside[name]
        elif not (kind == "missing" and number == len(loc) - 1):
            continue
        path.append(str(name))
    return path, node


def _is_part(path: Sequence[str]) -> bool:
    """Whether a part stands at a path: under the name of its family, or in a list of parts."""
    return path[-1:] != [] and (path[-1] in FAMILIES or (len(path) > 1 and path[-2] in PART_LISTS))


def _family(path: Sequence[str]) -> str | None:
    """The family of the innermost part on a path; None outside of parts."""
    found = next((name for name in reversed(path) if name in FAMILIES or name in PART_LISTS), None)
    return found if found is None else PART_LISTS.get(found, found)


def _known_keys(path: Sequence[str], data: Any) -> list[str]:
    """The keys allowed below ``path``; of a part those of the given kind."""
    fields: Any = spec_schema().model_fields
    rest = list(path)
    if rest and rest[0] in ("hops", "data"):
        inner = fields[rest[0]].default
        fields = type(inner[0] if rest[0] == "hops" else inner).model_fields
        rest = rest[2:] if rest[0] == "hops" else rest[1:]
    if rest[:1] == ["cache"]:
        fields, rest = get_args(fields["cache"].annotation)[0].model_fields, rest[1:]
    family = _family(rest)
    if family is None:
        return list(fields)
    node = data
    for name in path:
        node = node[int(name)] if isinstance(node, list) else node[name]
    default = fields[rest[-1]].default if rest[-1] in fields else None
    kind = node.get("kind") or getattr(default, "kind", None)
    chosen = [p for p in parts(family) if p.kind == kind]
    return ["kind", *(q.name for p in chosen for q in p.parameters())]


def _keyword(path: Sequence[str], data: Any) -> Parameter | None:
    """The keyword of a part at a path, if the part is known."""
    family, node = _family(path[:-1]), data
    for name in path[:-1]:
        node = node[int(name)] if isinstance(node, list) else node[name]
    kind = node.get("kind") if isinstance(node, dict) else node
    if family is None or not isinstance(kind, str):
        return None
    return next((each for each in part(family, kind).parameters() if each.name == path[-1]), None)
