"""Files of the user's own that the parts of a stored run came from, beside those that are loaded now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fedradio.core.part_files import PartFile, part_files
from fedradio.runs.stored import read_description
from fedradio.spec.description import used_part_files
from fedradio.spec.spec import Spec


@dataclass(frozen=True)
class OtherFile:
    """A file ``name`` of a stored run whose text is not loaded; ``instead`` has parts of the same names, if any."""

    name: str
    instead: PartFile | None


def other_part_file(folder: Path) -> OtherFile | None:
    """The first file of a run's own parts that is not loaded as it was then; None if all are."""
    loaded = part_files()
    for stored in read_description(folder).get("part_files", []):
        if all(file.sha256 != stored["sha256"] for file in loaded):
            kinds = {tuple(each) for each in stored["parts"]}
            return OtherFile(stored["name"], next((file for file in loaded if not kinds.isdisjoint(file.parts)), None))
    return None


def part_checksums(spec: Spec) -> dict[str, str]:
    """SHA-256 of the loaded files that a spec takes parts from, by name."""
    return {file.path.name: file.sha256 for file in used_part_files(spec)}
