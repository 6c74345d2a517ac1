"""Summaries on a terminal."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from support.past import two_rounds
from support.terminal import shown

from fedradio.report.terminal.summary import participation_warning, simulation_lines, summary_table
from fedradio.results.run import Run, open_run
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec


def rows(run: Run) -> dict[str, str]:
    """The rows of a summary: what stands behind each title."""
    lines = [line.partition("  ") for line in shown(summary_table(run)).splitlines()]
    return {title: rest.strip() for title, _, rest in lines}


def test_undefined_quantities_are_dashes(tiny: Callable[..., Spec], cells: Callable[..., Spec], tmp_path: Path) -> None:
    run(tiny(), tmp_path / "tiny")
    run(cells(), tmp_path / "cells")
    without, having = (shown(summary_table(open_run(tmp_path / name))) for name in ("tiny", "cells"))
    assert [line.split()[-1] for line in without.splitlines() if line.startswith(("simulated", "energy"))] == ["-", "-"]
    assert " s" in next(line for line in having.splitlines() if line.startswith("simulated"))
    assert "J" in next(line for line in having.splitlines() if line.startswith("energy"))


def test_a_killed_run_is_summed_up_from_its_records(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    found = rows(two_rounds(tmp_path / "run", tiny("topology.clients=2")))
    assert found["best accuracy"] == "75.00 % (round 2)"
    assert (found["accuracy"], found["test loss"], found["variate norm"]) == ("75.00 %", "0.25", "3")
    assert (found["energy"], found["uplink"]) == ("7 J (3.5 J per round)", "100 bit")
    assert found["clients"] == "1.5 per edge round, 1.5 eligible"
    assert (found["wall time"], found["seed"]) == ("0.5 s", "3")
    assert "disk" not in found


def test_devices_without_floors_are_told_beside_the_energy(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    one = two_rounds(tmp_path / "run", tiny("topology.clients=2"))
    found = rows(Run(one.folder, one.spec, {"status": "complete", "rounds": 2, "least_cpu_hz": 2e5}))
    assert found["energy"] == "7 J (3.5 J per round; no floors: CPU down to 0.2 MHz)"


def test_the_header_says_which_policy_runs() -> None:
    for changes, line in (
        ([], ["policy    joint, mode optimal; fixed"]),
        (["hops.0.policy.mode=paper"], ["policy    joint, mode paper; fixed"]),
        (["hops.0.policy={kind: sampling, clients: 2}"], []),
    ):
        spec = load_spec("rawhfl", changes)
        assert [one for one in simulation_lines(build(spec), spec) if one.startswith("policy")] == line


def test_what_is_told_beside_the_numbers(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    one = two_rounds(tmp_path / "run", tiny("topology.clients=2"))
    more = {"status": "complete", "bits": 1e6, "hop_bits": [9e5, 1e5], "clients": 2.0, "arrived": 1.5, "eligible": None}
    found = rows(Run(one.folder, one.spec, more | {"wall_s": 2.0, "checkpoint_s": 0.5, "uses": 1300.0}))
    assert found["uplink"] == "1 Mbit (900 kbit access, 100 kbit backhaul)"
    assert found["clients"] == "2 per edge round, 1.5 arrived"
    assert found["wall time"] == "2 s (25 % of it on checkpoints)"
    assert found["channel uses"] == "1,300"


def test_a_run_without_anybody_is_warned_of(tiny: Callable[..., Spec]) -> None:
    summary = run(tiny())
    assert participation_warning(summary) is None
    assert participation_warning(replace(summary, clients=None, arrived=None)) is None
    assert "no client took part" in str(participation_warning(replace(summary, clients=0.0, arrived=0.0)))
    assert "no update from any client arrived" in str(participation_warning(replace(summary, arrived=0.0)))
