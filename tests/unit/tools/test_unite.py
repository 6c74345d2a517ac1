"""Shipped results united: seeds and rows that are added later, pictures of parts, and what does not fit together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.claimed import claim, claim_test
from support.reproductions import heights, item_maker, made, row, run_here
from support.scripts import script

from fedradio.core.errors import StoreError
from fedradio.papers import make as making
from fedradio.papers.absence import Reason
from fedradio.papers.items import Item
from fedradio.papers.judge import judge
from fedradio.papers.plan import plan_reproduction
from fedradio.papers.shipped import ShippedResult, parse_shipped, restored, shipped_results
from fedradio.papers.studies import STUDIES
from fedradio.spec.spec import Spec

Make = Callable[..., Item]

RATIO = {
    "accuracy": {"title": "accuracy", "measure": "accuracy", "within": 1.0},
    "share": {"title": "share", "measure": "ratio", "of": "accuracy", "against": "two", "within": 1.0},
}
ABOVE = claim(claim_test(above=-1), id="above")
CURVES: dict[str, Any] = {"show": "curves", "axes": {"x": "rounds", "y": "accuracy"}, "claims": [ABOVE]}


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return script("tools/publish.py", monkeypatch)


@pytest.fixture
def unite(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return script("tools/unite.py", monkeypatch)


@pytest.fixture
def make(tmp_path: Path, tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch) -> Make:
    """An item on two tiny specs, with changes; its runs are made in this process."""
    monkeypatch.setattr(making, "run_batch", run_here)
    return item_maker(tmp_path, tiny)


def read(file: Path) -> ShippedResult:
    return parse_shipped(file.read_text(encoding="utf-8"), file.name)


def plain(found: ShippedResult) -> dict[str, Any]:
    """A result without its seconds."""
    data = found.model_dump(mode="json")
    data["made"] = [{key: value for key, value in one.items() if not key.endswith("_s")} for one in data["made"]]
    return data


def test_seeds_that_are_added_give_the_result_of_all_at_once(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    item, to = make(**CURVES), tmp_path / "to"
    made(plan_reproduction(item, "quick", (1,), tmp_path / "a"))
    made(plan_reproduction(item, "quick", (2, 3), tmp_path / "b"))
    made(plan_reproduction(item, "quick", (1, 2, 3), tmp_path / "c"))
    file = tool.publish(item, tmp_path / "a", to)
    alone = read(file)
    assert tool.publish(item, tmp_path / "b", to) == file
    added = read(file)
    at_once = read(tool.publish(item, tmp_path / "c", tmp_path / "other"))
    assert plain(added) == plain(at_once)
    assert added.seeds == (1, 2, 3)
    assert added.whole
    assert added.command == "fedradio reproduce whfl fig9 --scale quick --seeds 3"
    later = read(tool.publish(item, tmp_path / "b", tmp_path / "later"))
    assert added.wall_s == pytest.approx(alone.wall_s + later.wall_s)
    assert added.claims[0].tests[0].seeds == 3
    assert added.picture is not None
    assert [series["seeds"] for series in added.picture["series"]] == [[1, 2, 3]] * 2


def test_seeds_that_are_there_already_count_once(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    item, to = make(**CURVES), tmp_path / "to"
    made(plan_reproduction(item, "quick", (1, 2), tmp_path / "a"))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    made(plan_reproduction(item, "quick", (3,), tmp_path / "b"))
    shutil.rmtree(tmp_path / "b" / "whfl" / "quick" / "runs" / run_name(tmp_path / "b", "seed1"))
    tool.publish(item, tmp_path / "a", to)
    file = tool.publish(item, tmp_path / "b", to)
    units = plan_reproduction(item, "quick", (1, 2), tmp_path / "a").units
    units += plan_reproduction(item, "quick", (3,), tmp_path / "b").units
    assert read(file).wall_s == pytest.approx(sum(unit.stored().wall_s for unit in units), abs=0.01)
    picture = read(file).picture
    assert picture is not None
    assert [part["seeds"] for part in picture["series"][0]["parts"]] == [[1], [2], [3]]


def run_name(out: Path, ending: str) -> str:
    """The name of a stored run of this seed."""
    return next(path.name for path in (out / "whfl" / "quick" / "runs").iterdir() if path.name.endswith(ending))


def test_seeds_are_added_to_a_file_that_keeps_the_mean_of_several(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    item, to = make(**CURVES), tmp_path / "to"
    made(plan_reproduction(item, "quick", (1, 2), tmp_path / "a"))
    made(plan_reproduction(item, "quick", (3,), tmp_path / "b"))
    made(plan_reproduction(item, "quick", (1, 2, 3), tmp_path / "c"))
    file = tool.publish(item, tmp_path / "a", to)
    data = json.loads(file.read_text())
    for series in data["picture"]["series"]:
        assert [part["seeds"] for part in series.pop("parts")] == [[1], [2]]
    file.write_text(json.dumps(data))
    added = read(tool.publish(item, tmp_path / "b", to)).picture
    at_once = read(tool.publish(item, tmp_path / "c", tmp_path / "other")).picture
    assert added is not None
    assert at_once is not None
    for one, other in zip(added["series"], at_once["series"], strict=True):
        assert [part["seeds"] for part in one["parts"]] == [[1, 2], [3]]
        for key in ("x", "mean", "low", "high"):
            assert one[key] == pytest.approx(other[key], rel=1e-3)
    again = read(tool.publish(item, tmp_path / "c", to))
    assert again.picture == at_once  # all runs are there: nothing of the mean is left


def test_rows_are_added_and_compared_with_those_of_the_file(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    item, to = make(columns=RATIO, claims=[ABOVE]), tmp_path / "to"
    made(plan_reproduction(make(rows=[row(tmp_path, "one")]), "quick", (1, 2), tmp_path / "a"))
    made(plan_reproduction(make(rows=[row(tmp_path, "two", "rule.lr=0.05")]), "quick", (1,), tmp_path / "b"))
    file = tool.publish(item, tmp_path / "a", to)
    part = read(file)
    assert not part.whole
    assert part.rows["one"]["share"].lost == {"1": Reason.NOT_RUN, "2": Reason.NOT_RUN}
    tool.publish(item, tmp_path / "b", to)
    found = read(file)
    accuracy = {label: cells["accuracy"].values for label, cells in found.rows.items()}
    assert (accuracy["one"].keys(), accuracy["two"].keys()) == ({"1", "2"}, {"1"})
    assert found.rows["one"]["share"].values == {"1": accuracy["one"]["1"] / accuracy["two"]["1"]}
    assert found.rows["one"]["share"].lost == {"2": Reason.NOT_RUN}
    assert [label.rpartition("/")[2] for label in found.left] == ["two.yaml rule.lr=0.05"]  # seed 2 of it
    assert not found.whole
    made(plan_reproduction(make(rows=[row(tmp_path, "two", "rule.lr=0.05")]), "quick", (2,), tmp_path / "c"))
    tool.publish(item, tmp_path / "c", to)
    assert read(file).whole
    assert read(file).left == ()


def test_what_does_not_fit_together_is_refused_until_it_is_replaced(
    tool: ModuleType,
    make: Make,
    tiny: Callable[..., Spec],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    item, to = make(**CURVES), tmp_path / "to"
    monkeypatch.setattr(tool, "items", lambda _: [item])
    for folder, seeds in (("a", (1, 2)), ("b", (2, 3)), ("c", (3,))):
        made(plan_reproduction(item, "quick", seeds, tmp_path / folder))
    file = tool.publish(item, tmp_path / "a", to)
    text, found = file.read_text(), read(file)

    def refused(folder: str) -> str:
        before = file.read_text()
        assert tool.main(["--to", str(to), "--runs", str(tmp_path / folder)]) == StoreError.exit_code
        assert file.read_text() == before
        return " ".join(capsys.readouterr().err.split())

    file.write_text(tool.shipped_json(found.model_copy(update={"superseded": "a sum was mended"})))
    assert "superseded: a sum was mended" in refused("c")
    value = found.rows["one"]["accuracy"].values["2"]
    file.write_text(text.replace(f'"2":{value}', '"2":0.001'))
    assert f"one, accuracy, seed 2: 0.001 in the file, {value:.6g} in the runs" in refused("b")
    file.write_text(text)
    (tmp_path / "one.yaml").write_text(tiny("name=one", "rounds=3").yaml(), encoding="utf-8")
    made(plan_reproduction(item, "quick", (3,), tmp_path / "d"))
    assert "one.yaml with another spec than today's" in refused("d")
    assert tool.main(["--to", str(to), "--runs", str(tmp_path / "d"), "--replace"]) == 0
    assert read(file).seeds == (3,)


def test_a_file_at_paper_scale_is_not_replaced_by_quick_runs(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    item, to = make(**CURVES), tmp_path / "to"
    made(plan_reproduction(item, "quick", (1,), tmp_path / "a"))
    made(plan_reproduction(item, "paper", (2,), tmp_path / "b"))
    file = tool.publish(item, tmp_path / "a", to)
    assert read(file).scale == "quick"
    tool.publish(item, tmp_path / "b", to)
    assert (read(file).scale, read(file).seeds) == ("paper", (2,))  # better, and nothing of the quick one is left
    assert tool.publish(item, tmp_path / "a", to) is None
    assert tool.publish(item, tmp_path / "a", to, anew=True) == file
    assert read(file).scale == "quick"


def test_a_quick_file_gets_seeds_too_and_its_claims_are_judged_anew(
    tool: ModuleType, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STUDIES, "heights", heights([]))
    columns = {"mean": {"title": "mean", "study": "heights", "measure": "mean", "within": 1.0}}
    rows = [row(tmp_path, "one", published={"mean": [1.0]})]
    claims = [claim({"column": "mean", "row": "one", "above": 0}, id="high")]
    item, to = make(columns=columns, rows=rows, claims=claims, show="bound", study="heights"), tmp_path / "to"
    for seed in (1, 2, 4):
        made(plan_reproduction(item, "quick", (seed,), tmp_path / "out"))
        file = tool.publish(item, tmp_path / "out", to)
        shutil.rmtree(tmp_path / "out")
    found = read(file)
    assert found.rows["one"]["mean"].values == {"1": 1.0, "2": 2.0, "4": 4.0}
    assert found.claims[0].verdict == judge(restored(item, found))[0].judgement == "undecided"
    assert found.claims[0].tests[0].mean == pytest.approx(7 / 3)
    assert found.picture is not None
    [series] = found.picture["series"]
    assert series["y"] == pytest.approx([7 / 3, 1.0], rel=1e-4)
    assert series["parts"][2] == {"seeds": [4], "y": [4, 1]}


def test_rows_that_choose_their_rate_follow_from_the_united_ones(tool: ModuleType, make: Make, tmp_path: Path) -> None:
    rows = [row(tmp_path, "one", published={}), row(tmp_path, "two", "rule.lr=0.05", published={})]
    best = {"label": "tuned", "best_of": ["one", "two"], "published": {}}
    item = make(
        columns={"accuracy": RATIO["accuracy"], "behind": RATIO["share"] | {"measure": "difference"}},
        rows=[*rows, rows[0] | best],
        tuning={"seed": 11, "by": "accuracy", "lead": "behind"},
    )
    made(plan_reproduction(item, "quick", (1, 11), tmp_path / "a"))
    made(plan_reproduction(item, "quick", (2,), tmp_path / "b"))
    tool.publish(item, tmp_path / "a", tmp_path / "to")
    found = read(tool.publish(item, tmp_path / "b", tmp_path / "to"))
    on_11 = {label: found.rows[label]["accuracy"].values["11"] for label in ("one", "two")}
    chosen = max(on_11, key=lambda label: on_11[label])
    wanted = {seed: found.rows[chosen]["accuracy"].values[seed] for seed in ("1", "2")}
    assert found.rows["tuned"]["accuracy"].values == wanted
    assert found.seeds == (1, 2, 11)


@pytest.mark.parametrize("name", sorted(shipped_results()), ids="-".join)
def test_pictures_of_shipped_files_are_those_of_their_parts(unite: ModuleType, name: tuple[str, str]) -> None:
    found = shipped_results()[name]
    parts, labels = unite.stored_parts(found), list(found.rows)
    for series in (found.picture or {"series": []})["series"]:
        if found.picture is not None and found.picture["show"] != "bars":
            again = unite.joined(found.picture["show"], parts[labels[series["row"]]])
            assert again.keys() <= series.keys() | {"seeds"}
            for key in again.keys() & series.keys() & {"x", "mean", "low", "high", "y", "samples"}:
                assert again[key] == pytest.approx(series[key], rel=1e-4)
            assert sorted(again["seeds"]) == sorted(series.get("seeds", found.seeds))


def test_distributions_count_by_samples(unite: ModuleType) -> None:
    """Two samples 1, 2 beside one sample 9: a third each; without counts, a half for every seed."""
    parts = [
        unite.Part((1,), {"samples": [1.0, 2.0], "count": 2, "unit": "J", "median": 3.0}),
        unite.Part((2,), {"samples": [9.0], "count": 1, "unit": "J", "median": 3.0}),
    ]
    found = unite.joined("cdf", parts)
    assert (found["samples"], found["count"], found["median"]) == ([1.0, 2.0, 9.0], 3, 3.0)
    old = [unite.Part(part.seeds, {k: v for k, v in part.shown.items() if k != "count"}) for part in parts]
    assert unite.joined("cdf", old)["samples"] == [2.0, 9.0, 9.0]  # the quantiles 1/3, 2/3 and 1
    assert unite.joined("map", parts[::-1])["seeds"] == [2]  # of the first part alone


def test_tops_are_means_over_seeds(unite: ModuleType) -> None:
    parts = [
        unite.Part((1, 2), {"mean": [0.2, 0.5], "low": [0.2, 0.5], "high": [0.2, 0.5], "spread": [0.1, None]}),
        unite.Part((3,), {"mean": [0.5, 0.5], "low": [0.5, 0.5], "high": [0.5, 0.5], "spread": [0.4, 0.1]}),
    ]
    found = unite.joined("top", parts)
    assert found["mean"] == pytest.approx([0.3, 0.5])
    assert found["spread"] == [pytest.approx(0.2), None]
    assert found["high"][0] == pytest.approx(0.3 + 4.302653 * 0.03**0.5 / 3**0.5)  # 0.2, 0.2, 0.5
    assert found["parts"][1] == {"seeds": [3], "mean": [0.5, 0.5], "spread": [0.4, 0.1]}
