"""Registry of parts: families, kinds, and the factories that make them.

A factory's positional-only arguments are given by the caller (the topology's generator, the number of clients...);
its keyword-only arguments, annotated with :class:`Arg`, are at once constructor, config schema and documentation.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from fedradio.core.errors import Problem, SpecError

FAMILIES: dict[str, str] = {
    "topology": "the nodes, their positions, and who reports to whom",
    "channel": "what happens to a signal on the air",
    "fleet": "what the devices can do, and what it costs",
    "link": "how payloads become a sum at the receiver",
    "transform": "what a sender does to its payload before sending it",
    "receiver": "what a receiver does with the merged change",
    "policy": "who takes part, with which resources",
    "gather": "when receivers merge the updates of clients",
    "source": "where samples come from",
    "partition": "how samples are split over clients",
    "stream": "how samples arrive over time",
    "model": "what is learned, as a flat vector",
    "rule": "one local update",
    "loss": "the cost of local training",
    "schedule": "the learning rate over time",
    "algorithm": "what clients send and receivers do with it",
    "metric": "how predictions are scored",
    "placement": "which files an edge keeps",
}
"""Families of parts, in the order in which people meet them."""

PART_LISTS: dict[str, str] = {"metrics": "metric", "transforms": "transform", "placements": "placement"}
"""Keys of a spec that hold a list of parts, and the family of these."""

BUILT_IN = "fedradio._parts"
"""The module that registers every built-in part; it is imported when parts are first asked for."""

PLUGIN_GROUP = "fedradio.parts"
"""Entry-point group of third-party packages: loading the entry point must register its parts."""


@dataclass(frozen=True)
class Arg:
    """What a keyword of a factory means: a sentence, its unit and its bounds.

    ``file``: it is the path of a file or a folder; a run keeps its checksum, and is not resumed with another.
    """

    doc: str
    unit: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    file: bool = False

    def allows(self, number: float) -> bool:
        """Whether a number lies inside the bounds."""
        low = (self.ge is None or number >= self.ge) and (self.gt is None or number > self.gt)
        return low and (self.le is None or number <= self.le) and (self.lt is None or number < self.lt)

    def bounds(self) -> str:
        """The bounds for people, such as ``>= 1, <= 50``; empty without any."""
        signs = {">=": self.ge, ">": self.gt, "<=": self.le, "<": self.lt}
        return ", ".join(f"{sign} {limit:g}" for sign, limit in signs.items() if limit is not None)


@dataclass(frozen=True)
class Parameter:
    """One keyword of a factory, as the schema, the documentation and ``fedradio show`` see it."""

    name: str
    annotation: Any
    arg: Arg
    default: Any

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Part:
    """A registered factory."""

    family: str
    kind: str
    factory: Callable[..., Any]
    paper: str = ""

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.factory) or ""

    @property
    def summary(self) -> str:
        return self.doc.split("\n", 1)[0]

    def parameters(self) -> list[Parameter]:
        """The keyword-only arguments, in the order of the signature; :class:`SpecError` where one does not say what it
        is."""
        try:
            hints = get_type_hints(self.factory, include_extras=True)
        except Exception as error:  # names that are not there, and whatever else annotations do
            raise self._refusal("", f"its annotations cannot be read ({type(error).__name__}: {error})") from None
        parameters = []
        for name, parameter in inspect.signature(self.factory).parameters.items():
            given = parameter.default is not inspect.Parameter.empty
            if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and given:
                raise self._refusal(name, f"{name!r} is not keyword-only, and no spec could set it", f"*, {name}: ...")
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                continue
            annotation, arg = _split(hints.get(name))
            default = f" = {parameter.default!r}" if given else ""
            if arg is None:
                plain = getattr(hints.get(name), "__name__", "float")
                line = f'{name}: Annotated[{plain}, Arg("what it means")]{default}'
                raise self._refusal(name, f"keyword {name!r} has no Arg, which says what it means", line)
            if not _fits_specs(annotation):
                line = f'{name}: Annotated[float, Arg("{arg.doc}")]; or int, bool, str, Literal, tuple, dict, None'
                raise self._refusal(name, f"keyword {name!r} has a type that no spec can hold", line)
            if given and not _holds(annotation, arg, parameter.default):
                type_ = str(annotation).replace("typing.", "") if get_origin(annotation) else annotation.__name__
                told = ", ".join(filter(None, (type_, arg.bounds())))
                reason = f"the default {parameter.default!r} of keyword {name!r} does not fit its own type ({told})"
                raise self._refusal(name, reason, "a default that fits, or another type, such as float | None")
            parameters.append(Parameter(name, annotation, arg, parameter.default))
        return parameters

    def _refusal(self, keyword: str, reason: str, line: str = "") -> SpecError:
        """The refusal of a factory that cannot be used, with file and line, and what to write there."""
        code = inspect.unwrap(self.factory)
        try:
            texts, first = inspect.getsourcelines(code)
            start = next((n for n, text in enumerate(texts) if text.lstrip().startswith(("def ", "class "))), 0)
            found = (n for n, text in enumerate(texts) if n >= start and re.search(rf"\b{keyword}\b", text))
            place = f"{Path(inspect.getsourcefile(code) or '?').name}, line {first + next(found, start)}: "
        except (OSError, TypeError):  # typed into a prompt
            place = ""
        return SpecError(Problem(f"{self.family}/{self.kind}", place + reason, line and f"write {line}"))


_PARTS: dict[tuple[str, str], Part] = {}
_plugins_loaded = False

F = TypeVar("F", bound=Callable[..., Any])


def register(family: str, kind: str, *, paper: str = "") -> Callable[[F], F]:
    """Make a factory known under ``kind``; ``paper`` says where its equations stand."""
    if family not in FAMILIES:
        raise ValueError(f"unknown family {family!r}: use one of {', '.join(FAMILIES)}")

    def decorate(factory: F) -> F:
        if (family, kind) in _PARTS:
            raise ValueError(f"{family} {kind!r} is registered twice")
        if "kind" in inspect.signature(factory).parameters:
            raise ValueError(
                f"{family} {kind!r} has a keyword 'kind', which is reserved for the part's name: rename it"
            )
        if not inspect.getdoc(factory):
            raise ValueError(f"{family} {kind!r} needs a docstring, which is its documentation")
        _PARTS[family, kind] = Part(family, kind, factory, paper)
        return factory

    return decorate


def parts(family: str | None = None) -> list[Part]:
    """Every registered part, by family then kind."""
    import_module(BUILT_IN)
    order = list(FAMILIES)
    chosen = [part for part in _PARTS.values() if family is None or part.family == family]
    return sorted(chosen, key=lambda part: (order.index(part.family), part.kind))


def part(family: str, kind: str) -> Part:
    """The part of that name; a :class:`SpecError` that lists the kinds otherwise."""
    import_module(BUILT_IN)
    try:
        return _PARTS[family, kind]
    except KeyError:
        known = ", ".join(p.kind for p in parts(family))
        raise SpecError(Problem(family, "unknown kind", f"one of: {known}", kind)) from None


def registered() -> list[tuple[str, str]]:
    """Family and kind of every part that is registered now, in the order in which they were."""
    return list(_PARTS)


def forget(names: Iterable[tuple[str, str]]) -> None:
    """Take back what was registered, as by a file that broke off in the middle."""
    for name in names:
        del _PARTS[name]


def load_plugins() -> list[str]:
    """Load third-party parts once; returns a sentence for every package that could not be loaded."""
    global _plugins_loaded
    if _plugins_loaded:
        return []
    _plugins_loaded = True
    import_module(BUILT_IN)
    failures = []
    for entry in entry_points(group=PLUGIN_GROUP):
        before = set(_PARTS)
        try:
            entry.load()
            for new in _PARTS.keys() - before:
                _PARTS[new].parameters()
        except Exception as error:  # a broken plug-in must not take the tool down with it
            forget(_PARTS.keys() - before)
            failures.append(f"plug-in {entry.name!r} was not loaded: {type(error).__name__}: {error}")
    return failures


def announced(part: Part) -> bool:
    """Whether other processes know a part too: it is built in, or of a package that announces it to all."""
    packages = {"fedradio", *(entry.module.split(".")[0] for entry in entry_points(group=PLUGIN_GROUP))}
    return part.factory.__module__.split(".")[0] in packages


def _fits_specs(annotation: Any) -> bool:
    """Whether values of a type can be written in a spec."""
    origin, inner = get_origin(annotation), [each for each in get_args(annotation) if each is not Ellipsis]
    if origin is Annotated:
        return _fits_specs(inner[0])
    if origin in (Union, UnionType, tuple, dict):
        return all(map(_fits_specs, inner))
    return origin is Literal or annotation in (int, float, bool, str, type(None))


def _holds(annotation: Any, arg: Arg, value: Any) -> bool:
    """Whether a value is of a type that :func:`_fits_specs`, with its numbers inside the bounds of an argument."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _holds(inner[0], arg, value)
    if origin in (Union, UnionType):
        return any(_holds(each, arg, value) for each in inner)
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in inner)
    if origin is tuple:
        items = (inner[0],) * len(value) if inner[-1:] == (Ellipsis,) and isinstance(value, tuple) else inner
        fits = isinstance(value, tuple) and len(value) == len(items)
        return fits and all(_holds(item, arg, each) for item, each in zip(items, value, strict=True))
    if origin is dict:
        return isinstance(value, dict) and all(
            _holds(inner[0], arg, key) and _holds(inner[1], arg, each) for key, each in value.items()
        )
    if annotation in (int, float):
        allowed = int if annotation is int else (int, float)
        return isinstance(value, allowed) and not isinstance(value, bool) and arg.allows(value)
    return type(value) is annotation


def _split(annotation: Any) -> tuple[Any, Arg | None]:
    """An annotation without its :class:`Arg`, and that; None without one."""
    if get_origin(annotation) is Annotated:
        inner, *extras = get_args(annotation)
        for extra in extras:
            if isinstance(extra, Arg):
                return inner, extra
    return annotation, None
