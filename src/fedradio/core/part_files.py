"""Parts from a file of the user's own, loaded because the user asked for that very file.

Nothing else leads to an import: neither a spec nor a run folder nor a file that lies beside them. The bytes that are
run are those whose SHA-256 is kept.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import BUILT_IN, forget, registered

OPTION = "--parts"


@dataclass(frozen=True)
class PartFile:
    """A file that was loaded: where it lay, its SHA-256 and text, and (family, kind) of the parts it registered."""

    path: Path
    sha256: str
    source: str
    parts: tuple[tuple[str, str], ...]

    @property
    def named(self) -> str:
        """Its parts for people, such as ``algorithm mine, policy ours``."""
        return ", ".join(f"{family} {kind}" for family, kind in self.parts)


_LOADED: dict[Path, PartFile] = {}


def part_files() -> list[PartFile]:
    """The files that were loaded in this process, in their order."""
    return list(_LOADED.values())


def load_part_file(path: Path | str, sha256: str | None = None) -> PartFile:
    """Run a Python file that registers parts, once in a process; with ``sha256``, only if that is its checksum.

    Two ways to the same file, such as a link to it, are one file. A file that cannot be read or run, or that registers
    nothing, raises :class:`SpecError`, and leaves nothing behind.
    """
    place = Path(path).absolute()
    data = _bytes(place)
    found = hashlib.sha256(data).hexdigest()
    known = _LOADED.get(place.resolve())
    if sha256 not in (None, found) or (known is not None and known.sha256 != found):
        raise SpecError(
            Problem(OPTION, "the file has changed since it was loaded", "start the program again", str(path))
        )
    if known is not None:
        return known
    import_module(BUILT_IN)
    before = set(registered())
    name = f"fedradio_part_file_{len(_LOADED)}_{place.stem}"
    try:
        _execute(name, place, data)
        new = tuple(each for each in registered() if each not in before)
        if not new:
            remedy = "decorate a factory with @fedradio.register(family, kind)"
            raise SpecError(Problem(OPTION, "the file registers no part", remedy, str(path)))
    except BaseException:
        forget(set(registered()) - before)
        sys.modules.pop(name, None)
        raise
    _LOADED[place.resolve()] = PartFile(place, found, data.decode(), new)
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
    try:
        exec(compile(data, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise SpecError(Problem(OPTION, reason_in(error, path), "fix the file", str(path))) from error


def reason_in(error: BaseException, path: Path) -> str:
    """What went wrong, and in which line of the file."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"line {lines[-1] if lines else '?'}: {type(error).__name__}: {error}"
