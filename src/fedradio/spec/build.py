"""Builds the simulation of a checked spec: calls the factory of every part and collects all problems."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from fedradio.core.contracts import Backend, Cache, Hop, Phased, Samples, Stream, Tapes, Target, Topology
from fedradio.core.contracts.placement import TOP
from fedradio.core.errors import DataError, FedradioError, Problem, SpecError
from fedradio.core.part_files import reason_in
from fedradio.core.registry import Part, part
from fedradio.core.rng import Rng
from fedradio.core.tables import given_sha256
from fedradio.data.tapes import make_tapes
from fedradio.rounds.simulation import Simulation, compose
from fedradio.spec.spec import Spec
from fedradio.spec.yaml import Plain

T = TypeVar("T")

LOG = logging.getLogger(__name__)


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
        try:
            made = part.factory(*context, **keywords)
        except FedradioError:
            raise
        except Exception as error:  # a part of the user's own may raise anything
            if not _is_own(part):
                raise
            raise SpecError(Problem(part.family, _failure(part, error), "fix the part", part.kind)) from error
        if made is None:
            raise SpecError(Problem(part.family, "its factory returns nothing", "return the part", part.kind))
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


def build(
    spec: Spec,
    device: str = "cpu",
    workers: int | None = None,
    backend: Backend | None = None,
    stream: Callable[[int], Stream] | None = None,
) -> Simulation:
    """The simulation that a spec describes; raises :class:`SpecError` with every problem found.

    ``backend`` trains and evaluates, by default the engine with ``workers`` threads. ``stream`` gives the data of so
    many clients in place of the spec's.
    """
    plain, builder, began = spec.plain, _Builder(), time.perf_counter()
    world = Rng(spec.world_seed, run_seed=spec.seed).child("world")
    _check_device(device)
    topology = builder.make("topology", "topology", plain["topology"], world.child("topology"))
    schedule = builder.make("schedule", "schedule", plain["schedule"])
    rule = builder.make("rule", "rule", plain["rule"])
    loss = builder.make("loss", "loss", plain["loss"])
    algorithm = builder.make("algorithm", "algorithm", plain["algorithm"])
    metrics = [builder.make(f"metrics.{i}", "metric", metric) for i, metric in enumerate(plain["metrics"])]
    hops = [_hop(builder, h, hop, topology, world) for h, hop in enumerate(plain["hops"])]
    data = None
    if topology is not None:
        data = stream(topology.clients) if stream else _stream(builder, plain["data"], topology, world, device)
    model = None if data is None else _model(builder, plain["model"], data, Rng(spec.seed))
    if model is not None and plain["personal"]:
        model = builder.attempt("personal", "personal", partial(model.personalised, plain["personal"]))
    if data is not None and (refusal := data.lasts(spec.rounds, spec.edge_rounds)):
        builder.problems.append(Problem("data", refusal))
    cache = None if data is None else _cache(builder, plain["cache"], data.classes, world.child("cache"))
    if isinstance(algorithm, Phased) and (refusal := algorithm.lasts(spec.rounds)):
        builder.problems.append(Problem("algorithm", refusal))
    builder.raise_problems()
    assert data is not None
    assert model is not None
    sim = compose(
        topology=topology,
        hops=hops,
        stream=data,
        model=model,
        algorithm=algorithm,
        rule=replace(rule, schedule=schedule, loss=loss),
        seed=spec.seed,
        clock=plain["clock"],
        device=device,
        workers=workers,
        eval_top=plain["eval_top"],
        backend=backend,
        grouping=plain["grouping"],
        metrics=metrics,
        files=builder.files,
        cache=cache,
        precision=plain["precision"],
    )
    took = time.perf_counter() - began
    clients, numbers = topology.clients, model.shared.size
    LOG.info("built in %.3f s: %d clients, %d hops, %d shared parameters", took, clients, len(hops), numbers)
    return sim


def _model(builder: _Builder, plain: Plain, stream: Stream, rng: Rng) -> Any:
    """The model; what a module of the user's own takes from torch's global generator depends on the run's seed."""
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(rng.child("model", "made").torch().get_state())
        return builder.make("model", "model", plain, stream.shape, stream.classes)


def _hop(builder: _Builder, h: int, plain: Plain, topology: Topology | None, world: Rng) -> Hop:
    """Hop ``h`` with its link, policy, channel and fleet."""
    senders = topology.senders(h) if topology is not None and h < topology.hops else 1
    parts = {
        family: builder.make(f"hops.{h}.{family}", family, plain[family], *context)
        for family, context in (
            ("link", ()),
            ("policy", ()),
            ("gather", ()),
            ("channel", ()),
            ("fleet", (senders, world.child("fleet", h))),
            ("receiver", ()),
        )
    }
    transforms = [
        builder.make(f"hops.{h}.transforms.{i}", "transform", each) for i, each in enumerate(plain["transforms"])
    ]
    keys = {key: plain[key] for key in ("period", "deadline_s", "late")}
    return Hop(**parts, **keys, transforms=tuple(transforms))


def _stream(builder: _Builder, plain: Plain, topology: Topology, world: Rng, device: str) -> Stream | None:
    """The data stream: samples of the source, split over the clients if the source does not, in their window."""
    source, target = plain["source"], plain["target"]
    told = (target,) if target is not None and _reads_values(part("source", source["kind"])) else ()
    tapes = builder.make("data.source", "source", source, topology.clients, world.child("source"), *told)
    found: Target | None = None
    if isinstance(tapes, Samples):
        found = "value" if tapes.y.is_floating_point() else "class"
        tapes = _split(builder, plain, tapes.to(device), topology, world)
    elif isinstance(tapes, Tapes):
        builder.attempt("data.source", "source", tapes.check)
        tapes, found = tapes.to(device), tapes.target
        builder.problems += _split_problems(plain)
    elif tapes is not None:
        reason = f"the source returns {type(tapes).__name__}, but must return Samples or Tapes"
        builder.problems.append(Problem("data.source", reason, "such as Samples.from_arrays(x, y)"))
        return None
    if target is not None and found is not None and found != target:
        reason = f"the targets of this source are {'real values' if found == 'value' else 'classes'}"
        remedy = "leave data.target out, or use csv, npz, parquet or synthetic_regression for values"
        builder.problems.append(Problem("data.target", reason, remedy, target))
    context = (tapes, world.child("stream"))
    return None if tapes is None else builder.make("data.stream", "stream", plain["stream"], *context)


def _reads_values(source: Part) -> bool:
    """Whether a source can read its labels as real values: its factory then takes the target from its caller."""
    return "target" in inspect.signature(source.factory).parameters


def _split_problems(plain: Plain) -> list[Problem]:
    """Keys about splitting and labelling, refused where the source itself gives every client its samples."""
    own, problems = "this source already assigns samples to every client", []
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


def _cache(builder: _Builder, plain: Plain | None, files: int, rng: Rng) -> Cache | None:
    """The caches of the edges; sizes of the files are drawn log-uniformly where the spec gives a range."""
    if plain is None:
        return None
    builder.problems += _cache_problems(plain)
    placements = [
        builder.make(f"cache.placements.{i}", "placement", each) for i, each in enumerate(plain["placements"])
    ]
    capacity, size = plain["capacity"], plain["file_bits"]
    if isinstance(size, list):
        low, high = np.log(size)
        size = torch.from_numpy(np.exp(low + (high - low) * rng.child("sizes").numpy().random(files)))
    options = {key: plain[key] for key in ("every", "access_bps", "backhaul_bps", "core_s", "sharing", "protocol")}
    return Cache(
        tuple(each for each in placements if each is not None),
        tuple(capacity) if isinstance(capacity, list) else (capacity,),
        file_bits=size,
        top=TOP if plain["top"] is None else plain["top"],
        **options,
    )


def _cache_problems(plain: Plain) -> list[Problem]:
    """Keys of caches that contradict each other."""
    problems, size = [], plain["file_bits"]
    if isinstance(size, list) and size[0] > size[1]:
        problems.append(Problem("cache.file_bits", "must be the lowest and highest size", "such as [4e+7, 4e+8]", size))
    if plain["top"] is not None and plain["sharing"] != "top":
        reason = f"clients report their most likely files only with sharing: top, not {plain['sharing']}"
        problems.append(Problem("cache.top", reason, "set cache.sharing=top, or leave cache.top out", plain["top"]))
    return problems


def _is_own(part: Part) -> bool:
    """Whether a part does not belong to this package."""
    return not part.factory.__module__.startswith("fedradio.")


def _failure(part: Part, error: Exception) -> str:
    """What went wrong in a factory, and in which line of its file."""
    place = Path(inspect.getsourcefile(inspect.unwrap(part.factory)) or "its file")
    return f"its factory failed in {place.name}, {reason_in(error, place)}"


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
