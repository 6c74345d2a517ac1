"""Flower as a library: checked, quiet, and without its telemetry; says how to install it if it is missing."""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

from fedradio.core.errors import Problem, SpecError

TRIED = "1.41"
"""Release of Flower that this was built with; its parts that are used here may change in others."""


def need_flower(command: str) -> None:
    """Refuse to go on without Flower, with the line that installs it; keep it from calling home.

    To be called before anything of it is imported.
    """
    if not _is_there("flwr"):
        raise SpecError(Problem(command, "needs Flower, which is not installed", "pip install 'fedradio[flower]'"))
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    os.environ["FLWR_DISABLE_UPDATE_CHECK"] = "1"
    os.environ["FLWR_DATABASE"] = ":flwr-in-memory:"
    os.environ.setdefault("FLWR_HOME", str(Path(tempfile.gettempdir()) / f"fedradio-flower-{os.getuid()}"))
    from flwr.supercore.version import package_version

    if not package_version.startswith(f"{TRIED}."):
        reason = f"Flower {package_version} is installed, but {TRIED} is needed"
        raise SpecError(Problem(command, reason, "pip install 'fedradio[flower]'"))


def need_cryptography(command: str) -> None:
    """Refuse to go on without the library that makes keys, with the line that installs it."""
    if not _is_there("cryptography"):
        reason = "needs the library cryptography, which is not installed"
        raise SpecError(Problem(command, reason, "pip install 'fedradio[flower]'"))


def _is_there(package: str) -> bool:
    """Whether a package can be imported; a finder may also say no by an error."""
    try:
        return find_spec(package) is not None
    except ImportError:
        return False
