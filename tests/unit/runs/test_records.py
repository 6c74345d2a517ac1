"""Records are read back; damage is told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.errors import StoreError
from fedradio.runs.records import read_records
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_records_can_be_read_back_and_damage_is_told(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    run(tiny(), tmp_path / "a")
    assert [row["t"] for row in read_records(tmp_path / "a", "eval")] == [0, 1]
    whole = list(read_records(tmp_path / "a"))
    with (tmp_path / "a" / "records.jsonl").open("a") as file:
        file.write('{"type": "rou')
    assert list(read_records(tmp_path / "a")) == whole
    with (tmp_path / "a" / "records.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(StoreError, match="not a whole record"):
        list(read_records(tmp_path / "a"))
