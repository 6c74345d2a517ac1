"""State of a device between two exchanges, in a file of its own that survives the device.

A device learns with the next request whether its last upload counted. It therefore keeps both states, that of an upload
that counted and that of one that was lost, under the number of the exchange.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from fedradio.core.contracts import Slots
from fedradio.core.errors import StoreError
from fedradio.core.files import write_bytes

STATE_FILE = "state.safetensors"

CASES = ("counted", "lost", "before")
"""States that are kept of an exchange."""

NEVER = -1
"""Number of the last exchange of a client none of whose uploads has counted."""


@dataclass(frozen=True)
class Pending:
    """State after exchange ``n`` of a run: if the upload ``counted``, and if it was ``lost``.

    ``before`` is the state that the exchange began with, and ``session`` names the server's process that asked for it:
    one that resumes the run after a crash may have to ask for the same exchange once more. ``samples`` is the
    fingerprint of the device's own samples, empty where it has none.
    """

    run: str
    client: int
    n: int
    counted: Slots
    lost: Slots
    before: Slots = field(default_factory=dict)
    session: str = ""
    samples: str = ""

    def settled(self, acked: int) -> Slots | None:
        """The state, now that exchange ``acked`` was the last whose upload counted; None if that was after this one."""
        if acked > self.n:
            return None
        return self.counted if acked == self.n else self.lost


def write_state(folder: Path, pending: Pending) -> None:
    """Write the state of a device, whole or not at all."""
    tensors = {f"{case}:{name}": row for case in CASES for name, row in getattr(pending, case).items()}
    head = {"run": pending.run, "client": str(pending.client), "n": str(pending.n)}
    head |= {"session": pending.session, "samples": pending.samples}
    write_bytes(folder / STATE_FILE, save({name: row.clone() for name, row in tensors.items()}, head))


def read_state(folder: Path) -> Pending | None:
    """The state that a device has left in a folder; None where there is none. A damaged file is a StoreError."""
    path = folder / STATE_FILE
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            head = file.metadata() or {}
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (it is no mapping)
        cases: dict[str, Slots] = {case: {} for case in CASES}
        for name, row in tensors.items():
            case, _, slot = name.partition(":")
            cases[case][slot] = row
        client, n = int(head["client"]), int(head["n"])
        return Pending(client=client, n=n, run=head["run"], session=head["session"], samples=head["samples"], **cases)
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise StoreError(f"{path}: not the state of a device ({error}); move it away to start over") from None
