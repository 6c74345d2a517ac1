"""The protocol on the requests of a spec."""

import pytest

from fedradio.core.errors import SpecError
from fedradio.papers.studies.protocol import Setting, caches_of, demonstrate
from fedradio.papers.studies.tags import RequestWorld
from fedradio.spec.spec import Spec, load_spec

SMALL = ("topology.edges=2", "topology.clients_per_edge=3", "hops.0.policy.clients=2", "data.source.test_requests=20")


@pytest.fixture(scope="module")
def world() -> RequestWorld:
    return RequestWorld.of(load_spec("rawhfl", SMALL))


def test_clients_ask_for_what_is_on_their_tapes(world: RequestWorld) -> None:
    shown = demonstrate(world, Setting(requests=6, megabytes=(0.01, 0.01), epoch=4))
    assert shown.content == world.requests(world.spec.seed)[shown.client, 0]
    assert shown.cell == world.cell[shown.client]
    assert not shown.first.hit
    assert shown.epochs == 2
    assert shown.key_bits == 512
    assert shown.mebibytes == pytest.approx(1e4 / 2**20)
    assert all(ms > 0 for ms in shown.ms.values())
    assert all(outcome.as_expected for outcome in shown.outcomes)
    assert len(shown.leaks) == 4
    assert shown.summed is not None
    assert (shown.summed.members, shown.summed.contents, shown.summed.exact) == (3, 256, True)


def test_one_content_again_and_again_is_a_hit(world: RequestWorld) -> None:
    told: list[float | None] = []
    setting = Setting(requests=9, content=7, megabytes=(0.01, 0.01))
    shown = demonstrate(world, setting, lambda _, share: told.append(share))
    assert shown.content == 7
    assert shown.hits == 7  # one miss in each of two cells
    assert len(told) == 9


def test_contents_that_do_not_exist(world: RequestWorld) -> None:
    for content in (-1, 256):
        with pytest.raises(SpecError, match="there are 256 contents"):
            demonstrate(world, Setting(content=content))


def test_files_that_do_not_fit_memory(world: RequestWorld) -> None:
    with pytest.raises(SpecError, match="might hold 16,000 MB"):
        demonstrate(world, Setting(requests=100, megabytes=(1, 1000)))


def test_caches_of_a_spec_give_sizes_and_capacity() -> None:
    assert caches_of(load_spec("rawhfl")) == (8, (1.0, 1.0))
    assert caches_of(Spec({"cache": {"capacity": 4, "file_bits": 200e6}})) == (4, (25.0, 25.0))
    assert caches_of(Spec({"cache": {"capacity": [4, 16], "file_bits": [8e6, 80e6]}})) == (16, (1.0, 10.0))


def test_an_edge_server_with_little_room(world: RequestWorld) -> None:
    few, many = (
        demonstrate(world, Setting(requests=30, megabytes=(0.01, 0.01), capacity=capacity)).hits for capacity in (1, 9)
    )
    assert few < many
