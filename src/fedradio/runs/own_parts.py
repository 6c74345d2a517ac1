"""Files of the user's own that the parts of a stored run came from, beside those that are loaded now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fedradio.core.part_files import part_files
from fedradio.runs.stored import read_description
from fedradio.spec.description import used_part_files
from fedradio.spec.spec import Spec


@dataclass(frozen=True)
class OtherFile:
    """A file ``name`` of a stored run whose text is not loaded; ``instead`` is loaded in its place, if anything is: a
    file with parts of the same names, or a neighbour that the file imports now."""

    name: str
    instead: Path | None

    @property
    def option(self) -> str:
        """What to write after ``--parts``: the name, or FILE where no such file is here."""
        return self.name if Path(self.name).is_file() else "FILE"


def other_part_file(folder: Path) -> OtherFile | None:
    """The first file of a run's own parts that is not loaded as it was then; None if all are."""
    loaded = part_files()
    for stored in read_description(folder).get("part_files", []):
        same = next((file for file in loaded if file.sha256 == stored["sha256"]), None)
        if same is None:
            kinds = {tuple(each) for each in stored["parts"]}
            others = [file.path for file in loaded if not kinds.isdisjoint(file.parts)]
            return OtherFile(stored["name"], others[0] if others else None)
        then = {each["name"]: each["sha256"] for each in stored.get("neighbours", [])}
        for name in then | same.checksums:
            if then.get(name) != same.checksums.get(name):
                return OtherFile(name, same.folder / name)
    return None


def stored_part_names(folder: Path) -> set[str]:
    """The names of the files that the parts of a run came from, with those of their neighbours."""
    stored = read_description(folder).get("part_files", [])
    return {each["name"] for file in stored for each in (file, *file.get("neighbours", []))}


def part_checksums(spec: Spec) -> dict[str, str]:
    """SHA-256 of the loaded files that a spec takes parts from, and of their neighbours, by name."""
    used = used_part_files(spec)
    return {name: sha256 for file in used for name, sha256 in ((file.path.name, file.sha256), *file.checksums.items())}
