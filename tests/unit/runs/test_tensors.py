"""Tensor files hold every type, bit for bit."""

import tempfile
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from support.memory import needs_holes
from support.odd_tensors import ODD, same

from fedradio.core.errors import StoreError
from fedradio.core.files import file_sha256
from fedradio.core.mapped import make_room, on_file, write_rows, written_rows
from fedradio.runs import tensors
from fedradio.runs.tensors import read_tensors, write_tensors


def test_tensor_files_hold_every_type_and_the_library_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "odd.safetensors"
    write_tensors(path, ODD)
    for found in (load_file(path), read_tensors(path)):
        assert found.keys() == ODD.keys()
        assert all(same(found[name], tensor) for name, tensor in ODD.items())
    with safe_open(path, framework="pt") as file:
        assert file.metadata() == {"format": "pt"}
    assert all(tensor.data_ptr() % 64 == 0 for tensor in read_tensors(path).values())
    with pytest.raises(StoreError, match=r"x: tensors of torch.complex128"):
        write_tensors(path, {"x": torch.zeros(1, dtype=torch.complex128)})
    assert read_tensors(path).keys() == ODD.keys()


def test_large_tensors_are_read_into_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces of two rows of 12 bytes, the last piece of one row."""
    monkeypatch.setattr(tensors, "PIECE", 24)
    rows = torch.arange(21.0).reshape(7, 3)
    write_tensors(tmp_path / "some.safetensors", {"rows": rows, "few": rows[:1]})
    found = read_tensors(tmp_path / "some.safetensors", large=84)
    assert torch.equal(found["rows"], rows)
    assert torch.equal(found["few"], rows[:1])
    assert on_file(found["rows"])
    assert not on_file(found["few"])


@pytest.mark.parametrize("large", [1, 1 << 40])
def test_zeros_are_holes_of_the_file(large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot of 300 rows of 6000 bytes, three of them written (one with a negative zero) and the last one not, has the
    bytes and the checksum that the library writes, takes few blocks, and comes back with few rows written."""
    needs_holes(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tensors, "PIECE", 100_000)
    monkeypatch.setattr(tensors, "SPARSE", 1)
    rows = make_room({"c": torch.zeros(1500).expand(300, -1)}, large)["c"]
    values = torch.ones(3, 1500)
    values[1] = torch.zeros(1500).index_fill_(0, torch.tensor([1499]), -0.0)
    write_rows(rows, torch.tensor([0, 100, 101]), values)
    path = tmp_path / "holes.safetensors"
    sha256 = write_tensors(path, {"c": rows, "few": torch.zeros(3), "one": torch.tensor(0.0)})
    numbers = b"".join(tensor.clone().numpy().tobytes() for tensor in (rows, torch.zeros(3), torch.tensor(0.0)))
    content = path.read_bytes()
    assert content[8 + int.from_bytes(content[:8], "little") :] == numbers
    assert file_sha256(path) == sha256.sha256
    assert path.stat().st_blocks * 512 < 60_000 < len(numbers)
    found = read_tensors(path, large)
    assert all(same(found[name], tensor) for name, tensor in load_file(path).items())
    assert on_file(found["c"]) == (large == 1)
    if on_file(found["c"]):
        assert written_rows(found["c"]).sum() < 10
