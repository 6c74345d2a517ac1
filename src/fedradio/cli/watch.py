"""``fedradio watch``: serves the page of a run or a sweep while it goes on."""

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
    folder: Annotated[Path, typer.Argument(metavar="RUN|SWEEP", help="run folder, or folder of a sweep")],
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help=f"port on 127.0.0.1; default {PORT}, or a free one if that is taken"),
    ] = None,
    show_it: Annotated[bool, typer.Option("--open", help="also open it in the browser")] = False,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
) -> None:
    """Serve the page of a run or a sweep on this machine while it goes on; the page updates itself.

    Only programs on this machine can ask for it, and nothing can be changed through it. Ctrl-C ends it. To look at a
    run on another machine, forward the port: ssh -L 8765:127.0.0.1:8765 MACHINE.
    """
    if not (until_eof or is_sweep(folder) or is_run(folder)):
        raise StoreError(
            f"{folder} is neither a run folder nor a sweep folder; start it first, or use run --watch or sweep --watch"
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
            say(err, "Ctrl-C ends it")
            while True:
                time.sleep(3600)
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
