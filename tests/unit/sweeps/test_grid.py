"""Grids of specs: what a command means and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError
from fedradio.sweeps.grid import LONGEST_STEM, merged, parse_seeds, plan_sweep


@pytest.mark.parametrize(("text", "seeds"), [("3", (1, 2, 3)), ("1,2,7", (1, 2, 7)), ("7,", (7,)), (" 4, 0 ", (4, 0))])
def test_seeds(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["0", "-3", "a", "", "1,1", "1,-2", "1;2", "1,2.5", "20000", str(2**63) + ","])
def test_wrong_seeds(text: str) -> None:
    with pytest.raises(SpecError, match="--seeds"):
        parse_seeds(text)


@pytest.mark.parametrize("seeds", [(), (1, 1), (-1,)])
def test_wrong_seeds_in_python(source: Path, seeds: tuple[int, ...]) -> None:
    with pytest.raises(SpecError, match="--seeds"):
        plan_sweep(source, seeds=seeds)


def test_a_plan_is_the_product_of_axes_on_the_same_seeds(source: Path) -> None:
    changes = ["algorithm={kind: fedprox, mu: 0.5},fedavg", "model.hidden=[8],[4,4]", "rule.lr=0.2"]
    plan = plan_sweep(source, changes, seeds=(5, 1), rounds=4)
    assert plan.runs == 8
    assert [cell.stem for cell in plan.variants] == [
        "algorithm-fedprox-mu-0.5_model.hidden-8",
        "algorithm-fedprox-mu-0.5_model.hidden-4-4",
        "algorithm-fedavg_model.hidden-8",
        "algorithm-fedavg_model.hidden-4-4",
    ]
    assert plan.variants[1].label == "model.hidden=[4, 4], algorithm=fedprox"
    spec = plan.variants[1].at(5)
    assert (spec.name, spec.seed, spec.rounds) == ("tiny", 5, 4)
    assert spec.plain["algorithm"]["mu"] == 0.5
    assert spec.plain["model"]["hidden"] == [4, 4]
    assert {cell.spec.plain["rule"]["lr"] for cell in plan.variants} == {0.2}
    assert {cell.seeds for cell in plan.variants} == {(5, 1)}


def test_without_axes_it_is_one_cell_with_the_seed_of_the_spec(source: Path) -> None:
    plan = plan_sweep(source)
    assert [(cell.label, cell.folder(3)) for cell in plan.variants] == [("tiny", "tiny-seed3")]
    assert plan.seeds == (3,)
    assert plan_sweep(source, ["seed=8", "name=other"]).variants[0].folder(8) == "other-seed8"


def test_problems_of_all_cells_come_at_once_and_name_them(source: Path) -> None:
    with pytest.raises(SpecError) as found:
        plan_sweep(source, ["rule.lr=-1,0.1,0.2", "algorithm=fedavg,fedagv,fedprox", "modle=mlp"])
    problems = {problem.path: problem for problem in found.value.problems}
    assert set(problems) == {
        "modle",
        "rule.lr [rule.lr=-1, algorithm=fedavg and rule.lr=-1, algorithm=fedagv and 1 more]",
        "algorithm [rule.lr=-1, algorithm=fedagv and rule.lr=0.1, algorithm=fedagv and 1 more]",
    }
    assert problems["modle"].remedy == "did you mean 'model'?"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["rule.lr=0.1,0.10"], "rule.lr=0.1: makes the same runs as rule.lr=0.1"),
        (["algorithm=fedavg,{kind: fedavg}"], "makes the same runs"),
        (["rule.lr=0.1", "rule.lr=0.2"], "rule.lr: appears twice"),
        (["hops.0.period=1", "hops[0].period=1,2"], "hops.0.period: appears twice"),
        (["seed=1,2"], "--seeds"),
        (["name=a,b"], "does not change the results"),
        (["hops.7.period=1,2"], "positions 0 to 0"),
        (["rule.lr.a=1,2"], "below a plain value"),
        (["rule.lr"], "neither an axis nor an override"),
        (
            [f"rule.lr={','.join(map(str, range(1, 200)))}", f"rule.batch={','.join(map(str, range(1, 200)))}"],
            "39601 runs",
        ),
    ],
)
def test_wrong_axes(source: Path, changes: list[str], words: str) -> None:
    with pytest.raises(SpecError) as found:
        plan_sweep(source, changes)
    assert words in str(found.value)


def test_problems_of_the_command_come_at_once(source: Path) -> None:
    with pytest.raises(SpecError) as found:
        plan_sweep(source, ["seed=4", "rule.lr", "rule.lr=1,,2", "rounds=3"], seeds=(1,), rounds=5)
    assert [problem.path for problem in found.value.problems] == ["seed", "rule.lr", "rule.lr", "rounds"]


def test_stems_are_short_safe_and_different(source: Path) -> None:
    long = [f"{{kind: mlp, hidden: {[n] * 40}}}" for n in (4, 5)]
    plan = plan_sweep(source, [f"model={','.join(long)}", "hops.0.link=ideal,{kind: ideal, bits_per_value: 16}"])
    stems = [cell.stem for cell in plan.variants]
    assert len({stem.casefold() for stem in stems}) == 4
    assert all(len(stem) <= LONGEST_STEM for stem in stems)
    assert all(character.isalnum() or character in "._+-" for stem in stems for character in stem)


def test_stems_differ_in_more_than_capitals(source: Path, tmp_path: Path) -> None:
    """Columns ``y`` and ``Y`` of a table are two labels, but on some file systems two such folders are one; so with
    variants that a stored sweep has already."""
    table = tmp_path / "both.csv"
    table.write_text("a,y,Y\n" + "".join(f"{i},{i % 2},{i % 3}\n" for i in range(12)), encoding="utf-8")
    data = f"data.source={{kind: csv, path: {table}, label: y}}"
    plan = plan_sweep(source, [data, "data.source.label=y,Y"])
    assert [variant.stem for variant in plan.variants] == ["data.source.label-y", "data.source.label-Y-2"]
    small, large = (replace(plan, variants=(variant,)) for variant in plan.variants)
    renamed = replace(large, variants=(replace(large.variants[0], stem="data.source.label-Y"),))
    assert [variant.stem for variant in merged(small, renamed).variants] == [
        "data.source.label-y",
        "data.source.label-Y-2",
    ]


def test_lists_of_parts_are_an_axis_and_so_are_their_keywords(source: Path) -> None:
    plan = plan_sweep(source, ["metrics=[macro_f1],[top, worst],[]"])
    assert [len(variant.spec.plain["metrics"]) for variant in plan.variants] == [1, 2, 0]
    assert len({variant.label for variant in plan.variants}) == 3
    assert [variant.stem for variant in plan.variants] == ["metrics-macro-f1", "metrics-top-worst", "metrics-"]
    bins = plan_sweep(source, ["metrics=[{kind: calibration}]", "metrics.0.bins=5,10"])
    assert [variant.label for variant in bins.variants] == ["metrics.0.bins=5", "metrics.0.bins=10"]
