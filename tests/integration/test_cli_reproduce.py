"""``fedradio reproduce`` as a user meets it, on items that run in a blink."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.costing import each_takes
from support.reproductions import run_here
from support.scripts import script
from typer.testing import CliRunner, Result

from fedradio.cli import app
from fedradio.cli import reproduce as reproduce_command
from fedradio.core.errors import DivergenceError, SpecError
from fedradio.papers import make
from fedradio.papers import published as shipped
from fedradio.papers.items import parse_item
from fedradio.papers.shipped import parse_shipped
from fedradio.report.terminal import shipped as views
from fedradio.spec.spec import Spec
from fedradio.sweeps.pool import Outcome, RunTask

WILD = ["rule.lr=10000", "algorithm.server_lr=10000", "hops.0.policy.steps=60", "rounds=30"]
"""Diverges."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs are made here, not in processes of their own; their labels."""
    labels: list[str] = []

    def run_batch(jobs: Sequence[RunTask], **options: Any) -> list[Outcome]:
        labels.extend(job.label for job in jobs)
        return run_here(jobs)

    monkeypatch.setattr(make, "run_batch", run_batch)
    return labels


@pytest.fixture
def here(tmp_path: Path, tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch, made: list[str]) -> Path:
    """A folder with a spec; W-HFL has one figure and one table on it, nothing else was published."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(tiny().yaml(), encoding="utf-8")
    rows = [
        {"label": "met", "published": {"accuracy": [0.5]}, **_sources()},
        {"label": "missed", "published": {"accuracy": [9.0]}, **_sources("rule.lr=0.05")},
        {"label": "long", "published": {"accuracy": [0.5]}, **_sources(), "quick": {"skip": "takes days"}},
    ]
    wild = [{"label": "wild", "published": {"accuracy": [0.5]}, **_sources(*WILD)}, rows[0]]
    curves = {"show": "curves", "axes": {"x": "rounds", "y": "accuracy"}}
    claims = [
        _claim("learns", {"row": "met", "above": -1}),
        _claim("days", {"row": "long", "than": "met", "above": 0}),
        _claim("small", {"row": "met", "below": 2, "exact": True}),
    ]
    files = {"table1": _item(rows) | {"claims": claims}, "fig2": _item(rows) | curves, "fig3": _item(wild)}
    items = {("whfl", name): parse_item(json.dumps(plain), "whfl", name) for name, plain in files.items()}
    monkeypatch.setattr(shipped, "published", lambda: items)
    for module in ("engine.threads", "sweeps.processes"):
        monkeypatch.setattr(f"fedradio.{module}.cores", lambda: 2)
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "home"))
    each_takes(monkeypatch, items.values(), 3000.0)
    return tmp_path


def _sources(*changes: str) -> dict[str, Any]:
    return {scale: {"spec": "tiny.yaml", "set": list(changes)} for scale in ("quick", "paper")}


def _claim(name: str, test: dict[str, Any]) -> dict[str, Any]:
    tests = [{"column": "accuracy", **test}]
    return {"id": name, "says": f"It {name}.", "source": "section V", "tests": tests}


def _item(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "title": "Accuracy of everybody",
        "source": "a paper",
        "show": "table",
        "columns": {"accuracy": {"title": "accuracy", "measure": "accuracy", "within": 0.6}},
        "rows": rows,
        "footnotes": ["we read it so"],
        "scales": {
            "quick": {"seeds": 1, "about": "two rounds"},
            "paper": {"seeds": 3, "about": "as published"},
        },
    }


def fedradio(*words: str) -> Result:
    return CliRunner().invoke(app, ["reproduce", *words])


def test_a_table_is_made_shown_and_written(here: Path, made: list[str]) -> None:
    done = fedradio("whfl", "table1")
    assert done.exit_code == 0, done.output
    assert made == ["tiny.yaml seed 1", "tiny.yaml rule.lr=0.05 seed 1"]
    for words in (
        "two rounds",
        "not run at quick scale (1)",
        "(1) takes days",
        "we read it so",
        "1 of 2 published numbers",
    ):
        assert words in done.stdout
    missed = next(line for line in done.stdout.splitlines() if line.startswith("missed"))
    assert missed.rstrip().endswith("!")
    folder = here / "reproductions/whfl/quick"
    assert {path.name for path in folder.iterdir()} == {"runs", "table1.md", "table1.json"}
    plain = json.loads((folder / "table1.json").read_text())
    assert plain["rows"][0]["cells"]["accuracy"]["values"].keys() == {"1"}
    assert "| missed | accuracy | 9.0000 |" in (folder / "table1.md").read_text()


def test_a_second_call_makes_nothing_and_says_the_same(here: Path, made: list[str]) -> None:
    first = fedradio("whfl", "table1")
    before = len(made)
    again = fedradio("whfl", "table1")
    assert again.stdout == first.stdout
    assert len(made) == before


def test_a_figure_uses_the_runs_of_a_table(here: Path, made: list[str]) -> None:
    fedradio("whfl", "table1")
    before = len(made)
    done = fedradio("whfl", "fig2", "--quiet")
    assert len(made) == before
    names = [f"reproductions/whfl/quick/fig2.{kind}" for kind in ("pdf", "png", "md", "json")]
    assert done.stdout.split() == names
    assert all((here / name).stat().st_size > 500 for name in names)


def test_scale_seeds_and_folder_can_be_chosen(here: Path, made: list[str]) -> None:
    done = fedradio("whfl", "table1", "--scale", "paper", "--seeds", "2", "--out", "mine")
    assert done.exit_code == 0, done.output
    assert {label.rsplit(" ", 1)[1] for label in made} == {"1", "2"}
    assert "2 seeds" in done.stdout
    assert (here / "mine/whfl/paper/table1.json").is_file()


def test_a_dry_run_makes_nothing(here: Path, made: list[str]) -> None:
    done = fedradio("whfl", "table1", "--dry-run")
    assert done.exit_code == 0
    assert "tiny.yaml rule.lr=0.05 seed 1  missing" in done.stdout
    assert "2 to make, about 2 h of CPU time" in done.stdout
    assert not made
    assert not (here / "reproductions").exists()
    fedradio("whfl", "table1")
    assert "nothing left to make" in fedradio("whfl", "table1", "--dry-run").stdout


def test_a_run_that_diverges_is_shown_and_gives_the_exit_code(here: Path) -> None:
    done = fedradio("whfl", "fig3")
    assert done.exit_code == DivergenceError.exit_code
    assert "diverged (1)" in done.stdout
    assert "1 of 1 published numbers agree" in done.stdout
    assert fedradio("whfl", "fig3").exit_code == DivergenceError.exit_code


def test_missing_data_are_said_while_the_rest_runs(
    here: Path, monkeypatch: pytest.MonkeyPatch, made: list[str]
) -> None:
    monkeypatch.setenv("FEDRADIO_HOME", str(here / "empty"))
    rows = [
        {"label": "pictures", "published": {"accuracy": [0.5]}, **_sources("data.source=mnist")},
        {"label": "digits", "published": {"accuracy": [0.5]}, **_sources()},
    ]
    monkeypatch.setattr(shipped, "published", lambda: {("whfl", "t"): parse_item(json.dumps(_item(rows)), "whfl", "t")})
    done = fedradio("whfl", "t")
    assert done.exit_code == 4
    assert "no data: fedradio data fetch mnist" in done.stdout
    assert made == ["tiny.yaml seed 1"]


def test_the_list_shows_cost_and_what_is_there(here: Path) -> None:
    fedradio("whfl", "table1")
    for words in ((), ("whfl",)):
        listed = fedradio(*words)
        assert listed.exit_code == 0
        line = next(line for line in listed.stdout.splitlines() if " table1 " in line)
        assert "done" in line
        assert "1 s, 3 seeds" in line  # as measured
        assert "Accuracy of" in line
    assert "fig2" not in fedradio("osafl").stdout


def test_unknown_names_are_refused_with_suggestions(here: Path) -> None:
    for words, remedy in ((("whlf",), "whfl"), (("whfl", "tabel1"), "table1")):
        refused = fedradio(*words)
        assert isinstance(refused.exception, SpecError)
        assert f"did you mean '{remedy}'" in str(refused.exception)


def test_an_interruption_says_how_to_go_on(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(make, "run_batch", stop)
    with pytest.raises(KeyboardInterrupt):
        reproduce_command.reproduce("whfl", ["table1", "fig2"], seeds="2", jobs=3, out_dir=Path("my runs"))
    said = " ".join(capsys.readouterr().err.split())
    assert "resume with: fedradio reproduce whfl table1 fig2 --scale quick --seeds 2 --jobs 3 --out 'my runs'" in said
    with pytest.raises(KeyboardInterrupt):
        reproduce_command.reproduce("whfl", ["table1"], seeds="4,2")
    said = " ".join(capsys.readouterr().err.split())
    assert "resume with: fedradio reproduce whfl table1 --scale quick --seeds 4,2" in said


def test_an_item_ends_with_its_claims(here: Path) -> None:
    done = fedradio("whfl", "table1")
    text = done.stdout[done.stdout.index("what the paper claims:") :]
    verdicts = [line.split("  ")[0] for line in text.splitlines() if "[section V]" in line]
    assert verdicts == ["undecided", "not testable at this scale", "holds"]
    assert "no interval, 1 seed" in " ".join(text.split())
    assert "wrote reproductions" in text
    folder = here / "reproductions/whfl/quick"
    plain = json.loads((folder / "table1.json").read_text())["claims"]
    assert [one["verdict"] for one in plain] == verdicts
    assert "- **holds**: It small. [section V]" in (folder / "table1.md").read_text()
    more = fedradio("whfl", "table1", "--seeds", "3")
    assert "holds  " in more.stdout[more.stdout.index("what the paper claims:") :].splitlines()[1]


def test_claims_are_listed_with_what_is_known(here: Path, made: list[str]) -> None:
    before = fedradio("--claims")
    assert before.exit_code == 0
    assert "3 claims: 3 not run" in before.stdout
    assert not made
    fedradio("whfl", "table1", "--seeds", "4,9")
    count = len(made)
    for words in (("--claims",), ("--claims", "whfl"), ("whfl", "table1", "--claims")):
        listed = " ".join(fedradio(*words).stdout.split())
        assert "quick, 2 seeds" in listed
        assert "1 not testable at this scale" in listed
    assert "no claims" in fedradio("osafl", "--claims").stdout
    assert len(made) == count


def test_seeds_can_be_chosen(here: Path, made: list[str]) -> None:
    done = fedradio("whfl", "table1", "--seeds", "4,9")
    assert done.exit_code == 0, done.output
    assert made[:2] == ["tiny.yaml seed 4", "tiny.yaml seed 9"]
    plain = json.loads((here / "reproductions/whfl/quick/table1.json").read_text())
    assert (plain["seeds"], plain["world_seed"]) == ([4, 9], None)


@pytest.mark.parametrize("seeds", ["1,,2", "0", "-1", "-1,2", "2,2", "", ",", "two", "1.5"])
def test_wrong_seeds_are_refused(here: Path, made: list[str], seeds: str) -> None:
    refused = fedradio("whfl", "table1", f"--seeds={seeds}")
    assert isinstance(refused.exception, SpecError)
    assert "--seeds" in str(refused.exception)
    assert "1,2,7" in str(refused.exception)
    assert not made


def test_all_items_are_made_in_order_of_cost(here: Path, made: list[str]) -> None:
    done = fedradio("whfl", "--all", "--seeds", "1")
    assert done.exit_code == DivergenceError.exit_code  # that of fig3
    said = [line for line in done.stderr.splitlines() if line.startswith("item ")]
    assert [line.partition(";")[0] for line in said] == [
        "item 1 of 3: whfl table1",
        "item 2 of 3: whfl fig2",  # nothing is left of it then
        "item 3 of 3: whfl fig3",
    ]
    assert all("left in total" in line for line in said)
    assert "about 75 min left" in said[0]  # three runs of fifty minutes, on two cores
    assert "3 items: 2.5 CPU hours, about 75 min of wall time on 2 cores" in " ".join(done.stderr.split())
    assert len(made) == 3
    folder = here / "reproductions/whfl/quick"
    assert {path.stem for path in folder.glob("*.json")} == {"table1", "fig2", "fig3"}


def test_several_items_are_made_in_the_order_asked_for(here: Path, made: list[str]) -> None:
    done = fedradio("whfl", "fig2", "table1", "fig2", "--seeds", "1")
    assert done.exit_code == 0, done.output
    said = [line for line in done.stderr.splitlines() if line.startswith("item ")]
    assert [line.partition(";")[0] for line in said] == ["item 1 of 2: whfl fig2", "item 2 of 2: whfl table1"]
    folder = here / "reproductions/whfl/quick"
    assert {path.stem for path in folder.glob("*.json")} == {"table1", "fig2"}
    assert "item " not in fedradio("whfl", "fig2", "--seeds", "1").stderr


def test_a_dry_run_of_all_says_what_all_take(here: Path, made: list[str]) -> None:
    """Three runs of fifty minutes; fig3 shares one with table1, and fig2 both."""
    text = fedradio("--all", "--dry-run").stdout
    assert "3 items: 2.5 CPU hours, about 75 min of wall time on 2 cores; shared runs are made and counted once" in text
    totals = [line.split("; folder")[0] for line in text.splitlines() if "; folder" in line]
    assert totals == [
        "2 to make, about 2 h of CPU time",
        "2 counted above",
        "1 to make, about 50 min of CPU time, 1 counted above",
    ]
    assert "cluster" not in text
    assert not made


def test_a_dry_run_of_all_names_what_belongs_on_a_cluster(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At paper scale, table1 and fig2 have six runs, fig3 too: of three hours each, they take nine hours on two cores,
    and of two hours each six."""
    items = shipped.published().values()
    each_takes(monkeypatch, items, 3 * 3600.0)
    text = " ".join(fedradio("--all", "--scale", "paper", "--dry-run").stdout.split())
    assert "3 items: 27 CPU hours, about 14 h of wall time on 2 cores" in text
    assert "for a cluster (--on ray), each above 8 h: whfl table1 (9 h), whfl fig2 (9 h), whfl fig3 (9 h)" in text
    each_takes(monkeypatch, items, 2 * 3600.0)
    assert "cluster" not in fedradio("--all", "--scale", "paper", "--dry-run").stdout


def test_the_time_of_studies_and_runs_is_noted_for_the_next_folder(here: Path, made: list[str]) -> None:
    fedradio("whfl", "table1")
    before = fedradio("whfl", "table1", "--dry-run", "--out", "elsewhere").stdout
    assert "2 to make, about 1 s of CPU time" in before
    stored = json.loads((here / "home/speed.json").read_text())
    assert list(stored["units"]) == ["tiny.yaml", "tiny.yaml rule.lr=0.05"]


def test_all_say_what_belongs_on_a_cluster_before_they_begin(
    here: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    each_takes(monkeypatch, shipped.published().values(), 10 * 3600.0)
    told = "for a cluster (--on ray), each above 8 h: whfl table1 (10 h), whfl fig2 (10 h)"
    done = fedradio("whfl", "--all", "--seeds", "1")
    assert told in " ".join(done.stderr.split("item 1")[0].split())
    assert "CPU hours" not in fedradio("whfl", "--all", "--seeds", "1", "--out", "other", "--quiet").stderr


def test_an_interruption_of_all_says_how_to_go_on(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(make, "run_batch", stop)
    for paper, words in (("whfl", "whfl --all"), (None, "--all")):
        with pytest.raises(KeyboardInterrupt):
            reproduce_command.reproduce(paper, every=True, seeds="2", jobs=2)
        said = " ".join(capsys.readouterr().err.split())
        assert f"resume with: fedradio reproduce {words} --scale quick --seeds 2 --jobs 2" in said


def test_shipped_results_are_printed_without_running(
    here: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fedradio("whfl", "table1", "--seeds", "2")
    tool = script("tools/publish.py", monkeypatch)
    assert tool.main(["whfl", "table1", "--to", "small"]) == 0
    text = (here / "small/whfl/table1.json").read_text()
    found = {("whfl", "table1"): parse_shipped(text, "table1.json")}
    monkeypatch.setattr(views, "shipped_results", lambda: found)
    count = len(made)
    listed = fedradio("--published-results").stdout
    assert "quick scale, 2" in listed
    assert "1 of 3 tables, figures and studies were run with all their rows" in " ".join(listed.split())
    one = fedradio("whfl", "table1", "--published-results").stdout
    assert "what the paper claims:" in one
    assert "made by: fedradio reproduce whfl table1 --scale quick --seeds 2" in " ".join(one.split())
    assert "not run" in fedradio("whfl", "fig2", "--published-results").stdout
    assert len(made) == count


@pytest.mark.parametrize(
    "words", [("--all", "--claims"), ("whfl", "table1", "--all"), ("--claims", "--published-results")]
)
def test_options_that_do_not_go_together_are_refused(here: Path, made: list[str], words: tuple[str, ...]) -> None:
    refused = fedradio(*words)
    assert isinstance(refused.exception, SpecError)
    assert "--" in str(refused.exception)
    assert not made
