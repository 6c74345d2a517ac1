"""Checkpoints: the whole state of a run between two rounds, in two files.

``checkpoints/round-000012.safetensors`` holds every tensor of the state under ``group/name``, ``round-000012.json`` the
numbers: totals, running summary, how far the records went, and the checksums of both files. The JSON file is written
last and makes the checkpoint; a file that does not match its checksum is refused. Two are kept: the last one, and the
one before in case the last is damaged.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fedradio._version import __version__
from fedradio.core.contracts import Memory, SimState, Slots
from fedradio.core.errors import StoreError
from fedradio.core.files import file_sha256, write_json
from fedradio.core.mapped import make_room
from fedradio.runs.folder import CHECKPOINT_FOLDER, RECORDS_FILE, SPEC_FILE, Offset, RunFolder
from fedradio.runs.summary import RunningSummary
from fedradio.runs.tensors import read_tensors, write_tensors
from fedradio.spec.spec import Spec

FORMAT = 1
"""Number of this format; a reader refuses all others."""

FOLDER = CHECKPOINT_FOLDER

SHARE = 0.025
"""Largest share of the wall time spent on checkpoints during the run, one more in reserve for its end."""

END_SHARE = 0.03
"""Largest share of the wall time spent on all checkpoints, including the one at the end of the run."""

FREE_S = 0.05
"""A checkpoint at the end of the run that takes no longer than this is always written."""

LEAST_S = 2.0
"""Shortest time between two checkpoints."""

FIRST_RATE = 2e8
"""Bytes per second assumed for the first checkpoint; later ones are expected to be as fast as the last."""


@dataclass(frozen=True)
class Checkpoint:
    """A run between two rounds: its state, its running summary, and how far its records went.

    ``wall_s`` are the wall seconds so far, ``checkpoint_s`` those of them that went into checkpoints.
    """

    state: SimState
    running: RunningSummary
    records: Offset
    wall_s: float
    checkpoint_s: float


class Checkpointer:
    """Writes the checkpoints of a run, seldom enough that they take little of its time."""

    def __init__(self, folder: RunFolder, spec: Spec, resumed: Checkpoint | None = None) -> None:
        self.folder = folder
        self.spec = spec
        self.spent_s = 0.0 if resumed is None else resumed.checkpoint_s
        self.last: int | None = None if resumed is None else resumed.state.t
        self._at_s = 0.0 if resumed is None else resumed.wall_s
        self._s_per_byte = 1 / FIRST_RATE
        if self.last is not None:  # what a killed process has left, and what was refused
            older = [t for t in map(_round, _paths(folder.path)) if t < self.last]
            _prune(folder.path, {self.last, *older[-1:]})

    def offer(self, state: SimState, running: RunningSummary, wall_s: float) -> None:
        """Write a checkpoint if one is due; ``wall_s`` is the wall time of the run so far."""
        expected_s = _bytes(state) * self._s_per_byte
        if wall_s - self._at_s >= LEAST_S and self.spent_s + 2 * expected_s <= SHARE * wall_s:
            self.save(state, running, wall_s)

    def conclude(self, state: SimState, running: RunningSummary, wall_s: float) -> None:
        """Write a checkpoint at the end of the run, from which it can be extended, if that is cheap enough."""
        expected_s = _bytes(state) * self._s_per_byte
        if expected_s <= FREE_S or self.spent_s + expected_s <= END_SHARE * wall_s:
            self.save(state, running, wall_s)

    def save(self, state: SimState, running: RunningSummary, wall_s: float) -> None:
        """Write a checkpoint, unless this round has one or no round has been run."""
        if state.t == (self.last or 0):
            return
        began = time.perf_counter()
        write(self.folder.path, Checkpoint(state, running, self.folder.offset(), wall_s, self.spent_s), self.spec)
        _prune(self.folder.path, {state.t} if self.last is None else {state.t, self.last})
        took = time.perf_counter() - began
        self.spent_s += took
        self.last, self._at_s = state.t, wall_s
        self._s_per_byte = took / max(1, _bytes(state))

    def message(self) -> str:
        """A sentence that names the last good checkpoint."""
        if self.last is None:
            return "no checkpoint was written yet: a resumed run starts from the beginning"
        return f"last good checkpoint: {_path(self.folder.path, self.last)} (after {self.last} rounds)"


def write(folder: Path, checkpoint: Checkpoint, spec: Spec) -> None:
    """Write a checkpoint into a run folder: tensors first, then the JSON file that makes them valid."""
    state = checkpoint.state
    path = _path(folder, state.t)
    tensors = _flat(state)
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None
    content = {
        "spec_sha256": fingerprint(spec),
        "t": state.t,
        "time_s": state.time_s,
        "energy_j": state.energy_j,
        "bits": state.bits,
        "hops": len(state.policy),
        "tensors": {name: str(tensor.device) for name, tensor in tensors.items()},
        "tensors_sha256": write_tensors(path.with_suffix(".safetensors"), tensors),
        "tally": asdict(checkpoint.running),
        "records": asdict(checkpoint.records),
        "wall_s": checkpoint.wall_s,
        "checkpoint_s": checkpoint.checkpoint_s,
    }
    document = {"format": FORMAT, "fedradio": __version__, "sha256": _digest(content), "content": content}
    write_json(path, document)


def last_good(folder: RunFolder, spec: Spec) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint of this spec that is whole and fits the records, and why newer ones were refused.

    Raises :class:`StoreError` for a checkpoint of another format or of another spec.
    """
    refused: list[str] = []
    for path in reversed(_paths(folder.path)):
        try:
            return _read(path, folder, spec), refused
        except _Damaged as damage:
            refused.append(f"checkpoint {path} is refused: {damage}")
    return None, refused


def fingerprint(spec: Spec) -> str:
    """Fingerprint of everything that determines the states of a run: all but the number of rounds, which may grow."""
    return Spec(spec.plain | {"rounds": 0}).sha256()


class _Damaged(Exception):
    """Raised for a checkpoint that cannot be used, with the reason."""


def _read(path: Path, folder: RunFolder, spec: Spec) -> Checkpoint:
    """A checkpoint from its files, checked against the spec and the records."""
    content = _content(path)
    if content["spec_sha256"] != fingerprint(spec):
        remedy = f"put {SPEC_FILE} back as it was, or run the new one into another folder"
        raise StoreError(f"{path} belongs to another spec than {folder.path / SPEC_FILE}; {remedy}")
    records = Offset(**content["records"])
    if not folder.holds(records):
        raise _Damaged(f"{RECORDS_FILE} is not as it was then")
    tensors = _tensors(path.with_suffix(".safetensors"), content)
    state = _state(content, tensors)
    return Checkpoint(state, RunningSummary(**content["tally"]), records, content["wall_s"], content["checkpoint_s"])


def _content(path: Path) -> dict[str, Any]:
    """The content of a checkpoint's JSON file, checked."""
    try:
        document = json.loads(path.read_bytes())
        number, version = document["format"], document["fedradio"]
    except (OSError, ValueError, TypeError, KeyError):
        raise _Damaged("it is not a whole JSON file") from None
    if number != FORMAT:
        reason = f"has checkpoint format {number}, fedradio {__version__} reads {FORMAT}"
        raise StoreError(f"{path} {reason}; go on with fedradio {version}, or run the spec into another folder")
    content: dict[str, Any] = document.get("content", {})
    if document.get("sha256") != _digest(content):
        raise _Damaged("its checksum is wrong")
    return content


def _tensors(path: Path, content: dict[str, Any]) -> Slots:
    """The tensors of a checkpoint, checked, in the order and on the devices they had."""
    try:
        if file_sha256(path) != content["tensors_sha256"]:
            raise _Damaged(f"the checksum of {path.name} is wrong")
        tensors = read_tensors(path)
    except OSError as error:
        raise _Damaged(f"{path.name}: {error.strerror or error}") from None
    return {name: tensors[name].to(device) for name, device in content["tensors"].items()}


def _flat(state: SimState) -> Slots:
    """Every tensor of a state, as ``group/name``."""
    memory = state.memory
    groups = {"shared": memory.shared, "client": memory.client, "ledger": memory.ledger}
    groups |= {"stream": state.stream, "signals": state.signals}
    groups |= {f"policy.{h}": slots for h, slots in enumerate(state.policy)}
    return {f"{group}/{name}": tensor for group, slots in groups.items() for name, tensor in slots.items()}


def _state(content: dict[str, Any], tensors: Slots) -> SimState:
    """The state that a checkpoint's numbers and tensors make; the inverse of :func:`_flat`."""

    def group(prefix: str) -> Slots:
        return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}

    return SimState(
        t=content["t"],
        time_s=content["time_s"],
        energy_j=content["energy_j"],
        bits=content["bits"],
        memory=Memory(group("shared/"), make_room(group("client/")), group("ledger/")),
        stream=group("stream/"),
        policy=tuple(group(f"policy.{h}/") for h in range(content["hops"])),
        signals=group("signals/"),
    )


def _bytes(state: SimState) -> int:
    """Bytes of all tensors of a state."""
    return sum(tensor.numel() * tensor.element_size() for tensor in _flat(state).values())


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _path(folder: Path, t: int) -> Path:
    return folder / FOLDER / f"round-{t:06}.json"


def _paths(folder: Path) -> list[Path]:
    """The checkpoints of a folder, the oldest first."""
    paths = (folder / FOLDER).glob("round-*.json")
    return sorted((path for path in paths if path.stem[6:].isdecimal()), key=_round)


def _round(path: Path) -> int:
    return int(path.stem[6:])


def _prune(folder: Path, rounds: set[int]) -> None:
    """Remove all checkpoints but those after these rounds."""
    for path in (folder / FOLDER).glob("round-*"):
        if path.stem not in {_path(folder, t).stem for t in rounds}:
            path.unlink(missing_ok=True)
