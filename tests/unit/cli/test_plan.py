"""``fedradio plan``: one slot, and what cannot be shown."""

import inspect
import json
from pathlib import Path

import pytest
from support.commands import Call

from fedradio.cli.plan import plan
from fedradio.core.errors import SpecError
from fedradio.policies.objectives import EPSILON

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


def test_fleets_side_by_side(call: Call) -> None:
    """RawHFL's devices have no floors; handsets have, and send with -40 dBm at the least."""
    plain = json.loads(call("plan", "rawhfl", *SMALL, "--fleet", "handset,cellular", "--json").stdout)
    handset, cellular = plain["fleets"]
    assert (handset["fleet"], cellular["fleet"], plain["slot"]) == ("handset", "cellular", 0)
    own = json.loads(call("plan", "rawhfl", *SMALL, "--json").stdout)["clients"]
    assert cellular["joules"] == pytest.approx(sum(client["joules"] or 0.0 for client in own))
    assert cellular["least_cpu_hz"] < 50e6 < 3e8 < handset["least_cpu_hz"] <= handset["most_cpu_hz"] <= 2.8e9
    assert cellular["least_power_w"] < 1e-3 < handset["most_power_w"] <= 10**-0.5
    assert handset["joules"] > 10 * cellular["joules"]
    assert handset["selected"] == 4
    assert 0 < handset["seconds"] <= 150
    shown = call("plan", "rawhfl", *SMALL, "--fleet", "handset,cellular").output
    assert "lowest CPU MHz" in shown


def test_the_spec_s_own_fleet_keeps_its_values(call: Call) -> None:
    own = "hops.0.fleet.cpu_min_hz=1e9"
    (row,) = json.loads(call("plan", "rawhfl", *SMALL, own, "--fleet", "cellular", "--json").stdout)["fleets"]
    assert row["least_cpu_hz"] >= 1e9 * (1 - 1e-9)


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
        (("rawhfl", "--compare", "paper", "--fleet", "iot"), "--fleet"),
        (("rawhfl", "--fleet", "cellular,tractor"), "hops.0.fleet"),
    ],
)
def test_refused(call: Call, words: tuple[str, ...], path: str) -> None:
    refused = call("plan", *words).exception
    assert isinstance(refused, SpecError)
    assert [one.path for one in refused.problems] == [path]


def test_the_default_weight_is_that_of_the_policies() -> None:
    """The command line names it without importing them."""
    assert inspect.signature(plan).parameters["epsilon"].default == EPSILON
