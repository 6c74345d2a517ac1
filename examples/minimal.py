"""Federated averaging from parts alone, without any config file: 20 clients in 4 cells learn digits in seconds.

Run it with ``python examples/minimal.py``.
"""

from __future__ import annotations

import fedradio
from fedradio import parts

SEED, ROUNDS = 1, 10


def main() -> None:
    world = fedradio.Rng(SEED).child("world")  # one seed; every consumer of randomness has a name of its own

    topology = parts.hierarchical(world.child("topology"), edges=4, clients_per_edge=5)
    clients_to_edges = fedradio.Hop(link=parts.ideal(), policy=parts.sampling(clients=3, epochs=1), period=2)
    edges_to_server = fedradio.Hop(link=parts.ideal(), policy=parts.fixed())

    samples = parts.digits(topology.clients, world.child("source"))
    shares = parts.dirichlet(samples.y, samples.classes, topology.parents[0], world.child("partition"), alpha=0.3)
    tapes = fedradio.make_tapes(samples, shares, world.child("tapes"))
    stream = parts.static(tapes, world.child("stream"))

    simulation = fedradio.compose(
        topology=topology,
        hops=(clients_to_edges, edges_to_server),
        stream=stream,
        model=parts.mlp(stream.shape, stream.classes, hidden=(64,)),
        algorithm=parts.fedavg(),
        rule=parts.sgd(lr=0.1, batch=16),
        seed=SEED,
    )
    run = fedradio.run(
        simulation, rounds=ROUNDS
    )  # a folder as the second argument keeps records, model and checkpoints
    for record in run.rounds:
        print(f"round {record.t + 1:2d}  accuracy {record.metrics['accuracy']:.3f}  loss {record.train_loss:.3f}")
    print(run)


if __name__ == "__main__":
    main()
