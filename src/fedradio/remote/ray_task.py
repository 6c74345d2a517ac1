"""The far side of a Ray pool: one run, made on any machine of the cluster."""

from __future__ import annotations

import platform
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fedradio.core.errors import FedradioError, SpecError
from fedradio.remote.courier import Courier, Json
from fedradio.remote.node import Node, compare, load_parts, this_node
from fedradio.sweeps.tasks import end, not_begun
from fedradio.sweeps.worker import perform

NOT_SHARED = "not shared"
"""Event of a task whose machine does not see the folder of its run."""

Ask = Callable[..., Any]
"""Calls a method of the mailbox by name, and waits for its result."""


def probe_name(token: str) -> str:
    """The file beside a run folder by which a task sees that its machine shares that folder."""
    return f".probe-{token}"


def make_run(number: int, task: Json, asker: Json, token: str, ask: Ask) -> Json:
    """Make or resume the run of a task; returns the last message about it. Unexpected errors are raised.

    A machine that does not see the folder of the run makes nothing, and answers with its name.
    """
    if ask("tell", number, []):
        return not_begun()
    found = compare(Node(**asker), this_node())
    if found.refused:
        return end("failed", found.refused, SpecError.exit_code)
    if found.note:
        ask("tell", number, [{"event": "noted", "text": found.note}])
    if not (Path(task["folder"]).parent / probe_name(token)).is_file():
        return {"event": NOT_SHARED, "machine": platform.node()}
    try:
        load_parts(asker["parts"])
    except FedradioError as error:
        return end("failed", str(error), error.exit_code)
    with Courier(lambda messages: bool(ask("tell", number, messages))) as courier, suppress(KeyboardInterrupt):
        perform({**task, "parts": []}, courier.send)
    return courier.end
