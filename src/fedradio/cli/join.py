"""``fedradio join``: a device of a federation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import PartFiles, err, one_command, out
from fedradio.core.errors import Problem, SpecError
from fedradio.report.terminal.console import say

app = one_command()


@app.command()
def join(
    address: Annotated[str, typer.Argument(metavar="HOST:PORT", help="where the federation is served")],
    client: Annotated[int, typer.Option(min=0, help="number of this client, from 0")],
    key: Annotated[Path | None, typer.Option(help="private key of this device, of `fedradio keys`")] = None,
    ca: Annotated[Path | None, typer.Option(help="certificate of the federation's authority, ca.crt")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="without TLS and keys, on one machine")] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="this device's samples: train.npz, train.safetensors or train/CLASS/*.png", metavar="DIR"),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="this device's state, from which it goes on when it is started again", metavar="DIR"),
    ] = None,
    wait: Annotated[float, typer.Option(min=0.0, help="seconds to wait for a server that cannot be reached")] = 60.0,
    parts: PartFiles = None,
) -> None:
    """Be a device of a federation: train when the server asks, until it says that the run is over, or Ctrl-C.

    No code comes from the server, and no file is read that it names: parts of your own are those of --parts, samples of
    your own those of --data.
    """
    from fedradio.remote.flower.join import Credentials, check_address, join_federation

    where = check_address(address)
    if insecure and (key is not None or ca is not None):
        raise SpecError(Problem("--insecure", "--key or --ca is given, too", "keep one of them"))
    if not insecure and (key is None or ca is None):
        missing = "--key" if key is None else "--ca"
        raise SpecError(Problem(missing, "a device needs its key and the authority's certificate", "--key F --ca F"))
    credentials = None if key is None or ca is None else Credentials(key, ca)
    join_federation(where, client, credentials, data, state, wait, lambda text: say(err, text))
    say(out, "the federation is over")
