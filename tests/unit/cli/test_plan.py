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


def test_the_work_per_bit_is_the_task_s_on_every_fleet(call: Call) -> None:
    """250 to 400 cycles per bit in rawhfl, 25 to 40 by default; the budget of .8 to 1.5 J is cellular's alone."""
    fleets = json.loads(call("plan", "rawhfl", *SMALL, "--fleet", "cellular,handset,iot", "--json").stdout)["fleets"]
    for row in fleets:
        assert 250 <= row["least_cycles_per_bit"] < 300 < 350 < row["most_cycles_per_bit"] <= 400
    assert [row["least_budget_j"] is None for row in fleets] == [False, True, True]
    assert 0.8 <= fleets[0]["least_budget_j"] < fleets[0]["most_budget_j"] <= 1.5
    ten = "hops.0.fleet.cycles_per_bit=[2500,2500]"
    (iot,) = json.loads(call("plan", "rawhfl", *SMALL, ten, "--fleet", "iot", "--json").stdout)["fleets"]
    assert (iot["least_cycles_per_bit"], iot["most_cycles_per_bit"]) == (2500, 2500)


def test_make_demo_shows_what_handsets_would_take(call: Call) -> None:
    """The recipe's own command: 0.0236 J of RawHFL's devices, 71.4 J of handsets, of which 47 J are waiting."""
    recipe = (Path(__file__).parents[3] / "Makefile").read_text().split("\ndemo:")[1].split("\n\n")[0].splitlines()
    (words,) = [line.split("fedradio ")[1].split() for line in recipe if "fedradio plan" in line]
    done = call(*words)
    assert done.exit_code == 0, done.output
    assert "\nJ " in done.output
    cellular, handset = json.loads(call(*words, "--json").stdout)["fleets"]
    assert (cellular["joules"], handset["joules"]) == (pytest.approx(0.0236, rel=0.01), pytest.approx(71.4, rel=0.01))
    assert (cellular["waiting_j"], handset["waiting_j"]) == (0.0, pytest.approx(16 * 0.02 * 148, rel=0.01))
    assert cellular["selected"] == handset["selected"] == 16


def test_a_fleet_from_a_file_has_its_own_work_per_bit(call: Call, tmp_path: Path) -> None:
    table = tmp_path / "devices.csv"
    table.write_text("cycles_per_bit,f_max_hz,p_max_dbm,energy_j\n" + "30,2e9,23,1\n" * 8)
    own = f"hops.0.fleet={{kind: file, path: {table}}}"
    rows = json.loads(call("plan", "rawhfl", *SMALL, own, "--fleet", "file,handset", "--json").stdout)["fleets"]
    assert (rows[0]["least_cycles_per_bit"], rows[0]["most_cycles_per_bit"]) == (30, 30)
    assert 25 <= rows[1]["least_cycles_per_bit"] < rows[1]["most_cycles_per_bit"] <= 40


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
