"""What machines that work on the same run must have in common: versions, files of parts, kind of processor."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fedradio._version import __version__
from fedradio.core.errors import Problem, SpecError
from fedradio.core.part_files import OPTION, Agreed, load_part_file, part_files


@dataclass(frozen=True)
class Node:
    """A machine: its name, the versions of fedradio and torch, and the vector instructions that torch uses there; and
    the loaded ``parts``, files of the user's own, each with the checksums of itself and of its neighbours."""

    name: str
    fedradio: str
    torch: str
    capability: str
    parts: list[Agreed] = field(default_factory=list)


@dataclass(frozen=True)
class Comparison:
    """What forbids to use a machine, and what is worth knowing of it; empty: nothing."""

    refused: str = ""
    note: str = ""


def this_node() -> Node:
    """The machine of this process."""
    import torch  # here, so that whoever only compares does not wait for it

    capability = torch.backends.cpu.get_cpu_capability()
    loaded = [file.agreed for file in part_files()]
    return Node(platform.node(), __version__, torch.__version__, capability, loaded)


def compare(asker: Node, here: Node) -> Comparison:
    """Whether a machine may work for another: with the same versions, and with the same files of parts at the same
    places, whose text is never sent. With another kind of processor, the last bits may differ."""
    for name in ("fedradio", "torch"):
        theirs, ours = getattr(asker, name), getattr(here, name)
        if theirs != ours:
            remedy = "install the same version on all machines"
            return Comparison(f"{here.name} has {name} {ours}, but {asker.name} has {theirs}; {remedy}")
    if wrong := _other_parts(asker.parts, here.name):
        return Comparison(wrong)
    if asker.capability != here.capability:
        kinds = f"{here.name} computes with {here.capability}, but {asker.name} with {asker.capability}"
        return Comparison(note=f"{kinds}: the last bits of results may differ")
    return Comparison()


def load_parts(parts: Sequence[Agreed]) -> None:
    """Load the files of parts of the machine that asks, from this one's disk, if they are the same."""
    if wrong := _other_parts(parts, platform.node()):
        raise SpecError(Problem(OPTION, wrong))
    for path, sha256, neighbours in parts:
        load_part_file(path, sha256, neighbours)


def _other_parts(parts: Sequence[Agreed], name: str) -> str:
    """Which file of parts, or neighbour of one, is absent from this machine, or another one; empty if none is."""
    for path, sha256 in (file for part in parts for file in _files(part)):
        remedy = f"copy the same file to {path} on every machine; it is never sent automatically"
        try:
            found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError as error:
            return f"{path} cannot be read on {name} ({error.strerror or error}); {remedy}"
        if found != sha256:
            return f"{path} on {name} is a different file (its SHA-256 differs); {remedy}"
    return ""


def _files(part: Agreed) -> list[tuple[str, str]]:
    """A file of parts and its neighbours, each a path and its SHA-256."""
    path, sha256, neighbours = part
    folder = Path(path).resolve().parent
    return [(path, sha256), *((str(folder / name), checksum) for name, checksum in neighbours.items())]
