"""A stand-in of the package ray that does everything at once, in this process.

What is handed over is copied, and its arrays are read-only, as Ray's are.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from support.elsewhere import received


class RayError(Exception):
    pass


class RayActorError(RayError):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


def sent(value: Any) -> Any:
    """A copy of plain data and dataclasses, with arrays that cannot be written to; anything else is refused."""
    if isinstance(value, np.ndarray):
        copy = value.copy()
        copy.flags.writeable = False
        return copy
    if is_dataclass(value):
        return received(value)
    if isinstance(value, dict):
        return {key: sent(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(sent(inner) for inner in value)
    assert value is None or isinstance(value, (str, int, float, bool, bytes)), type(value)
    return deepcopy(value)


class _Method:
    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def remote(self, *arguments: Any) -> Callable[[], Any]:
        given = [argument() if callable(argument) else sent(argument) for argument in arguments]
        return lambda: sent(self._call(*given))


class _Actor:
    def __init__(self, one: Any) -> None:
        self.one = one

    def __getattr__(self, name: str) -> _Method:
        return _Method(getattr(self.one, name))


class FakeRay:
    """The few functions of ray that a backend uses."""

    class exceptions:  # as in ray
        RayError, RayActorError, RayTaskError = RayError, RayActorError, RayTaskError

    def __init__(self) -> None:
        self.actors: list[Any] = []
        self.killed: list[Any] = []
        self.asked: dict[str, Any] = {}

    def remote(self, kind: type) -> Any:
        fake = self

        class Options:
            def options(self, **options: Any) -> Options:
                fake.asked = options
                return self

            def remote(self, *arguments: Any) -> _Actor:
                fake.actors.append(kind(*(sent(argument) for argument in arguments)))
                return _Actor(fake.actors[-1])

        return Options()

    def put(self, value: Any) -> Callable[[], Any]:
        return lambda: sent(value)

    def get(self, calls: Any) -> Any:
        return [call() for call in calls]

    def kill(self, actor: _Actor) -> None:
        self.killed.append(actor.one)
