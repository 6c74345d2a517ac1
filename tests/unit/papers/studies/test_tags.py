"""Requests of a spec's world and attacks on their tags."""

import numpy as np
import pytest

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.papers.studies.tags import (
    ATTACKS,
    GUESS,
    SIZES,
    TYPICAL,
    RequestWorld,
    drawn_epoch,
    file_sizes,
    size_leaks,
    tag_attacks,
)
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

SMALL = ("topology.edges=2", "topology.clients_per_edge=6", "hops.0.policy.clients=2", "data.source.test_requests=20")


def test_the_requests_are_those_of_a_run() -> None:
    spec = load_spec("rawhfl", SMALL)
    world, sim = RequestWorld.of(spec), build(spec)
    assert world.cell == tuple(sim.topology.cells.tolist()) == (0,) * 6 + (1,) * 6
    assert world.contents == sim.stream.classes == 256
    tapes = sim.stream.tapes  # type: ignore[attr-defined]
    assert (world.requests(spec.seed)[:, :300] == tapes.label.numpy().reshape(12, -1)[:, :300]).all()
    assert world.members(1) == [6, 7, 8, 9, 10, 11]


def test_other_seeds_are_other_runs_in_one_world_or_other_worlds() -> None:
    spec = load_spec("osafl", ["data.source.test_requests=20"])
    world = RequestWorld.of(spec)
    first, again, other = (world.requests(seed, 40) for seed in (1, 1, 2))
    assert first.shape == (len(world.cell), 40)
    assert (first == again).all()
    assert (first != other).any()
    assert (RequestWorld.of(spec, 9).requests(1, 40) != first).any()


def test_a_source_without_requests_is_refused() -> None:
    with pytest.raises(SpecError, match="this source has no requests"):
        RequestWorld.of(load_spec("demo"))


def test_an_epoch_has_the_requests_that_are_asked_for() -> None:
    chains = np.arange(12 * 50).reshape(12, 50)
    parts = drawn_epoch(chains, 96, Rng(1))
    assert sum(map(len, parts)) == 96
    assert all((part == chains[user, : len(part)]).all() for user, part in enumerate(parts))


def test_rows_of_the_attacks() -> None:
    told = []
    spec = load_spec("rawhfl", SMALL)
    rows = tag_attacks(spec, (6, 96), worlds=2, draws=1, progress=lambda _, share: told.append(share))
    assert {row.attack for row in rows} == {GUESS, *ATTACKS}
    assert {row.requests for row in rows} == {6, 96}
    assert all(0 <= row.share <= 1 for row in rows)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert rows == tag_attacks(spec, (6, 96), worlds=2, draws=1)


def test_sizes_name_contents_until_they_are_padded() -> None:
    world = RequestWorld.of(load_spec("rawhfl", SMALL))
    assert len(file_sizes(world, TYPICAL)) == 256
    none, padme, power, largest = size_leaks(world, TYPICAL)
    assert none.named == pytest.approx(1)
    assert 0.8 < padme.named < 1
    assert padme.more < 0.03
    assert largest.named < power.named < 0.6
    assert largest.named < 0.3


@pytest.mark.paper
def test_tags_in_the_clear_give_contents_away_in_long_epochs() -> None:
    """Three worlds, eight draws each: short epochs tell no more than a guess, long ones most contents."""
    rows = {(row.attack, row.requests): row.share for row in tag_attacks(load_spec("rawhfl"), SIZES, 3, 8)}
    best = "sequences, the cell's law known"
    assert rows[best, 6] < rows[GUESS, 6] + 0.05
    assert rows[best, 24] < 0.25
    assert rows[best, 6144] > 0.6
    assert rows[best, 6144] > rows["rank matching, the cell's popularity known", 6144]
    assert rows["rank matching, global popularity known", 6144] < 0.2
