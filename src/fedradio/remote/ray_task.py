"""The far side of a Ray pool: one run, made on any machine of the cluster."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fedradio.core.errors import FedradioError, SpecError, StoreError
from fedradio.remote.courier import Courier, Json
from fedradio.remote.node import Node, compare, load_parts, this_node
from fedradio.remote.shipping import lay_out
from fedradio.sweeps.tasks import end, not_begun
from fedradio.sweeps.worker import perform

ANSWER_PATIENCE_S = 300.0
"""How long to wait for the files of a run that has begun before."""

Ask = Callable[..., Any]
"""Calls a method of the mailbox by name, and waits for its result."""


def probe_name(token: str) -> str:
    """The file by which a task sees that it shares the folder of its run with whoever has asked for it."""
    return f".probe-{token}"


def make_run(number: int, task: Json, asker: Json, token: str, ask: Ask) -> Json:
    """Make or resume the run of a task; returns the last message about it. Unexpected errors are raised.

    It works in the task's folder if that is the one of ``asker`` too, else in one of its own, whose files are sent.
    """
    if ask("tell", number, []):
        return not_begun()
    found = compare(Node(**asker), this_node())
    if found.refused:
        return end("failed", found.refused, SpecError.exit_code)
    if found.note:
        ask("tell", number, [{"event": "noted", "text": found.note}])
    try:
        load_parts(asker["parts"])
        with _folder(number, Path(task["folder"]), token, ask) as (folder, shared):
            courier = Courier(lambda messages: bool(ask("tell", number, messages)), None if shared else folder)
            with courier, suppress(KeyboardInterrupt):
                perform({**task, "folder": str(folder), "parts": []}, courier.send)
            return courier.end
    except FedradioError as error:
        return end("failed", str(error), error.exit_code)


@contextmanager
def _folder(number: int, wanted: Path, token: str, ask: Ask) -> Iterator[tuple[Path, bool]]:
    """The folder to work in, and whether it is the one that was asked for."""
    if (wanted.parent / probe_name(token)).is_file():
        yield wanted, True
        return
    place = Path(tempfile.gettempdir()) / f"fedradio-{token}-{number}"
    shutil.rmtree(place, ignore_errors=True)  # of a process that was killed here
    folder = place / wanted.name
    place.mkdir(mode=0o700)
    try:
        files = _files(number, ask)
        if files:
            folder.mkdir()
            lay_out(folder, files)
        yield folder, False
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _files(number: int, ask: Ask) -> dict[str, bytes]:
    """The files that the run has already, from whoever has asked for it."""
    ask("tell", number, [{"event": "want"}])
    until = time.monotonic() + ANSWER_PATIENCE_S
    while time.monotonic() < until:
        answer = ask("answered", number)
        if answer is not None:
            if answer["error"]:
                raise StoreError(answer["error"])
            files: dict[str, bytes] = answer["files"]
            return files
        time.sleep(0.1)
    raise StoreError(f"no answer for {ANSWER_PATIENCE_S:.0f} s")
