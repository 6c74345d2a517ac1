"""Names of notes and signals: every part declares its notes, and no two parts of a hop use the same name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

from fedradio.algorithms.ledger import published_names
from fedradio.core.contracts import Work
from fedradio.core.errors import OwnCodeError, Problem
from fedradio.rounds.label_drift import DATA_NOTES, START_COUNTS, START_SEEN

if TYPE_CHECKING:
    from fedradio.rounds.simulation import Simulation

DATA_SIGNALS = frozenset({"samples", "seen", "labelled", "label_counts", "epoch_steps", "loss"})
"""Signals that every run publishes to the policy of hop 0; a client's loss is NaN until it has trained."""

CLIENT_NOTES = frozenset({"state_lost"})
"""Notes on the clients of hop 0: devices that have lost their state."""


def note_problems(sim: Simulation, h: int) -> list[Problem]:
    """Notes of a hop that two parts call by the same name: one would replace the other in the records."""
    owner: dict[str, str] = {}
    problems = []
    for path, names in _noting(sim, h):
        for name in sorted(names):
            if name in owner:
                reason = f"its note {name!r} has the name of a note of {owner[name]}"
                problems.append(Problem(path, reason, "rename one of them"))
            owner.setdefault(name, path)
    return problems


def loss_note_problems(sim: Simulation) -> list[Problem]:
    """Notes of hop 0 that have the name of the loss's note; ``sim.rule`` is already the algorithm's."""
    name = "" if sim.rule.loss is None else sim.rule.loss.target_note
    reason = f"its note {name!r} has the name of a note of the loss"
    return [Problem(path, reason, "rename one of them") for path, names in _noting(sim, 0) if name in names]


def signal_problems(sim: Simulation) -> list[Problem]:
    """Signals of the algorithm that have the name of a signal of the data, or of a quantity of the clients' work."""
    stats = frozenset(sim.stream.stats(sim.stream.start()))
    taken = {"data": DATA_SIGNALS | {START_COUNTS, START_SEEN} | stats}
    taken["the clients' work"] = frozenset(entry.name for entry in fields(Work))
    return [
        Problem("algorithm", f"its signal {name!r} has the name of a signal of {owner}", "rename it")
        for owner, names in taken.items()
        for name in sorted(published_names(sim.algorithm) & names)
    ]


def refuse_undeclared(path: str, part: object, declared: frozenset[str], names: Iterable[str], where: str) -> None:
    """Refuse names of notes or signals that a part does not declare in its ``where``: nobody has checked
    before the run that no other part uses them."""
    if unknown := sorted(set(names) - declared):
        part_name = f"{path}, {type(part).__name__}"
        raise OwnCodeError(f"{part_name}: {', '.join(unknown)} is not declared; add the name to its {where!r}")


def _noting(sim: Simulation, h: int) -> Iterator[tuple[str, frozenset[str]]]:
    """Every part of a hop that notes something, and the names of its notes."""
    hop = sim.hops[h]
    if h == 0:
        yield from (("data", DATA_NOTES), ("the clients", CLIENT_NOTES), ("algorithm", published_names(sim.algorithm)))
    yield from ((f"hops.{h}.policy", hop.policy.notes), (f"hops.{h}.link", hop.link.notes))
    for i, transform in enumerate(hop.transforms):
        yield f"hops.{h}.transforms.{i}", transform.notes
