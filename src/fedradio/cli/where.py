"""Where runs are made: on this machine or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fedradio.cli.app import err
from fedradio.cli.options import Place
from fedradio.core.errors import Problem, SpecError
from fedradio.report.terminal.console import say
from fedradio.sweeps.tasks import Pool

if TYPE_CHECKING:
    from fedradio.runs.run import BackendOf


@contextmanager
def pool_on(place: Place, jobs: int | None, device: str = "cpu") -> Iterator[Pool]:
    """The pool that makes runs, ``jobs`` at a time (None: one on this machine, as many as fit on a cluster)."""
    from fedradio.sweeps.processes import LocalPool

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
