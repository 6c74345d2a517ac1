"""``fedradio schema``: print the JSON Schema of specs, for editors."""

from __future__ import annotations

import json

import typer

from fedradio.cli.app import one_command
from fedradio.cli.options import PartFiles

app = one_command()


@app.command()
def schema(parts: PartFiles = None) -> None:
    """Print the JSON Schema of specs, so that editors can complete and check them."""
    from fedradio.spec.json_schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))
