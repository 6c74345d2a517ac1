"""Room on a cluster, and the file by which a shared folder is known; tests/cluster has the contract of pools."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fedradio.core.errors import SpecError
from fedradio.remote import ray_pool as module
from fedradio.remote.ray_pool import RayPool
from fedradio.remote.ray_task import NOT_SHARED, probe_name
from fedradio.sweeps.tasks import NOT_BEGUN, Said, Task, end


class Ray:
    """A cluster of three machines and one that has died. What is called is done when its result is asked for."""

    exceptions = SimpleNamespace(TaskCancelledError=KeyError, RayTaskError=IndexError, RayError=Exception)

    def cluster_resources(self) -> dict[str, Any]:
        return {"CPU": 8.0}

    def nodes(self) -> list[dict[str, Any]]:
        here, dead = {"Alive": True, "Resources": {"CPU": 4.0}}, {"Alive": False, "Resources": {"CPU": 64.0}}
        return [here, here, {"Alive": True, "Resources": {}}, dead]

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_node_id=lambda: "here")

    def remote(self, what: Any) -> Any:
        if not isinstance(what, type):
            return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda *given: lambda: what(*given)))
        box = what()
        later = {name: self._later(getattr(box, name)) for name in ("tell", "take", "stop")}
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda: SimpleNamespace(**later)))

    def _later(self, method: Callable[..., Any]) -> Any:
        return SimpleNamespace(remote=lambda *given: lambda: method(*given))

    def get(self, call: Callable[[], Any]) -> Any:
        return call()

    def wait(self, calls: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        return calls[:1], calls[1:]

    def cancel(self, call: Any, **_: Any) -> None:
        pass

    def kill(self, actor: Any) -> None:
        pass


@dataclass
class Wish:
    """The wish to stop."""

    asked: bool = False


def test_as_many_runs_as_have_processors_unless_told_otherwise() -> None:
    assert RayPool(Ray()).share(100, None) == (8, 1)
    assert RayPool(Ray()).share(100, 3) == (2, 3)
    assert RayPool(Ray(), 5).share(100, None) == (5, 1)
    with pytest.raises(SpecError, match="the largest machine of the cluster has 4"):
        RayPool(Ray()).share(100, 5)


def test_a_machine_that_does_not_see_the_folder_ends_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four runs, two at a time, the second one meets such a machine: one error, and two runs that never begin."""
    seen = []

    def made(number: int, task: dict[str, Any], asker: Any, token: str, mailbox: Any) -> dict[str, Any]:
        seen.append((Path(task["folder"]).parent / probe_name(token)).is_file())
        return {"event": NOT_SHARED, "machine": "far"} if number == 1 else end("complete", None, 0)

    monkeypatch.setattr(module, "_make_run", made)
    monkeypatch.setattr(module, "on_node", lambda node: node)
    said: list[Said] = []
    tasks = (Task(i, {"folder": str(tmp_path / "runs" / f"{i}"), "workers": 1}) for i in range(4))
    with pytest.raises(SpecError, match=f"far does not see {tmp_path}/runs"):
        RayPool(Ray(), 1).make(tasks, said.append, Wish())
    assert [(each.number, each.message["status"]) for each in said] == [
        (0, "complete"),
        (1, "failed"),
        (2, NOT_BEGUN),
        (3, NOT_BEGUN),
    ]
    assert seen == [True, True]
    assert [*(tmp_path / "runs").iterdir()] == []
