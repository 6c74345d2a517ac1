"""The Ray cluster that commands use: the one that ``RAY_ADDRESS`` names, else one on this machine alone."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from fedradio.core.errors import FedradioError, Problem, SpecError
from fedradio.engine.threads import cores
from fedradio.remote.node import Node, compare, this_node

ADDRESS = "RAY_ADDRESS"
"""Environment variable with the address of a cluster, as Ray itself has it."""

AUTHENTICATION = "RAY_AUTH_MODE"
"""Environment variable of Ray: whether it shows the cluster's token. It is left as it is."""

LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Environment of a Ray of this machine alone: it listens on 127.0.0.1 only, and reports to nobody."""

NODE_PATIENCE_S = 120.0
"""How long to wait for a machine of the cluster to say what it has."""


def ray_module() -> Any:
    """The package ray; a problem with the remedy where it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not os.environ.get(ADDRESS):
        for name, value in LOOPBACK.items():
            os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        reason = "the package ray is not installed"
        raise SpecError(Problem("--on ray", reason, "pip install 'fedradio[ray]'")) from None
    return ray


@contextmanager
def cluster(cpus: int | None = None) -> Iterator[Any]:
    """The package ray, connected; what was started here is ended. A Ray of this machine alone gets ``cpus`` (default:
    all cores)."""
    ray = ray_module()
    if ray.is_initialized():
        yield ray
        return
    address = os.environ.get(ADDRESS)
    alone: dict[str, Any] = {"address": "local", "num_cpus": cpus or cores(), "include_dashboard": False}
    with _same_signals():
        try:
            ray.init(**(alone if not address else {"address": address}), log_to_driver=False, logging_level="error")
        except Exception as error:  # Ray has no base class for what may go wrong here
            where = f"the Ray cluster at {address}" if address else "Ray on this machine"
            raise FedradioError(f"{where} cannot be used: {error}{_token_hint(address)}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def check_nodes(ray: Any) -> list[str]:
    """Ask every machine of the cluster what it has; raises all that forbids to use one, returns what is worth knowing.

    The machine of this process is not asked.
    """
    asker, here = this_node(), ray.get_runtime_context().get_node_id()
    others = [node["NodeID"] for node in ray.nodes() if node["Alive"] and node["NodeID"] != here]
    look = ray.remote(looked_at)
    asked = [look.options(num_cpus=0, scheduling_strategy=on_node(node)).remote(asdict(asker)) for node in others]
    try:
        found = ray.get(asked, timeout=NODE_PATIENCE_S)
    except ray.exceptions.RayError as error:
        raise FedradioError(
            f"a machine of the cluster does not answer, or fedradio is not installed on it: {error}"
        ) from error
    problems = [Problem("--on ray", refused) for refused, _ in found if refused]
    if problems:
        raise SpecError(problems)
    return [note for _, note in found if note]


def looked_at(asker: dict[str, Any]) -> tuple[str, str]:
    """What forbids this machine to work for another, and what is worth knowing of it."""
    found = compare(Node(**asker), this_node())
    return found.refused, found.note


def on_node(node: str) -> Any:
    """The strategy that puts a task or an actor on one machine of the cluster."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


def cpus_of(ray: Any) -> int:
    """Processors of the whole cluster."""
    return int(ray.cluster_resources().get("CPU", 0))


def widest(ray: Any) -> int:
    """Processors of the machine that has most."""
    return max((int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]), default=0)


def _token_hint(address: str | None) -> str:
    """What is missing where Ray was not told to show the cluster's token, which is its own default for clusters."""
    if not address or AUTHENTICATION in os.environ:
        return ""
    return f"; a cluster with token authentication (Ray's default) also needs: export {AUTHENTICATION}=token"


@contextmanager
def _same_signals() -> Iterator[None]:
    """Keep the handlers of signals as they are: Ray's own would end the process in the middle of a round."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
