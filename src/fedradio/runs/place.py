"""Where a run or a sweep may be put: looked at before anything slow begins."""

from __future__ import annotations

import os
from pathlib import Path

from fedradio.core.errors import NotEmptyError, StoreError
from fedradio.core.text import short_path
from fedradio.runs.folder import is_run, left_at_start


def check_place(path: Path) -> None:
    """Refuse a path at which no folder of runs can be: a file, not writable, inside a run folder, a name too long.

    A folder that does not exist yet must be one that can be made. Folders of sweeps are no run folders, so their runs
    lie in none.
    """
    shown = short_path(path)
    try:
        path.lstat()
        if not path.is_dir():
            raise StoreError(f"{shown} is a {_kind(path)}, but a folder is needed; choose another --out")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"{shown} cannot be a folder: {error.strerror or error}; choose another --out") from None
    above = Path(os.path.realpath(path))
    for folder in (above, *above.parents):
        if folder != above and is_run(folder):
            raise StoreError(f"{shown} is inside the run folder {short_path(folder)}; choose another --out")
    nearest = next(folder for folder in (above, *above.parents) if os.path.exists(folder))
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise StoreError(f"{shown} cannot be used: {short_path(nearest)} is not writable; choose another --out")


def check_new_place(path: Path, resume: str = "with `fedradio resume`") -> None:
    """Refuse a path at which no new run can be: all of :func:`check_place`, and a folder that is not empty.

    ``resume`` says how a run in that folder is continued.
    """
    check_place(path)
    if path.is_dir() and not all(left_at_start(entry) for entry in path.iterdir()):
        remedy = f"choose another --out, remove it, or continue it {resume}"
        raise NotEmptyError(f"{short_path(path)} is not empty; {remedy}")


def _kind(path: Path) -> str:
    """What a path leads to, which is no folder."""
    return "broken link" if not path.exists() else "file"
