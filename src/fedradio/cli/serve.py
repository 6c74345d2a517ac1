"""``fedradio serve``: serve a federation of real devices and write a run folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import Insecure, Overrides, PartFiles, Rounds, RunOut, Seed, SpecArgument, changes
from fedradio.core.errors import Problem, SpecError
from fedradio.report.terminal.console import say
from fedradio.runs.folder import new_folder
from fedradio.spec.spec import load_spec

app = one_command()


@app.command()
def serve(
    spec: SpecArgument,
    overrides: Overrides = None,
    out_dir: RunOut = None,
    bind: Annotated[str, typer.Option(help="address to listen on; any address beyond this machine requires --tls")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=1, max=65535, help="port to listen on")] = 9092,
    tls: Annotated[Path | None, typer.Option(help="folder written by `fedradio keys`", metavar="DIR")] = None,
    insecure: Insecure = False,
    deadline: Annotated[
        float | None,
        typer.Option(min=0.1, help="seconds to wait for a reply; default: ten times the planned time, at least 60"),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="resume the interrupted federation in the folder given by --out")
    ] = False,
    wait: Annotated[float, typer.Option(min=0.0, help="seconds to wait for all clients to join")] = 300.0,
    test: Annotated[
        Path | None,
        typer.Option(help="folder with test.npz, test.safetensors or test/CLASS, for data.source=own", metavar="DIR"),
    ] = None,
    app_dir: Annotated[
        Path | None,
        typer.Option("--app", help="only write a Flower app for your own SuperLink", metavar="DIR"),
    ] = None,
    seed: Seed = None,
    rounds: Rounds = None,
    parts: PartFiles = None,
) -> None:
    """Serve a federation: wait for its devices (`fedradio join`), run the spec's rounds on them, write a run folder.

    The spec's radio plans every exchange; its planned times and energies are recorded next to the measured times. No
    code is sent. Ctrl-C ends the run after the current round; the same command with --resume continues it.
    """
    from fedradio.remote.flower.serve import Place, join_command
    from fedradio.remote.flower.serve import serve as serve_spec
    from fedradio.report.terminal.run_progress import RunProgress
    from fedradio.report.terminal.summary import participation_warning, summary_table
    from fedradio.results.run import ended_run
    from fedradio.results.sweep_file import check_outside_sweeps

    changed = changes(overrides, seed, rounds)
    checked = load_spec(spec, [*changed, "grouping=single"])
    if app_dir is not None:
        from fedradio.remote.flower.app import write_app

        write_app(app_dir, checked, deadline, wait)
        command = shlex.join(["flwr", "run", str(app_dir)])
        say(out, f"wrote a Flower app to {app_dir}; run it on your SuperLink with: {command}")
        return
    if resume and out_dir is None:
        raise SpecError(Problem("--resume", "which federation goes on?", "--out RUN, its run folder"))
    folder = out_dir or new_folder(checked.name, checked.seed)
    check_outside_sweeps(folder)
    place = Place(bind, port, tls)
    place.check(insecure)
    samples = None
    if test is not None:
        from fedradio.remote.flower.folders import read_test

        samples = read_test(test)

    def opened() -> None:
        say(out, f"serving {checked.name} at {bind}:{port}; join as a device with: {join_command(place, 0)}")

    try:
        with RunProgress(out, changed) as progress:
            summary = serve_spec(
                checked,
                folder,
                place,
                deadline_s=deadline,
                wait_s=wait,
                resumed=resume,
                test=samples,
                observer=progress,
                tell=lambda text: say(err, text),
                opened=opened,
            )
    except KeyboardInterrupt:
        if folder.is_dir():
            again = "the same command with --resume" + ("" if out_dir else f" --out {shlex.quote(str(folder))}")
            say(err, f"interrupted; finished rounds are in {folder}; to continue, restart the devices and run {again}")
        raise
    out.print(summary_table(ended_run(folder, summary)))
    if warning := participation_warning(summary):
        say(err, ("warning", "yellow"), f" {warning}")
    say(out, f"run folder: {folder}")
    say(out, f"report page: {shlex.join(['fedradio', 'report', str(folder)])}")
