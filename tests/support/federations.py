"""Federations in memory: devices that answer at once, late or never, without any wire."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fedradio.core.contracts import Samples, SimState
from fedradio.remote.flower.federation import Federation
from fedradio.remote.flower.letters import Letter
from fedradio.remote.flower.mailbox import Answer, ask
from fedradio.remote.flower.roster import assemble
from fedradio.remote.flower.trainer import Trainer
from fedradio.remote.flower.worlds import signal_shapes
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, check_spec

Twist = Callable[[bytes], bytes | None]
"""What becomes of a device's reply: other bytes, or none (it crashes)."""


def spec_of(**changes: Any) -> Spec:
    """Three clients that learn digits, each trained alone."""
    plain: dict[str, Any] = {
        "name": "federation",
        "seed": 1,
        "rounds": 3,
        "grouping": "single",
        "topology": {"kind": "flat", "clients": 3},
        "model": {"kind": "mlp", "hidden": [16]},
        "rule": {"kind": "sgd", "lr": 0.1, "batch": 16},
        "hops": [{"policy": {"kind": "fixed", "steps": 3}}],
    }
    return check_spec(plain | changes)


@dataclass
class Clock:
    """Time that passes only when somebody sleeps."""

    seconds: float = 0.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class Memory:
    """A mailbox in memory: node ``100 + number`` is a trainer, and answers when its reply is pulled.

    ``late[number, letter]``: that letter (counted from 0, hello included) is answered so many seconds later;
    ``twists[number, letter]`` changes a reply.
    """

    trainers: dict[int, Trainer]
    clock: Clock = field(default_factory=Clock)
    late: Mapping[tuple[int, int], float] = field(default_factory=dict)
    twists: Mapping[tuple[int, int], Twist] = field(default_factory=dict)
    marks: dict[int, str] = field(default_factory=dict)
    pushed: dict[str, tuple[int, int, bytes, float]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)

    def online(self) -> dict[int, str]:
        return {100 + number: self.marks.get(number, "first") for number in self.trainers}

    def push(self, node: int, letter: bytes) -> str:
        number = node - 100
        count = self.counts.get(number, 0)
        self.counts[number] = count + 1
        self.pushed[f"{number}-{count}"] = (number, count, letter, self.clock.now())
        return f"{number}-{count}"

    def pull(self, wanted: Collection[str]) -> dict[str, bytes | None]:
        replies: dict[str, bytes | None] = {}
        for name in list(wanted):
            number, count, letter, since = self.pushed[name]
            due = since + self.late.get((number, count), 0.0)
            if number in self.trainers and self.clock.now() >= due:
                reply = self.trainers[number].answer(letter)
                twist = self.twists.get((number, count))
                replies[name] = reply if twist is None else twist(reply)
                del self.pushed[name]
        return replies

    def drop(self, wanted: Collection[str]) -> None:
        """Nobody wants the reply; a late device answers all the same, for nothing."""
        for name in wanted:
            self.dropped.append(name)
            number, _, letter, _ = self.pushed.pop(name)
            if number in self.trainers and Letter.unpack(letter).head["ask"] == "train":
                self.trainers[number].answer(letter)


def quiet(text: str) -> None:
    """Tell nobody."""


def trainers(
    spec: Spec, folder: Path | None = None, samples: Mapping[int, Samples] | None = None
) -> dict[int, Trainer]:
    """A trainer for every client, each with a folder of its own below ``folder``."""
    made = {}
    for number in range(build(spec, workers=1).topology.clients if samples is None else len(samples)):
        place = None if folder is None else folder / str(number)
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
        made[number] = Trainer(number, None if samples is None else samples[number], place, tell=quiet)
    return made


def federated(spec: Spec, mailbox: Memory, deadline_s: float = 30.0, sim: Simulation | None = None) -> Simulation:
    """The simulation of a spec whose clients are the devices of a mailbox."""
    sim = sim or build(spec, workers=1)
    clock = mailbox.clock
    roster = assemble(
        mailbox, spec, "run", sim.topology.clients, signal_shapes(sim), 5.0, quiet, clock.now, clock.sleep
    )

    def asked(box: Any, letters: dict[int, bytes], seconds: float) -> dict[int, Answer]:
        return ask(box, letters, seconds, clock.now, clock.sleep)

    clients = Federation(mailbox, roster, spec, "run", deadline_s, tell=quiet, ask=asked)
    return replace(sim, clients=clients)


def states(sim: Simulation, rounds: int = 3) -> list[SimState]:
    """The state after every round."""
    state, made = begin(sim), []
    for _ in range(rounds):
        state, _, _ = run_round(sim, state, evaluate=False)
        made.append(state)
    return made
