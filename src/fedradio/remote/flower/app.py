"""A federation as a Flower app, for your own SuperLink and SuperNodes: written by ``serve --app DIR``.

The app holds a spec and a module that imports this one: every machine needs fedradio of the same version. A SuperNode
says who it is in its ``--node-config``: ``client=0 state="/path" data="/path"``.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedradio._version import __version__
from fedradio.core.errors import DataError, StoreError
from fedradio.core.files import parse_json, read_bytes, write_json, write_text
from fedradio.remote.flower.refusals import refuse_simulation, refuse_spec
from fedradio.remote.flower.worlds import is_own, signal_shapes
from fedradio.spec.spec import Spec, check_spec

if TYPE_CHECKING:
    from flwr.app import Context, Message
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp

SPEC_FILE, MODULE = "spec.json", "fedradio_app"

PROJECT = """[project]
name = "fedradio-federation"
version = "1.0.0"
description = "A federation of fedradio {version}; every machine needs that version installed"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "fedradio"
fab-include = ["{module}/*.py", "{module}/*.json"]

[tool.flwr.app.components]
serverapp = "{module}:server"
clientapp = "{module}:client"

[tool.flwr.app.config]
out = "run"
deadline = {deadline}
wait = {wait}
"""

CODE = '''"""A federation of fedradio {version}: the spec beside this file, made by `fedradio serve --app`."""

from pathlib import Path

from fedradio.remote.flower.app import client_app, server_app

server = server_app(Path(__file__).with_name("{spec}"))
client = client_app()
'''


def write_app(folder: Path, spec: Spec, deadline_s: float | None, wait_s: float) -> None:
    """Write the app of a spec into a new or empty folder; what cannot be federated is refused."""
    refuse_spec(spec)
    if is_own(spec):
        raise DataError("an app cannot use data.source=own: use serve and join for data on the devices")
    from fedradio.spec.build import build

    refuse_simulation(build(spec), own=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise StoreError(f"{folder} is not empty: choose another folder")
        (folder / MODULE).mkdir()
    except OSError as error:
        raise StoreError(f"cannot use {folder}: {error.strerror or error}") from None
    told = {"version": __version__, "module": MODULE, "spec": SPEC_FILE}
    project = PROJECT.format(**told, deadline=0.0 if deadline_s is None else float(deadline_s), wait=float(wait_s))
    write_text(folder / "pyproject.toml", project)
    write_text(folder / MODULE / "__init__.py", CODE.format(**told))
    write_json(folder / MODULE / SPEC_FILE, spec.plain)


class GridMailbox:
    """A :class:`~fedradio.remote.flower.mailbox.Mailbox` on the Grid of a Flower ServerApp."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def online(self) -> dict[int, str]:
        return dict.fromkeys(self._grid.get_node_ids(), "there")

    def push(self, node: int, letter: bytes) -> str:
        from flwr.app import ConfigRecord, Message, RecordDict

        message = Message(RecordDict({"letter": ConfigRecord({"bytes": letter})}), node, "train")
        (number,) = self._grid.push_messages([message])
        return str(number)

    def pull(self, wanted: Collection[str]) -> dict[str, bytes | None]:
        replies: dict[str, bytes | None] = {}
        for message in self._grid.pull_messages(list(wanted)) if wanted else ():
            number = message.metadata.reply_to_message_id
            replies[number] = letter_of(message)
        return replies

    def drop(self, wanted: Collection[str]) -> None:
        """A Grid takes nothing back: late replies stay with it, and nobody asks for them."""


def letter_of(message: Message) -> bytes | None:
    """The letter in a message; None if there is none."""
    if message.has_error():
        return None
    try:
        letter: Any = message.content["letter"]["bytes"]
    except (KeyError, TypeError):
        return None
    return letter if isinstance(letter, bytes) else None


def server_app(spec_file: Path) -> ServerApp:
    """The server of an app: makes the run in the folder that the run's config names."""
    from flwr.serverapp import ServerApp

    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        spec = check_spec(parse_json(read_bytes(spec_file), spec_file))
        config = context.run_config
        deadline_s = float(config["deadline"]) or None
        federate(
            GridMailbox(grid), spec, Path(str(config["out"])), str(context.run_id), deadline_s, float(config["wait"])
        )

    return app


def federate(mailbox: Any, spec: Spec, out: Path, run_id: str, deadline_s: float | None, wait_s: float) -> None:
    """Make the rounds of a spec with the devices of a mailbox."""
    from fedradio.remote.flower.federation import Federation
    from fedradio.remote.flower.roster import assemble
    from fedradio.runs.run import run
    from fedradio.spec.build import build

    sim = build(spec)
    roster = assemble(mailbox, spec, run_id, sim.topology.clients, signal_shapes(sim), wait_s, print)
    federation = Federation(mailbox, roster, spec, run_id, deadline_s)
    try:
        run(spec, out, simulation=replace(sim, clients=federation), keep=False)
    finally:
        federation.close()


def client_app() -> ClientApp:
    """A device of an app; a SuperNode starts it anew for every letter, so that its state must have a folder."""
    from flwr.app import ConfigRecord, Message, RecordDict
    from flwr.clientapp import ClientApp

    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        letter = letter_of(message)
        reply = json.dumps({}).encode() if letter is None else _trainer(context).answer(letter)
        return Message(RecordDict({"letter": ConfigRecord({"bytes": reply})}), reply_to=message)

    return app


def _trainer(context: Context) -> Any:
    """The trainer of a SuperNode, as its node config says."""
    from fedradio.remote.flower.trainer import Trainer

    config = context.node_config
    state = Path(str(config["state"])) if "state" in config else None
    if state is not None:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Trainer(int(config["client"]), None, state)
