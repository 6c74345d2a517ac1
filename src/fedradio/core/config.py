"""The user's own settings: ``config.yaml`` in ``$XDG_CONFIG_HOME/fedradio``, by default ``~/.config/fedradio``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fedradio.core.errors import Problem, SpecError

KEYS = ("parts",)
"""What may stand in the file: ``parts``, a list of Python files that register parts."""


def config_file() -> Path:
    """Where the settings are, whether there are any or not."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "fedradio" / "config.yaml"


def configured_parts() -> list[Path]:
    """The files of parts that the user's settings name; relative ones lie beside the settings."""
    path = config_file()
    listed = _read(path).get("parts") or []
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise SpecError(Problem(f"{path}: parts", "must be a list of files", "[~/my_parts.py]", str(listed)))
    try:
        return [path.parent / Path(each).expanduser() for each in listed]
    except RuntimeError:  # ~ of somebody whom this machine does not know
        raise SpecError(
            Problem(f"{path}: parts", "there is no such home folder", "use a full path", str(listed))
        ) from None


def _read(path: Path) -> dict[str, Any]:
    """The settings as plain data; empty without a file, or where this user may not even look for one."""
    try:
        path.lstat()
    except OSError:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(Problem(str(path), f"cannot be read: {error}")) from None
    import yaml  # here, so that nobody waits for it who has no settings

    try:
        plain = yaml.safe_load(text) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a wrong date, nesting without end
        mark = getattr(error, "problem_mark", None)
        words = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        place = "" if mark is None else f"line {mark.line + 1}: "
        raise SpecError(Problem(str(path), f"not valid YAML: {place}{words}", "parts: [~/my_parts.py]")) from None
    unknown = [str(key) for key in plain if key not in KEYS] if isinstance(plain, dict) else [str(plain)]
    if unknown:
        raise SpecError(Problem(str(path), "unknown setting", f"known: {', '.join(KEYS)}", ", ".join(unknown)))
    return plain
