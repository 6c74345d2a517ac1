"""Checkpoints: the whole state of a run between two rounds, in two files.

``checkpoints/round-000012.safetensors`` holds every tensor of the state under ``group/name``, ``round-000012.json`` the
numbers: totals, running summary, how far the records went, and checksums (:mod:`fedradio.runs.checkpoint_files`). The
JSON file is written last and makes the checkpoint; a file that does not match its checksum is refused. Two are kept:
the last one, and the one before in case the last is damaged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError

from fedradio.core.contracts import Memory, SimState, Slots
from fedradio.core.errors import FormatError, StoreError
from fedradio.core.mapped import make_room
from fedradio.runs.checkpoint_files import (
    CheckpointFile,
    TensorForm,
    checkpoint_path,
    checkpoint_paths,
    checkpoint_rounds,
    fingerprint,
    prune,
    read_checkpoint_file,
    tensors_path,
    write_checkpoint_file,
)
from fedradio.runs.folder import RECORDS_FILE, SPEC_FILE, START_FILES, RunFolder
from fedradio.runs.manifest import Checksum, Damage, beginning_differs, difference, file_reason
from fedradio.runs.summary import RunningSummary
from fedradio.runs.tensors import TYPES, read_tensors, write_tensors
from fedradio.spec.spec import Spec

LOG = logging.getLogger(__name__)

PARTS = "parts:"
"""Prefix of the groups that hold the memory of parts."""

Form = Mapping[str, TensorForm]
"""Names, types and shapes of all tensors of a state."""

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
    records: Checksum
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
            older = [t for t in checkpoint_rounds(folder.path) if t < self.last]
            prune(folder.path, {self.last, *older[-1:]})

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
        write(self.folder, Checkpoint(state, running, self.folder.offset(), wall_s, self.spent_s), self.spec)
        prune(self.folder.path, {state.t} if self.last is None else {state.t, self.last})
        took = time.perf_counter() - began
        self.spent_s += took
        self.last, self._at_s = state.t, wall_s
        self._s_per_byte = took / max(1, _bytes(state))
        LOG.debug("checkpoint after round %d in %.3f s, %d bytes of tensors", state.t, took, _bytes(state))

    def message(self) -> str:
        """A sentence that names the last good checkpoint."""
        if self.last is None:
            return "no checkpoint has been written yet: a resumed run starts from the beginning"
        return f"last good checkpoint: {checkpoint_path(self.folder.path, self.last)} (after {self.last} rounds)"


def write(folder: RunFolder, checkpoint: Checkpoint, spec: Spec) -> None:
    """Write a checkpoint into a run folder: tensors first, then the JSON file that makes them valid."""
    state = checkpoint.state
    path = checkpoint_path(folder.path, state.t)
    tensors = _flat(state)
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None
    content = CheckpointFile(
        spec_sha256=fingerprint(spec),
        t=state.t,
        time_s=state.time_s,
        energy_j=state.energy_j,
        bits=state.bits,
        tensors=form(state),
        tensors_file=write_tensors(tensors_path(path), tensors),
        running=checkpoint.running,
        records=checkpoint.records,
        files={name: [written] for name, written in folder.manifest().items() if name in START_FILES},
        wall_s=checkpoint.wall_s,
        checkpoint_s=checkpoint.checkpoint_s,
    )
    write_checkpoint_file(path, content)


def last_good(folder: Path, spec: Spec, wanted: Form) -> tuple[Checkpoint | None, list[Damage]]:
    """The newest checkpoint of this spec that is whole and fits the records, and what is damaged about newer ones.

    ``wanted`` is the form of the state that it must restore. Raises :class:`StoreError` for a checkpoint of another
    format or of another spec.
    """
    damage: list[Damage] = []
    for path in reversed(checkpoint_paths(folder)):
        found = _read(path, folder, spec, wanted)
        if isinstance(found, Checkpoint):
            return found, damage
        damage.append(found)
    return None, damage


def form(state: SimState) -> dict[str, TensorForm]:
    """Device, type and shape of every tensor of a state."""
    return {
        name: TensorForm(str(tensor.device), TYPES.get(tensor.dtype, str(tensor.dtype)), list(tensor.shape))
        for name, tensor in _flat(state).items()
    }


def _read(path: Path, folder: Path, spec: Spec, wanted: Form) -> Checkpoint | Damage:
    """A checkpoint from its files, checked against the spec, the records and the state it must restore."""
    name, beside = str(path.relative_to(folder)), tensors_path(path)
    try:
        content = read_checkpoint_file(path)
    except FormatError:
        raise
    except StoreError as error:
        return Damage(name, file_reason(path, error))
    if content.spec_sha256 != fingerprint(spec):
        remedy = f"restore {SPEC_FILE}, or run the new one into another folder"
        raise StoreError(f"{path} belongs to a different spec than {folder / SPEC_FILE}; {remedy}")
    if reason := beginning_differs(folder / RECORDS_FILE, content.records):
        return Damage(RECORDS_FILE, reason)
    if reason := _misfit(content.tensors, wanted):
        return Damage(name, reason)
    if reason := difference(beside, content.tensors_file):
        return Damage(str(beside.relative_to(folder)), reason)
    try:
        state = _state(content, _tensors(beside, content))
    except (OSError, SafetensorError) as error:
        return Damage(str(beside.relative_to(folder)), f"cannot be read ({error})")
    return Checkpoint(state, content.running, content.records, content.wall_s, content.checkpoint_s)


def _misfit(stored: Form, wanted: Form) -> str | None:
    """Why tensors of these forms cannot restore a state of the wanted form; None if they can."""
    for name in [*wanted, *stored]:
        if name not in stored or name not in wanted:
            return f"it {'has' if name in stored else 'lacks'} a tensor {name}, which the state of this spec " + (
                "does not have" if name in stored else "has"
            )
        if stored[name] != wanted[name]:
            return f"{name} is {_words(stored[name])}, but the state of this spec has {_words(wanted[name])}"
    return None


def _words(tensor: TensorForm) -> str:
    return f"{tensor.dtype} {tensor.shape} on {tensor.device}"


def _tensors(path: Path, content: CheckpointFile) -> Slots:
    """The tensors of a checkpoint, in the order and on the devices they had."""
    tensors = read_tensors(path)
    listed = {name: (tensor.dtype, tensor.shape) for name, tensor in content.tensors.items()}
    if {name: (TYPES[tensor.dtype], list(tensor.shape)) for name, tensor in tensors.items()} != listed:
        raise SafetensorError("not the tensors that the checkpoint lists")
    return {name: tensors[name].to(tensor.device) for name, tensor in content.tensors.items()}


def _flat(state: SimState) -> Slots:
    """Every tensor of a state, as ``group/name``; the group of a part's memory is ``parts:`` and its path."""
    memory = state.memory
    groups = {"shared": memory.shared, "client": memory.client, "ledger": memory.ledger}
    groups |= {"receiver": memory.receiver, "signals": state.signals}
    groups |= {f"{PARTS}{path}": slots for path, slots in state.parts.items()}
    return {f"{group}/{name}": tensor for group, slots in groups.items() for name, tensor in slots.items()}


def _state(content: CheckpointFile, tensors: Slots) -> SimState:
    """The state that a checkpoint's numbers and tensors make; the inverse of :func:`_flat`."""

    def group(prefix: str) -> Slots:
        return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}

    paths = [name.removeprefix(PARTS).partition("/")[0] for name in tensors if name.startswith(PARTS)]
    memory = Memory(
        shared=group("shared/"),
        client=make_room(group("client/")),
        ledger=group("ledger/"),
        receiver=make_room(group("receiver/")),
    )
    return SimState(
        t=content.t,
        time_s=content.time_s,
        energy_j=content.energy_j,
        bits=content.bits,
        memory=memory,
        signals=group("signals/"),
        parts={path: make_room(group(f"{PARTS}{path}/")) for path in dict.fromkeys(paths)},
    )


def _bytes(state: SimState) -> int:
    """Bytes of all tensors of a state."""
    return sum(tensor.numel() * tensor.element_size() for tensor in _flat(state).values())
