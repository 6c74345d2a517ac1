"""Describes any object as short plain data that differs where the object's values do.

Parts that were made in Python, not from a spec, are described in this way: numbers and texts as they are, tensors by
shape and SHA-256 of their values, classes of the user's own by the SHA-256 of their text. No code is run but that of
``__getstate__``, ``described``, and ``repr`` of networks.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import io
import json
import math
import random
import sys
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping, Set
from enum import Enum
from pathlib import PurePath
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

LONGEST, DEEPEST = 64, 12
"""Items of a list, and nesting, above which a description has a checksum in place of the values."""

LONGEST_TEXT = 400
"""Letters of a text above which the same holds."""

LIBRARIES = frozenset({"fedradio", "torch", "numpy", *sys.stdlib_module_names})
"""Packages whose classes are told by name: their versions are on record elsewhere."""

STATEFUL = (torch.Generator, np.random.Generator, np.random.RandomState, random.Random, Iterator, io.IOBase)
"""Objects that remember something which no checkpoint keeps."""


@runtime_checkable
class Described(Protocol):
    """An object that says itself which values it is made of."""

    def described(self) -> Mapping[str, Any]:
        """The values, by name."""
        ...


@dataclasses.dataclass
class Describer:
    """Describes objects, and collects texts (``sources``) of the user's own classes and functions by name, None where
    they cannot be read, and paths of ``stateful`` objects, which remember something outside of the state of a run."""

    sources: dict[str, str | None] = dataclasses.field(default_factory=dict)
    stateful: list[str] = dataclasses.field(default_factory=list)

    def part(self, value: object, path: str) -> dict[str, Any]:
        """The description of a part: its class under ``kind``, and its values by name."""
        found = self.plain(value, path)
        return found if isinstance(found, dict) and "kind" in found else {"kind": type(value).__qualname__, "is": found}

    def plain(self, value: Any, path: str = "", above: tuple[int, ...] = ()) -> Any:
        """Any value as plain data; ``above`` are the objects that hold it."""
        if value is None or (isinstance(value, (bool, int)) and type(value) in (bool, int)):
            return value
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(float(value))
        if isinstance(value, str):
            return value if len(value) <= LONGEST_TEXT else {"letters": len(value), "sha256": _sha256(value.encode())}
        if isinstance(value, (Tensor, np.ndarray, np.generic)):
            return _numbers(value)
        if id(value) in above:
            return {"kind": type(value).__qualname__, "again": True}
        described = self._compound(value, path, (*above, id(value)))
        return _condensed(described) if len(above) >= DEEPEST else described

    def _compound(self, value: Any, path: str, above: tuple[int, ...]) -> Any:
        """The description of something that holds other values."""
        if isinstance(value, Mapping):
            items = {str(key): self.plain(item, f"{path}.{key}", above) for key, item in value.items()}
            return items if len(items) <= LONGEST else _condensed(items)
        if isinstance(value, (list, tuple, Set)):
            listed = [self.plain(item, f"{path}.{number}", above) for number, item in enumerate(value)]
            listed = sorted(listed, key=json.dumps) if isinstance(value, Set) else listed
            return listed if len(listed) <= LONGEST else _condensed(listed)
        if isinstance(value, STATEFUL):
            self.stateful.append(path)
            return {"kind": type(value).__qualname__}
        if isinstance(value, (bytes, bytearray)):
            return {"bytes": len(value), "sha256": _sha256(bytes(value))}
        if isinstance(value, (Enum, PurePath, torch.device, torch.dtype, torch.Size, types.ModuleType)):
            return getattr(value, "__name__", None) or str(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, functools.partial):
            inside = {"call": value.func, "with": value.args, "keywords": value.keywords}
            return {"kind": "partial"} | {key: self.plain(item, path, above) for key, item in inside.items()}
        if isinstance(value, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
            return self._function(value, path, above)
        return self._object(value, path, above)

    def _object(self, value: Any, path: str, above: tuple[int, ...]) -> dict[str, Any]:
        """Class and values of an object: fields of a dataclass, what ``described`` says, else its attributes."""
        about = self._class(type(value))
        kind = {"kind": about} if isinstance(about, str) else about
        items = {key: self.plain(item, f"{path}.{key}", above) for key, item in _values(value).items()}
        return kind | {f"{key}_" if key in kind else key: item for key, item in items.items()}

    def _class(self, value: type) -> Any:
        """The name of a class; of the user's own also the checksum of its text and of those that it derives from."""
        own = [each for each in value.__mro__ if _is_own(each)]
        if not own:
            return value.__qualname__
        texts = [self._source(each, each.__qualname__) for each in own]
        return {"kind": value.__qualname__, "source": _sha256("".join(t or "" for t in texts).encode())}

    def _function(self, value: Any, path: str, above: tuple[int, ...]) -> Any:
        """A function by name; one of the user's own by its text and the values that it holds."""
        name = str(getattr(value, "__qualname__", value))
        holder = {"of": self.plain(value.__self__, path, above)} if isinstance(value, types.MethodType) else {}
        code = getattr(value, "__func__", value)
        if not _is_own(code) or not isinstance(code, types.FunctionType):
            return {"kind": name, **holder} if holder else name
        held = [*map(_held, code.__closure__ or ()), *(code.__defaults__ or ())]
        text = self._source(code, name) or ""
        values = [self.plain(item, path, above) for item in held]
        return {"kind": name, "source": _sha256(text.encode()), **holder, **({"holds": values} if values else {})}

    def _source(self, value: Any, name: str) -> str | None:
        """The text of a class or function, kept under its name."""
        try:
            text = textwrap.dedent(inspect.getsource(value))
        except (OSError, TypeError):  # typed into a prompt, or made by a program
            text = None
        self.sources[name] = text
        return text


def checksum_of(tensors: Iterable[Tensor]) -> str:
    """SHA-256 of the values, types and shapes of tensors."""
    return _sha256(json.dumps([_numbers(tensor) for tensor in tensors]).encode())


def _values(value: Any) -> dict[str, Any]:
    """What an object is made of, by name. Private attributes of built-in parts follow from the others."""
    if isinstance(value, Described):
        return dict(value.described())
    if isinstance(value, nn.Module):
        held = {"text": repr(value), "layers": list(dict.fromkeys(type(each) for each in value.modules()))}
        return held | {"values": checksum_of(value.state_dict().values())}
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.compare}
    state = value.__getstate__()
    if isinstance(state, tuple):  # attributes and slots
        state = {key: item for each in state if isinstance(each, dict) for key, item in each.items()}
    if not isinstance(state, dict):
        return {} if state is None else {"state": state}
    derived = type(value).__module__.partition(".")[0] == "fedradio"
    return {key: item for key, item in state.items() if not (derived and key.startswith("_"))}


def _numbers(value: Tensor | np.ndarray[Any, Any] | np.generic) -> dict[str, Any] | float | int:
    """Numbers by type, shape and checksum."""
    if isinstance(value, Tensor):
        held = value.detach().cpu().contiguous()
        kind, shape = str(held.dtype).removeprefix("torch."), list(held.shape)
        held = held.reshape(-1)
        data = held.view(torch.uint8).numpy().tobytes() if held.numel() else b""
    else:
        array = np.ascontiguousarray(value)
        kind, shape = str(array.dtype), list(np.shape(value))
        data = array.tobytes() if not array.dtype.hasobject else repr(array.tolist()).encode()
    return {"dtype": kind, "shape": shape, "sha256": _sha256(data)}


def _condensed(value: Any) -> dict[str, Any]:
    """The checksum of plain data that is too large to be shown."""
    size = len(value) if isinstance(value, (list, dict)) else 1
    return {"items": size, "sha256": _sha256(json.dumps(value, sort_keys=True).encode())}


def _is_own(value: Any) -> bool:
    return str(getattr(value, "__module__", "") or "").partition(".")[0] not in LIBRARIES


def _held(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not bound yet
        return None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
