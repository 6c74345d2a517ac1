"""From a checked spec to a simulation: factories are called with their context, problems are collected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeVar

import torch

from fedradio.core.contracts import Hop, Samples, Stream, Tapes, Topology
from fedradio.core.errors import DataError, Problem, SpecError
from fedradio.core.registry import part
from fedradio.core.rng import Rng
from fedradio.data.tapes import make_tapes
from fedradio.rounds.simulation import Simulation, compose
from fedradio.spec.spec import Spec
from fedradio.spec.yaml import Plain

T = TypeVar("T")


@dataclass
class _Bench:
    """Where parts are made; what goes wrong is collected under the path of the part."""

    problems: list[Problem] = field(default_factory=list)
    absent: DataError | None = None

    def make(self, where: str, family: str, plain: Plain | None, *context: Any) -> Any:
        """The part, or None where the spec has none or it could not be made."""
        if plain is None:
            return None
        keywords = {key: tuple(v) if isinstance(v, list) else v for key, v in plain.items() if key != "kind"}
        return self.attempt(where, family, lambda: part(family, plain["kind"]).factory(*context, **keywords))

    def attempt(self, where: str, family: str, do: Callable[[], T]) -> T | None:
        try:
            return do()
        except SpecError as error:
            self.problems += [replace(p, path=_rebase(p.path, family, where)) for p in error.problems]
        except DataError as error:
            self.absent = error
            self.problems.append(Problem(where, str(error)))
        return None

    def settle(self) -> None:
        """Stop here if anything went wrong so far; absent data alone is an error of its own kind."""
        if self.absent is not None and len(self.problems) == 1:
            raise self.absent
        if self.problems:
            raise SpecError(self.problems)


def build(spec: Spec, device: str = "cpu", workers: int | None = None) -> Simulation:
    """The simulation that a spec describes; raises :class:`SpecError` with every problem found."""
    plain, bench = spec.plain, _Bench()
    world = Rng(spec.seed).child("world")
    _check_device(device)
    topology = bench.make("topology", "topology", plain["topology"], world.child("topology"))
    schedule = bench.make("schedule", "schedule", plain["schedule"])
    rule = bench.make("rule", "rule", plain["rule"])
    algorithm = bench.make("algorithm", "algorithm", plain["algorithm"])
    hops = [_hop(bench, h, hop, topology, world) for h, hop in enumerate(plain["hops"])]
    stream = None if topology is None else _stream(bench, plain["data"], topology, world, device)
    model = None if stream is None else bench.make("model", "model", plain["model"], stream.shape, stream.classes)
    if stream is not None and (refusal := stream.lasts(spec.rounds, prod(hop.period for hop in hops))):
        bench.problems.append(Problem("data", refusal))
    bench.settle()
    assert stream is not None
    assert model is not None
    return compose(
        topology=topology,
        hops=hops,
        stream=stream,
        model=model,
        algorithm=algorithm,
        rule=replace(rule, schedule=schedule),
        seed=spec.seed,
        clock=plain["clock"],
        device=device,
        workers=workers,
        eval_top=plain["eval_top"],
    )


def _hop(bench: _Bench, h: int, plain: Plain, topology: Topology | None, world: Rng) -> Hop:
    senders = topology.senders(h) if topology is not None and h < topology.hops else 1
    made = {
        family: bench.make(f"hops.{h}.{family}", family, plain[family], *context)
        for family, context in (
            ("link", ()),
            ("policy", ()),
            ("channel", ()),
            ("fleet", (senders, world.child("fleet", h))),
        )
    }
    return Hop(**made, period=plain["period"], deadline_s=plain["deadline_s"])


def _stream(bench: _Bench, plain: Plain, topology: Topology, world: Rng, device: str) -> Stream | None:
    """Source, split over the clients, hold-outs and labels, window."""
    found = bench.make("data.source", "source", plain["source"], topology.clients, world.child("source"))
    if isinstance(found, Samples):
        found = _split(bench, plain, found.to(device), topology, world)
    elif isinstance(found, Tapes):
        found = found.to(device)
        bench.problems += _unasked(plain)
    return None if found is None else bench.make("data.stream", "stream", plain["stream"], found, world.child("stream"))


def _unasked(plain: Plain) -> list[Problem]:
    """What a spec may not ask for where the source itself gives every client its samples, labelled and split."""
    own, found = "this source gives every client its own samples", []
    if plain["partition"] is not None:
        found.append(Problem("data.partition", own, "leave data.partition out"))
    if plain["unlabelled"] > 0:
        found.append(
            Problem("data.unlabelled", f"{own}, all labelled", "leave data.unlabelled out", plain["unlabelled"])
        )
    if plain["held_out"] > 0:
        found.append(Problem("data.held_out", own, "leave data.held_out out", plain["held_out"]))
    return found


def _split(bench: _Bench, plain: Plain, samples: Samples, topology: Topology, world: Rng) -> Tapes | None:
    context = (samples.y.cpu(), samples.classes, topology.cells, world.child("partition"))
    shares = bench.make("data.partition", "partition", plain["partition"] or {"kind": "iid"}, *context)
    if shares is None:
        return None
    options = {key: plain[key] for key in ("test", "test_fraction", "unlabelled", "held_out")}
    return bench.attempt("data", "data", lambda: make_tapes(samples, shares, world.child("tapes"), **options))


def _check_device(device: str) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        raise SpecError(Problem("device", "no CUDA device is available here", "use cpu", device))


def _rebase(path: str, family: str, where: str) -> str:
    """A factory names its own keywords (``policy.epochs``); people need the place in their spec."""
    if path == where or path.startswith(where + "."):
        return path
    if path == family or path.startswith(family + "."):
        return where + path[len(family) :]
    return f"{where}.{path}"
