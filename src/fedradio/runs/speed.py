"""Speed of this machine: CPU seconds that rounds, and whole units of reproductions, have taken on it.

``speed.json`` in the user's cache folder (``$FEDRADIO_HOME``, else ``fedradio`` beside other programs' caches) holds
what this machine has measured; it is ignored on another machine, by another version, and where it is damaged.
Estimates read it; results never depend on it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import mean
from typing import Any

from fedradio._version import __version__
from fedradio.core.errors import FedradioError
from fedradio.core.files import locked, read_json, write_json
from fedradio.data.cache import home
from fedradio.spec.defaults import without_defaults
from fedradio.spec.spec import Spec

FILE = "speed.json"

LEAST_S = 1.0
"""CPU seconds of a run below which it is not noted: nobody needs its estimate."""

MOST = 5000
"""Entries of each kind that are kept, the latest ones."""

WAIT_S = 2.0
"""Longest wait for another process that writes the file; after it, a measurement is dropped."""

FREE = ("name", "about", "seed", "world_seed", "rounds", "eval_every")
"""Keys of a spec that do not change what a round costs."""


@dataclass(frozen=True)
class Speed:
    """CPU seconds of a round without its evaluation, and of an evaluation."""

    round_s: float
    evaluation_s: float

    def run_s(self, rounds: int, eval_every: int) -> float:
        """CPU seconds of so many rounds, of which every ``eval_every``-th and the last are evaluated."""
        return rounds * self.round_s + math.ceil(rounds / eval_every) * self.evaluation_s


@dataclass(frozen=True)
class Measured:
    """What this machine has measured: speeds by :func:`speed_key`, CPU seconds of units of reproductions by label."""

    rounds: Mapping[str, Speed] = field(default_factory=dict)
    units: Mapping[str, float] = field(default_factory=dict)


def measured_speed(rounds: Sequence[tuple[float, bool]]) -> Speed | None:
    """Speed from the CPU seconds of rounds and whether each was evaluated; None for fewer than two.

    The first round warms up: it counts only if no other of its kind was measured. By hand: rounds of 9, 2, 2 and 5
    seconds, of which the last was evaluated, make 2 seconds a round and 3 an evaluation.
    """
    if len(rounds) < 2:
        return None
    plain, evaluated = _warm(rounds, evaluated=False), _warm(rounds, evaluated=True)
    if not plain or not evaluated:
        return Speed(mean(plain or evaluated), 0.0)
    round_s = min(mean(plain), mean(evaluated))
    return Speed(round_s, mean(evaluated) - round_s)


def _warm(rounds: Sequence[tuple[float, bool]], evaluated: bool) -> list[float]:
    """CPU seconds of the rounds that were evaluated, or were not, without the first of all if there are others."""
    times = [cpu_s for cpu_s, kind in rounds if kind is evaluated]
    return times[1:] if rounds[0][1] is evaluated and len(times) > 1 else times


def speed_key(spec: Spec) -> str:
    """Fingerprint of everything in a spec that changes the cost of a round."""
    what = {key: value for key, value in without_defaults(spec.plain).items() if key not in FREE}
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def machine() -> dict[str, Any]:
    """Processor, number of cores and versions: what the speed of a machine depends on."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    return {"cpu": _processor(), "cores": os.cpu_count(), "torch": torch, "fedradio": __version__}


def speed_file() -> Path:
    """The file with what this machine has measured."""
    return home().parent / FILE


def measured() -> Measured:
    """What this machine has measured; empty on another one, and where the file is absent or damaged."""
    stored = read_json(speed_file())
    if stored.get("machine") != _here():
        return Measured()
    try:
        rounds = {str(key): Speed(*map(_seconds, pair)) for key, pair in stored["rounds"].items()}
        return Measured(rounds, {str(label): _seconds(cpu_s) for label, cpu_s in stored["units"].items()})
    except (KeyError, TypeError, ValueError, AttributeError):
        return Measured()


def note_run(spec: Spec, rounds: Sequence[tuple[float, bool]]) -> None:
    """Note the speed of a run from its rounds, unless they are too few or too short."""
    speed = measured_speed(rounds)
    if speed is not None and sum(cpu_s for cpu_s, _ in rounds) >= LEAST_S:
        _note(rounds={speed_key(spec): speed})


def note_units(units: Mapping[str, float]) -> None:
    """Note CPU seconds of units of reproductions, by their label without the seed."""
    if units:
        _note(units=units)


def _note(rounds: Mapping[str, Speed] | None = None, units: Mapping[str, float] | None = None) -> None:
    """Add to the file; a measurement that cannot be written is dropped."""
    path = speed_file()
    with suppress(FedradioError, OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent, WAIT_S):
            before = measured()
            speeds = _latest(before.rounds, rounds or {})
            document = {
                "machine": _here(),
                "rounds": {key: [speed.round_s, speed.evaluation_s] for key, speed in speeds.items()},
                "units": _latest(before.units, units or {}),
            }
            write_json(path, document)


def _latest(before: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The entries, new ones last; the oldest give way beyond :data:`MOST`."""
    entries = {key: value for key, value in before.items() if key not in new} | dict(new)
    return dict(list(entries.items())[-MOST:])


def _here() -> dict[str, Any]:
    """This machine with its name: a cache folder may be shared by several."""
    return {"node": platform.node(), **machine()}


def _processor() -> str:
    """Name of the processor."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _seconds(value: Any) -> float:
    """A finite number of seconds, not negative; raises ValueError for anything else."""
    seconds = float(value)
    if not (math.isfinite(seconds) and seconds >= 0.0):
        raise ValueError(f"no number of seconds: {value!r}")
    return seconds
