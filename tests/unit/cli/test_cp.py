"""``fedradio cp``."""

import errno
from pathlib import Path

import pytest
from support.commands import Call

from fedradio.cli.cp import EDITOR_LINE
from fedradio.core.errors import SpecError, StoreError
from fedradio.spec.files import shipped_text
from fedradio.spec.spec import load_spec


def test_a_spec_is_copied_to_a_file_or_into_a_folder(call: Call, tmp_path: Path) -> None:
    assert call("cp", "demo", tmp_path / "mine.yaml").exit_code == 0
    assert (tmp_path / "mine.yaml").read_text() == EDITOR_LINE + shipped_text("demo")
    done = call("cp", "rawhfl/quick/z4", tmp_path)
    assert done.exit_code == 0
    assert f"fedradio run {tmp_path / 'z4.yaml'}" in done.output.replace("\n", "")
    assert load_spec(tmp_path / "z4.yaml").sha256() == load_spec("rawhfl/quick/z4").sha256()


def test_a_row_of_variants_is_copied_as_a_file_of_its_own(call: Call, tmp_path: Path) -> None:
    assert call("cp", "osafl/quick/fedavg", tmp_path).exit_code == 0
    text = (tmp_path / "fedavg.yaml").read_text()
    assert "base: osafl\nname: osafl_quick_fedavg\nabout: " in text
    assert "set:\n  hops.0.policy.mode: paper\n  rule.lr: 0.15\n  algorithm: {kind: fedavg, " in text
    assert load_spec(tmp_path / "fedavg.yaml") == load_spec("osafl/quick/fedavg")


def test_nothing_is_overwritten(call: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("precious")
    refused = call("cp", "demo", tmp_path / "mine.yaml").exception
    assert isinstance(refused, SpecError)
    assert "already exists" in str(refused)
    assert (tmp_path / "mine.yaml").read_text() == "precious"


def test_what_cannot_be_copied(call: Call, tmp_path: Path) -> None:
    unknown = call("cp", "dmeo", tmp_path).exception
    assert isinstance(unknown, SpecError)
    assert "did you mean 'demo'?" in str(unknown)
    assert "fedcpsl, osafl, rawhfl, whfl" in str(unknown)
    assert len(str(unknown)) < 250  # not all that are shipped
    nowhere = call("cp", "demo", tmp_path / "no" / "folder.yaml").exception
    assert isinstance(nowhere, StoreError)
    assert "No such file or directory" in str(nowhere)


def test_a_full_disk_leaves_no_file(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    refused = call("cp", "demo", tmp_path / "mine.yaml").exception
    assert isinstance(refused, StoreError)
    assert f"cannot write {tmp_path / 'mine.yaml'}: No space left on device" in str(refused)
    assert list(tmp_path.iterdir()) == []
