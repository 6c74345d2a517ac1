"""``fedradio plan``: one slot, and what cannot be shown."""

import json
from pathlib import Path

import pytest
from support.commands import Call

from fedradio.core.errors import SpecError

SMALL = ("topology.edges=2", "topology.clients_per_edge=4", "hops.0.policy.clients=2", "data.source.test_requests=20")


def test_a_slot_in_tables_and_its_map_in_a_file(call: Call, tmp_path: Path) -> None:
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


def test_settings_of_algorithm_2_do_not_stop_the_other_modes(call: Call) -> None:
    dc = ("hops.0.policy.mode=dc", "hops.0.policy.rho=1", "hops.0.policy.iterations=2")
    done = call("plan", "rawhfl", *SMALL, *dc, "--compare", "paper,dc")
    assert done.exit_code == 0, done.output
    assert "dc" in done.output


def test_objectives_are_shown_also_quietly(call: Call) -> None:
    done = call("plan", "rawhfl", *SMALL, "--quiet")
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[0].startswith("cell")
    for words in ("(28) 1/steps", "(29)", "chosen", "optimum of (29)"):
        assert words in done.output
    assert "edge round" not in done.output
    osafl = call("plan", "osafl", "-q", "--epsilon", "0.25")
    assert "(5) at epsilon 0.25" in osafl.output
    assert "optimum of (5)" in osafl.output


def test_a_slot_for_programs(call: Call) -> None:
    plain = json.loads(call("plan", "rawhfl", *SMALL, "--slot", "1", "--json").stdout)
    assert (plain["slot"], plain["policy"]["kind"], len(plain["clients"]), len(plain["cells"])) == (1, "joint", 8, 2)
    assert [point["point"] for point in plain["objectives"]] == ["chosen", "optimum of (29)", "optimum of (28)"]
    assert [row["client"] for row in plain["clients"]] == list(range(8))
    assert [row["joules"] is None for row in plain["clients"]] == [
        row["place"] != "selected" for row in plain["clients"]
    ]
    modes = json.loads(call("plan", "rawhfl", *SMALL, "--compare", "paper,optimal", "--json").stdout)["modes"]
    assert [row["mode"] for row in modes] == ["paper", "optimal"]
    assert modes[0]["(29)"] >= modes[0]["(29), optimum"] == pytest.approx(modes[1]["(29)"])


def test_the_air_has_shares(call: Call) -> None:
    assert "noise" in call("plan", "whfl").output
    assert "total" in call("plan", "whfl", "hops.0.link.normaliser=sum").output
    some = "hops.0.policy={kind: sampling, clients: 2, steps: 1}"
    assert "are not known before it" in call("plan", "whfl", some).output


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
