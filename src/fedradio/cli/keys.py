"""``fedradio keys``: certificates and keys of a federation."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import one_command, out
from fedradio.report.terminal.console import say

app = one_command()


@app.command()
def keys(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new or empty folder")],
    host: Annotated[str, typer.Option(help="name or address by which devices reach the server")],
    nodes: Annotated[int, typer.Option(min=1, help="number of devices")],
) -> None:
    """Make certificates and keys of a federation: an authority, the server's certificate, a key for every device.

    The certificate holds for HOST, localhost and 127.0.0.1. All files can be read by their owner only; none is ever
    replaced.
    """
    from fedradio.remote.flower.extra import need_cryptography
    from fedradio.remote.flower.keys import CA_FILE, make_keys, node_file

    need_cryptography("keys")
    make_keys(folder, host, nodes)
    last = f" to {node_file(nodes - 1)}" if nodes > 1 else ""
    say(out, f"{folder}: certificates for {host}, keys of {nodes} device(s)")
    say(out, f"to every device: {CA_FILE}, and the key of its client, {node_file(0)}{last}; all else stays here")
    say(out, f"then: {shlex.join(['fedradio', 'serve', 'SPEC', '--tls', str(folder)])}")
