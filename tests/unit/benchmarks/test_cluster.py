"""The model of a cluster, on cases computed by hand."""

from functools import partial
from types import ModuleType

import pytest
from support.scripts import script


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``benchmarks/cluster.py``, from its file."""
    return script("benchmarks/cluster.py", monkeypatch)


def test_a_sweep_goes_to_whoever_is_free(cluster: ModuleType) -> None:
    free = cluster.Costs(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    assert cluster.sweep_seconds(free, [3.0, 1.0, 1.0, 1.0], 2) == 3.0
    assert cluster.sweep_seconds(free, [3.0, 1.0, 1.0, 1.0], 9) == 3.0
    dear = cluster.Costs(5.0, 2.0, 0.5, 0.0, 0.0, 0.0, 1.0)
    assert cluster.sweep_seconds(dear, [1.0, 1.0], 1) == 5.0 + 2.0 + 2 * 1.5
    assert cluster.local_seconds([1.0, 1.0], 1, 2.0) == 4.0


def test_a_driver_that_hears_from_too_many_is_waited_for(cluster: ModuleType) -> None:
    """Ten workers with messages of 0.2 s each keep it busy for two seconds in every second."""
    costs = cluster.Costs(0.0, 0.0, 0.0, 0.2, 0.0, 0.0, 1.0)
    assert cluster.sweep_seconds(costs, [1.0] * 10, 10) == 2.0


def test_a_cohort_by_hand(cluster: ModuleType) -> None:
    costs = cluster.Costs(0.0, 0.0, 0.0, 0.0, 1.0, 0.5, 4.0)
    assert cluster.cohort_seconds(costs, [2, 3], 1.0, 1, 2) == 9.0


def test_where_it_pays(cluster: ModuleType) -> None:
    assert cluster.pays_from(lambda workers: 10.0 / workers, 3.0) == 4
    assert cluster.pays_from(lambda _: 10.0, 3.0) is None


def test_modes_take_turns_in_a_rotated_order(cluster: ModuleType) -> None:
    made = list[str]()
    seconds = cluster.in_turn({name: partial(made.append, name) for name in "abc"}, 4)
    assert "".join(made) == "abcbcacababc"
    assert [len(values) for values in seconds.values()] == [4, 4, 4]
    assert all(value >= 0 for values in seconds.values() for value in values)
    assert cluster.load_words().startswith("load average ")
