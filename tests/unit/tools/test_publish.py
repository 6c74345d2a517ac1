"""Shipped results from stored runs: what is in them, what is left out, how small they are, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from support.claimed import claim, claim_test
from support.reproductions import heights, item_maker, made, row, run_here
from support.scripts import script

from fedradio._version import __version__
from fedradio.core.errors import SpecError, StoreError
from fedradio.papers import make as making
from fedradio.papers import published
from fedradio.papers.absence import Reason
from fedradio.papers.collect import collect
from fedradio.papers.items import Item
from fedradio.papers.plan import plan_reproduction
from fedradio.papers.shipped import parse_shipped, restored
from fedradio.papers.studies import STUDIES
from fedradio.spec.spec import Spec

Make = Callable[..., Item]

CURVES = {"show": "curves", "axes": {"x": "rounds", "y": "accuracy"}}
ABOVE = claim(claim_test(above=-1), id="above")


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return script("tools/publish.py", monkeypatch)


@pytest.fixture
def make(tmp_path: Path, tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch) -> Make:
    """An item on two tiny specs, with changes; its runs are made in this process."""
    monkeypatch.setattr(making, "run_batch", run_here)
    return item_maker(tmp_path, tiny)


def test_numbers_costs_and_fingerprints_are_those_of_the_runs(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    item, out = make(claims=[ABOVE], **CURVES), tmp_path / "out"
    plan = plan_reproduction(item, "quick", (1, 2), out)
    result, _ = made(plan)
    found = tool.shipped_result(plan)
    assert (found.paper, found.item, found.scale, found.seeds) == ("whfl", "fig9", "quick", (1, 2))
    assert found.command == "fedradio reproduce whfl fig9 --scale quick --seeds 2"
    assert found.rows["one"]["accuracy"].values == {str(s): v for s, v in result.entries[0]["accuracy"].values.items()}
    assert found.whole
    assert found.fedradio == (__version__,)
    assert "torch" in found.packages
    one, two = found.made
    assert (one.seeds, two.seeds) == ((1, 2), (1, 2))
    assert one.spec_sha256 == Spec(plan.rows[0].source.load(1).plain | {"seed": 0}).sha256() != two.spec_sha256
    assert one.wall_s == pytest.approx(
        sum(stored.wall_s for u in plan.rows[0].units if (stored := u.stored())), abs=1e-3
    )
    assert found.cpu_s is not None
    assert found.cpu_s > 0
    assert found.claims[0].verdict in ("holds", "undecided")
    assert found.picture is not None
    assert [series["label"] for series in found.picture["series"]] == ["one", "two"]


def test_a_diverged_run_is_lost_with_its_reason(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    wild = ("rule.lr=10000", "algorithm.server_lr=10000", "hops.0.policy.steps=60", "rounds=30")
    item = make(rows=[row(tmp_path, "one"), row(tmp_path, "two", *wild)])
    plan = plan_reproduction(item, "quick", (1,), tmp_path / "out")
    made(plan)
    found = tool.shipped_result(plan)
    assert found.whole  # it has ended, and would end so again
    assert found.rows["two"]["accuracy"].values == {}
    assert found.rows["two"]["accuracy"].lost == {"1": Reason.DIVERGED}


def test_rounds_that_a_run_never_reaches_are_bounds_in_files_too(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    columns = {
        "never": {"title": "rounds", "measure": "rounds_to@0.999999", "within": 1},
        "meets": {"title": "meets", "measure": "crossing@0.99", "against": "two", "within": 1},
    }
    flat = row(tmp_path, "one", "rule.lr=1e-9", published={})
    item = make(columns=columns, rows=[flat, row(tmp_path, "two", "rule.lr=0.05", published={})])
    plan = plan_reproduction(item, "quick", (1, 2), tmp_path / "out")
    result, _ = made(plan)
    rounds = float(plan.rows[0].source.load(1).rounds)
    assert dict(result.entries[0]["never"].bounds) == {1: rounds, 2: rounds}
    assert dict(result.entries[0]["meets"].bounds) == {1: rounds, 2: rounds}
    assert not result.entries[1]["meets"].bounds  # it is the row itself
    again = restored(item, tool.shipped_result(plan))
    assert [{key: entry.bounds for key, entry in each.items()} for each in again.entries] == [
        {key: entry.bounds for key, entry in each.items()} for each in result.entries
    ]


def test_what_is_not_made_is_named(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    whole, out = make(), tmp_path / "out"
    part = make(rows=[row(tmp_path, "one")])
    made(plan_reproduction(part, "quick", (1,), out))
    found = tool.shipped_result(plan_reproduction(whole, "quick", (1,), out))
    assert not found.whole
    assert [label.rpartition("/")[2] for label in found.left] == ["two.yaml rule.lr=0.05"]
    assert found.rows["two"]["accuracy"].lost == {"1": Reason.NOT_RUN}


def test_runs_of_another_spec_are_left_out(
    tool: ModuleType, make: Make, tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    item, out = make(), tmp_path / "out"
    made(plan_reproduction(item, "quick", (1,), out))
    (tmp_path / "one.yaml").write_text(tiny("name=one", "rounds=3").yaml(), encoding="utf-8")
    found = tool.shipped_result(plan_reproduction(item, "quick", (1,), out))
    assert [made.label.rpartition("/")[2] for made in found.made] == ["two.yaml rule.lr=0.05"]
    assert found.rows["one"]["accuracy"].values == {}


def test_the_paper_scale_comes_first_and_whole_seeds_alone_count(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    item, out = make(), tmp_path / "out"
    assert tool.stored_reproduction(item, out) is None
    made(plan_reproduction(item, "quick", (1, 2), out))
    quick = tool.stored_reproduction(item, out)
    assert quick is not None
    assert (quick.scale, quick.seeds) == ("quick", (1, 2))
    made(plan_reproduction(make(rows=[row(tmp_path, "one")]), "paper", (1, 2), out))
    assert tool.stored_reproduction(item, out) == quick  # it is whole, the other is not
    made(plan_reproduction(item, "paper", (2,), out))
    whole = tool.stored_reproduction(item, out)
    assert whole is not None
    assert (whole.scale, whole.seeds) == ("paper", (2,))


def test_rows_of_all_stored_seeds_ship_before_the_item_is_done(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    item, out = make(claims=[ABOVE]), tmp_path / "out"
    made(plan_reproduction(make(rows=[row(tmp_path, "one")]), "paper", (1,), out))
    made(plan_reproduction(make(rows=[row(tmp_path, "two", "rule.lr=0.05")]), "paper", (1, 2), out))
    some = tool.stored_reproduction(item, out)
    assert some is not None
    assert (some.scale, some.seeds) == ("paper", (1,))  # of which both rows are there
    made(plan_reproduction(make(rows=[row(tmp_path, "one")]), "quick", (2,), out / "b"))
    made(plan_reproduction(make(rows=[row(tmp_path, "two", "rule.lr=0.05")]), "quick", (1,), out / "b"))
    assert tool.stored_reproduction(item, out / "b") is None  # no row has both seeds
    made(plan_reproduction(make(rows=[row(tmp_path, "one")]), "quick", (1, 2), out / "c"))
    part = tool.stored_reproduction(item, out / "c")
    assert part is not None
    found = tool.shipped_result(part)
    assert [one.label.rpartition("/")[2] for one in found.made] == ["one.yaml"]
    assert found.rows["one"]["accuracy"].values.keys() == {"1", "2"}
    assert found.rows["two"]["accuracy"].lost == {"1": Reason.NOT_RUN, "2": Reason.NOT_RUN}


def test_studies_count_too(tool: ModuleType, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STUDIES, "heights", heights([]))
    columns = {"mean": {"title": "mean", "study": "heights", "measure": "mean", "within": 1.0}}
    rows = [row(tmp_path, "one", published={"mean": [1.0]})]
    item = make(columns=columns, rows=rows)
    plan = plan_reproduction(item, "quick", (1, 2), tmp_path / "out")
    made(plan)
    found = tool.shipped_result(plan)
    assert found.rows["one"]["mean"].values == {"1": 1.0, "2": 2.0}
    assert found.made[0].label.startswith("study heights of")
    assert (found.python, found.packages) == ((), {})  # studies keep the version alone
    assert restored(item, found).entries[0]["mean"].values == collect(plan).entries[0]["mean"].values


def test_long_curves_are_thinned_and_keep_their_ends(tool: ModuleType) -> None:
    x = [float(n) for n in range(1000)]
    found = tool.compact(
        {"show": "curves", "series": [{"label": "a", "x": x, "mean": [n / 3 for n in x], "points": x}]}
    )
    [series] = found["series"]
    assert len(series["x"]) == len(series["mean"]) == tool.POINTS
    assert (series["x"][0], series["x"][-1], series["mean"][-1]) == (0, 999, 333)
    assert len(series["points"]) == 1000
    np.testing.assert_allclose(series["mean"], np.array(series["x"]) / 3, rtol=10.0 ** (1 - tool.DIGITS))


@pytest.fixture
def stored(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which one of two published items is stored."""
    absent = make(rows=[row(tmp_path, "two")]).model_copy(update={"name": "fig8"})
    items = {("whfl", "fig9"): make(), ("whfl", "fig8"): absent}
    monkeypatch.setattr(published, "published", lambda: items)
    made(plan_reproduction(items["whfl", "fig9"], "quick", (1, 2), tmp_path / "out"))
    return tmp_path / "out"


def test_the_command_writes_what_is_stored_and_runs_nothing(
    tool: ModuleType, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(making, "run_batch", lambda *_, **__: pytest.fail("nothing is to be run"))
    to = tmp_path / "small"
    assert tool.main(["--to", str(to), "--runs", str(stored)]) == 0
    file = to / "whfl" / "fig9.json"
    assert list(to.rglob("*.json")) == [file]
    assert "".join(capsys.readouterr().out.split()) == str(file)
    found = parse_shipped(file.read_text(encoding="utf-8"), file.name)
    assert (found.item, found.seeds) == ("fig9", (1, 2))
    assert json.loads(file.read_text())["rows"]["one"]["accuracy"]["values"].keys() == {"1", "2"}
    file.write_text(tool.shipped_json(found.model_copy(update={"superseded": "a sum was mended"})))
    assert tool.main(["--to", str(to), "--runs", str(stored)]) == 0
    assert parse_shipped(file.read_text(encoding="utf-8"), file.name) == found  # published anew, so not superseded


def test_the_command_tells_what_is_wrong(tool: ModuleType, stored: Path, tmp_path: Path) -> None:
    to = ["--to", str(tmp_path / "small")]
    assert tool.main([*to, "--runs", str(tmp_path / "nowhere")]) == StoreError.exit_code
    assert tool.main([*to, "--runs", str(stored), "whfl", "fig8"]) == StoreError.exit_code
    assert tool.main([*to, "--runs", str(stored), "whfl", "fig7"]) == SpecError.exit_code
    assert tool.main([*to, "--runs", str(stored), "whlf"]) == SpecError.exit_code
    assert tool.main(["whfl", "fig9", *to, "--runs", str(stored)]) == 0
    with pytest.raises(SystemExit):
        tool.main(["whfl"])
    assert {path.name for path in (tmp_path / "small").rglob("*.json")} == {"fig9.json"}
