"""Topologies from files: by hand, and refused with file and line."""

from pathlib import Path

import pytest

from fedradio.core.contracts import Topology
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.network.nodes import nodes

HEAD = "tier,node,parent,x_m,y_m\n"


def read(folder: Path, text: str) -> Topology:
    (folder / "n.csv").write_text(text)
    return nodes(Rng(0), path=str(folder / "n.csv"))


def test_two_tiers_by_hand(tmp_path: Path) -> None:
    made = read(tmp_path, HEAD + "0,1,0,0,20\n0,0,0,10,0\n1,0,,1,2\n")
    assert [each.tolist() for each in made.positions] == [[[10, 0], [0, 20]], [[1, 2]]]
    assert [each.tolist() for each in made.parents] == [[0, 0]]


def test_three_tiers(tmp_path: Path) -> None:
    made = read(tmp_path, HEAD + "2,0,,0,0\n1,0,0,5,0\n1,1,0,-5,0\n0,0,1,-6,0\n0,1,0,6,0\n0,2,1,-4,0\n")
    assert [each.tolist() for each in made.parents] == [[1, 0, 1], [0, 0]]
    assert (made.clients, made.hops, made.receivers(0)) == (3, 2, 2)


def test_positions_alone_are_clients_around_the_server(tmp_path: Path) -> None:
    made = read(tmp_path, "x_m,y_m\n3,4\n-1,0\n")
    assert made.positions[0].tolist() == [[3, 4], [-1, 0]]
    assert made.positions[1].tolist() == [[0, 0]]
    assert made.parents[0].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,2\n", "line 1: the first line must be tier,node,parent,x_m,y_m"),
        ("x_m,y_m\n", "has no rows"),
        ("x_m,y_m\n1,far\n", "line 2: y_m is not a finite number: 'far'"),
        (HEAD + "0,0,0,0,0\n", r"1 tier\(s\) found, 2 to 9"),
        (HEAD + "0,0,0,0,0\n2,0,,0,0\n", "has no node of tier 1"),
        (HEAD + "0,0,0,0,0\n1,0,,0,0\n1,1,,0,0\n", "line 4: the last tier must contain only the server, but has 2"),
        (HEAD + "0,0,0,0,0\n0,0,0,0,1\n1,0,,0,0\n", "line 3: node 0 of tier 0 is listed twice"),
        (HEAD + "0,1,0,0,0\n1,0,,0,0\n", "line 2: node 1 of tier 0 is listed, but node 0 is missing"),
        (HEAD + "0,0,1,0,0\n1,0,,0,0\n", "line 2: parent is not a node of the tier above, 0 to 0: '1'"),
        (HEAD + "0,0,,0,0\n1,0,,0,0\n", "line 2: parent is not a node of the tier above"),
        (HEAD + "0,0,0,0,0\n1,0,0,0,0\n", "line 3: the server reports to nobody"),
        (HEAD + "0,0,0,0,0\n1,0,0,0,0\n1,1,0,0,0\n2,0,,0,0\n", "no node of tier 0 reports to node 1"),
        (HEAD + "0,0,0,1e10,0\n1,0,,0,0\n", "line 2: x_m must be from"),
    ],
)
def test_wrong_lines_are_told(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        read(tmp_path, text)
