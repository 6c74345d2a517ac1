"""The contract of pools, for this machine and for Ray: the same bytes."""

from __future__ import annotations

import json
import os
import platform
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.batches import Watch, jobs_in, made
from support.gate import Gate
from support.patience import PATIENCE_S

from fedradio.core.errors import SpecError
from fedradio.core.files import locked
from fedradio.runs.folder import ENVIRONMENT_FILE, RECORDS_FILE
from fedradio.runs.run import run
from fedradio.runs.stored import read_summary
from fedradio.runs.verify import check_run
from fedradio.spec.spec import Spec
from fedradio.sweeps.pool import RunTask, run_batch
from fedradio.sweeps.processes import LocalPool
from fedradio.sweeps.tasks import NOT_BEGUN, Pool, Said, Task

Make = Callable[..., Spec]

LONG = ("rounds=3000", "eval_every=3000", "hops.0.policy.steps=1", "topology.clients=2")
"""Some seconds of rounds, so that a wish to stop is heard in the middle, and there are checkpoints."""


@pytest.fixture
def cluster_pool(ray: Any) -> Pool:
    from fedradio.remote.ray_pool import RayPool

    return RayPool(ray, 2)


@pytest.fixture(params=["local", "ray"])
def pool(request: pytest.FixtureRequest) -> Pool:
    return LocalPool(2) if request.param == "local" else request.getfixturevalue("cluster_pool")


@dataclass
class Wish:
    """The wish to stop."""

    asked: bool = False


def tasks_of(root: Path, specs: dict[str, Spec]) -> Iterator[Task]:
    setting = {"device": "cpu", "workers": 1, "parts": [], "skip_held": False}
    for number, (name, spec) in enumerate(specs.items()):
        yield Task(number, {"spec": spec.plain, "folder": str(root / name), **setting})


@pytest.fixture(scope="module")
def lone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Spec], Any]:
    """What a spec makes in this process, alone."""
    known: dict[str, Any] = {}

    def make(spec: Spec) -> Any:
        if spec.sha256() not in known:
            folder = tmp_path_factory.mktemp("lone") / "run"
            run(spec, folder, workers=1)
            known[spec.sha256()] = made(folder)
        return known[spec.sha256()]

    return make


def test_every_task_ends_once_with_the_same_bytes(
    pool: Pool, tiny: Make, tmp_path: Path, lone: Callable[[Spec], Any]
) -> None:
    diverging = ("model={kind: mlp, hidden: [16, 16]}", "rule.lr=10000", "rule.momentum=0.9")
    specs = {
        "one": tiny("seed=1"),
        "bad": tiny(*diverging, "algorithm.server_lr=10000"),
        "two": tiny("seed=2"),
        "foreign": tiny("seed=3"),
    }
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").touch()
    said: list[Said] = []
    pool.make(tasks_of(tmp_path, specs), said.append, Wish())
    ends = {each.number: each.message for each in said if each.kind == "end"}
    assert len([each for each in said if each.kind == "end"]) == 4
    statuses = [ends[number]["status"] for number in range(4)]
    assert statuses == ["complete", "diverged", "complete", "failed"]
    assert [ends[number]["exit_code"] for number in range(4)] == [0, 3, 0, 5]
    for name in ("one", "two"):
        assert made(tmp_path / name) == lone(specs[name])
        assert not check_run(tmp_path / name, thorough=True).damage
    assert [path.name for path in (tmp_path / "foreign").iterdir()] == ["thesis.tex"]
    assert [path.name for path in tmp_path.rglob(".probe*")] == []
    rounds = [each.message for each in said if each.kind == "round" and each.number == 0]
    assert rounds[-1] == {"event": "round", "done": 2, "rounds": 2}


def test_what_is_stopped_before_it_begins_leaves_nothing(pool: Pool, tiny: Make, tmp_path: Path) -> None:
    said: list[Said] = []
    pool.make(tasks_of(tmp_path, dict.fromkeys(("one", "two"), tiny())), said.append, Wish(asked=True))
    assert [(each.number, each.kind, each.message["status"]) for each in said] == [
        (0, "end", NOT_BEGUN),
        (1, "end", NOT_BEGUN),
    ]
    assert [*tmp_path.iterdir()] == []


def test_stopped_in_the_middle_it_goes_on_to_the_same_bytes(
    pool: Pool,
    tiny: Make,
    tmp_path: Path,
    lone: Callable[[Spec], Any],
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", gate.environment["PYTHONPATH"])
    specs = {"long": tiny(*LONG, "seed=1"), "other": tiny(*LONG, "seed=2"), "never": tiny(*LONG, "seed=3")}
    wish, said = Wish(), []

    def tell(news: Said) -> None:
        said.append(news)
        if not wish.asked and news.kind == "round" and news.message["done"] > 0:
            wish.asked = True

    pool.make(tasks_of(tmp_path, specs), tell, wish)
    gate.open()
    ends = {each.number: each.message["status"] for each in said if each.kind == "end"}
    assert ends[2] == NOT_BEGUN
    assert not (tmp_path / "never").exists()
    ran = {each.number for each in said if each.kind == "round" and each.message["done"] > 0}
    begun = [name for number, name in enumerate(specs) if number in ran and ends[number] == "interrupted"]
    assert {ends[number] for number in ran} == {"interrupted"}
    for name in begun:
        summary = read_summary(tmp_path / name)
        assert summary["status"] == "interrupted"
        assert (tmp_path / name / f"checkpoints/round-{summary['rounds']:06}.json").is_file()
    again = run_batch(jobs_in(tmp_path, {name: specs[name] for name in begun}), pool=pool)
    assert [(one.status, one.error) for one in again] == [("complete", None)] * len(begun)
    for name in begun:
        assert made(tmp_path / name) == lone(specs[name])
        assert len(json.loads((tmp_path / name / ENVIRONMENT_FILE).read_text())["resumed"]) == 1


def test_killed_in_the_middle_ray_makes_it_again_from_its_checkpoint(
    cluster_pool: Pool, tiny: Make, tmp_path: Path, lone: Callable[[Spec], Any]
) -> None:
    spec, folder, killed = tiny(*LONG, "seed=1"), tmp_path / "long", []

    def kill(task: RunTask) -> None:
        if not killed and [*folder.glob("checkpoints/*.json")]:
            killed.extend(makers())
            for process in killed:
                os.kill(process, signal.SIGKILL)

    outcome = run_batch(jobs_in(tmp_path, {"long": spec}), pool=cluster_pool, observer=Watch(kill))[0]
    assert (outcome.status, len(killed)) == ("complete", 1)
    resumed = json.loads((folder / ENVIRONMENT_FILE).read_text())["resumed"]
    assert [each["rounds"] > 0 for each in resumed] == [True]
    assert made(folder) == lone(spec)
    lines = [json.loads(line) for line in (folder / RECORDS_FILE).read_text().splitlines()]
    rounds = [line["t"] for line in lines if line["type"] == "round"]
    assert rounds == [*range(len(rounds))]
    assert not check_run(folder, thorough=True).damage


def makers() -> list[int]:
    """Processes of this Ray that make runs."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
            if command.startswith("ray::_make_run") and _parent(_parent(int(process.name))) == os.getpid():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_worker_that_does_not_see_the_folder_ends_the_sweep_with_one_error(
    cluster_pool: Pool, tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_pool, "probe", lambda *_: tmp_path / "nothing")
    said: list[Said] = []
    with pytest.raises(SpecError, match=f"{platform.node()} does not see {tmp_path}"):
        cluster_pool.make(
            tasks_of(tmp_path, {f"{seed}": tiny(f"seed={seed}") for seed in range(4)}), said.append, Wish()
        )
    assert sorted(each.number for each in said if each.kind == "end") == [0, 1, 2, 3]
    assert {each.message["status"] for each in said} <= {"failed", NOT_BEGUN}
    assert [*tmp_path.iterdir()] == []


def test_a_second_wish_ends_everything_at_once(pool: Pool, tiny: Make, tmp_path: Path) -> None:
    def tell(news: Said) -> None:
        if news.kind == "round":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.make(tasks_of(tmp_path, {"endless": tiny("rounds=1000000", "eval_every=1000000")}), tell, Wish())
    if (tmp_path / "endless").exists():
        with locked(tmp_path / "endless", wait_s=PATIENCE_S):  # nobody holds it
            pass
    assert makers() == []
