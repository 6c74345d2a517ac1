"""Shared pieces of the tests: a tiny spec that runs in a blink, overrides on it, small image sets as if fetched."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import settings
from support import fork_server
from support.batches import spy, sweep_here
from support.dispositions import heed_ending_signals
from support.examples import QUICK, WIDE
from support.image_files import stand_in

from fedradio.core import part_files
from fedradio.core.registry import forget, parts, registered
from fedradio.data.catalog import CATALOG, DataSet
from fedradio.data.download import fetch
from fedradio.spec.spec import Spec, check_spec
from fedradio.spec.yaml import apply_overrides

heed_ending_signals()
os.environ.pop("COLUMNS", None)  # 80 in workers of xdist; commands print as into a pipe

settings.register_profile("quick", max_examples=QUICK, deadline=None, derandomize=True)
settings.register_profile("wide", max_examples=WIDE, deadline=None, derandomize=True)
settings.load_profile("quick")  # unless --hypothesis-profile says otherwise

TINY: dict[str, Any] = {
    "name": "tiny",
    "seed": 3,
    "rounds": 2,
    "topology": {"kind": "flat", "clients": 6},
    "hops": [{"link": "ideal", "policy": {"kind": "fixed", "steps": 3}}],
    "data": {"source": "digits", "partition": "iid"},
    "model": {"kind": "mlp", "hidden": [16]},
    "rule": {"kind": "sgd", "lr": 0.1, "batch": 16},
}

CELLS: dict[str, Any] = TINY | {
    "topology": {"kind": "hierarchical", "edges": 2, "clients_per_edge": 3},
    "hops": [
        {"link": "ideal", "policy": {"kind": "fixed", "steps": 3}, "fleet": "cellular", "period": 2},
        {"link": "ideal", "policy": "fixed"},
    ],
}


REQUESTING: dict[str, Any] = CELLS | {
    "name": "requesting",
    "data": {
        "source": {"kind": "videos", "genres": 3, "contents_per_genre": 4, "requests": 80, "test_requests": 20},
        "stream": {"kind": "growing", "history": 20, "slots": 2},
    },
}


def pytest_unconfigure() -> None:
    fork_server.stop()


@pytest.fixture
def tiny() -> Callable[..., Spec]:
    """``tiny("rule.lr=0.5")``: six clients, a small network on digits, two rounds."""
    return lambda *overrides: check_spec(apply_overrides(copy.deepcopy(TINY), overrides))


@pytest.fixture
def cells() -> Callable[..., Spec]:
    """The same clients in two cells below a server, with devices that take time and energy."""
    return lambda *overrides: check_spec(apply_overrides(copy.deepcopy(CELLS), overrides))


@pytest.fixture
def requesting() -> Callable[..., Spec]:
    """The two cells with clients that request videos; caches with ``requesting("cache.capacity=3")``."""
    return lambda *overrides: check_spec(apply_overrides(copy.deepcopy(REQUESTING), overrides))


@pytest.fixture(scope="session")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, DataSet]]:
    """A home into which small stand-ins of all image sets were fetched, and their entries for the catalogue."""
    home, raw = tmp_path_factory.mktemp("fetched"), tmp_path_factory.mktemp("raw")
    entries = {name: stand_in(name, raw / name) for name in CATALOG}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRADIO_HOME", str(home))
        for name, entry in entries.items():
            patch.setitem(CATALOG, name, entry)
            fetch(name, raw / name)
    return home, entries


@pytest.fixture
def image_sets(fetched: tuple[Path, dict[str, DataSet]], monkeypatch: pytest.MonkeyPatch) -> dict[str, DataSet]:
    """Every image set is on this machine, with 200 training and 40 test images, and is loaded by the real code."""
    home, entries = fetched
    monkeypatch.setenv("FEDRADIO_HOME", str(home))
    for name, entry in entries.items():
        monkeypatch.setitem(CATALOG, name, entry)
    return entries


@pytest.fixture
def source(tiny: Callable[..., Spec], tmp_path: Path) -> Path:
    """The tiny spec as a file."""
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(tiny().plain))
    return path


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs are made in this process; the list holds the names of the folders of those that were."""
    return sweep_here(monkeypatch)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> dict[str, subprocess.Popen[bytes]]:
    """Worker processes by the name of the folder that they got."""
    return spy(monkeypatch)


@pytest.fixture(autouse=True)
def commands_end_without_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted command that is called inside of a test ends like any other, and takes no worker with it."""
    monkeypatch.setattr("fedradio.cli.end_at_once", sys.exit)


@pytest.fixture
def unloaded_parts() -> Iterator[None]:
    """Files of parts that a test loads are gone after it."""
    before, modules = {(each.family, each.kind) for each in parts()}, set(sys.modules)
    yield
    forget(set(registered()) - before)
    part_files._LOADED.clear()
    for name in set(sys.modules) - modules:
        del sys.modules[name]
