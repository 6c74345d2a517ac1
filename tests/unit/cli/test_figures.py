"""``fedradio figures``: formats and folders."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from support.commands import Call
from support.past import two_rounds

from fedradio.cli.figures import _formats, _words
from fedradio.core.errors import SpecError, StoreError
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_formats_are_read_forgivingly_and_each_once() -> None:
    assert _formats(" PDF,png,,pdf ") == ["pdf", "png"]


def test_all_wrong_formats_are_told() -> None:
    with pytest.raises(SpecError) as caught:
        _formats("pgn,svg,pdf")
    assert [(one.value, one.remedy) for one in caught.value.problems] == [
        ("pgn", "did you mean 'png'?"),
        ("svg", "one or more of: pdf, png"),
    ]
    with pytest.raises(SpecError, match="names no file format"):
        _formats(",")


def test_lists_as_typed() -> None:
    assert _words("scaffold, fedavg,") == ["scaffold", "fedavg"]
    assert _words("rule.lr=0.1, algorithm=fedavg; scaffold") == ["rule.lr=0.1, algorithm=fedavg", "scaffold"]


def test_one_figure_of_a_run_with_a_name(call: Call, tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "1")
    options = ("--only", "accuracy-bits", "--label", "tiny=Ours", "--format", "png")
    done = call("figures", tmp_path / "1", "--out", tmp_path / "out", *options)
    assert done.exit_code == 0
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["accuracy-bits.png"]
    assert Image.open(tmp_path / "out" / "accuracy-bits.png").size[0] == 3.5 * 300


def test_several_folders_need_a_place(call: Call, tmp_path: Path) -> None:
    refused = call("figures", tmp_path / "a", tmp_path / "b").exception
    assert isinstance(refused, SpecError)
    assert "--out" in str(refused)


def test_of_several_runs_only_complete_ones_are_drawn(call: Call, tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    for seed in (1, 2):
        two_rounds(tmp_path / str(seed), tiny(f"seed={seed}", "topology.clients=2"))
    refused = call("figures", tmp_path / "1", tmp_path / "2", "--out", tmp_path / "out").exception
    assert isinstance(refused, StoreError)
    assert "no run is complete" in str(refused)
    assert not (tmp_path / "out").exists()


def test_damage_is_the_reason_where_it_is_the_only_one(call: Call, tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "1")
    (tmp_path / "1" / "spec.yaml").write_text((tmp_path / "1" / "spec.yaml").read_text() + "# edited\n")
    refused = call("figures", tmp_path / "1", "--out", tmp_path / "out").exception
    assert isinstance(refused, StoreError)
    assert str(refused).startswith(f"{tmp_path / '1'} is damaged: spec.yaml")
