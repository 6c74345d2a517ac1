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
    return [path.parent / Path(each).expanduser() for each in listed]


def _read(path: Path) -> dict[str, Any]:
    """The settings as plain data; empty without a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(Problem(str(path), f"cannot be read: {error}")) from None
    import yaml  # here, so that nobody waits for it who has no settings

    try:
        plain = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise SpecError(Problem(str(path), f"not valid YAML: {error}")) from None
    if not isinstance(plain, dict) or any(key not in KEYS for key in plain):
        raise SpecError(Problem(str(path), "unknown settings", f"known: {', '.join(KEYS)}"))
    return plain
