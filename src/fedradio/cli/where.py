"""Where runs are made: on this machine or on a Ray cluster; options shared by several commands."""

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

RAY_HELP = "ray: the cluster at RAY_ADDRESS, or Ray on this machine if that is not set"

On = Annotated[Place, typer.Option("--on", help=f"where to train (does not affect results); {RAY_HELP}")]
Actors = Annotated[
    int | None,
    typer.Option(
        min=1, max=4096, help="with --on ray: number of processes that train and evaluate; default: one per CPU"
    ),
]


@contextmanager
def pool_on(place: Place, jobs: int | None, device: str = "cpu") -> Iterator[Pool]:
    """The pool that makes runs, ``jobs`` at a time (None: one on this machine, as many as fit on a cluster)."""
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
    """A factory of backends that train and evaluate a run; None for the engine on this machine."""
    if place == "local":
        if actors is not None:
            raise SpecError(Problem("--actors", "only works on a cluster", "add --on ray", actors))
        yield None
        return
    _refuse_cuda(device)
    from fedradio.remote.ray_backend import ray_backends

    with ray_backends(actors) as backend:
        yield backend


def _refuse_cuda(device: str) -> None:
    if device != "cpu":
        raise SpecError(Problem("--device", "clusters can only train on CPUs", "use --device cpu", device))
