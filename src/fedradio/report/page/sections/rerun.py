"""How to reproduce the run: commands, the complete spec, and the environment."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from typing import Any

from fedradio.report.page.html import DASH, Html, Piece, command, copied, paragraph, section, table, tag
from fedradio.results.run import Run
from fedradio.spec.files import read_spec, shipped, shipped_text
from fedradio.spec.spec import COMPOSED
from fedradio.sweeps.grid import SweepPlan


def place(run: Run) -> str:
    """The run folder for a command line, by its name only, so that the page reveals no path above it."""
    name = run.folder.resolve().name.encode(errors="replace").decode()
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def reproduce(run: Run) -> Html:
    """Commands that reproduce the run."""
    if COMPOSED in run.spec.plain:
        return _composed(run)
    return section(
        "reproduce",
        "Reproduce",
        paragraph("With the spec in the run folder, from its parent folder:"),
        command(f"fedradio run {place(run)}/spec.yaml"),
        paragraph(
            "Results depend only on the spec and the versions below, not on the number of threads. Fingerprint of "
            "everything that determines them (sha256 of the complete spec without name and about): ",
            tag("code", str((run.summary or {}).get("spec_sha256") or run.spec.sha256()), class_="hash"),
        ),
    )


def _composed(run: Run) -> Html:
    """How to rerun a simulation composed in Python, and the source of the user's own classes in it."""
    line = f"fedradio.run(simulation, out, rounds={run.spec.rounds}, eval_every={run.spec.eval_every})"
    sources = run.description.get("sources", [])
    shown = [
        piece for each in sources if each["source"] for piece in (paragraph(each["name"]), command(each["source"]))
    ]
    return section(
        "reproduce",
        "Reproduce",
        paragraph("This simulation was composed in Python. Compose it again from the same parts and run it with:"),
        command(line),
        *([paragraph("Your own classes and functions, as they were at the time:"), *shown] if shown else []),
        _start(run.description.get("start")),
        paragraph(
            "Fingerprint of everything that determines its results: ", tag("code", run.spec.sha256(), class_="hash")
        ),
    )


def _start(given: Mapping[str, Any] | None) -> Html | None:
    """Start values of the model that no seed draws."""
    if given is None:
        return None
    reason = f"The model starts from values that are not drawn from the seed: {given['reason']}. Their sha256: "
    return paragraph(reason, tag("code", str(given["sha256"]), class_="hash"))


def sweep_command(plan: SweepPlan) -> tuple[str, bool] | None:
    """The command that makes a sweep, and whether it needs the sweep's spec as a file.

    None where variants or seeds were added later, so that it takes several commands.
    """
    variants = math.prod(map(len, plan.axes.values()))
    if len(plan.variants) != variants or any(variant.seeds != plan.seeds for variant in plan.variants):
        return None
    changes = {key: plan.axes.get(key, [value]) for key, value in plan.variants[0].changes.items()}
    source = next((name for name in shipped_as(plan.name) if read_spec(name) == plan.base), None)
    arguments = [f"{key}={','.join(map(override_value, values))}" for key, values in changes.items()]
    seeds = ["--seeds", ",".join(map(str, plan.seeds)) + "," * (len(plan.seeds) == 1)]
    name = f"{plan.name}.yaml" if source is None else source
    return shlex.join(["fedradio", "sweep", name, *arguments, *seeds]), source is None


def shipped_as(name: str) -> list[str]:
    """The shipped specs that give their runs this name; only those whose own name allows it are read."""
    near = (each for each in shipped() if name in (each.replace("/", "_"), each.rpartition("/")[2]))
    return [each for each in near if f"name: {name}\n" in shipped_text(each)]


def override_value(value: Any) -> str:
    """A value on a command line: a plain word as it is, everything else as JSON, which is YAML too."""
    plain = (
        isinstance(value, str) and value.isidentifier() and value.lower() not in ("null", "true", "false", "yes", "no")
    )
    return str(value) if plain else json.dumps(value)


def spec_text(yaml: str, composed: bool = False) -> Html:
    """The complete spec, with a button that copies it."""
    about = "The complete spec, with every default; it can be run as it is."
    return section(
        "spec",
        "Spec",
        paragraph("The parts of the simulation; tensors are represented by their checksums." if composed else about),
        copied("Copy the spec", yaml, "Spec in YAML"),
    )


TITLES = {
    "fedradio": "fedradio",
    "python": "Python",
    "system": "system",
    "machine": "processor family",
    "cpus": "cores",
    "workers": "threads",
    "device": "device",
    "device_name": "device name",
    "started": "started (UTC)",
    "byteorder": "byte order",
}


def environment(run: Run) -> Html:
    """Section of a run's page: versions and machine."""
    facts = run.environment
    if not facts:
        why = "The run folder has no readable environment.json."
        return section("environment", "Environment", paragraph(why, class_="absent"))
    return section(
        "environment",
        "Environment",
        table(
            "Software and hardware of the run", ("what", "value"), environment_rows(facts), numbers=False, shown=False
        ),
    )


def environment_rows(facts: Mapping[str, Any]) -> list[list[Piece]]:
    """Software and hardware of a run, with packages after the version of Python."""
    packages, resumed = facts.get("packages"), facts.get("resumed")
    versions, machine = list(TITLES.items())[:2], list(TITLES.items())[2:]
    rows: list[list[Piece]] = [[title, _say(facts[key])] for key, title in versions if key in facts]
    if isinstance(packages, dict):
        rows += [[str(name), _say(version)] for name, version in packages.items()]
    rows += [[title, _say(facts[key])] for key, title in machine if key in facts]
    if isinstance(resumed, list) and resumed:
        rows.append(["resumed", "once" if len(resumed) == 1 else f"{len(resumed)} times"])
    return rows


def _say(value: Any) -> Piece:
    return DASH if value is None else str(value)
