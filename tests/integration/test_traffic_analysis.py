"""Traffic analysis of the private requests: matchings and sizes by hand, and the requests of a spec's world."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
from support.scripts import script

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

SMALL = ("topology.edges=2", "topology.clients_per_edge=6", "hops.0.policy.clients=2", "data.source.test_requests=20")


@pytest.fixture(scope="module")
def traffic() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        yield script("examples/private_requests/traffic.py", patch)


def chains(law: np.ndarray, users: int, length: int, rng: Rng) -> list[np.ndarray]:
    """Sequences of a Markov chain with the law ``[K, K]``."""
    draw, total = rng.numpy(), np.cumsum(law, axis=1)
    last, found = draw.integers(len(law), size=users), np.empty((users, length), np.int64)
    for t in range(length):
        last = (draw.random(users)[:, None] >= total[last]).sum(axis=1)
        found[:, t] = last
    return list(found)


def test_rank_matching_by_hand(traffic: ModuleType) -> None:
    known = traffic.Statistics(np.array([0, 1, 2]), np.array([0.2, 0.5, 0.3]), np.zeros((3, 3)))
    tags = [np.array([2, 0, 2]), np.array([0, 2, 1])]  # tag 2 three times, tag 0 twice, tag 1 once
    guess = traffic.match_ranks(tags, known)
    assert guess.tolist() == [2, 0, 1]
    assert traffic.identified_share(tags, guess, np.array([2, 1, 1])) == pytest.approx(5 / 6)
    few = traffic.Statistics(np.array([7]), np.array([1.0]), np.zeros((1, 1)))
    assert traffic.match_ranks(tags, few).tolist() == [-1, -1, 7]


def test_statistics_and_tags(traffic: ModuleType) -> None:
    requests = [np.array([5, 9, 5]), np.array([9, 9]), np.array([], np.int64)]
    known = traffic.statistics(requests)
    assert known.content.tolist() == [5, 9]
    assert known.count.tolist() == [2, 3]
    assert known.follows.tolist() == [[0, 1], [1, 1]]
    tags, truth = traffic.tag_requests(requests, Rng(1))
    assert [truth[part].tolist() for part in tags] == [[5, 9, 5], [9, 9], []]
    assert traffic.constant_guess_share(requests, known) == pytest.approx(3 / 5)


def test_sequences_identify_what_ranks_cannot(traffic: ModuleType) -> None:
    """Mixtures of permutations: all contents are equally popular, successors tell them apart."""
    by_rank, by_sequence = [], []
    for world in range(4):
        draw = Rng(world).numpy()
        law = sum(share * np.eye(8)[draw.permutation(8)] for share in (0.45, 0.3, 0.15, 0.1))
        known = traffic.statistics(chains(law, 12, 3000, Rng(world).child("past")))
        tags, truth = traffic.tag_requests(chains(law, 12, 200, Rng(world).child("now")), Rng(3))
        guess = traffic.match_sequences(tags, known, Rng(4))
        by_sequence.append(traffic.identified_share(tags, guess, truth))
        by_rank.append(traffic.identified_share(tags, traffic.match_ranks(tags, known), truth))
    assert np.mean(by_sequence) > 0.9
    assert np.mean(by_rank) < 0.5


def test_contents_without_any_order_stay_hidden(traffic: ModuleType) -> None:
    law = np.full((8, 8), 1 / 8)
    known = traffic.statistics(chains(law, 12, 3000, Rng(1)))
    shares = []
    for draw in range(10):
        tags, truth = traffic.tag_requests(chains(law, 12, 8, Rng(draw + 2)), Rng(draw))
        shares.append(traffic.identified_share(tags, traffic.match_sequences(tags, known, Rng(draw)), truth))
    assert np.mean(shares) < 0.3  # 1/8 by chance


def test_more_tags_than_known_contents(traffic: ModuleType) -> None:
    known = traffic.statistics([np.array([4, 5, 4, 5])])
    guess = traffic.match_sequences([np.array([0, 1, 2, 3, 0, 1])], known, Rng(1))
    assert sorted(guess.tolist()) == [-1, -1, 4, 5]


def test_padded_sizes_by_hand(traffic: ModuleType) -> None:
    assert list(map(traffic.padme, (0, 1, 2, 8, 9, 10, 100, 1000, 1025))) == [0, 1, 2, 8, 10, 10, 104, 1024, 1088]
    assert [traffic.padded_size(size, "power_of_two", 0) for size in (0, 1, 7, 8, 9)] == [1, 2, 8, 16, 16]
    assert [traffic.padded_size(9, padding, 50) for padding in ("none", "padme", "largest")] == [9, 10, 51]
    assert all(size <= traffic.padme(size) <= 1.12 * size + 1 for size in (*range(1, 3000), 10**6 + 1, 2**24 + 1))


def test_the_share_that_sizes_identify_by_hand(traffic: ModuleType) -> None:
    popularity = np.array([0.5, 0.3, 0.2])
    assert traffic.size_share([5, 5, 7], popularity, "none") == pytest.approx((0.7, 0))
    assert traffic.size_share([5, 5, 7], popularity, "largest") == pytest.approx((0.5, 8 / 5.4 - 1))


def test_sizes_are_log_uniform(traffic: ModuleType) -> None:
    sizes = traffic.draw_sizes(4000, 5e6, 50e6, Rng(1))
    assert 5e6 <= min(sizes) <= max(sizes) <= 50e6
    assert np.mean(np.log10(sizes)) == pytest.approx(np.log10(5e6) + 0.5, abs=0.02)


def test_the_requests_are_those_of_a_run(traffic: ModuleType) -> None:
    spec = load_spec("rawhfl", SMALL)
    world, simulation = traffic.RequestWorld(spec, spec.world_seed), build(spec)
    assert world.cells.tolist() == simulation.topology.cells.tolist() == [0] * 6 + [1] * 6
    requests, contents = world.requests(spec.seed, 300)
    tapes = simulation.stream.tapes  # type: ignore[attr-defined]
    assert contents == simulation.stream.classes == 256
    assert (requests == tapes.label.numpy().reshape(12, -1)[:, :300]).all()
    assert (world.requests(spec.seed + 1, 300)[0] != requests).any()
    with pytest.raises(SpecError, match="this source has no requests"):
        traffic.RequestWorld(load_spec("demo"), 1)


def test_an_epoch_has_the_requests_that_are_asked_for(traffic: ModuleType) -> None:
    users = np.arange(12 * 50).reshape(12, 50)
    parts = traffic.draw_epoch(users, 96, Rng(1))
    assert sum(map(len, parts)) == 96
    assert all((part == users[user, : len(part)]).all() for user, part in enumerate(parts))


def test_the_program(traffic: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Padding hides sizes: shares fall from all requests to those for the most popular content."""
    monkeypatch.setattr(traffic, "EPOCHS", (6, 24))
    monkeypatch.setattr(traffic, "PAST", 500)
    monkeypatch.setattr("sys.argv", ["traffic.py", "--draws", "1"])
    traffic.main()
    lines = capsys.readouterr().out.splitlines()
    shares = {line[:44].strip(): [float(word) for word in line[44:].split()] for line in lines[2:7]}
    assert shares.keys() == {traffic.GUESS, *traffic.OBSERVERS}
    assert all(0 <= share <= 1 for row in shares.values() for share in row)
    sizes = {line.split()[0]: line.split()[1] for line in lines[-4:]}
    assert list(sizes) == list(traffic.PADDINGS)
    by_padding = [float(share.rstrip("%")) for share in sizes.values()]
    assert by_padding == sorted(by_padding, reverse=True)
    assert by_padding[0] == 100


@pytest.mark.paper
def test_tags_in_the_clear_identify_contents_in_long_epochs(traffic: ModuleType) -> None:
    """Three worlds, eight draws each: short epochs tell no more than a guess, long ones most contents."""
    share = traffic.tag_shares(load_spec("rawhfl"), traffic.EPOCHS, 3, 8)
    best = "sequences, the cell's distribution known"
    assert share[best, 6] < share[traffic.GUESS, 6] + 0.05
    assert share[best, 24] < 0.25
    assert share[best, 6144] > 0.6
    assert share[best, 6144] > share["rank matching, the cell's popularity known", 6144]
    assert share["rank matching, global popularity known", 6144] < 0.2
