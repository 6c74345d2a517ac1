"""Topology from a file: where the nodes are, and who reports to whom.

By hand: the lines ``0,0,0,10,0``, ``0,1,0,0,20`` and ``1,0,,0,0`` below ``tier,node,parent,x_m,y_m`` are two clients,
10 m and 20 m from the server to which they report.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray

from fedradio.core.contracts import Topology
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.core.tables import Table, open_table, read_table
from fedradio.network.topology import MOST_CLIENTS

POSITIONS = ("x_m", "y_m")
COLUMNS = ("tier", "node", "parent", *POSITIONS)
WHERE = "topology.path"

MOST_TIERS = 9
"""Tiers of a network: a spec has at most eight hops."""
MOST_METRES = 1e9

Ints = NDArray[np.int64]


@register("topology", "file")
def nodes(
    rng: Rng,
    /,
    *,
    path: Annotated[
        str,
        Arg(
            "CSV file with columns tier,node,parent,x_m,y_m; or just x_m,y_m for clients around a server at 0,0",
            file=True,
        ),
    ],
) -> Topology:
    """Your own network, from a file: positions, and who reports to whom.

    Tier 0 contains the clients, the last tier only the server. Nodes of a tier are numbered from 0. ``parent`` is the
    number of a node in the tier above and is empty for the server. With only the columns ``x_m,y_m``, every row is a
    client.
    """
    columns, _ = open_table(path, WHERE)
    if sorted(columns) == sorted(POSITIONS):
        table = read_table(path, WHERE, POSITIONS)
        _check_count(table, len(table.rows))
        server = torch.zeros(1, 2, dtype=torch.float64)
        parents = torch.zeros(len(table.rows), dtype=torch.long)
        return Topology((parents,), (torch.from_numpy(_positions(table)), server))
    return _tree(read_table(path, WHERE, COLUMNS))


def _tree(table: Table) -> Topology:
    """The topology of a table of tiers."""
    tier, node, positions = table.whole("tier", "a tier"), table.whole("node", "a node"), _positions(table)
    tiers = int(tier.max()) + 1
    if not 2 <= tiers <= MOST_TIERS:
        raise table.wrong(
            f"{tiers} tier(s) found, 2 to {MOST_TIERS} needed: tier 0 has the clients, the last tier the server"
        )
    rows = [_in_order(table, tier, node, at) for at in range(tiers)]
    _check_count(table, len(rows[0]))
    if len(rows[-1]) != 1:
        raise table.wrong(
            f"the last tier must contain only the server, but has {len(rows[-1])} nodes", int(rows[-1][1])
        )
    parents = [_parents(table, rows[at], len(rows[at + 1])) for at in range(tiers - 1)]
    at = table.columns.index("parent")
    if table.rows[server := int(rows[-1][0])][at].strip():
        raise table.wrong("the server reports to nobody: leave its parent empty", server)
    return Topology(
        tuple(torch.from_numpy(each) for each in parents), tuple(torch.from_numpy(positions[each]) for each in rows)
    )


def _in_order(table: Table, tier: Ints, node: Ints, at: int) -> Ints:
    """Rows of the nodes of a tier, node 0 first; each number from 0 must stand there once."""
    rows = np.flatnonzero(tier == at)
    if not len(rows):
        raise table.wrong(f"has no node of tier {at}")
    rows = rows[np.argsort(node[rows], kind="stable")]
    off = np.flatnonzero(node[rows] != np.arange(len(rows)))
    if len(off):
        row = int(rows[off[0]])
        twice = off[0] > 0 and node[row] == node[rows[off[0] - 1]]
        reason = "is listed twice" if twice else f"is listed, but node {off[0]} is missing: nodes are numbered from 0"
        raise table.wrong(f"node {node[row]} of tier {at} {reason}", row)
    return rows


def _parents(table: Table, rows: Ints, receivers: int) -> Ints:
    """The receiver of every node of a tier; every receiver must have a sender."""
    at, parents = table.columns.index("parent"), np.empty(len(rows), dtype=np.int64)
    for i, row in enumerate(rows.tolist()):
        text = table.rows[row][at].strip()
        if not (text.isascii() and text.isdecimal() and len(text) < 9 and int(text) < receivers):
            raise table.wrong(f"parent is not a node of the tier above, 0 to {receivers - 1}: {text!r:.40}", row)
        parents[i] = int(text)
    idle = np.setdiff1d(np.arange(receivers), parents)
    if len(idle):
        tier = table.rows[int(rows[0])][table.columns.index("tier")].strip()
        raise table.wrong(f"no node of tier {tier} reports to node {idle[0]} of the tier above: remove that node")
    return parents


def _positions(table: Table) -> NDArray[np.float64]:
    """Coordinates ``[n, 2]`` in metres."""
    return np.stack([table.numbers(name, -MOST_METRES, MOST_METRES) for name in POSITIONS], axis=1)


def _check_count(table: Table, clients: int) -> None:
    if clients > MOST_CLIENTS:
        raise table.wrong(f"{clients} clients, but at most {MOST_CLIENTS} are supported")
