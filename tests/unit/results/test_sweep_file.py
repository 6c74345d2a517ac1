"""The file of a sweep: which runs it lists, and what is refused with one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.sealing import list_runs

from fedradio.core.errors import FormatError, StoreError
from fedradio.core.files import sealed, unsealed
from fedradio.results.sweep_file import MARKER, check_outside_sweeps, is_sweep, listed_runs, read_sweep_file
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


@pytest.fixture
def folder(tiny: Make, tmp_path: Path) -> Path:
    list_runs(tmp_path, {"one": ("a", tiny(), [7, 2]), "other": ("b", tiny("rule.lr=0.2"), [7])})
    return tmp_path


def test_runs_are_listed_in_order_with_their_specs(folder: Path, tiny: Make) -> None:
    assert is_sweep(folder)
    assert not is_sweep(folder / "runs")
    found = listed_runs(folder)
    assert [(one.folder, one.label) for one in found] == [
        (folder / "runs" / name, label)
        for name, label in (("a-seed7", "one"), ("a-seed2", "one"), ("b-seed7", "other"))
    ]
    assert [one.spec for one in found] == [tiny("seed=7"), tiny("seed=2"), tiny("rule.lr=0.2", "seed=7")]


def rewrite(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Other content, with a right checksum."""
    path = folder / MARKER
    path.write_bytes(sealed(change(unsealed(path.read_bytes(), path))))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stem": "../up"}, r"cells\.0\.stem: '\.\./up' cannot begin"),
        ({"runs": {"7": "../../up"}}, r"cells\.0\.runs: '\.\./\.\./up' is not the run folder of seed 7"),
        ({"runs": {"seven": "a-seedseven"}}, r"cells\.0\.runs"),
        ({"spec": {}}, r"cells\.0\.spec: missing or damaged: name"),
        ({"spec": None}, r"cells\.0\.spec"),
        ({"colour": 1}, r"cells\.0\.colour"),
    ],
)
def test_a_damaged_variant_is_one_sentence(folder: Path, change: dict[str, Any], words: str) -> None:
    rewrite(folder, lambda found: found | {"cells": [found["cells"][0] | change, *found["cells"][1:]]})
    with pytest.raises(StoreError, match=f"sweep.json is damaged: {words}") as error:
        listed_runs(folder)
    assert "\n" not in str(error.value)


def test_an_edited_file_is_refused(folder: Path) -> None:
    path = folder / MARKER
    before = path.read_text()
    for after in (before.replace('"one"', '"uno"'), before[:-9], "[]", before.replace('"sha256"', '"sha"')):
        path.write_text(after)
        with pytest.raises(StoreError, match=r"sweep\.json is damaged"):
            read_sweep_file(folder)


def test_formats(folder: Path) -> None:
    rewrite(folder, lambda found: found | {"format": 4, "fedradio": "9.9"})
    with pytest.raises(FormatError, match=r"sweep.json has format 4, .* use fedradio 9\.9"):
        read_sweep_file(folder)


def test_a_format_is_told_before_a_checksum(folder: Path) -> None:
    path = folder / MARKER
    before = path.read_text()
    for after in (before.replace('"format": 3', '"format": 1'), '{"format": 1, "name": "old", "cells": []}'):
        path.write_text(after)
        with pytest.raises(FormatError, match=r"sweep\.json has format 1, but"):
            read_sweep_file(folder)


def test_keys_that_are_newer_than_the_sweep_have_their_defaults(folder: Path) -> None:
    def older(found: dict[str, Any]) -> dict[str, Any]:
        new = ("grouping", "cache", "metrics")
        specs = [{key: value for key, value in cell["spec"].items() if key not in new} for cell in found["cells"]]
        return found | {"cells": [cell | {"spec": spec} for cell, spec in zip(found["cells"], specs, strict=True)]}

    before = listed_runs(folder)
    rewrite(folder, older)
    assert "grouping" not in (folder / MARKER).read_text()
    assert listed_runs(folder) == before


def test_nothing_is_put_inside_a_sweep(folder: Path) -> None:
    check_outside_sweeps(folder)
    check_outside_sweeps(folder.parent / "other")
    for inside in (folder / "mine", folder / "runs" / "a-seed7" / "deeper"):
        with pytest.raises(StoreError, match="inside the sweep folder"):
            check_outside_sweeps(inside)
    with pytest.raises(StoreError, match="cannot be a folder"):
        check_outside_sweeps(folder.parent / ("x/" * 2500))
