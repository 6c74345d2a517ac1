"""What is wrong with a YAML text, in plain words: the line, the column, and what to do."""

from __future__ import annotations

from typing import Any

import yaml

FLOW = {"while parsing a flow mapping": "}", "while parsing a flow sequence": "]"}
"""What ends a list or mapping in brackets, by the parser's words."""

PLAIN = {
    "mapping values are not allowed": (
        "a colon where no key can be",
        "write one key per line; quote texts that contain a colon and a space",
    ),
    "could not find expected ':'": ("a key without a colon", "write key: value"),
    "expected <block end>": (
        "this line is not indented like the lines it belongs to",
        "use the same number of spaces for all of them",
    ),
    "cannot start any token": ("this character is not allowed here", "quote the text that contains it"),
    "found undefined escape": ("an unknown escape in a quoted text", "double the backslash, or use single quotes"),
    "expected the node content": ("a value is missing here", "write one, or leave the comma out"),
}
"""Reason and remedy by a piece of the parser's words."""


class NoYaml(ValueError):
    """A text that is not YAML, with what to do about it, and the line at fault."""

    def __init__(self, reason: str, remedy: str = "", line: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy
        self.line = line


def no_yaml(error: Exception, text: str) -> NoYaml:
    """The error of the parser in plain words."""
    if not isinstance(error, yaml.MarkedYAMLError) or (error.problem_mark is None and error.context_mark is None):
        return NoYaml(" ".join(str(getattr(error, "problem", None) or error).split()))
    problem, context = str(error.problem or ""), str(error.context or "")
    mark, begun = error.problem_mark or error.context_mark, error.context_mark or error.problem_mark
    assert mark is not None
    assert begun is not None
    if context in FLOW or context == "while scanning a quoted scalar":
        opening = _line(begun, text)[begun.column : begun.column + 1]
        closing = FLOW.get(context, opening)
        if context in FLOW and opening not in ("{", "["):
            opening = "{" if closing == "}" else "["
        return NoYaml(
            f"{_place(begun)}: {opening} is not closed", f"close it with {closing}", _line(begun, text).strip()
        )
    reason, remedy = next((words for piece, words in PLAIN.items() if piece in problem), (problem, ""))
    if "'\\t'" in problem:
        reason, remedy = "a tab", "indent with spaces"
    return NoYaml(f"{_place(mark)}: {reason}", remedy, _line(mark, text).strip())


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


def _line(mark: Any, text: str) -> str:
    """The line of a mark; empty behind the last one."""
    lines = text.splitlines()
    return lines[mark.line] if mark.line < len(lines) else ""
