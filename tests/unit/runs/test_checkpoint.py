"""Checkpoints: states come back, damage is refused, time is spared."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from support.odd_tensors import ODD, same

from fedradio.core.contracts import Memory, SimState, Slots
from fedradio.core.errors import StoreError
from fedradio.core.files import write_text
from fedradio.runs import checkpoint
from fedradio.runs.checkpoint import Checkpoint, Checkpointer, last_good
from fedradio.runs.folder import RECORDS_FILE, SPEC_FILE, RunFolder
from fedradio.runs.summary import RunningSummary
from fedradio.spec.spec import Spec


def state_of(t: int = 4) -> SimState:
    """Every group, names with slashes, an empty policy slot, undefined totals, order that is not the alphabet's."""
    memory = Memory({"w": torch.randn(5), "model/norms": torch.ones(2)}, {"rule/adam_n": torch.arange(3.0)}, dict(ODD))
    policy: tuple[Slots, ...] = ({"z": torch.tensor([1.0]), "a": torch.tensor([2])}, {})
    return SimState(t, 0.1 + 0.2, None, 3.0, memory, {"hi": torch.arange(4)}, policy, {"loss": ODD["doubles"]})


def groups(state: SimState) -> list[Slots]:
    return [state.memory.shared, state.memory.client, state.memory.ledger, state.stream, *state.policy, state.signals]


@pytest.fixture
def folder(tiny: Callable[..., Spec], tmp_path: Path) -> RunFolder:
    """A run folder with three lines of records, and checkpoints after 2 and 4 rounds."""
    made = RunFolder(tmp_path / "run")
    keeper = Checkpointer(made, tiny())
    write_text(made.path / SPEC_FILE, tiny().yaml())
    for t in (2, 4):
        made.append({"type": "round", "t": t})
        keeper.save(state_of(t), RunningSummary(best_round=t), 1.5 * t)
    made.append({"type": "round", "t": 5})
    return made


def files(folder: RunFolder) -> list[str]:
    return sorted(path.name for path in (folder.path / checkpoint.FOLDER).iterdir())


def test_a_state_comes_back_bit_for_bit(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    running = RunningSummary(
        [1e9, None], 7, {"clients": 3.0, "arrived": 1 / 3, "eligible": 0.0}, True, {"accuracy": 0.1}, {}, 3
    )
    state = state_of()
    with RunFolder(tmp_path / "run") as folder:
        folder.append({"type": "round"})
        written = Checkpoint(state, running, folder.offset(), 12.3, 0.7)
        checkpoint.write(folder.path, written, tiny())
        found, refused = last_good(folder, tiny())
    assert refused == []
    assert found is not None
    assert (found.running, found.records, found.wall_s, found.checkpoint_s) == (running, written.records, 12.3, 0.7)
    assert (found.state.t, found.state.time_s, found.state.energy_j, found.state.bits) == (4, 0.1 + 0.2, None, 3.0)
    for before, after in zip(groups(state), groups(found.state), strict=True):
        assert list(before) == list(after)
        assert all(same(before[name], after[name]) for name in before)


def test_two_are_kept(folder: RunFolder, tiny: Callable[..., Spec]) -> None:
    assert files(folder) == [f"round-00000{t}.{end}" for t in (2, 4) for end in ("json", "safetensors")]
    found, _ = last_good(folder, tiny())
    Checkpointer(folder, tiny(), found).save(state_of(9), RunningSummary(), 9.0)
    assert files(folder) == [f"round-00000{t}.{end}" for t in (4, 9) for end in ("json", "safetensors")]


@pytest.mark.parametrize(
    ("ending", "harm", "why"),
    [
        ("json", lambda data: data[:-40], "not a whole JSON file"),
        ("json", lambda data: b"[1]" + data[:0], "not a whole JSON file"),
        ("json", lambda data: data.replace(b'"t": 4', b'"t": 5'), "its checksum is wrong"),
        ("safetensors", lambda data: data[:-1], "checksum of round-000004.safetensors is wrong"),
        ("safetensors", lambda data: data[:-1] + bytes([data[-1] ^ 1]), "checksum of round-000004.safetensors"),
        ("safetensors", None, "No such file"),
    ],
)
def test_a_damaged_checkpoint_is_refused_by_name(
    folder: RunFolder,
    tiny: Callable[..., Spec],
    ending: str,
    harm: Callable[[bytes], bytes] | None,
    why: str,
) -> None:
    path = folder.path / checkpoint.FOLDER / f"round-000004.{ending}"
    if harm is None:
        path.unlink()
    else:
        before = path.read_bytes()
        path.write_bytes(harm(before))
        assert path.read_bytes() != before
    found, refused = last_good(folder, tiny())
    assert found is not None
    assert found.state.t == 2
    assert len(refused) == 1
    assert "round-000004.json is refused" in refused[0]
    assert why in refused[0]
    Checkpointer(folder, tiny(), found).save(state_of(3), RunningSummary(), 9.0)
    assert files(folder) == [f"round-00000{t}.{end}" for t in (2, 3) for end in ("json", "safetensors")]


def test_records_that_were_changed_refuse_the_checkpoint(folder: RunFolder, tiny: Callable[..., Spec]) -> None:
    path = folder.path / RECORDS_FILE
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1].replace("4", "7") + lines[2])
    found, refused = last_good(folder, tiny())
    assert found is not None
    assert (found.state.t, len(refused)) == (2, 1)
    assert "records.jsonl is not as it was" in refused[0]
    path.write_text("")
    assert last_good(folder, tiny())[0] is None


def test_rewound_records_go_on_behind_the_cut(folder: RunFolder, tiny: Callable[..., Spec]) -> None:
    whole = (folder.path / RECORDS_FILE).read_text()
    found, _ = last_good(folder, tiny())
    assert found is not None
    folder.rewind(found.records.size)
    assert folder.offset() == found.records
    folder.append({"type": "round", "t": 5})
    assert (folder.path / RECORDS_FILE).read_text() == whole


def test_other_formats_and_specs_are_refused(folder: RunFolder, tiny: Callable[..., Spec]) -> None:
    assert last_good(folder, tiny("rounds=99"))[0] is not None
    with pytest.raises(StoreError, match=r"round-000004.json belongs to another spec"):
        last_good(folder, tiny("rule.lr=0.2"))
    path = folder.path / checkpoint.FOLDER / "round-000004.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"format": 2, "fedradio": "9.9"}))
    with pytest.raises(StoreError, match=r"format 2, .* reads 1; go on with fedradio 9\.9"):
        last_good(folder, tiny())


def test_checkpoints_take_a_small_share_of_the_time(
    tiny: Callable[..., Spec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of 1000 s with rounds of 0.5 s: whatever one checkpoint takes, all together stay below 3 %."""
    for number, seconds in enumerate((0.001, 0.3, 4.0)):
        clock = iter(x for i in range(10**5) for x in (10.0 * i, 10.0 * i + seconds))
        monkeypatch.setattr(checkpoint.time, "perf_counter", lambda clock=clock: next(clock))
        monkeypatch.setattr(checkpoint, "write", lambda *_: None)
        keeper = Checkpointer(RunFolder(tmp_path / str(number)), tiny())
        times = []
        for t in range(1, 2001):
            before = keeper.last
            keeper.offer(state_of(t), RunningSummary(), 0.5 * t)
            times += [0.5 * t] if keeper.last != before else []
        gaps = [b - a for a, b in pairwise(times)]
        assert min(gaps) >= checkpoint.LEAST_S
        keeper.save(state_of(2001), RunningSummary(), 1000.0)
        assert keeper.spent_s <= 0.03 * 1000
        assert len(times) >= min(400, 0.5 * 0.02 * 1000 / seconds)


def test_a_large_state_waits_for_its_first_checkpoint(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    """400 MB at the assumed 200 MB/s are 2 s, twice that with the one for the end: 2.5 % of 160 s."""
    state = replace(state_of(), stream={"large": torch.zeros(1).expand(10**8)})
    written: list[float] = []
    keeper = Checkpointer(RunFolder(tmp_path / "run"), tiny())
    keeper.save = lambda *given: written.append(given[-1])  # type: ignore[assignment,method-assign]
    for wall_s in (2.0, 159.0, 161.0):
        keeper.offer(state, RunningSummary(), wall_s)
    assert written == [161.0]


def test_the_same_round_is_not_written_twice(folder: RunFolder, tiny: Callable[..., Spec]) -> None:
    found, _ = last_good(folder, tiny())
    keeper = Checkpointer(folder, tiny(), found)
    keeper.save(state_of(4), RunningSummary(), 99.0)
    assert keeper.spent_s == (0.0 if found is None else found.checkpoint_s)


def test_keeps_nothing_before_the_first_round(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        keeper = Checkpointer(folder, tiny())
        keeper.save(state_of(0), RunningSummary(), 1.0)
        assert keeper.last is None
        assert "no checkpoint was written yet" in keeper.message()
        keeper.save(state_of(1), RunningSummary(), 1.0)
        assert str(folder.path / "checkpoints" / "round-000001.json") in keeper.message()
