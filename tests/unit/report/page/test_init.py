"""Whole pages: one file, well formed, the same every time, telling what is there and what is not."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from support.pages import BAD, Outline, words_of
from support.sealing import reseal, unfinish

from fedradio.report.page import page, run_page
from fedradio.report.page.numbers import percent
from fedradio.results import run as results
from fedradio.results.run import open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_a_page_is_one_file_that_asks_for_nothing(made: Path) -> None:
    text = page(made)
    found = Outline(text)
    assert not [one for one in found.names("script") if "src" in one]
    assert [one["href"] for one in found.names("link")] == ["data:,"]
    assert all(one["href"].startswith("#") for one in found.names("a") if one["href"])
    assert "MIT License" in text
    policy = next(one["content"] for one in found.names("meta") if "http-equiv" in one)
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.S)
    assert len(scripts) == 3
    for one in scripts:
        assert base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() in policy


def test_identifiers_are_unique_and_links_lead_somewhere(made: Path) -> None:
    found = Outline(page(made))
    names = list(found.values("id"))
    assert len(names) == len(set(names))
    for attribute in ("href", "for", "aria-labelledby", "aria-describedby", "data-chart"):
        wanted = {one.removeprefix("#") for one in found.values(attribute) if not one.startswith("data:")}
        assert wanted <= set(names), attribute


def test_headings_are_in_order(made: Path) -> None:
    levels = [int(name[1]) for name, _ in Outline(page(made)).tags if re.fullmatch("h[1-6]", name)]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_page_reads_the_records_once(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes, read_records = [], results.read_records
    monkeypatch.setattr(results, "read_records", lambda *args: passes.append(args) or read_records(*args))
    run_page(open_run(made))
    assert passes == [(made,)]


def test_the_same_run_gives_the_same_bytes(made: Path) -> None:
    assert page(made) == page(made)


def test_what_a_run_has_is_on_its_page(made: Path) -> None:
    text = words_of(page(made))
    summary = open_run(made).summary
    assert summary is not None
    assert percent(summary["accuracy"]) in text
    assert summary["spec_sha256"] in text
    assert f"fedradio run {made.name}/spec.yaml" in text
    for chart in (
        "accuracy-chart",
        "network-chart",
        "selection-chart",
        "reasons-chart",
        "energy-clients-chart",
        "spread-chart",
    ):
        assert f'id="{chart}"' in text
    assert "simulated time" in text
    assert "sampling" in text


def test_what_a_run_lacks_is_told(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "plain")
    text = words_of(page(tmp_path / "plain"))
    for words in (
        "Simulated time is undefined",
        "no fleet that uses energy",
        "All 6 clients took part in each of the 2 edge rounds",
        "All clients share one test set",
        "recorded nothing beyond",
    ):
        assert words in text
    assert 'id="selection-chart"' not in text
    assert 'id="energy-clients-chart"' not in text


def test_a_run_that_was_killed_shows_what_is_on_record(made: Path) -> None:
    before = words_of(page(made))
    unfinish(made)
    for name in ("network.json", "environment.json"):
        (made / name).unlink()
    text = words_of(page(made))
    assert "it is still in progress, or its process was killed" in text
    assert f"fedradio resume {made.name}" in text
    assert 'id="network-chart"' not in text
    assert "no readable environment.json" in text
    value = re.compile(r"<dt>Accuracy</dt><dd><span class=\"value\">(.*?)</span>")
    assert value.findall(before) == value.findall(text)


def test_a_damaged_run_is_shown_as_such(made: Path) -> None:
    spec, told = made / "spec.yaml", []
    spec.write_text(spec.read_text().replace("lr: 0.", "lr: 1."))
    text = words_of(page(made, note=told.append))
    assert "</span>damaged</span>" in text
    assert "nothing on this page can be relied on" in text
    assert "spec.yaml: has changed since the run wrote it" in text
    assert f"fedradio resume {made.name}" in text
    assert [note.startswith("damaged: spec.yaml: has changed") for note in told] == [True]


def test_a_run_without_a_round(made: Path) -> None:
    unfinish(made)
    (made / "records.jsonl").write_text("")
    text = words_of(page(made))
    assert "No evaluation is on record" in text
    assert "No edge round is on record" in text
    assert 'class="plot"' not in text


@pytest.mark.parametrize("status", ["diverged", "interrupted", "failed"])
def test_states_of_a_run_are_told(made: Path, status: str) -> None:
    reseal(made, status=status)
    text = words_of(page(made))
    assert f"</span>{status}</span>" in text
    assert 'class="warning"' in text


def test_hostile_text_stays_text(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    folder = tmp_path / "<img src=x onerror=alert(3)>"
    run(tiny(), folder)
    plain_spec = yaml.safe_load((folder / "spec.yaml").read_text()) | {"about": BAD}
    (folder / "spec.yaml").write_text(yaml.safe_dump(plain_spec))
    machine = json.loads((folder / "environment.json").read_text()) | {"system": BAD, "packages": {BAD: BAD}}
    (folder / "environment.json").write_text(json.dumps(machine))
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    for row in records:
        row |= {"notes": {BAD: {"axis": "receiver", "values": [1.0]}}} if row["type"] == "exchange" else {}
    (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))
    reseal(folder, name=BAD)
    text = page(folder)
    assert BAD not in text
    found = Outline(text)
    assert not found.names("img")
    assert len([one for one in found.names("script") if not one]) == 3
