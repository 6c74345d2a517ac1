"""Python files beside a file of parts that it imports: found behind everything installed, and kept with their SHA-256.

They are looked for only while that file is loaded, and only there. The bytes that are run are those that are kept.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

from fedradio.core.errors import Problem, SpecError

OPTION = "--parts"


@dataclass(frozen=True)
class Neighbour:
    """A file that was imported by a file of parts: its name from the folder of that file, its SHA-256 and text."""

    name: str
    sha256: str
    source: str


class ChangedError(SpecError):
    """A file is not the one that was agreed on."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(Problem(OPTION, "the file has changed since it was loaded", "start again", str(path)))


_READ: dict[Path, bytes] = {}
"""Bytes that were run, by the file that they came from."""

_FOLDERS: dict[str, Path] = {}
"""Modules that were found beside a file of parts, and the folder of that file."""

PART_MODULES: dict[Path, ModuleType] = {}
"""Modules of files of parts, which another such file may import as its neighbours; they are not run twice."""


@contextmanager
def beside(folder: Path, agreed: Mapping[str, str] | None) -> Iterator[None]:
    """Find modules in a folder too, behind all that is installed; with ``agreed``, only files of these SHA-256.

    Where the block raises, the modules that it has loaded are gone. Modules from the folders of other files are not
    seen in it; another one of the same name is refused.
    """
    if folder in _installed():
        yield
        return
    finder = _Finder(folder, agreed)
    hidden = {
        name: sys.modules.pop(name) for name, place in _FOLDERS.items() if place != folder and name in sys.modules
    }
    sys.meta_path.insert(0, finder)
    try:
        yield
        if finder.refused is not None:  # the file may have gone on without it
            raise finder.refused
        for name in finder.made & hidden.keys():
            reason = f"imports {name} from its folder, and {_FOLDERS[name]} has given a module of this name already"
            raise SpecError(Problem(OPTION, reason, "rename one of them", str(folder)))
    except BaseException:
        for name in finder.made:
            sys.modules.pop(name, None)
        raise
    else:
        _FOLDERS.update({name: folder for name in finder.made if name in sys.modules})
    finally:
        sys.meta_path.remove(finder)
        sys.modules.update(hidden)


def neighbours(folder: Path, source: bytes) -> tuple[Neighbour, ...]:
    """The loaded modules of a folder that a file in it asks for, itself or through one of them, by name."""
    if folder in _installed():
        return ()
    found: dict[Path, bytes] = {}
    queue = [source]
    while queue:
        asked = _tops(queue.pop())
        loaded = [_of(folder, name) for name in list(sys.modules) if name.partition(".")[0] in asked]
        for file in loaded:
            if file is not None and file not in found:
                found[file] = _READ[file] if file in _READ else file.read_bytes()
                queue.append(found[file])
    return tuple(
        Neighbour(file.relative_to(folder).as_posix(), hashlib.sha256(data).hexdigest(), data.decode(errors="replace"))
        for file, data in sorted(found.items())
    )


def as_neighbour(file: Path) -> tuple[ModuleType, bytes] | None:
    """The module that a file became as a neighbour of another one, and the bytes that were run; None if it did not."""
    for name, folder in _FOLDERS.items():
        found = _of(folder, name)
        if found is not None and found.resolve() == file and found in _READ:
            return sys.modules[name], _READ[found]
    return None


def _tops(source: bytes) -> set[str]:
    """The first names of all modules that a text imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _of(folder: Path, name: str) -> Path | None:
    """The file of a loaded module, if it is the one that the folder has under this name."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if not isinstance(file, str):
        return None
    return next((each for each in _candidates(folder, name) if each.resolve() == Path(file).resolve()), None)


def _candidates(folder: Path, name: str) -> tuple[Path, Path]:
    """Where a folder has a module of that name: as a package, or as a file."""
    place = folder.joinpath(*name.split("."))
    return place / "__init__.py", place.with_name(f"{place.name}.py")


def _installed() -> set[Path]:
    """Folders of installed packages, whose modules are nobody's neighbours."""
    return {Path(place).resolve() for place in sysconfig.get_paths().values()}


class _Finder(MetaPathFinder):
    """Finds modules of a folder that nothing else has; ``made`` are their names."""

    def __init__(self, folder: Path, agreed: Mapping[str, str] | None) -> None:
        self.folder = folder
        self.agreed = agreed
        self.made: set[str] = set()
        self.refused: ChangedError | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parent = fullname.rpartition(".")[0]
        if parent and parent not in self.made and _FOLDERS.get(parent) != self.folder:
            return None  # of a package from elsewhere
        package, file = _candidates(self.folder, fullname)
        if not (package.parent.is_dir() or file.is_file()):
            return None
        if not parent and (known := self._elsewhere(fullname, target)) is not None:
            return known
        self.made.add(fullname)
        for each in (package, file):
            if each.is_file():
                places = [str(package.parent)] if each is package else None
                loader = _Loader(each, self)
                return spec_from_file_location(fullname, each, loader=loader, submodule_search_locations=places)
        spec = ModuleSpec(fullname, None, is_package=True)  # a folder without __init__.py
        spec.submodule_search_locations = [str(package.parent)]
        return spec

    def _elsewhere(self, name: str, target: ModuleType | None) -> ModuleSpec | None:
        """A module of that name that is built in, installed or on Python's path otherwise; None if there is none.

        The working folder, which ``python -m`` puts on the path, does not count.
        """
        path = [place for place in sys.path if Path(place).resolve() not in (self.folder, Path.cwd())]
        for finder in sys.meta_path:
            if finder is not self:
                spec = finder.find_spec(name, path if finder is PathFinder else None, target)
                if spec is not None and spec.loader is not None and not self._is_ours(name, spec):
                    return spec
        return None

    def _is_ours(self, name: str, spec: ModuleSpec) -> bool:
        return spec.origin in [str(each) for each in _candidates(self.folder, name)]


class _Loader(Loader):
    """Runs the bytes of a file, if they are those that were agreed on."""

    def __init__(self, path: Path, finder: _Finder) -> None:
        self.path = path
        self.finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return PART_MODULES.get(self.path.resolve())

    def exec_module(self, module: ModuleType) -> None:
        if module is PART_MODULES.get(self.path.resolve()):
            return
        data = self.path.read_bytes()
        agreed, name = self.finder.agreed, self.path.relative_to(self.finder.folder).as_posix()
        if agreed is not None and agreed.get(name) != hashlib.sha256(data).hexdigest():
            self.finder.refused = ChangedError(self.path)
            raise self.finder.refused
        _READ[self.path] = data
        exec(compile(data, str(self.path), "exec"), module.__dict__)
