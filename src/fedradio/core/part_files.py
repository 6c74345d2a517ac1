"""Parts from a Python file of the user, loaded because the user asked for that very file.

Nothing else leads to an import: neither a spec nor a run folder nor a file beside them. While the file is loaded, it
can import modules from its own folder, which is the last place where Python looks. The run stores the text and the
SHA-256 of the file and of these modules, its neighbours.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import BUILT_IN, forget, part, registered

OPTION = "--parts"

UNNAMED = "fedradio_part_file"
"""How names of modules begin whose files have the name of another module."""

Agreed = tuple[str, str, dict[str, str]]
"""A file that other processes must load unchanged: path, SHA-256, and SHA-256 of its neighbours by name."""


class ChangedError(SpecError):
    """A file has changed since it was loaded."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(Problem(OPTION, "the file has changed since it was loaded", "start again", str(path)))


@dataclass(frozen=True)
class Neighbour:
    """A module that a file of parts imports from its folder: file name below that folder, SHA-256 and text."""

    name: str
    sha256: str
    source: str


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
    """Run a Python file that registers parts, once in a process; with ``sha256`` and ``agreed``, only if these are the
    checksums of the file and of its neighbours.

    While it runs, it can import modules from its own folder, which is the last one on Python's path. Two paths to one
    file, such as a link to it, are one file, and a module that another file has imported is not run again. A file that
    cannot be read or run, or that registers nothing, raises :class:`SpecError`, and leaves nothing behind.
    """
    given = Path(path).absolute()
    data, place = _bytes(given), given.resolve()
    found, loaded = _sum(data), _sums()
    if sha256 not in (None, found) or loaded.get(place, found) != found:
        raise ChangedError(path)
    if place in _LOADED:
        known = _LOADED[place]
        _refuse_changed(
            place.parent, {name: _sum(_bytes(place.parent / name)) for name in known.checksums}, known.checksums
        )
        return known
    import_module(BUILT_IN)
    parts, modules = set(registered()), set(sys.modules)
    try:
        with _importable(place.parent):
            module = _module_of(place) or _run(given, data)
            neighbours = _neighbours(place, data)
        now = {each.name: each.sha256 for each in neighbours}
        then = {name: loaded.get(place.parent / name, sum_) for name, sum_ in now.items()} if agreed is None else agreed
        _refuse_changed(place.parent, now, then)
        new = tuple(each for each in registered() if each not in parts)
        new = new or tuple(each for each in registered() if part(*each).factory.__module__ == module.__name__)
        if not new:
            remedy = "decorate a factory with @fedradio.register(family, kind)"
            raise SpecError(Problem(OPTION, "the file registers no part", remedy, str(path)))
        for family, kind in new:
            part(family, kind).parameters()  # refuses those that do not say what they are
    except BaseException:
        forget(set(registered()) - parts)
        for name in set(sys.modules) - modules:
            if name.startswith(UNNAMED) or _file_in(place.parent, name):
                del sys.modules[name]
        raise
    _LOADED[place] = PartFile(given, found, data.decode(), new, neighbours)
    return _LOADED[place]


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _sums() -> dict[Path, str]:
    """SHA-256 of all loaded files and of their neighbours."""
    files = {place: file.sha256 for place, file in _LOADED.items()}
    return files | {file.folder / name: sum_ for file in part_files() for name, sum_ in file.checksums.items()}


def _refuse_changed(folder: Path, now: Mapping[str, str], then: Mapping[str, str]) -> None:
    """Refuse files of a folder whose checksums are not what they were."""
    for name in {**then, **now}:
        if now.get(name) != then.get(name):
            raise ChangedError(folder / name)


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let imports look into a folder last; nothing is written into it."""
    added, before = str(folder) not in sys.path, sys.dont_write_bytecode
    if added:
        sys.path.append(str(folder))
    sys.dont_write_bytecode = True
    invalidate_caches()
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
        if added:
            sys.path.remove(str(folder))


def _module_of(place: Path) -> ModuleType | None:
    """The module that a file became when another one imported it."""
    return sys.modules[place.stem] if _file_in(place.parent, place.stem) == place else None


def _file_in(folder: Path, name: str) -> Path | None:
    """The file of a loaded module if the folder has it under this name."""
    file = getattr(sys.modules.get(name), "__file__", None)
    inside = folder.joinpath(*name.split("."))
    candidates = (inside / "__init__.py", inside.with_name(f"{inside.name}.py"))
    return next((each for each in candidates if isinstance(file, str) and each.resolve() == Path(file).resolve()), None)


def _neighbours(place: Path, source: bytes) -> tuple[Neighbour, ...]:
    """The loaded modules of its folder that a file imports, directly or through one of them, by name."""
    folder, found, queue = place.parent, {place: source}, [source]
    while queue:
        asked = _imported(queue.pop())
        for name in [name for name in sys.modules if name.partition(".")[0] in asked]:
            file = _file_in(folder, name)
            if file is not None and file not in found:
                found[file] = file.read_bytes()
                queue.append(found[file])
        for name in asked:
            _refuse_namesake(folder, name)
    del found[place]
    return tuple(
        Neighbour(file.relative_to(folder).as_posix(), _sum(text), text.decode(errors="replace"))
        for file, text in sorted(found.items())
    )


def _imported(source: bytes) -> set[str]:
    """The first names of all modules that a text imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _refuse_namesake(folder: Path, name: str) -> None:
    """Refuse a module of a folder that was not imported because another file's folder has one of the same name."""
    other = next((file.folder for file in part_files() if file.folder != folder and _file_in(file.folder, name)), None)
    if other is not None and ((folder / f"{name}.py").is_file() or (folder / name).is_dir()):
        reason = f"imports {name} from its folder, and {other} has given a module of this name already"
        raise SpecError(Problem(OPTION, reason, "rename one of them", str(folder)))


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


def _run(path: Path, data: bytes) -> ModuleType:
    """Run the bytes of a file as the module that its folder's other files can import, if its name is free.

    A file that would end the whole process is refused like one that fails.
    """
    place = path.resolve()
    spec = find_spec(place.stem) if place.stem.isidentifier() and place.stem not in sys.modules else None
    free = spec is not None and spec.origin is not None and Path(spec.origin).resolve() == place
    name = place.stem if free else f"{UNNAMED}_{len(_LOADED)}_{place.stem}"
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses and type hints look it up there
    try:
        exec(compile(data, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise SpecError(Problem(OPTION, reason_in(error, path), "fix the file", str(path))) from error
    return module


def failure_in_parts(error: BaseException) -> str | None:
    """The place in a loaded file, or in one of its neighbours, that led to an error; None if there is none."""
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
