"""Remarks 1 and 2 of W-HFL in numbers: medians over layouts."""

import pytest
from support.studies import study

from fedradio.core.errors import SpecError
from fedradio.papers.studies import remarks as module
from fedradio.spec.spec import load_spec


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAYOUTS", 3)


BASE = ("hops.0.period=1", "rounds=50", "hops.1.policy.scale=10")
EQUAL = ("topology.edge_distance=[1, 1]", "topology.client_distance=[1, 1]", "topology.layouts=as_printed")


def test_numbers_of_equal_gains_by_hand() -> None:
    """All own gains 1. (32) with the rate 0 is its noise: 10*325/(100*64) (1/100 + (101 + 3/100)/(100*125)).

    Exactly, with means and changes of nothing: 325 symbols of 10/(5*100)/4 from the edges, and at the server
    (10/100 + 4*10/(5*100)) / (100*4)."""
    found = study("remarks", load_spec("whfl", [*BASE, *EQUAL]))
    assert found["printed_still"] == pytest.approx(3250 / 6400 * (0.01 + (101 + 0.03) / 12500))
    assert found["exact_still"] == pytest.approx(325 * (0.02 / 4 + (0.1 + 4 * 0.02) / 400))
    assert found["exact"] > found["exact_still"] > 0
    assert found["printed"] > 0


def test_antennas_help_and_parameters_harm() -> None:
    base, more, larger = (
        study("remarks", load_spec("whfl", [*BASE, *changes]))
        for changes in (
            (),
            ("hops.0.link.antennas=200", "hops.1.link.antennas=200"),
            ("model={kind: mlp, hidden: [17]}",),
        )
    )
    for name in ("printed", "exact"):
        assert more[name] < base[name] < larger[name]
    assert larger["exact_still"] / base["exact_still"] == pytest.approx(643 / 325)


def test_other_networks_are_refused() -> None:
    with pytest.raises(SpecError, match="two over-the-air hops"):
        study("remarks", load_spec("demo", ["rounds=1"]))
