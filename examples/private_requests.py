"""Private requests: the parties of RawHFL's Fig. 2, one request, who has seen what, and a masked sum.

Needs the extra ``protocol``: pip install 'fedradio[protocol]'.
"""

from __future__ import annotations

import numpy as np

from fedradio.privacy.disclosure import disclosed
from fedradio.privacy.protocol import MadeFiles, Service, ask
from fedradio.privacy.sums import Slot, cell


def main() -> None:
    service = Service.start([0, 0, 1], MadeFiles((100_000, 200_000)))  # three clients in two cells, two files
    first, second = ask(service, client=0, content=1), ask(service, client=1, content=1)
    print(f"hits: {first.hit}, {second.hit}; octets of the request: {second.steps[1].octets}")
    for seen in disclosed(service, client=2, content=0):
        print(f"{seen.fact} is known to {', '.join(seen.parties)}")

    clients, edge = cell(range(3))  # three clients who tell their edge what they will ask for
    slot, demand = Slot(0), np.array([[0.5, 0.25], [0.125, 0.0], [0.25, 0.5]])
    reports = {client.number: client.report(demand[client.number], slot) for client in clients}
    print(f"demand of the cell: {edge.total(reports, slot)}; a report: {reports[0]}")


if __name__ == "__main__":
    main()
