"""Plain files of a run: read as they were written; every other form is refused with file, key or line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from support.sealing import blank_summary, write_summary

from fedradio.core.errors import StoreError
from fedradio.core.files import sealed, unsealed
from fedradio.runs.folder import (
    DESCRIPTION_FILE,
    ENVIRONMENT_FILE,
    NETWORK_FILE,
    SUMMARY_FILE,
    plain_environment,
)
from fedradio.runs.stored import (
    read_description,
    read_environment,
    read_network,
    read_sealed_summary,
    read_summary,
)
from fedradio.spec.description import describe
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def test_what_is_absent_is_empty(tmp_path: Path) -> None:
    assert read_environment(tmp_path) == read_network(tmp_path) == read_description(tmp_path) == {}
    (tmp_path / NETWORK_FILE).symlink_to(tmp_path / "nothing")
    with pytest.raises(StoreError, match="symbolic link"):
        read_network(tmp_path)


def test_files_are_read_as_they_were_written(tmp_path: Path, tiny: Make) -> None:
    now = plain_environment("cpu", 2, {"gains.csv": "0" * 64})
    environment = now | {"resumed": [now | {"rounds": 3}]}
    network = {"parents": [[0, 0], [0]], "positions": [[[0.0, 1.0], [2, 3]], [[4.0, 5.0]], [[0.5, 0.5]]]}
    for name, data, read in (
        (ENVIRONMENT_FILE, environment, read_environment),
        (NETWORK_FILE, network, read_network),
        (DESCRIPTION_FILE, describe(tiny()), read_description),
    ):
        (tmp_path / name).write_text(json.dumps(data))
        assert read(tmp_path) == data


NETWORK = {"parents": [[0, 0]], "positions": [[[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0]]]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parents": []}, "positions of 2 tiers, parents of 0 hops"),
        ({"parents": [[0]]}, r"parents.0: 1 parents of 2 nodes"),
        ({"parents": [[0, 1]]}, r"parents.0: a parent that does not exist"),
        ({"parents": [[0, -1]]}, r"parents.0.1: input should be greater than or equal to 0"),
        ({"positions": [[[0.0], [1.0, 1.0]], [[0.0, 0.0]]]}, "positions with different numbers of coordinates"),
        ({"positions": [["here", [1.0, 1.0]], [[0.0, 0.0]]]}, r"positions.0.0: "),
        ({"colour": 1}, "colour: extra inputs are not permitted"),
    ],
)
def test_networks_that_are_none(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    (tmp_path / NETWORK_FILE).write_text(json.dumps(NETWORK | change))
    with pytest.raises(StoreError, match=f"network.json: {words}"):
        read_network(tmp_path)


def test_only_the_first_wrong_keys_are_named(tmp_path: Path) -> None:
    (tmp_path / ENVIRONMENT_FILE).write_text("{}")
    with pytest.raises(StoreError, match=r"fedradio: field required; python: .*; packages: .* and 8 more$"):
        read_environment(tmp_path)


def test_a_summary_and_its_manifest(tmp_path: Path, tiny: Make) -> None:
    summary = blank_summary(tiny(), accuracy=0.5)
    (tmp_path / NETWORK_FILE).write_bytes(b"abc")
    write_summary(tmp_path, summary)
    found, manifest = read_sealed_summary(tmp_path)
    assert found == read_summary(tmp_path) == asdict(summary)
    assert [(name, known.size) for name, known in manifest.items()] == [(NETWORK_FILE, 3)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rounds": 1.5}, "rounds: "),
        ({"status": "fine"}, "status: "),
        ({"wall_s": None}, "wall_s: "),
        ({"metrics": {"accuracy": "high"}}, r"metrics.accuracy: "),
        ({"hop_bits": [1.0, []]}, r"hop_bits.1"),
        ({"colour": "red"}, "colour: "),
        ({"files": []}, "input should be an object|input should be a valid dictionary"),
        ({"files": {"a": {"size": 1}}}, r"a.sha256: field required"),
    ],
)
def test_summaries_that_are_none(tmp_path: Path, tiny: Make, change: dict[str, Any], words: str) -> None:
    write_summary(tmp_path, blank_summary(tiny()))
    path = tmp_path / SUMMARY_FILE
    path.write_bytes(sealed(unsealed(path.read_bytes(), path) | change))
    with pytest.raises(StoreError, match=f"summary.json: ({words})"):
        read_summary(tmp_path)


@pytest.mark.parametrize("text", ["{}", "[]", '{"status": "complete"}', ""])
def test_no_summary_at_all(tmp_path: Path, text: str) -> None:
    (tmp_path / SUMMARY_FILE).write_text(text)
    with pytest.raises(StoreError, match=r"summary\.json"):
        read_summary(tmp_path)
