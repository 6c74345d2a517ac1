"""A federation as a Flower app: the files, and letters through a Grid."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("flwr")

from support.federations import quiet, spec_of

from fedradio.core.errors import DataError, SpecError, StoreError
from fedradio.remote.flower.app import GridMailbox, client_app, federate, letter_of, write_app
from fedradio.remote.flower.trainer import Trainer
from fedradio.runs.run import run


def test_the_files_of_an_app(tmp_path: Path) -> None:
    write_app(tmp_path / "app", spec_of(), 30.0, 100.0)
    project = tomllib.loads((tmp_path / "app" / "pyproject.toml").read_text())
    assert project["project"]["dependencies"] == []
    assert project["tool"]["flwr"]["app"]["config"] == {"out": "run", "deadline": 30.0, "wait": 100.0}
    names = sorted(str(path.relative_to(tmp_path / "app")) for path in (tmp_path / "app").rglob("*") if path.is_file())
    assert names == ["fedradio_app/__init__.py", "fedradio_app/spec.json", "pyproject.toml"]
    compile((tmp_path / "app" / "fedradio_app" / "__init__.py").read_text(), "app", "exec")
    with pytest.raises(StoreError, match="is not empty"):
        write_app(tmp_path / "app", spec_of(), None, 1.0)
    with pytest.raises(SpecError, match="central"):
        write_app(tmp_path / "other", spec_of(algorithm="central"), None, 1.0)
    own = {"source": {"kind": "own", "shape": [1], "classes": 2}}
    with pytest.raises(DataError, match="use serve and join"):
        write_app(tmp_path / "other", spec_of(data=own), None, 1.0)


def message(letter: object, number: str = "") -> Any:
    """Stands for a message of Flower, which can be made in a task only."""
    metadata = SimpleNamespace(reply_to_message_id=number)
    return SimpleNamespace(metadata=metadata, content={"letter": {"bytes": letter}}, has_error=lambda: letter is None)


@dataclass
class Grid:
    """Three nodes whose devices answer when they are asked for replies."""

    trainers: list[Trainer] = field(default_factory=lambda: [Trainer(number, tell=quiet) for number in range(3)])
    pushed: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    def get_node_ids(self) -> list[int]:
        return [0, 1, 2]

    def pull_messages(self, wanted: Iterable[str]) -> list[Any]:
        taken = [(number, *self.pushed.pop(number)) for number in wanted if number in self.pushed]
        return [message(self.trainers[node].answer(letter), number) for number, node, letter in taken]


class Mailbox(GridMailbox):
    """Letters without Flower's messages on the way there."""

    def push(self, node: int, letter: bytes) -> str:
        grid: Any = self._grid
        number = str(len(grid.pushed)) + f"-{node}"
        grid.pushed[number] = (node, letter)
        return number


def test_a_run_over_a_grid_equals_the_simulation(tmp_path: Path) -> None:
    grid: Any = Grid()
    spec = spec_of(rounds=2)
    federate(Mailbox(grid), spec, tmp_path / "run", "7", 30.0, 10.0)
    run(spec, tmp_path / "plain")
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("run", "plain")]
    assert models[0] == models[1]


def test_messages_that_hold_no_letter() -> None:
    assert letter_of(message(b"x")) == b"x"
    assert letter_of(message(None)) is None
    assert letter_of(message("text")) is None
    assert letter_of(SimpleNamespace(content={}, has_error=lambda: False)) is None  # type: ignore[arg-type]
    assert client_app() is not None
