"""Any byte that is changed and any cut, in any file that a run wrote, is noticed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.damaged_runs import Bases, make_bases
from support.examples import examples

from fedradio.core.errors import StoreError
from fedradio.runs.checkpoint_files import checkpoint_paths, own_files, read_checkpoint_file
from fedradio.runs.folder import LISTED_FILES, RECORDS_FILE, START_FILES, SUMMARY_FILE
from fedradio.runs.stored import read_summary
from fedradio.runs.verify import check_run


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Bases:
    return make_bases(tmp_path_factory.mktemp("bases"))


def noticed(folder: Path, path: Path, data: bytes) -> bool:
    """Whether other content of a file is noticed; the file is put back afterwards."""
    before = path.read_bytes()
    path.write_bytes(data)
    try:
        return bool(check_run(folder, thorough=True).damage)
    finally:
        path.write_bytes(before)


def covered(folder: Path, complete: bool) -> dict[Path, int]:
    """The files of a run and how much of each has a checksum: of a killed run, records up to the last checkpoint."""
    names = (*LISTED_FILES, SUMMARY_FILE) if complete else (*START_FILES, RECORDS_FILE)
    paths = [folder / name for name in names] + own_files(folder)
    sizes = {path: path.stat().st_size for path in paths}
    if not complete:
        sizes[folder / RECORDS_FILE] = read_checkpoint_file(checkpoint_paths(folder)[-1]).records.size
    return sizes


@pytest.mark.parametrize("base", ["complete", "killed"])
@examples(250)
@given(data=st.data())
def test_any_changed_byte_and_any_cut_is_noticed(base: str, data: st.DataObject, bases: Bases) -> None:
    folder: Path = getattr(bases, base)
    sizes = covered(folder, base == "complete")
    path = data.draw(st.sampled_from(list(sizes)))
    at = data.draw(st.integers(0, sizes[path] - 1))
    before = path.read_bytes()
    other = bytes([data.draw(st.integers(0, 255).filter(lambda byte: byte != before[at]))])
    after = data.draw(st.sampled_from([before[:at], before[:at] + other + before[at + 1 :]]))
    assert noticed(folder, path, after)


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.wide)])
def test_every_byte_of_a_summary_and_of_a_checkpoint_counts(step: int, bases: Bases, tmp_path: Path) -> None:
    """Each byte with its lowest bit turned over: white space and the checksum itself are no exception."""
    folder = tmp_path / "run"
    shutil.copytree(bases.complete, folder)
    numbers = checkpoint_paths(folder)[-1]
    readers: dict[Path, Callable[[], object]] = {
        folder / SUMMARY_FILE: lambda: read_summary(folder),
        numbers: lambda: read_checkpoint_file(numbers),
    }
    for path, read in readers.items():
        before = path.read_bytes()
        read()
        for at in range(0, len(before), step):
            path.write_bytes(before[:at] + bytes([before[at] ^ 1]) + before[at + 1 :])
            with pytest.raises(StoreError):
                read()
        path.write_bytes(before)
