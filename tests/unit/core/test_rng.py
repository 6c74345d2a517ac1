import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedradio.core.rng import Rng

names = st.one_of(st.integers(-(2**40), 2**40), st.text(max_size=8))
paths = st.lists(names, max_size=4)


@given(seed=st.integers(0, 2**63 - 1), path=paths)
def test_same_path_gives_the_same_draws(seed: int, path: list[str | int]) -> None:
    assert Rng(seed).child(*path).key() == Rng(seed).child(*path).key()
    assert np.array_equal(Rng(seed).child(*path).numpy().random(4), Rng(seed).child(*path).numpy().random(4))


@given(path=paths, other=paths)
def test_different_paths_give_different_keys(path: list[str | int], other: list[str | int]) -> None:
    same = [(type(name), name) for name in path] == [(type(name), name) for name in other]
    assert (Rng(1).child(*path).key() == Rng(1).child(*other).key()) == same


def test_the_type_of_a_name_counts() -> None:
    assert Rng(1).child("3").key() != Rng(1).child(3).key()


def test_steps_down_the_tree_may_be_taken_one_by_one() -> None:
    assert Rng(5).child("a", 1).key() == Rng(5).child("a").child(1).key()


def test_drawing_from_one_child_does_not_shift_another() -> None:
    root = Rng(9)
    before = root.child("b").numpy().random(3)
    root.child("a").numpy().random(1000)
    assert np.array_equal(root.child("b").numpy().random(3), before)


def test_a_world_may_have_a_seed_of_its_own() -> None:
    world = Rng(6, run_seed=2).child("world", "source")
    assert world.key() == Rng(6).child("world", "source").key()
    assert world.of_run().key() == world.of_run().of_run().key() == Rng(2).child("world", "source").key()
    assert world.of_run().child("tape").key() == world.child("tape").of_run().key()
    assert Rng(6).child("world").of_run().key() == Rng(6).child("world").key()


def test_known_value_does_not_change_between_versions() -> None:
    assert Rng(7).child("shadow", 0, 1).key() == 0x4F36CAB590E6B0BED26575D212190EDA


def test_torch_generator_follows_the_path() -> None:
    a = torch.randn(3, generator=Rng(1).child("x").torch())
    assert torch.equal(a, torch.randn(3, generator=Rng(1).child("x").torch()))
    assert not torch.equal(a, torch.randn(3, generator=Rng(1).child("y").torch()))
