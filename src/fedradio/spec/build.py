"""Builds the simulation of a checked spec: calls the factory of every part and collects all problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import torch

from fedradio.core.contracts import Backend, Hop, Samples, Stream, Tapes, Topology
from fedradio.core.errors import DataError, Problem, SpecError
from fedradio.core.registry import Part, part
from fedradio.core.rng import Rng
from fedradio.core.tables import given_sha256
from fedradio.data.tapes import make_tapes
from fedradio.rounds.simulation import Simulation, compose
from fedradio.spec.spec import Spec
from fedradio.spec.yaml import Plain

T = TypeVar("T")


@dataclass
class _Builder:
    """Makes parts by their factories and collects the problems of each under its path in the spec, and the files that
    they name, with their checksums."""

    problems: list[Problem] = field(default_factory=list)
    absent: DataError | None = None
    files: dict[str, str] = field(default_factory=dict)

    def make(self, where: str, family: str, plain: Plain | None, *context: Any) -> Any:
        """The part, or None where the spec has none or it could not be made."""
        if plain is None:
            return None
        keywords = {key: tuple(v) if isinstance(v, list) else v for key, v in plain.items() if key != "kind"}
        return self.attempt(where, family, lambda: self._made(part(family, plain["kind"]), keywords, *context))

    def _made(self, part: Part, keywords: Plain, *context: Any) -> Any:
        made = part.factory(*context, **keywords)
        named = [each.name for each in part.parameters() if each.arg.file]
        for name in named:
            for path in _paths(keywords.get(name)):
                self.files[path] = given_sha256(path, f"{part.family}.{name}")
        return made

    def attempt(self, where: str, family: str, do: Callable[[], T]) -> T | None:
        """What ``do`` returns, or None with its problems added to the collection."""
        try:
            return do()
        except SpecError as error:
            self.problems += [replace(p, path=_rebase(p.path, family, where)) for p in error.problems]
        except DataError as error:
            self.absent = error
            self.problems.append(Problem(where, str(error)))
        return None

    def raise_problems(self) -> None:
        """Raise the problems collected so far, if any; absent data alone is a :class:`DataError`."""
        if self.absent is not None and len(self.problems) == 1:
            raise self.absent
        if self.problems:
            raise SpecError(self.problems)


def build(spec: Spec, device: str = "cpu", workers: int | None = None, backend: Backend | None = None) -> Simulation:
    """The simulation that a spec describes; raises :class:`SpecError` with every problem found.

    ``backend`` trains and evaluates, by default the engine with ``workers`` threads.
    """
    plain, builder = spec.plain, _Builder()
    world = Rng(spec.world_seed, run_seed=spec.seed).child("world")
    _check_device(device)
    topology = builder.make("topology", "topology", plain["topology"], world.child("topology"))
    schedule = builder.make("schedule", "schedule", plain["schedule"])
    rule = builder.make("rule", "rule", plain["rule"])
    algorithm = builder.make("algorithm", "algorithm", plain["algorithm"])
    metrics = [builder.make(f"metrics.{i}", "metric", metric) for i, metric in enumerate(plain["metrics"])]
    hops = [_hop(builder, h, hop, topology, world) for h, hop in enumerate(plain["hops"])]
    stream = None if topology is None else _stream(builder, plain["data"], topology, world, device)
    model = None if stream is None else builder.make("model", "model", plain["model"], stream.shape, stream.classes)
    if stream is not None and (refusal := stream.lasts(spec.rounds, spec.edge_rounds)):
        builder.problems.append(Problem("data", refusal))
    if algorithm is not None and (refusal := algorithm.lasts(spec.rounds)):
        builder.problems.append(Problem("algorithm", refusal))
    builder.raise_problems()
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
        backend=backend,
        grouping=plain["grouping"],
        metrics=metrics,
        files=builder.files,
    )


def _hop(builder: _Builder, h: int, plain: Plain, topology: Topology | None, world: Rng) -> Hop:
    """Hop ``h`` with its link, policy, channel and fleet."""
    senders = topology.senders(h) if topology is not None and h < topology.hops else 1
    parts = {
        family: builder.make(f"hops.{h}.{family}", family, plain[family], *context)
        for family, context in (
            ("link", ()),
            ("policy", ()),
            ("channel", ()),
            ("fleet", (senders, world.child("fleet", h))),
            ("receiver", ()),
        )
    }
    transforms = [
        builder.make(f"hops.{h}.transforms.{i}", "transform", each) for i, each in enumerate(plain["transforms"])
    ]
    return Hop(**parts, period=plain["period"], deadline_s=plain["deadline_s"], transforms=tuple(transforms))


def _stream(builder: _Builder, plain: Plain, topology: Topology, world: Rng, device: str) -> Stream | None:
    """The data stream: samples of the source, split over the clients if the source does not, in their window."""
    tapes = builder.make("data.source", "source", plain["source"], topology.clients, world.child("source"))
    if isinstance(tapes, Samples):
        tapes = _split(builder, plain, tapes.to(device), topology, world)
    elif isinstance(tapes, Tapes):
        builder.attempt("data.source", "source", tapes.check)
        tapes = tapes.to(device)
        builder.problems += _split_problems(plain)
    elif tapes is not None:
        reason = f"the source gives {type(tapes).__name__}, Samples or Tapes are needed"
        builder.problems.append(Problem("data.source", reason, "such as Samples.from_arrays(x, y)"))
        return None
    context = (tapes, world.child("stream"))
    return None if tapes is None else builder.make("data.stream", "stream", plain["stream"], *context)


def _split_problems(plain: Plain) -> list[Problem]:
    """Keys about splitting and labelling, refused where the source itself gives every client its samples."""
    own, problems = "this source gives every client its own samples", []
    if plain["partition"] is not None:
        problems.append(Problem("data.partition", own, "leave data.partition out"))
    if plain["unlabelled"] > 0:
        problems.append(
            Problem("data.unlabelled", f"{own}, all labelled", "leave data.unlabelled out", plain["unlabelled"])
        )
    if plain["held_out"] > 0:
        problems.append(Problem("data.held_out", own, "leave data.held_out out", plain["held_out"]))
    return problems


def _split(builder: _Builder, plain: Plain, samples: Samples, topology: Topology, world: Rng) -> Tapes | None:
    """The samples of a source split over the clients, with hold-outs and hidden labels."""
    context = (samples.y.cpu(), samples.classes, topology.cells, world.child("partition"))
    shares = builder.make("data.partition", "partition", plain["partition"] or {"kind": "iid"}, *context)
    if shares is None:
        return None
    options = {key: plain[key] for key in ("test", "test_fraction", "unlabelled", "held_out")}
    return builder.attempt("data", "data", lambda: make_tapes(samples, shares, world.child("tapes"), **options))


def _check_device(device: str) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        raise SpecError(Problem("device", "no CUDA device is available here", "use cpu", device))


def _paths(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """The files that a keyword names: one, several or none."""
    return () if value is None else (value,) if isinstance(value, str) else value


def _rebase(path: str, family: str, where: str) -> str:
    """The path in the whole spec of a path that a factory names by its own family (``policy.epochs``)."""
    if path == where or path.startswith(where + "."):
        return path
    if path == family or path.startswith(family + "."):
        return where + path[len(family) :]
    return f"{where}.{path}"
