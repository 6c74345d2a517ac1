"""Composed simulations as specs that can be read but not built: what was made in Python is described and fingerprinted.

Such a spec has the key ``composed``. Where a spec names a part and its keywords, it has the class of the part and the
values that it holds, tensors by their SHA-256: another value is another fingerprint. A run of it is resumed in Python,
with the same simulation composed once more.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from fedradio.core.contracts import Constant, GatherAll, Hop, Phased
from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.core.fingerprint import Describer
from fedradio.core.registry import FAMILIES
from fedradio.engine.backend import Engine
from fedradio.rounds.simulation import Simulation
from fedradio.spec.description import describe, named_parts
from fedradio.spec.spec import COMPOSED, Spec, check_spec
from fedradio.spec.yaml import Plain, differing_keys

MOST_KEYS = 3
"""So many keys are named in which two simulations differ."""

ABOUT = "composed in Python"


def composed_spec(simulation: Simulation, changes: Sequence[str] = (), **options: Any) -> Spec:
    """The spec that describes a composed simulation; ``options`` are ``rounds``, ``eval_every`` and ``name``."""
    problems = _option_problems(simulation, changes, options)
    if problems:
        raise SpecError(problems)
    asked = {"name": "composed", "about": ABOUT, **options, "seed": simulation.seed}
    frame = check_spec({**asked, "eval_top": simulation.eval_top}).plain  # bounds of all that a spec says too
    refusals = {
        "data": simulation.stream.lasts(frame["rounds"], simulation.edge_rounds),
    }
    if isinstance(simulation.algorithm, Phased):
        refusals["algorithm"] = simulation.algorithm.lasts(frame["rounds"])
    if any(refusals.values()):
        raise SpecError(Problem(path, reason) for path, reason in refusals.items() if reason)
    return Spec(frame | _parts(simulation, Describer()))


def described(spec: Spec, simulation: Simulation) -> Plain:
    """The description of a run: that of its spec; of a composed simulation with the classes of its parts, units of its
    metrics, and the texts of the user's own classes. Start values that no seed draws are told in both."""
    if COMPOSED not in spec.plain:
        return describe(spec) | _start(simulation)
    describer = Describer()
    _parts(simulation, describer)
    plain = describe(spec)
    instances = dict(_instances(simulation))
    for path, family, kind in named_parts(spec.plain):
        if path in instances:
            plain["parts"][family][kind] = {"summary": _summary(instances[path], family), "keywords": {}}
    scores = {name: {"unit": each.unit, "better": each.better} for each in simulation.metrics for name in each.names}
    sources = [{"name": name, "source": text} for name, text in sorted(describer.sources.items())]
    return plain | {"metrics": scores, "sources": sources} | _start(simulation)


def _start(simulation: Simulation) -> Plain:
    """Start values of the model that were taken as given: their checksum, and why; empty where a seed draws them."""
    given = getattr(simulation.model, "given_start", None)
    return {} if given is None else {"start": {"sha256": given.sha256, "reason": given.reason}}


def same_composition(
    stored: Spec, simulation: Simulation | None, folder: Path, function: Literal["resume", "diagnose"] = "resume"
) -> Simulation:
    """The simulation of a run that was composed in Python, if it is the one that the run was made with.

    ``function`` of fedradio is named in messages.
    """
    line = f"fedradio.{function}({str(folder)!r}, simulation=...)"
    if simulation is None:
        remedy = f"compose the same simulation in Python and continue there: {line}"
        raise StoreError(f"{folder} was composed in Python and cannot be built by a command; {remedy}")
    if COMPOSED not in stored.plain:
        raise StoreError(f"{folder} is the run of a spec and is built from it: leave simulation= out")
    if stateful := stored.plain[COMPOSED]["stateful"]:
        reason = f"{', '.join(stateful)}: keeps state that is not in the checkpoint"
        raise StoreError(f"{folder} cannot be {function}d, {reason}; draw from the rng that is passed to the part")
    options = {key: stored.plain[key] for key in ("name", "about", "rounds", "eval_every")}
    now = composed_spec(simulation, **options)
    if now.sha256() != stored.sha256():
        keys = difference(stored.plain, now.plain)
        more = " and more" if len(keys) > MOST_KEYS else ""
        reason = f"{', '.join(keys[:MOST_KEYS])}{more} differ"
        raise StoreError(f"{folder} was made with a different simulation: {reason}; compose the same one")
    return simulation


def difference(one: Plain, other: Plain) -> list[str]:
    """The keys in which two composed specs differ, without the checksum at their end."""
    return list(dict.fromkeys(key.removesuffix(".sha256") for key in differing_keys(one, other)))


def _option_problems(simulation: Simulation, changes: Sequence[str], options: Mapping[str, Any]) -> list[Problem]:
    """Options that a composed simulation does not have, or lacks."""
    problems = []
    if changes:
        reason = "a composed simulation has no keys to change"
        problems.append(Problem("changes", reason, "compose it from other parts", list(changes)))
    if options.get("seed", simulation.seed) != simulation.seed:
        reason = f"the simulation was composed with seed {simulation.seed}"
        problems.append(Problem("seed", reason, "pass it to compose(..., seed=...)", options["seed"]))
    if "rounds" not in options:
        problems.append(
            Problem(
                "rounds",
                "a composed simulation does not define the number of rounds",
                "call run(simulation, out, rounds=20)",
            )
        )
    return problems


def _instances(simulation: Simulation) -> list[tuple[str, Any]]:
    """The parts of a simulation by their paths in a spec."""
    found: list[tuple[str, Any]] = [
        ("topology", simulation.topology),
        ("data.stream", simulation.stream),
        ("model", simulation.model),
        ("rule", replace(simulation.rule, schedule=Constant())),
        ("schedule", simulation.rule.schedule),
        ("algorithm", simulation.algorithm),
    ]
    for h, hop in enumerate(simulation.hops):
        found += [(f"hops.{h}.{name}", getattr(hop, name)) for name in _of_hop(hop)]
        found += [(f"hops.{h}.transforms.{i}", each) for i, each in enumerate(hop.transforms)]
    found += [(f"metrics.{i}", metric) for i, metric in enumerate(simulation.metrics)]
    if simulation.cache is not None:
        found += [(f"cache.placements.{i}", each) for i, each in enumerate(simulation.cache.placements)]
    return found


def _parts(simulation: Simulation, describer: Describer) -> Plain:
    """The keys of a spec that parts and their combination give."""
    made = {path: None if it is None else describer.part(it, path) for path, it in _instances(simulation)}
    engine = None if type(simulation.backend) is Engine else describer.part(simulation.backend, "backend")
    hops = [
        {name: made[f"hops.{h}.{name}"] for name in _of_hop(hop)}
        | {"period": hop.period, "deadline_s": hop.deadline_s, "late": hop.late}
        | {"transforms": [made[f"hops.{h}.transforms.{i}"] for i in range(len(hop.transforms))]}
        for h, hop in enumerate(simulation.hops)
    ]
    data = {"source": {"kind": "composed"}, "partition": None, "stream": made["data.stream"]}
    return {
        "clock": simulation.waits,
        "grouping": simulation.grouping,
        "precision": simulation.precision,
        "topology": made["topology"],
        "hops": hops,
        "data": data,
        **{key: made[key] for key in ("model", "rule", "schedule", "algorithm")},
        "metrics": [made[f"metrics.{i}"] for i in range(len(simulation.metrics))],
        "cache": _cache(simulation, made, describer),
        COMPOSED: {"backend": engine, "stateful": sorted(set(describer.stateful))},
    }


def _cache(simulation: Simulation, made: Mapping[str, Any], describer: Describer) -> Plain | None:
    """The caches: their values, and their placements as parts."""
    if simulation.cache is None:
        return None
    placements = [made[f"cache.placements.{i}"] for i in range(len(simulation.cache.placements))]
    return describer.part(simulation.cache, "cache") | {"placements": placements}


def _of_hop(hop: Hop) -> list[str]:
    """The parts of a hop, each a family of its own, without the default way to gather."""
    names = [name for name in Hop.__dataclass_fields__ if name in FAMILIES]
    return [name for name in names if name != "gather" or hop.gather != GatherAll()]


def _summary(instance: Any, family: str) -> str:
    """The first line of the documentation of a part's class, if it has one of its own."""
    text = inspect.getdoc(type(instance)) if type(instance).__doc__ else None
    return (text or FAMILIES[family]).split("\n", 1)[0].replace("``", "")
