"""Parts from a file of the user's own, loaded because the user asked for that very file.

Nothing else leads to an import: neither a spec nor a run folder nor a file that lies beside them, but for the modules
that this file imports from its own folder. The bytes that are run are those whose SHA-256 is kept.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from fedradio.core.errors import Problem, SpecError
from fedradio.core.neighbours import (
    OPTION,
    PART_MODULES,
    ChangedError,
    Neighbour,
    as_neighbour,
    beside,
    neighbours,
)
from fedradio.core.registry import BUILT_IN, forget, part, registered

Agreed = tuple[str, str, dict[str, str]]
"""A file that other processes are to load as it is: path, SHA-256, and SHA-256 of its neighbours by name."""


@dataclass(frozen=True)
class PartFile:
    """A file that was loaded: where it lay, its SHA-256 and text, (family, kind) of the parts it registered, and the
    files of its folder that it imported."""

    path: Path
    sha256: str
    source: str
    parts: tuple[tuple[str, str], ...]
    neighbours: tuple[Neighbour, ...] = ()

    @property
    def named(self) -> str:
        """Its parts for people, such as ``algorithm mine, policy ours``."""
        return ", ".join(f"{family} {kind}" for family, kind in self.parts)

    @property
    def folder(self) -> Path:
        """Where its neighbours lie: beside the file itself, not beside a link to it."""
        return self.path.resolve().parent

    @property
    def checksums(self) -> dict[str, str]:
        """SHA-256 of its neighbours, by name."""
        return {each.name: each.sha256 for each in self.neighbours}

    @property
    def agreed(self) -> Agreed:
        """What another process needs to load the same."""
        return str(self.path), self.sha256, self.checksums


_LOADED: dict[Path, PartFile] = {}


def part_files() -> list[PartFile]:
    """The files that were loaded in this process, in their order."""
    return list(_LOADED.values())


def load_part_file(path: Path | str, sha256: str | None = None, agreed: Mapping[str, str] | None = None) -> PartFile:
    """Run a Python file that registers parts, once in a process; with ``sha256``, only if that is its checksum.

    While it runs, it finds modules in its own folder too, behind all that is installed; with ``agreed``, only those of
    these names and checksums.

    Two ways to the same file, such as a link to it, are one file, and one that another file has imported from its
    folder is not run again. A file that cannot be read or run, or that registers
    nothing, raises :class:`SpecError`, and leaves nothing behind.
    """
    place = Path(path).absolute()
    data = _bytes(place)
    found = hashlib.sha256(data).hexdigest()
    known = _LOADED.get(place.resolve())
    if sha256 not in (None, found) or (known is not None and known.sha256 != found):
        raise ChangedError(path)
    if known is not None:
        for each in known.neighbours:
            if hashlib.sha256(_bytes(known.folder / each.name)).hexdigest() != each.sha256:
                raise ChangedError(known.folder / each.name)
        return known
    import_module(BUILT_IN)
    before = set(registered())
    name = f"fedradio_part_file_{len(_LOADED)}_{place.stem}"
    earlier = as_neighbour(place.resolve())
    if earlier is not None and earlier[1] != data:
        raise ChangedError(path)
    try:
        with beside(place.resolve().parent, agreed):
            if earlier is None:
                _execute(name, place, data)
            else:
                sys.modules[name] = earlier[0]
            beside_it = neighbours(place.resolve().parent, data)
            imported = tuple(each for each in beside_it if each.name != place.resolve().name)  # they may import it
        new = tuple(each for each in registered() if each not in before)
        if earlier is not None:
            new = tuple(each for each in registered() if part(*each).factory.__module__ == earlier[0].__name__)
        if not new:
            remedy = "decorate a factory with @fedradio.register(family, kind)"
            raise SpecError(Problem(OPTION, "the file registers no part", remedy, str(path)))
        for family, kind in new:
            part(family, kind).parameters()  # refuses those that do not say what they are
    except BaseException:
        forget(set(registered()) - before)
        sys.modules.pop(name, None)
        PART_MODULES.pop(place.resolve(), None)
        raise
    PART_MODULES[place.resolve()] = sys.modules[name]
    _LOADED[place.resolve()] = PartFile(place, found, data.decode(), new, imported)
    return _LOADED[place.resolve()]


def _bytes(path: Path) -> bytes:
    """The bytes of a file that is Python text."""
    try:
        data = path.read_bytes()
        data.decode()
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
    except UnicodeDecodeError:
        reason = "is not UTF-8 text"
    except ValueError as error:  # a path with a null character
        reason = f"cannot be read: {error}"
    else:
        return data
    raise SpecError(Problem(OPTION, reason, "give a Python file that registers parts", str(path)))


def _execute(name: str, path: Path, data: bytes) -> None:
    """Run the bytes as a module of their own; one that would end the whole process is refused like one that fails."""
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses and type hints look it up there
    PART_MODULES[path.resolve()] = module  # its neighbours may import it in turn
    try:
        exec(compile(data, str(path), "exec"), module.__dict__)
    except ChangedError:
        raise
    except (Exception, SystemExit) as error:
        relative = isinstance(error, ImportError) and "relative import" in str(error)
        remedy = "import files from the same folder by name, without a dot" if relative else "fix the file"
        raise SpecError(Problem(OPTION, reason_in(error, path), remedy, str(path))) from error


def failure_in_parts(error: BaseException) -> str | None:
    """Where the code of a loaded file, or of a neighbour, has raised an error or led to it; None if it has not."""
    paths = {
        str(path): path for file in part_files() for path in (file.path, *map(file.folder.joinpath, file.checksums))
    }
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in paths]
    return f"{paths[own[-1].filename].name}, {reason_in(error, paths[own[-1].filename])}" if own else None


def reason_in(error: BaseException, path: Path) -> str:
    """What went wrong, and in which line of the file, or of which file of its folder."""
    if isinstance(error, SyntaxError):
        return _place(error.filename, error.lineno, path) + str(error.msg)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent in (path.parent, path.resolve().parent)]
    last = own[-1] if own else None
    place = "line ?: " if last is None else _place(last.filename, last.lineno, path)
    return f"{place}{type(error).__name__}: {error}"


def _place(file: str | None, line: int | None, path: Path) -> str:
    """A place in a text, as the beginning of a sentence; the file is named unless it is ``path``."""
    other = "" if file is None or Path(file) == path else f"{Path(file).name}, "
    return f"{other}line {line}: " if line else ""
