"""Serves a federation: a spec's rounds, made with real devices, into an ordinary run folder."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from fedradio.core.contracts import Samples
from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.remote.flower.extra import need_flower
from fedradio.remote.flower.federation import Federation, reply_shapes
from fedradio.remote.flower.keys import CA_FILE, SERVER_FILE, SERVER_KEY_FILE, public_keys, server_files
from fedradio.remote.flower.letters import most_bytes
from fedradio.remote.flower.refusals import refuse_simulation, refuse_spec
from fedradio.remote.flower.roster import Tell, assemble
from fedradio.remote.flower.worlds import (
    announced_stream,
    check_samples,
    checked_signals,
    is_own,
    own_shape,
    signal_shapes,
    stacked,
)
from fedradio.rounds.simulation import Simulation
from fedradio.runs.checkpoint_files import fingerprint
from fedradio.runs.folder import MODEL_FILE, SPEC_FILE
from fedradio.runs.place import check_new_place
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer, run
from fedradio.runs.stored import read_environment
from fedradio.runs.summary import Summary
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, stored_spec

SPARE = 1 << 20
"""Bytes of a request beyond the numbers of an upload."""


CONNECTIONS, CLIENT_CONNECTIONS = 64, 8
"""Connections at a time: of anybody, and beyond these for every client."""


@dataclass(frozen=True)
class Place:
    """Where a federation is served: address, port, and the folder with its certificate and keys (None: without TLS)."""

    bind: str = "127.0.0.1"
    port: int = 9092
    tls: Path | None = None

    def check(self, insecure: bool) -> None:
        """Refuse to be reached from other machines without certificates and keys."""
        if self.tls is not None and insecure:
            raise SpecError(Problem("--insecure", "--tls is given as well", "keep one of them"))
        if self.tls is None and not insecure:
            remedy = "use --tls DIR with the output of `fedradio keys`; or --insecure, on this machine only"
            raise SpecError(Problem("--tls", "a federation needs certificates and keys", remedy))
        if self.tls is None and not is_loopback(self.bind):
            reason = "without certificates and keys, anyone who can reach this address could take part"
            raise SpecError(Problem("--bind", reason, "use --tls DIR, or --bind 127.0.0.1", self.bind))


def is_loopback(address: str) -> bool:
    """Whether an address is reached from this machine only."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def serve(
    spec: Spec,
    out: Path,
    place: Place,
    *,
    deadline_s: float | None = None,
    wait_s: float = 300.0,
    resumed: bool = False,
    test: Samples | None = None,
    observer: Observer | None = None,
    tell: Tell = print,
    opened: Callable[[], None] = lambda: None,
) -> Summary:
    """Wait for the devices of a spec's clients, make its rounds with them, and write the run folder ``out``.

    ``resumed``: go on from the last checkpoint in that folder. Devices that kept their state go on from theirs.

    ``spec`` trains every client alone (``grouping: single``); ``test`` are the server's own test samples where those
    for training are the devices'. ``opened`` is called when devices can connect.
    """
    need_flower("serve")
    from fedradio.remote.flower.superlink import FlowerMailbox, SuperLink

    refuse_spec(spec)
    number = stored_run(out, spec) if resumed else secrets.token_hex(8)
    if not resumed:
        check_new_place(out, "by adding --resume to this command")
    own = is_own(spec)
    if test is not None:
        check_samples(test, *own_shape(spec)) if own else _refuse_test()
    sim = _built(spec, own, {}, test)
    refuse_simulation(sim, own)
    tls, keys = None, None
    if place.tls is not None:
        files, known = server_files(place.tls), public_keys(place.tls)
        tls, keys = (files[SERVER_FILE], files[SERVER_KEY_FILE]), known
        if missing := set(range(sim.topology.clients)) - known.keys():
            reason = (
                f"{place.tls} has no key for client {min(missing)}, but the spec has {sim.topology.clients} clients"
            )
            raise SpecError(
                Problem("--tls", reason, f"run fedradio keys DIR --host NAME --nodes {sim.topology.clients}")
            )
    most = most_bytes(*reply_shapes(sim).values())
    connections = CONNECTIONS + CLIENT_CONNECTIONS * sim.topology.clients
    with SuperLink(place.bind, place.port, tls, keys, most + SPARE, connections) as link:
        opened()
        mailbox = FlowerMailbox(link.state, link.run_id, most + SPARE)
        clients, asked = sim.topology.clients, signal_shapes(sim)
        roster = assemble(mailbox, spec, number, clients, asked, wait_s, tell, owner=link.owner)
        federation = Federation(mailbox, roster, spec, number, deadline_s, own and test is None, tell)
        try:
            if own:
                sim = _built(spec, own, stacked(roster.signals, range(clients)), test)
            elif other := checked_signals(sim, roster.signals):
                names = ", ".join(map(str, other[:20]))
                raise SpecError(
                    Problem("data", f"client(s) {names} have different samples than the spec", "use the same data")
                )
            sim = replace(sim, clients=federation)
            if resumed:
                return resume(out, simulation=sim, rounds=spec.rounds, observer=observer, keep=False)
            return run(spec, out, simulation=sim, observer=observer, keep=False)
        except SpecError as error:
            federation.dismiss(str(error))
            raise
        finally:
            federation.close()


def stored_run(folder: Path, spec: Spec) -> str:
    """The name of the run in the folder of a federation that can be resumed with this spec."""
    made: Mapping[str, Any] = read_environment(folder).get("federation") or {}
    if not made:
        raise StoreError(f"{folder} is not the run of a federation: leave --resume out, or `fedradio resume` it")
    if fingerprint(stored_spec(folder / SPEC_FILE)) != fingerprint(spec):
        raise StoreError(f"{folder} was made with another spec; resume it with the spec and the options it began with")
    if (folder / MODEL_FILE).exists():
        raise StoreError(f"{folder} is complete: nothing is left to do, and a federation cannot be extended")
    return str(made["run"])


def join_command(place: Place, number: int) -> str:
    """The command by which a device joins."""
    address = f"{place.bind}:{place.port}"
    if place.tls is None:
        return f"fedradio join {address} --client {number} --insecure"
    return f"fedradio join {address} --client {number} --key node-{number}.key --ca {CA_FILE}"


def _built(spec: Spec, own: bool, signals: Mapping[str, Tensor], test: Samples | None) -> Simulation:
    """The server's simulation; of devices' own samples with what these have announced."""
    if not own:
        return build(spec)
    return build(spec, stream=lambda clients: announced_stream(spec, clients, signals, test))


def _refuse_test() -> None:
    reason = "the spec has its own test samples"
    raise SpecError(Problem("--test", reason, "leave it out, or set data.source.kind=own"))
