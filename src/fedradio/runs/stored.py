"""The plain files of a run folder, each read through a schema here and nowhere else.

What does not fit its schema is refused with one sentence: file, key or line, reason. Values are handed on as they are
in the file.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, NonNegativeInt, TypeAdapter, ValidationError

from fedradio.core.errors import StoreError
from fedradio.core.files import parse_json, read_bytes, unsealed
from fedradio.runs.folder import DESCRIPTION_FILE, ENVIRONMENT_FILE, NETWORK_FILE, SUMMARY_FILE
from fedradio.runs.manifest import Checksum, Manifest
from fedradio.runs.records import check_run_format
from fedradio.runs.summary import Summary
from fedradio.spec.strict import Strict

Plain = dict[str, Any]
T = TypeVar("T")
Count = NonNegativeInt

MOST_PROBLEMS = 3
"""So many wrong keys of a file are named."""


class Machine(Strict):
    """Versions and machine of a process that made rounds."""

    fedradio: str
    python: str
    packages: dict[str, str | None]
    system: str
    machine: str
    vector_instructions: str | None = None
    cpus: int | None
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:[0-9]+)?)$")]
    device_name: str
    workers: int
    started: str
    byteorder: str
    files: dict[str, str] = Field(default_factory=dict)
    commit: str | None = None


class Resumed(Machine):
    """A process that resumed a run, after so many rounds."""

    rounds: Count


class Environment(Machine):
    """``environment.json``: the process that began a run, those that resumed it; and the devices of a federation."""

    resumed: list[Resumed] = Field(default_factory=list)
    federation: dict[str, Any] | None = None


class Network(Strict):
    """``network.json``: ``parents`` of every hop, ``positions`` of every tier."""

    parents: list[list[Count]]
    positions: list[list[list[float]]]


class Keyword(Strict):
    """The meaning of a keyword of a part."""

    unit: str | None
    doc: str


class DescribedPart(Strict):
    """The meaning of a part and of its keywords."""

    summary: str
    keywords: dict[str, Keyword]


class Keys(Strict):
    """The meaning of the keys of a spec, of a hop, of its data and, where it has caches, of these."""

    spec: dict[str, str]
    hop: dict[str, str]
    data: dict[str, str]
    cache: dict[str, str] = Field(default_factory=dict)


class StoredNeighbour(Strict):
    """A file that a file of parts imported from its folder, as it was then."""

    name: str
    sha256: str
    source: str


class StoredPartFile(Strict):
    """A file of the user's own that parts of a run came from, as it was then; for readers, it is never run."""

    name: str
    sha256: str
    parts: list[list[str]]
    source: str
    neighbours: list[StoredNeighbour] = Field(default_factory=list)


class StoredSource(Strict):
    """A class or function of the user's own in a composed simulation, as it was then; for readers, it is never run."""

    name: str
    source: str | None


class StoredStart(Strict):
    """Start values of a model that were taken as given: their SHA-256, and why."""

    sha256: str
    reason: str


class Description(Strict):
    """``description.json``: what the values of a spec mean."""

    parts: dict[str, dict[str, DescribedPart]]
    keys: Keys
    metrics: dict[str, dict[str, str]] = Field(default_factory=dict)
    part_files: list[StoredPartFile] = Field(default_factory=list)
    sources: list[StoredSource] = Field(default_factory=list)
    start: StoredStart | None = None


def fitting(schema: type[T], data: Any, path: Path) -> T:
    """Plain data of a file as its schema has it; raises :class:`StoreError` with the keys that are wrong."""
    try:
        adapter: TypeAdapter[T] = _adapter(schema)  # type: ignore[arg-type]  # types can be hashed
        return adapter.validate_json(json.dumps(data))
    except ValidationError as error:
        problems = [f"{_key(item['loc'])}{item['msg'][0].lower()}{item['msg'][1:]}" for item in error.errors()]
        more = f" and {len(problems) - MOST_PROBLEMS} more" if len(problems) > MOST_PROBLEMS else ""
        raise StoreError(f"{path}: {'; '.join(problems[:MOST_PROBLEMS])}{more}") from None


def read_environment(folder: Path) -> Plain:
    """Versions and machine of a run; empty where the process was killed before it wrote them."""
    return _read(folder / ENVIRONMENT_FILE, Environment)


def read_network(folder: Path) -> Plain:
    """``parents`` of every hop and ``positions`` of every tier; empty if the process was killed before."""
    path = folder / NETWORK_FILE
    network = _read(path, Network)
    if network and (reason := _ragged(network["parents"], network["positions"])):
        raise StoreError(f"{path}: {reason}")
    return network


def read_description(folder: Path) -> Plain:
    """What the values of the spec mean; empty where the process was killed before it wrote them."""
    return _read(folder / DESCRIPTION_FILE, Description)


def read_summary(folder: Path | str) -> Plain:
    """The summary of a run folder as plain data."""
    check_run_format(folder)
    return read_sealed_summary(Path(folder))[0]


def read_sealed_summary(folder: Path) -> tuple[Plain, Manifest]:
    """The summary of a run folder, and checksums of the files that the run wrote."""
    path = folder / SUMMARY_FILE
    document = unsealed(read_bytes(path), path)
    manifest = fitting(dict[str, Checksum], document.pop("files", None), path)
    fitting(Summary, document, path)
    return document, manifest


@functools.cache
def _adapter(schema: Any) -> TypeAdapter[Any]:
    return TypeAdapter(schema)


def _read(path: Path, schema: type[Strict]) -> Plain:
    """The mapping in a JSON file, checked; empty where there is none."""
    if not path.exists() and not path.is_symlink():
        return {}
    document = parse_json(read_bytes(path), path)
    fitting(schema, document, path)
    return document


def _ragged(parents: list[list[int]], positions: list[list[list[float]]]) -> str | None:
    """Why parents and positions are not those of one network; None if they are."""
    if len(positions) != len(parents) + 1:
        return f"positions of {len(positions)} tiers, parents of {len(parents)} hops"
    if len({len(place) for tier in positions for place in tier}) > 1:
        return "positions with different numbers of coordinates"
    for hop, parent in enumerate(parents):
        if len(parent) != len(positions[hop]):
            return f"parents.{hop}: {len(parent)} parents of {len(positions[hop])} nodes"
        if parent and max(parent) >= len(positions[hop + 1]):
            return f"parents.{hop}: a parent that does not exist"
    return None


def _key(place: tuple[int | str, ...]) -> str:
    return f"{'.'.join(map(str, place))}: " if place else ""
