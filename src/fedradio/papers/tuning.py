"""Equal tuning: rows whose rate is chosen on one seed, the same grid for every method, and judged on the other seeds.

A row with ``best_of`` has the numbers of the candidate row with the best number on the tuning seed, without that seed.
By hand: candidates with .5, .7 and .6 on seed 11 and .4, .6 and .9 on seed 1 give the second one, with .6 on seed 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, TypeVar

from fedradio.papers.absence import Absence, Reason
from fedradio.papers.items import Column, Item, Row
from fedradio.papers.pairs import differences, ratios

if TYPE_CHECKING:
    from fedradio.papers.collect import Entry

T = TypeVar("T")

Entries = Mapping[str, "Entry"]
"""The entries of a row by column."""


@dataclass(frozen=True)
class Remaining:
    """A method's lead over another: the mean at the published rates, tuned equally, and the share that remains."""

    winner: str
    other: str
    published: float
    tuned: float

    @property
    def share(self) -> float | None:
        """Tuned over published lead; None where there was no lead."""
        return self.tuned / self.published if self.published > 0 else None


def tuned_entries(item: Item, by_label: Mapping[str, Entries]) -> dict[str, Entries]:
    """The entries of all rows, those with ``best_of`` taken from the candidate that they choose."""
    found = dict(by_label)
    if item.tuning is None:
        return found
    tuned = [row for row in item.rows if row.best_of]
    for row in tuned:
        found[row.label] = _of_candidates(item, row, by_label)
    for row in tuned:
        pairs = {
            key: _pair(item, row, key, found)
            for key, column in item.columns.items()
            if column.of is not None and row.other(key, column) is not None
        }
        found[row.label] = {**found[row.label], **pairs}
    return found


def _of_candidates(item: Item, row: Row, by_label: Mapping[str, Entries]) -> Entries:
    """The entries of the candidate with the best number on the tuning seed, without that seed."""
    assert item.tuning is not None
    seed, scores = item.tuning.seed, dict[str, float]()
    for label in row.best_of:
        entry = by_label[label][item.tuning.by]
        absence = entry.lost.get(seed)
        diverged = absence is not None and absence.reason is Reason.DIVERGED
        if seed in entry.values or diverged:
            scores[label] = -inf if diverged else entry.values[seed]
    if len(scores) < len(row.best_of):
        return {key: _unknown(entry) for key, entry in by_label[row.best_of[0]].items()}
    chosen = max(scores, key=lambda label: scores[label])
    note = f"chosen on seed {seed}: {chosen}" if len(scores) > 1 else None
    return {
        key: replace(
            entry,
            values=_without(entry.values, seed),
            lost=_without(entry.lost, seed),
            bounds=_without(entry.bounds, seed),
            note=note if key == item.tuning.by else row.notes.get(key),
        )
        for key, entry in by_label[chosen].items()
    }


def _unknown(entry: Entry) -> Entry:
    """An entry as long as a candidate has no number on the tuning seed."""
    seeds = {*entry.values, *entry.lost, *entry.bounds}
    absence = Absence(Reason.NOT_RUN, "a candidate has not been run on the tuning seed")
    return replace(entry, values={}, lost=dict.fromkeys(seeds, absence), bounds={}, note=None)


def _without(by_seed: Mapping[int, T], seed: int) -> dict[int, T]:
    return {key: value for key, value in by_seed.items() if key != seed}


def _pair(item: Item, row: Row, key: str, entries: Mapping[str, Entries]) -> Entry:
    """The difference or ratio of a row to another, seed by seed."""
    column = item.columns[key]
    other, base = row.other(key, column), measured(item, column)
    assert other is not None
    mine = entries[row.label][key]
    if base is None:
        return mine
    one, two = entries[row.label][base], entries[other][base]
    take = ratios if column.measure == "ratio" else differences
    return replace(mine, values=take(one.values, two.values), lost={**two.lost, **one.lost}, bounds={})


def measured(item: Item, column: Column) -> str | None:
    """The column with the measure that a column about two rows compares; None if the item has none."""
    alike = (key for key, one in item.columns.items() if (one.measure, one.study) == (column.of, column.study))
    return next(alike, None)


def remaining(item: Item, by_label: Mapping[str, Entries]) -> list[Remaining]:
    """How much of its lead the winner keeps over every tuned row, where both leads are known."""
    if item.tuning is None:
        return []
    found = []
    for row in item.rows:
        pair = (row.untuned, row.label)
        before, after = (by_label[label][item.tuning.lead].ours if label else None for label in pair)
        if before is not None and after is not None:
            winner = row.other(item.tuning.lead, item.columns[item.tuning.lead])
            found.append(Remaining(str(winner), row.label, -before.mean, -after.mean))
    return found
