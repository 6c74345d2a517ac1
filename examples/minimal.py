"""Federated averaging from parts alone, without any config file: 20 clients in 4 cells learn digits in seconds.

Run it with ``python examples/minimal.py``.
"""

from __future__ import annotations

from fedradio import (
    Hop,
    Rng,
    compose,
    digits,
    dirichlet,
    fedavg,
    fixed,
    hierarchical,
    ideal,
    iterate,
    make_tapes,
    mlp,
    sampling,
    sgd,
    static,
)

SEED, ROUNDS = 1, 10


def main() -> None:
    world = Rng(SEED).child("world")  # one seed; every consumer of randomness has a name of its own

    topology = hierarchical(world.child("topology"), edges=4, clients_per_edge=5)
    clients_to_edges = Hop(link=ideal(), policy=sampling(clients=3, epochs=1), period=2)
    edges_to_server = Hop(link=ideal(), policy=fixed())

    samples = digits(topology.clients, world.child("source"))
    shares = dirichlet(samples.y, samples.classes, topology.parents[0], world.child("partition"), alpha=0.3)
    stream = static(make_tapes(samples, shares, world.child("tapes")), world.child("stream"))

    simulation = compose(
        topology=topology,
        hops=(clients_to_edges, edges_to_server),
        stream=stream,
        model=mlp(stream.shape, stream.classes, hidden=(64,)),
        algorithm=fedavg(),
        rule=sgd(lr=0.1, batch=16),
        seed=SEED,
    )
    for record in iterate(simulation, ROUNDS):
        print(f"round {record.t + 1:2d}  accuracy {record.metrics['accuracy']:.3f}  loss {record.train_loss:.3f}")


if __name__ == "__main__":
    main()
