"""``fedradio data``."""

from pathlib import Path

import pytest
from support.commands import Call
from support.image_files import stand_in

from fedradio.core.errors import DataError
from fedradio.data.catalog import CATALOG


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FEDRADIO_DATA", raising=False)


def test_what_is_here(call: Call) -> None:
    lines = [line.split() for line in call("data", "ls").output.splitlines()]
    status = {"digits": "embedded"} | dict.fromkeys(CATALOG, "absent")
    assert {line[0]: line[1] for line in lines if line[0] in status} == status


def test_fetched_from_a_folder_and_located(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOG, "mnist", stand_in("mnist", tmp_path / "raw"))
    done = call("data", "fetch", "mnist", "--from", tmp_path / "raw")
    assert done.exit_code == 0
    place = tmp_path / "home" / "data" / "mnist"
    assert done.stdout == f"mnist: {place}\n"
    assert done.stderr.splitlines()[:2] == ["looking in the local store", f"trying {tmp_path / 'raw'}"]
    assert done.stderr.splitlines()[-1] == "writing"
    assert call("data", "path", "mnist").output.strip() == str(place)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("digits", "there is nothing to fetch and it has no folder"),
        ("mnist", "run `fedradio data fetch mnist`"),
        ("imagenet", "choose one of: digits, mnist"),
    ],
)
def test_what_has_no_place(call: Call, name: str, words: str) -> None:
    refused = call("data", "path", name).exception
    assert isinstance(refused, DataError)
    assert words in str(refused)
