"""Tensor files hold every type, bit for bit."""

from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from support.odd_tensors import ODD, same

from fedradio.core.errors import StoreError
from fedradio.core.mapped import on_file
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
