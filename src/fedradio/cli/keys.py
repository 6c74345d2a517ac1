"""``fedradio keys``: create the certificates and keys of a federation."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import one_command, out
from fedradio.report.terminal.console import say
from fedradio.report.terminal.words import count

app = one_command()


@app.command()
def keys(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new or empty folder")],
    host: Annotated[str, typer.Option(help="host name or address at which devices reach the server")],
    nodes: Annotated[int, typer.Option(min=1, help="number of devices")],
) -> None:
    """Create the certificates and keys of a federation: an authority, a server certificate, one key per device.

    The certificate is valid for HOST, localhost and 127.0.0.1. Only their owner can read the files, and existing files
    are never replaced.
    """
    from fedradio.remote.flower.extra import need_cryptography
    from fedradio.remote.flower.keys import CA_FILE, make_keys, node_file

    need_cryptography("keys")
    make_keys(folder, host, nodes)
    last = f" to {node_file(nodes - 1)}" if nodes > 1 else ""
    say(out, f"wrote to {folder}: certificates for {host}, and keys for {count(nodes, 'device')}")
    say(out, f"give every device {CA_FILE} and the key of its client, {node_file(0)}{last}; keep all other files here")
    say(out, f"then start the server: {shlex.join(['fedradio', 'serve', 'SPEC', '--tls', str(folder)])}")
