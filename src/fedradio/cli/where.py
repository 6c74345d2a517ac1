"""Where runs are made: on this machine, or on a Ray cluster; options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import typer

from fedradio.cli.app import err
from fedradio.core.errors import Problem, SpecError
from fedradio.report.terminal.console import say
from fedradio.runs.run import BackendOf
from fedradio.sweeps.processes import LocalPool
from fedradio.sweeps.tasks import Pool

Place = Literal["local", "ray"]

RAY_HELP = "ray: a cluster by RAY_ADDRESS, else a Ray of this machine. Results do not depend on it"

On = Annotated[Place, typer.Option("--on", help=f"who trains; {RAY_HELP}")]
Actors = Annotated[
    int | None,
    typer.Option(min=1, max=4096, help="with --on ray: processes that train and evaluate; default: one a processor"),
]


@contextmanager
def pool_on(place: Place, jobs: int | None, device: str = "cpu") -> Iterator[Pool]:
    """The pool that makes runs, ``jobs`` at a time (None: one here, all that there is room for on a cluster)."""
    if place == "local":
        yield LocalPool(jobs or 1)
        return
    _refuse_cuda(device)
    from fedradio.remote.ray_cluster import check_nodes, cluster
    from fedradio.remote.ray_pool import RayPool

    with cluster() as ray:
        for note in check_nodes(ray):
            say(err, ("note", "yellow"), f" {note}")
        yield RayPool(ray, jobs)


@contextmanager
def backend_on(place: Place, actors: int | None, device: str = "cpu") -> Iterator[BackendOf | None]:
    """What makes the backend that trains and evaluates a run; None for the engine of this machine."""
    if place == "local":
        if actors is not None:
            raise SpecError(Problem("--actors", "are those of a cluster", "--on ray", actors))
        yield None
        return
    _refuse_cuda(device)
    from fedradio.remote.ray_backend import ray_backends

    with ray_backends(actors) as backend:
        yield backend


def _refuse_cuda(device: str) -> None:
    if device != "cpu":
        raise SpecError(Problem("--device", "a cluster computes on processors only", "--device cpu", device))
