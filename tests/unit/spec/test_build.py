"""From specs to simulations: what is refused, and under which path."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from fedradio.core import registry
from fedradio.core.contracts import Clock, Model
from fedradio.core.errors import SpecError
from fedradio.core.registry import register
from fedradio.models.model import wrap
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec


def test_what_a_spec_may_not_ask_of_it(tiny: Callable[..., Spec]) -> None:
    """Of a source that gives every client its own samples, all labelled."""
    source = "data.source={kind: videos, genres: 2, contents_per_genre: 3, requests: 20, test_requests: 5}"
    with pytest.raises(SpecError) as caught:
        build(tiny(source, "data.unlabelled=0.5"))
    assert [problem.path for problem in caught.value.problems] == ["data.partition", "data.unlabelled"]
    assert build(tiny(source, "data.partition=null")).stream.clients == 6
    with pytest.raises(SpecError, match=r"data\.source\.preferences: 2 shares for 8 genres"):
        build(tiny("data.source={kind: videos, preferences: [0.5, 0.5]}", "data.partition=null"))


def test_a_hop_says_what_late_senders_do(cells: Callable[..., Spec]) -> None:
    hops = build(cells("hops.1.late=finish")).hops
    assert [hop.late for hop in hops] == ["stop", "finish"]


def test_too_short_for_the_run_is_refused_before_it(cells: Callable[..., Spec]) -> None:
    """Six clients with 239 or 240 digits, two edge rounds a round."""
    build(cells("data.stream={kind: growing, history: 200}", "rounds=19"))
    with pytest.raises(SpecError, match=r"data: client \d has 239 samples, but 40 edge rounds may need 240"):
        build(cells("data.stream={kind: growing, history: 200}", "rounds=20"))


@pytest.mark.parametrize(
    ("override", "path", "words"),
    [
        ("hops.0.policy={kind: fixed, steps: 3, epochs: 1}", "hops.0.policy.epochs", "keep one"),
        ("topology.min_distance_m=500", "topology.min_distance_m", "smaller"),
    ],
)
def test_refused(tiny: Callable[..., Spec], override: str, path: str, words: str) -> None:
    """A factory names its own keywords, the error their place in the spec."""
    with pytest.raises(SpecError) as caught:
        build(tiny(override))
    (problem,) = caught.value.problems
    assert problem.path == path
    assert words in f"{problem.reason} {problem.remedy}"


VIDEOS = (
    "data.source={kind: videos, genres: 2, contents_per_genre: 3, requests: 40, test_requests: 5}",
    "data.stream={kind: fifo, capacity: [5, 20], activity: [0.1, 0.9], slots: 4}",
    "data.partition=null",
    "hops.0.fleet=cellular",
)
FILES = (
    "data.source={kind: video_files, genres: 2, files_per_genre: 3, requests: 40, test_requests: 5}",
    "model=cnn3x3",
    *VIDEOS[1:],
)


def drawn(sim: Simulation) -> dict[str, torch.Tensor]:
    """What a simulation has drawn: for its world, and for the run."""
    fleet, stream = sim.hops[0].fleet, sim.stream
    assert fleet is not None
    tapes = stream.tapes  # type: ignore[attr-defined]
    return {
        "places": sim.topology.positions[0],
        "fleet": fleet.f_max_hz,
        "buffers": torch.from_numpy(stream.capacity),  # type: ignore[attr-defined]
        "activity": torch.from_numpy(stream.activity),  # type: ignore[attr-defined]
        "features": tapes.fetch.table,
        "requests": tapes.label,
        "test requests": tapes.fetch(tapes.test.index)[1],
        "arrivals": stream.arrive(stream.start(), Clock(1), sim.rng.child("arrive", 1, 0))["hi"],
        "model": sim.model.init(sim.rng.child("model")),
    }


WORLD = ("places", "fleet", "buffers", "activity", "features")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> set[str]:
    return {name for name in one if torch.equal(one[name], other[name])}


@pytest.mark.parametrize("parts", [VIDEOS, FILES], ids=["videos", "video_files"])
def test_the_world_has_its_own_seed(tiny: Callable[..., Spec], parts: tuple[str, ...]) -> None:
    """Same world seed, other seed: same places, fleet, law and features, other requests, arrivals and first model."""
    first, other_run, other_world, both = (
        drawn(build(tiny(*parts, *seeds)))
        for seeds in (
            ("seed=1", "world_seed=6"),
            ("seed=2", "world_seed=6"),
            ("seed=1", "world_seed=7"),
            ("seed=6",),
        )
    )
    assert same(first, other_run) == set(WORLD)
    assert same(first, other_world) == {"model"}  # arrivals depend on the activities of the world
    assert same(first, both) == set(WORLD)


def test_without_a_seed_of_its_own_the_world_is_that_of_the_seed(tiny: Callable[..., Spec]) -> None:
    default, named, zero = (drawn(build(tiny(*VIDEOS, "seed=3", *more))) for more in ((), ("world_seed=3",), ()))
    assert same(default, named) == same(default, zero) == set(default)
    assert tiny("seed=0", "world_seed=0").world_seed == 0
    assert tiny("seed=4", "world_seed=0").world_seed == 0


def test_images_and_their_split_belong_to_the_world(tiny: Callable[..., Spec]) -> None:
    one, other, elsewhere = (
        build(tiny(f"seed={seed}", f"world_seed={world}")).stream.tapes  # type: ignore[attr-defined]
        for seed, world in ((1, 6), (2, 6), (1, 7))
    )
    assert torch.equal(one.index, other.index)
    assert not torch.equal(one.index, elsewhere.index)


def test_what_a_module_takes_from_torch_depends_on_the_seed(tiny: Callable[..., Spec]) -> None:
    """Values that cannot be drawn again, frozen ones and bare parameters, are those of the seed all the same."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.frozen = torch.nn.Linear(64, 10).requires_grad_(False)
            self.bare = torch.nn.Parameter(torch.randn(10))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.frozen(x.flatten(1)) + self.bare  # type: ignore[no-any-return]

    @register("model", "bare")
    def bare(shape: tuple[int, ...], classes: int, /) -> Model:
        """A module with values that no method draws."""
        return wrap(Net(), shape, classes)

    try:
        before = torch.get_rng_state()
        checksums = []
        for seed in (1, 1, 2):
            checksums.append(build(tiny("model=bare", f"seed={seed}")).model.given_sha256)  # type: ignore[attr-defined]
            torch.rand(1)  # whatever torch's generator does in between
        assert checksums[0] == checksums[1] != checksums[2]
        torch.set_rng_state(before)
        build(tiny("model=bare"))
        assert torch.equal(before, torch.get_rng_state())
    finally:
        registry.forget([("model", "bare")])
