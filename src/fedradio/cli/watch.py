"""``fedradio watch``: serve the live page of a run or sweep."""

from __future__ import annotations

import sys
import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.core.errors import StoreError
from fedradio.report.live.server import PORT, LiveServer
from fedradio.report.terminal.console import say
from fedradio.results.sweep_file import is_sweep
from fedradio.runs.folder import is_run

app = one_command()


@app.command()
def watch(
    folder: Annotated[Path, typer.Argument(metavar="RUN|SWEEP", help="run folder or sweep folder")],
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help=f"port on 127.0.0.1; default: {PORT}, or a free port if that one is in use"
        ),
    ] = None,
    show_it: Annotated[bool, typer.Option("--open", help="also open the page in your browser")] = False,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
) -> None:
    """Serve the live page of a run or sweep on this machine; it updates itself while runs are in progress.

    The page is read-only and can only be opened on this machine. Press Ctrl-C to stop serving it. To watch a run on
    another machine, forward the port: ssh -L 8765:127.0.0.1:8765 MACHINE.
    """
    if not (until_eof or is_sweep(folder) or is_run(folder)):
        raise StoreError(
            f"{folder} is neither a run folder nor a sweep folder; start it first, or use `--watch` of "
            "`fedradio run` or `fedradio sweep`"
        )
    server = LiveServer(folder, port)
    say(out, server.url)
    out.file.flush()
    if show_it:
        webbrowser.open(server.url)
    try:
        if until_eof:
            sys.stdin.read()
        else:
            say(err, "press Ctrl-C to stop")
            while True:
                time.sleep(3600)
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
