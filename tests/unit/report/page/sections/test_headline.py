"""The first numbers of a page, and the state of the run."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
from support.past import written
from support.records import evaluation, exchange, round_

from fedradio.report.page.sections.headline import badge, cards, headline, warning
from fedradio.results.run import Run
from fedradio.spec.spec import Spec


def with_summary(run: Run, **summary: object) -> Run:
    return Run(run.folder, run.spec, summary)


def test_a_summary_may_lack_what_records_have(small: Run) -> None:
    text = headline(with_summary(small, status="complete", accuracy=0.9))
    assert "90.00 %" in text
    assert "7 J" in text


def test_numbers_in_large_print(small: Run) -> None:
    text = headline(small)
    for words in ("75.00 %", "test loss 0.25", "after round 2", "of 3; 2 edge rounds", "3.5 J per round", "100 bit"):
        assert words in text
    assert "of 2 took part per edge round, on average" in text


def test_lost_payloads_are_told(small: Run) -> None:
    fewer = {"status": "complete", "clients": 2.0, "arrived": 1.5, "rounds": 2}
    assert "; 1.5 arrived" in headline(with_summary(small, **fewer))


def test_devices_without_floors_are_told_below_the_energy(small: Run) -> None:
    """Frequencies below 50 MHz and powers below -40 dBm, whatever floors the fleet declares."""
    least = {"status": "complete", "energy_j": 7.0, "rounds": 2, "least_cpu_hz": 2e5, "least_power_w": 2e-9}
    text = headline(with_summary(small, **least))
    assert "3.5 J per round; no floors: CPU down to 0.2 MHz, power down to -57 dBm" in text
    assert "no floors: CPU down to 0.2 MHz<" in headline(with_summary(small, **least | {"least_power_w": 1e-7}))
    assert "no floors" not in headline(with_summary(small, **least | {"least_power_w": 0.1, "least_cpu_hz": 5e7}))
    assert "no floors" not in headline(small)
    floors = with_fleet(small, {"kind": "cellular", "cpu_min_hz": 1.0, "tx_min_w": 1e-12, "f_max_hz": [1.2e9, 2e9]})
    assert "CPU down to 0.2 MHz, power down to -57 dBm" in headline(with_summary(floors, **least))


def test_runs_in_progress_tell_it_from_their_records(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    """Client 0 trains at 300 MHz and client 1 at .2 MHz; 2 takes no step. They send with 1, 2 and .002 uW."""
    used = exchange(0, ids=[0, 1, 2], steps=[1, 1, 0], cpu_hz=[3e8, 2e5, 1.0], power_w=[1e-6, 2e-6, 2e-9])
    records = [used, round_(0, energy_j=7.0, bits=[1.0]), evaluation(1, accuracy=0.5, loss=1.0)]
    run = written(tmp_path / "run", tiny("topology.clients=3"), records, (3,))
    assert run.summary is None
    assert "no floors: CPU down to 0.2 MHz, power down to -57 dBm" in headline(run)


@pytest.mark.parametrize(("hz", "told"), [(16e6, False), (6.4e6, False), (6.3e6, True)])
def test_microcontrollers_may_run_at_a_tenth_of_their_highest_frequency(small: Run, hz: float, told: bool) -> None:
    sensors = with_fleet(small, {"kind": "iot", "f_max_hz": [6.4e7, 1.28e8]})
    text = headline(with_summary(sensors, status="complete", energy_j=7.0, rounds=2, least_cpu_hz=hz))
    assert (f"CPU down to {hz / 1e6:.2g} MHz" in text) == told


def with_fleet(run: Run, fleet: dict[str, object]) -> Run:
    plain = deepcopy(run.spec.plain)
    plain["hops"][0]["fleet"] = fleet
    return Run(run.folder, replace(run.spec, plain=plain), run.summary)


def test_symbols_are_counted_in_uses(small: Run) -> None:
    text = headline(with_summary(small, status="complete", uses=1300.0))
    assert "Channel uses" in text
    assert "1,300" in text
    assert "650 per round" in text
    assert "Channel uses" not in headline(small)


@pytest.mark.parametrize(
    ("status", "words", "again"),
    [
        ("interrupted", "those after 2 of 3 rounds", True),
        ("diverged", "became NaN or infinite after 2 of 3 rounds", False),
        ("failed", "failed after 2 of 3 rounds", True),
        ("strange", "does not know the status", False),
    ],
)
def test_warnings(small: Run, status: str, words: str, again: bool) -> None:
    text = warning(with_summary(small, status=status), "folder")
    assert text is not None
    assert words in text
    assert ("fedradio resume folder" in text) == again


def test_a_federation_goes_on_with_its_devices(small: Run) -> None:
    stopped = with_summary(small, status="interrupted")
    vars(stopped)["environment"] = {"federation": {"run": "a"}}
    text = warning(stopped, "folder")
    assert text is not None
    assert "fedradio serve SPEC --out folder --resume" in text
    assert "fedradio resume" not in text


def test_nothing_is_wrong_with_a_complete_run(small: Run) -> None:
    assert warning(with_summary(small, status="complete"), "folder") is None
    assert "badge good" in badge("complete")
    assert "badge bad" in badge("anything else")


def test_cards() -> None:
    assert cards({"<b>": ("1", None)}).count("&lt;b&gt;") == 1
