"""``fedradio plan``: one slot, and what cannot be shown."""

from pathlib import Path

import pytest
from support.commands import Call

from fedradio.core.errors import SpecError

SMALL = ("topology.edges=2", "topology.clients_per_edge=4", "hops.0.policy.clients=2", "data.source.test_requests=20")


def test_a_slot_on_a_map_in_tables_and_in_a_file(call: Call, tmp_path: Path) -> None:
    done = call("plan", "rawhfl", *SMALL, "--slot", "1", "--figure", tmp_path / "map.png")
    assert done.exit_code == 0, done.output
    assert "edge round 1, policy joint" in done.output
    assert "selected" in done.output
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_modes_side_by_side(call: Call) -> None:
    done = call("plan", "rawhfl", *SMALL, "--compare", "paper,optimal")
    assert done.exit_code == 0, done.output
    assert "paper" in done.output
    assert "optimal" in done.output


def test_the_air_has_shares(call: Call) -> None:
    assert "noise" in call("plan", "whfl").output
    assert "are not known before it" in call("plan", "whfl", "hops.0.link.normaliser=sum").output


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("rawhfl", "--figure", "map.txt"), "--figure"),
        (("rawhfl", "--figure", "no/where/map.png"), "--figure"),
        (("digits_flat", "--compare", "paper"), "--compare"),
        (("digits_flat", "rounds=3", "--slot", "3"), "--slot"),
    ],
)
def test_refused(call: Call, words: tuple[str, ...], path: str) -> None:
    refused = call("plan", *words).exception
    assert isinstance(refused, SpecError)
    assert [one.path for one in refused.problems] == [path]
