"""A partition from a file: by hand, and refused with file and line."""

from pathlib import Path
from typing import Any

import pytest
import torch

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.data.own.owners import owners


def split(folder: Path, text: str, **options: Any) -> list[list[int]]:
    """Three samples, two clients."""
    (folder / "o.csv").write_text("client,index\n" + text)
    labels, parent = torch.tensor([0, 1, 0]), torch.zeros(2).long()
    return [part.tolist() for part in owners(labels, 2, parent, Rng(0), path=str(folder / "o.csv"), **options)]


def test_clients_by_hand(tmp_path: Path) -> None:
    assert split(tmp_path, "0,2\n1,0\n0,1\n") == [[1, 2], [0]]
    assert split(tmp_path, "0,2\n1,0\n", missing="leave_out") == [[2], [0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no rows"),
        ("0,0\n2,1\n", "line 3: client 2 does not exist: they are numbered 0 to 1"),
        ("0,0\n1,3\n", "line 3: index 3 does not exist: they are numbered 0 to 2"),
        ("0,0\n1,1\n0,2\n0,1\n", "line 5: sample 1 already has a client"),
        ("0,0\n1,x\n", "line 3: index is not the number of a sample"),
        ("0,0\n", "has no client for sample 1 and 1 more .*leave_out"),
        ("0,0\n0,1\n0,2\n", "no samples for client 1 of 2"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        split(tmp_path, text)
