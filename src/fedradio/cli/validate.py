"""``fedradio validate``: check a spec without running it, listing all its problems."""

from __future__ import annotations

from fedradio.cli.app import one_command, out
from fedradio.cli.options import Overrides, PartFiles, Rounds, Seed, SpecArgument, changes
from fedradio.report.terminal.console import say
from fedradio.spec.spec import load_spec

app = one_command()


@app.command()
def validate(
    spec: SpecArgument,
    overrides: Overrides = None,
    seed: Seed = None,
    rounds: Rounds = None,
    parts: PartFiles = None,
) -> None:
    """Check a spec without running it; every problem is listed with its path, its value and a fix."""
    from fedradio.spec.build import build

    checked = load_spec(spec, changes(overrides, seed, rounds))
    sim = build(checked)
    for warning in sim.warnings:
        say(out, ("warning", "yellow"), f" {warning}")
    say(out, f"{checked.name}: valid (sha256 {checked.sha256()[:12]})")
