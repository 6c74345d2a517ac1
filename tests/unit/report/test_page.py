import base64
import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from fedradio.cli import app
from fedradio.cli import report as reporting_module
from fedradio.core.contracts import Reason
from fedradio.core.errors import StoreError
from fedradio.report.page import page
from fedradio.report.page.chart import ROWS, cdf_points, label, numbers_table, plain, switch, thinned
from fedradio.report.page.html import Html, data_block, join, table, tag
from fedradio.report.page.numbers import percent, plus_minus, value_words
from fedradio.report.page.palette import BACKGROUNDS, contrast, visible
from fedradio.report.page.run_data import RunData
from fedradio.report.page.sections.participation import states
from fedradio.report.page.sections.rerun import from_shipped, sweep_command
from fedradio.report.page.sections.sweep_charts import _medians_text
from fedradio.report.page.sweep_data import read_sweep_data
from fedradio.report.style import STYLES
from fedradio.results.run import Participation, open_run
from fedradio.results.statistics import Interval
from fedradio.runs.run import run
from fedradio.spec.spec import Spec, load_spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.pool import Outcome, RunTask, settled_outcome
from fedradio.sweeps.sweep import RUNS, run_sweep

BAD = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'


class Outline(HTMLParser):
    """Collects what a test asks of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((name, dict(attributes)))

    def values(self, attribute: str) -> Iterator[str]:
        return (found[attribute] or "" for _, found in self.tags if attribute in found)

    def names(self, name: str) -> list[dict[str, str | None]]:
        return [found for tag_name, found in self.tags if tag_name == name]


def words_of(text: str) -> str:
    """The page without its scripts and styles."""
    return re.sub(r"<(script|style)[ >].*?</\1>", "", text, flags=re.S)


@pytest.fixture
def made(tmp_path: Path, cells: Callable[..., Spec]) -> Path:
    """A run with edges, seconds and joules in which clients are sampled."""
    folder = tmp_path / "cells-run"
    run(cells("hops.0.policy={kind: sampling, clients: 2, steps: 2}", "data.test=client"), folder)
    return folder


def test_text_is_escaped_unless_it_is_markup() -> None:
    assert tag("p", BAD) == f"<p>{join([BAD])}</p>"
    assert "<script>" not in tag("p", BAD, title=BAD)
    assert '"' not in tag("i", title='a"b').removeprefix('<i title="').removesuffix('"></i>')
    assert tag("b", Html("<i>x</i>")) == "<b><i>x</i></b>"
    assert tag("input", type="radio", checked=True, name=None, disabled=False) == '<input type="radio" checked>'
    assert tag("label", "x", for_="a", aria_label="b") == '<label for="a" aria-label="b">x</label>'


def test_no_text_ends_a_data_block() -> None:
    block = data_block("x", {"a": BAD})
    assert block.count("<") == 2
    assert json.loads(block[block.index(">") + 1 : block.rindex("<")]) == {"a": BAD}
    with pytest.raises(ValueError, match="JSON compliant"):
        data_block("x", [float("nan")])


def test_tables_name_their_rows_and_columns() -> None:
    found = Outline(table("words", ["a", "b"], [["1", "2"], ["3", None]]))
    assert [one["scope"] for one in found.names("th")] == ["col", "col", "row", "row"]
    assert len(found.names("caption")) == 1


def test_thinning_keeps_both_ends() -> None:
    assert thinned(5).tolist() == [0, 1, 2, 3, 4]
    chosen = thinned(100_000, 600)
    assert len(chosen) == 600
    assert (chosen[0], chosen[-1]) == (0, 99_999)
    text = numbers_table("many", ["n"], [[str(n)] for n in range(1000)], "things")
    assert text.count("<tr>") == ROWS + 1
    assert f"{ROWS} of 1000 things" in text


def test_numbers_for_charts() -> None:
    assert plain([1.0, 0.123456789, None, float("nan")]) == [1, 0.12346, None, None]
    assert cdf_points([3.0, 1.0]) == ([1, 1, 3], [0, 0.5, 1])
    assert label("<b>x</b>") == "&lt;b&gt;x&lt;/b&gt;"
    assert switch("a", "only", {"one": "x"}, ["chart"]) is None


def test_numbers_for_people() -> None:
    assert plus_minus(Interval(0.5, 0.01, 3), percent) == "50.00 ± 1.00 %"
    assert plus_minus(Interval(-0.5, 0.0, 3), percent) == "\N{MINUS SIGN}50.00 % ± 0"
    assert plus_minus(Interval(0.5, None, 1), percent) == "50.00 %"
    assert "undefined" in plus_minus(None, percent)
    assert [value_words(one) for one in (None, True, 1e-28, 2.4e9, [1, 2.5], "x")] == [
        "\N{EN DASH}",
        "yes",
        "1e-28",
        "2\u202f400\u202f000\u202f000",
        "[1, 2.5]",
        "x",
    ]


@pytest.mark.parametrize("colour", [style.colour for style in STYLES.values()])
def test_every_algorithm_stands_out_in_both_modes(colour: str) -> None:
    for background, least in BACKGROUNDS.values():
        assert contrast(visible(colour, background, least), background) >= least >= 3
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_states_tell_losses_from_absences() -> None:
    late, idle = int(Reason.DEADLINE), int(Reason.NOT_SELECTED)
    seen = Participation(
        active=np.array([[True, True, False, False]]),
        arrived=np.array([[True, False, False, False]]),
        reason=np.array([[0, late, late, idle]]),
        steps=np.zeros((1, 4), dtype=np.int64),
        joules=None,
    )
    found, words = states(seen)
    names = list(words)
    assert [names[place] for place in found[0]] == ["arrived", "selected, but late", "deadline", "not selected"]


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


def test_the_same_run_gives_the_same_bytes(made: Path) -> None:
    assert page(made) == page(made)


def test_what_a_run_has_is_on_its_page(made: Path) -> None:
    text = words_of(page(made))
    summary = open_run(made).summary
    assert summary is not None
    assert percent(summary["accuracy"]) in text
    assert summary["spec_sha256"] in text
    assert f"fedradio run {made.name}/spec.yaml" in text
    for chart in ("accuracy-chart", "map-chart", "who-chart", "reasons-chart", "client-energy", "spread-chart"):
        assert f'id="{chart}"' in text
    assert "simulated time" in text
    assert "sampling" in text


def test_what_a_run_lacks_is_told(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "plain")
    text = words_of(page(tmp_path / "plain"))
    for words in (
        "Simulated time is undefined",
        "Joules are undefined",
        "All 6 clients took part in each of the 2 edge rounds",
        "All clients share one test set",
        "noted nothing beyond",
    ):
        assert words in text
    assert 'id="who-chart"' not in text
    assert 'id="client-energy"' not in text


def test_a_run_that_was_killed_shows_what_is_on_record(made: Path) -> None:
    before = words_of(page(made))
    (made / "summary.json").unlink()
    for name in ("network.json", "environment.json"):
        (made / name).unlink()
    text = words_of(page(made))
    assert "it is under way, or its process was killed" in text
    assert f"fedradio resume {made.name}" in text
    assert "no network.json" in text
    assert "no environment.json" in text
    value = re.compile(r"<dt>Accuracy</dt><dd><span class=\"value\">(.*?)</span>")
    assert value.findall(before) == value.findall(text)


def test_a_run_without_a_round(made: Path) -> None:
    (made / "summary.json").unlink()
    (made / "records.jsonl").write_text("")
    text = words_of(page(made))
    assert "No evaluation is on record" in text
    assert "No edge round is on record" in text
    assert 'class="plot"' not in text


@pytest.mark.parametrize("status", ["diverged", "interrupted", "failed"])
def test_states_of_a_run_are_told(made: Path, status: str) -> None:
    path = made / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": status}))
    text = words_of(page(made))
    assert f"</span>{status}</span>" in text
    assert 'class="warning"' in text


def test_hostile_text_stays_text(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    folder = tmp_path / "<img src=x onerror=alert(3)>"
    run(tiny(), folder)
    plain_spec = yaml.safe_load((folder / "spec.yaml").read_text()) | {"about": BAD}
    (folder / "spec.yaml").write_text(yaml.safe_dump(plain_spec))
    (folder / "environment.json").write_text(json.dumps({"system": BAD, "packages": {BAD: BAD}}))
    summary = json.loads((folder / "summary.json").read_text()) | {"status": BAD}
    (folder / "summary.json").write_text(json.dumps(summary))
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    for row in records:
        row |= {"notes": {BAD: [1.0]}} if row["type"] == "exchange" else {}
    (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))
    text = page(folder)
    assert BAD not in text
    found = Outline(text)
    assert not found.names("img")
    assert len([one for one in found.names("script") if not one]) == 3


def test_a_shipped_spec_with_changes_is_recognised() -> None:
    changed = load_spec("demo", ["rounds=3", "data.partition.alpha=0.5", "hops.0.fleet.energy_j=[1, 2]"])
    words = shlex.split(from_shipped(changed) or "")
    assert words[:3] == ["fedradio", "run", "demo"]
    assert len(words) == 6
    assert load_spec("demo", words[3:]).sha256() == changed.sha256()
    assert from_shipped(load_spec("demo")) == "fedradio run demo"
    assert from_shipped(load_spec("demo", ["name=other"])) is None


def test_joules_that_nobody_defines_are_not_zero(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "plain")
    data = RunData(open_run(tmp_path / "plain"))
    assert data.exchanges.sending is not None
    assert data.joules == {}
    assert data.client_joules() is None


def at_once(jobs: Sequence[RunTask], **_: object) -> list[Outcome]:
    """Runs that are made in this process."""
    for job in jobs:
        if settled_outcome(job) is None:
            run(job.spec, job.folder)
    return []


@pytest.fixture
def source(tmp_path: Path, cells: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec for sweeps, whose runs are made in this process."""
    monkeypatch.setattr("fedradio.sweeps.sweep.run_batch", at_once)
    path = tmp_path / "small.yaml"
    path.write_text(cells().yaml())
    return path


@pytest.fixture
def swept(tmp_path: Path, source: Path) -> Path:
    """Two variants on two seeds, all complete."""
    return run_sweep(plan_sweep(source, ["rule.lr=0.1,0.3"], seeds=[1, 2]), tmp_path / "swept").folder


def test_a_sweep_shows_means_and_paired_differences(swept: Path) -> None:
    found = read_sweep_data(swept)
    one, other = found.variants
    accuracy = [one.values("accuracy")[seed] for seed in (1, 2)]
    text = words_of(page(swept))
    mean = one.mean("accuracy")
    assert mean is not None
    assert mean.mean == pytest.approx(np.mean(accuracy))
    assert plus_minus(mean, percent) in text
    difference = other.against(one, "accuracy")
    assert difference is not None
    assert difference.n == 2
    for chart in ("accuracy-chart", "loss-chart", "difference-chart", "client-energy", "slot-energy"):
        assert f'id="{chart}"' in text
    assert 'href="#variant-0"' in text
    assert 'id="variant-0"' in text
    assert "fedradio sweep tiny.yaml rule.lr=0.1,0.3 --seeds 1,2" in text
    assert page(swept) == page(swept)


def test_a_shared_world_is_claimed_only_where_there_is_one(swept: Path, source: Path, tmp_path: Path) -> None:
    text = words_of(page(swept))
    assert "the same world for every variant" in text
    assert "another world" not in text
    plan = plan_sweep(source, ["topology.clients_per_edge=2,3", "rule.lr=0.1,0.3"])
    other = words_of(page(run_sweep(plan, tmp_path / "worlds").folder))
    assert "the same world" not in other
    assert "variants have different worlds" in other
    labels = [variant.label for variant in read_sweep_data(tmp_path / "worlds").variants[2:]]
    assert f"{'; '.join(labels)} (topology.clients_per_edge)" in other


def test_medians_that_are_the_same_have_no_lowest() -> None:
    assert _medians_text({"a": 1.0, "b": 1.0}).startswith("the same in all variants (1")
    assert _medians_text({"a": 2.0, "b": 1.0, "c": 1.5}).startswith("lowest in b (1")
    assert "variants" not in _medians_text({"a": 2.0})


def test_runs_that_are_missing_count_in_no_mean(swept: Path) -> None:
    found = read_sweep_data(swept)
    first = swept / RUNS / found.variants[0].grid.folder(1)
    (first / "summary.json").unlink()
    for file in (swept / RUNS / found.variants[1].grid.folder(2)).glob("*"):
        if file.is_file():
            file.unlink()
    text = words_of(page(swept))
    assert "2 of 4 runs are not complete" in text
    assert "seed 2: not begun" in text
    assert "seed 1: unfinished after 2 of 2 rounds" in text
    again = read_sweep_data(swept)
    assert list(again.variants[0].complete()) == [2]
    assert again.variants[1].against(again.variants[0], "accuracy") is None


def test_a_sweep_without_any_run(swept: Path) -> None:
    for file in swept.rglob("records.jsonl"):
        file.unlink()
    text = words_of(page(swept))
    assert "No run is complete yet" in text
    assert 'class="plot"' not in text


def test_a_sweep_that_grew_has_no_single_command(swept: Path) -> None:
    plan = read_sweep_data(swept).plan
    assert sweep_command(plan) is not None
    grown = plan_sweep(swept.parent / "small.yaml", ["rule.lr=0.1"], seeds=[3])
    run_sweep(grown, swept)
    assert sweep_command(read_sweep_data(swept).plan) is None


def test_the_command_writes_the_page_into_the_folder(made: Path) -> None:
    shown = CliRunner().invoke(app, ["report", str(made)])
    assert shown.exit_code == 0
    assert "report.html" in shown.output.replace("\n", "")
    assert "MB" in shown.output
    assert (made / "report.html").read_text(encoding="utf-8") == page(made)


def test_the_command_opens_a_browser_when_asked(made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr(reporting_module.webbrowser, "open", opened.append)
    target = tmp_path / "elsewhere.html"
    shown = CliRunner().invoke(app, ["report", str(made), "--out", str(target), "--open", "--quiet"])
    assert shown.exit_code == 0
    assert shown.output.strip().replace("\n", "") == str(target)
    assert opened == [target.as_uri()]


def test_what_is_no_run_is_refused(tmp_path: Path, made: Path) -> None:
    with pytest.raises(StoreError, match="not a run folder"):
        page(tmp_path)
    shown = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert getattr(shown.exception, "exit_code", None) == 5
    before = (made / "records.jsonl").read_bytes()
    shown = CliRunner().invoke(app, ["report", str(made), "--out", str(made / "records.jsonl")])
    assert getattr(shown.exception, "exit_code", None) == 2
    assert (made / "records.jsonl").read_bytes() == before
