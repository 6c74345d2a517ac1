"""``fedradio join``: join a federation as a device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import Insecure, PartFiles
from fedradio.core.errors import Problem, SpecError
from fedradio.report.terminal.console import say

app = one_command()


@app.command()
def join(
    address: Annotated[str, typer.Argument(metavar="HOST:PORT", help="address of the federation's server")],
    client: Annotated[int, typer.Option(min=0, help="number of this client, starting at 0")],
    key: Annotated[Path | None, typer.Option(help="private key of this device, from `fedradio keys`")] = None,
    ca: Annotated[Path | None, typer.Option(help="certificate of the federation's authority (ca.crt)")] = None,
    insecure: Insecure = False,
    data: Annotated[
        Path | None,
        typer.Option(
            help="folder with this device's samples: train.npz, train.safetensors or train/CLASS/*.png", metavar="DIR"
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="folder for this device's state, so that it can resume after a restart", metavar="DIR"),
    ] = None,
    wait: Annotated[float, typer.Option(min=0.0, help="how long to wait for an unreachable server, in seconds")] = 60.0,
    parts: PartFiles = None,
) -> None:
    """Join a federation as a device: train when the server asks, until the run is over or you press Ctrl-C.

    The server sends no code and cannot choose which files are read: your own parts come from --parts, your own samples
    from --data.
    """
    from fedradio.remote.flower.join import Credentials, check_address, join_federation

    where = check_address(address)
    if insecure and (key is not None or ca is not None):
        raise SpecError(Problem("--insecure", "cannot be combined with --key or --ca", "use one or the other"))
    if not insecure and (key is None or ca is None):
        missing = "--key" if key is None else "--ca"
        raise SpecError(Problem(missing, "a device needs its key and the authority's certificate", "--key F --ca F"))
    credentials = None if key is None or ca is None else Credentials(key, ca)
    join_federation(where, client, credentials, data, state, wait, lambda text: say(err, text))
    say(out, "the federation is over")
