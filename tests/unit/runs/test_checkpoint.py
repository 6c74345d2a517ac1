"""Checkpoints: states come back, damage is refused, time is spared."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from support import worlds
from support.odd_tensors import ODD, same

from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import Airtime, Delivery, Exchange, Memory, Sent, SimState, Slots
from fedradio.core.errors import FormatError, StoreError
from fedradio.core.files import sealed, write_text
from fedradio.core.mapped import write_rows
from fedradio.core.rng import Rng
from fedradio.links.ideal import Ideal
from fedradio.rounds.round import run_round
from fedradio.runs import checkpoint
from fedradio.runs.checkpoint import Checkpoint, Checkpointer, form, last_good
from fedradio.runs.folder import CHECKPOINT_FOLDER, RECORDS_FILE, SPEC_FILE, RunFolder
from fedradio.runs.summary import RunningSummary
from fedradio.spec.spec import Spec

PARTS: dict[str, Slots] = {
    "hops.0.policy": {"z": torch.tensor([1.0]), "a/b": torch.tensor([2])},
    "data.stream": {"hi": torch.arange(4)},
    "hops.0.transforms.1": {"hi": torch.arange(3)},
}


def state_of(t: int = 4) -> SimState:
    """Every group, names with slashes, undefined totals, order that is not the alphabet's."""
    memory = Memory(
        shared={"w": torch.randn(5), "model/norms": torch.ones(2)},
        client={"rule/adam_n": torch.arange(3.0)},
        ledger=dict(ODD),
        receiver={"v": torch.ones(2, 5)},
    )
    return SimState(t, 0.1 + 0.2, None, 3.0, memory, {"loss": ODD["doubles"]}, dict(PARTS))


FORM = form(state_of())


def groups(state: SimState) -> list[Slots]:
    memory = state.memory
    return [memory.shared, memory.client, memory.ledger, memory.receiver, state.signals, *state.parts.values()]


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
    return sorted(path.name for path in (folder.path / CHECKPOINT_FOLDER).iterdir())


def test_a_state_comes_back_bit_for_bit(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    running = RunningSummary(
        [1e9, None], 7, {"clients": 3.0, "arrived": 1 / 3, "eligible": 0.0}, True, {"accuracy": 0.1}, {}, 3
    )
    state = state_of()
    with RunFolder(tmp_path / "run") as folder:
        folder.append({"type": "round"})
        written = Checkpoint(state, running, folder.offset(), 12.3, 0.7)
        checkpoint.write(folder, written, tiny())
        found, refused = last_good(folder.path, tiny(), FORM)
    assert refused == []
    assert found is not None
    assert (found.running, found.records, found.wall_s, found.checkpoint_s) == (running, written.records, 12.3, 0.7)
    assert (found.state.t, found.state.time_s, found.state.energy_j, found.state.bits) == (4, 0.1 + 0.2, None, 3.0)
    assert list(found.state.parts) == list(state.parts)
    for before, after in zip(groups(state), groups(found.state), strict=True):
        assert list(before) == list(after)
        assert all(same(before[name], after[name]) for name in before)


def test_two_are_kept(folder: RunFolder, tiny: Callable[..., Spec]) -> None:
    assert files(folder) == [f"round-00000{t}.{end}" for t in (2, 4) for end in ("json", "safetensors")]
    found, _ = last_good(folder.path, tiny(), FORM)
    Checkpointer(folder, tiny(), found).save(state_of(9), RunningSummary(), 9.0)
    assert files(folder) == [f"round-00000{t}.{end}" for t in (4, 9) for end in ("json", "safetensors")]


@pytest.mark.parametrize(
    ("ending", "harm", "why"),
    [
        ("json", lambda data: data[:-40], "not complete JSON"),
        ("json", lambda data: b"[1]" + data[:0], "not a mapping"),
        ("json", lambda data: data.replace(b'"t": 4', b'"t": 5'), "its checksum is wrong"),
        ("json", lambda data: data.replace(b'"t": 4', b'"t":  4'), "its checksum is wrong"),
        ("json", None, "is missing"),
        ("safetensors", lambda data: data[:-1], "bytes, but the run wrote"),
        ("safetensors", lambda data: data[:-1] + bytes([data[-1] ^ 1]), "its checksum is wrong"),
        ("safetensors", None, "is missing"),
    ],
)
def test_a_damaged_checkpoint_is_refused_by_name(
    folder: RunFolder,
    tiny: Callable[..., Spec],
    ending: str,
    harm: Callable[[bytes], bytes] | None,
    why: str,
) -> None:
    path = folder.path / CHECKPOINT_FOLDER / f"round-000004.{ending}"
    if harm is None:
        path.unlink()
    else:
        before = path.read_bytes()
        path.write_bytes(harm(before))
        assert path.read_bytes() != before
    found, refused = last_good(folder.path, tiny(), FORM)
    assert found is not None
    assert found.state.t == 2
    expected = [] if (ending, harm) == ("json", None) else [f"checkpoints/round-000004.{ending}"]
    assert [each.file for each in refused] == expected
    assert all(why in each.reason for each in refused)
    Checkpointer(folder, tiny(), found).save(state_of(3), RunningSummary(), 9.0)
    assert files(folder) == [f"round-00000{t}.{end}" for t in (2, 3) for end in ("json", "safetensors")]


def test_records_that_were_changed_refuse_the_checkpoint(folder: RunFolder, tiny: Callable[..., Spec]) -> None:
    path = folder.path / RECORDS_FILE
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1].replace("4", "7") + lines[2])
    found, refused = last_good(folder.path, tiny(), FORM)
    assert found is not None
    assert (found.state.t, len(refused)) == (2, 1)
    assert (refused[0].file, "checksum is wrong" in refused[0].reason) == (RECORDS_FILE, True)
    path.write_text("")
    assert last_good(folder.path, tiny(), FORM)[0] is None


def test_rewound_records_go_on_behind_the_cut(folder: RunFolder, tiny: Callable[..., Spec]) -> None:
    whole = (folder.path / RECORDS_FILE).read_text()
    found, _ = last_good(folder.path, tiny(), FORM)
    assert found is not None
    folder.open_records(found.records.size)
    assert folder.offset() == found.records
    folder.append({"type": "round", "t": 5})
    assert (folder.path / RECORDS_FILE).read_text() == whole


def test_other_formats_and_specs_are_refused(folder: RunFolder, tiny: Callable[..., Spec]) -> None:
    assert last_good(folder.path, tiny("rounds=99"), FORM)[0] is not None
    with pytest.raises(StoreError, match=r"round-000004.json belongs to a different spec"):
        last_good(folder.path, tiny("rule.lr=0.2"), FORM)
    path = folder.path / CHECKPOINT_FOLDER / "round-000004.json"
    content = json.loads(path.read_text())
    del content["sha256"]
    path.write_bytes(sealed(content | {"format": 4, "fedradio": "9.9"}))
    with pytest.raises(FormatError, match=r"round-000004.json has format 4, .* reads 3; use fedradio 9\.9"):
        last_good(folder.path, tiny(), FORM)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"parts": {}}, "has a tensor parts:hops.0.policy/z, which the state of this spec does not have"),
        ({"signals": {"loss": ODD["doubles"], "age": torch.zeros(1)}}, "lacks a tensor signals/age"),
        (
            {"parts": PARTS | {"data.stream": {"hi": torch.arange(5)}}},
            r"parts:data.stream/hi is I64 \[4\] on cpu, but the state of this spec has I64 \[5\]",
        ),
        (
            {"parts": PARTS | {"data.stream": {"hi": torch.arange(4.0)}}},
            r"parts:data.stream/hi is I64 \[4\] on cpu, but the state of this spec has F32 \[4\]",
        ),
    ],
)
def test_a_checkpoint_must_fit_the_state_that_it_restores(
    folder: RunFolder, tiny: Callable[..., Spec], change: dict[str, Slots], why: str
) -> None:
    found, refused = last_good(folder.path, tiny(), form(replace(state_of(), **change)))  # type: ignore[arg-type]
    assert found is None
    assert [each.file for each in refused] == [f"checkpoints/round-00000{t}.json" for t in (4, 2)]
    assert all(re.search(why, each.reason) for each in refused)


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
    state = replace(state_of(), parts={"data.stream": {"large": torch.zeros(1).expand(10**8)}})
    written: list[float] = []
    keeper = Checkpointer(RunFolder(tmp_path / "run"), tiny())
    keeper.save = lambda *given: written.append(given[-1])  # type: ignore[assignment,method-assign]
    for wall_s in (2.0, 159.0, 161.0):
        keeper.offer(state, RunningSummary(), wall_s)
    assert written == [161.0]


def test_the_same_round_is_not_written_twice(folder: RunFolder, tiny: Callable[..., Spec]) -> None:
    found, _ = last_good(folder.path, tiny(), FORM)
    keeper = Checkpointer(folder, tiny(), found)
    keeper.save(state_of(4), RunningSummary(), 99.0)
    assert keeper.spent_s == (0.0 if found is None else found.checkpoint_s)


def test_keeps_nothing_before_the_first_round(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        keeper = Checkpointer(folder, tiny())
        keeper.save(state_of(0), RunningSummary(), 1.0)
        assert keeper.last is None
        assert "no checkpoint has been written yet" in keeper.message()
        keeper.save(state_of(1), RunningSummary(), 1.0)
        assert str(folder.path / "checkpoints" / "round-000001.json") in keeper.message()


@dataclass(frozen=True)
class Tiring(Ideal):
    """A link whose sums shrink from exchange to exchange, by a count of its own in place."""

    bits_per_value: float | None = 32.0

    def start(self, senders: int, receivers: int) -> Slots:
        return {"n": torch.zeros(1).expand(receivers)}

    def combine(self, x: Exchange, airtime: Airtime, sent: Sent, state: Slots, rng: Rng) -> tuple[Delivery, Slots]:
        write_rows(state["n"], torch.arange(x.receivers), state["n"] + 1)
        delivery, _ = super().combine(x, airtime, sent, state, rng)
        return replace(delivery, total=delivery.total / state["n"][:, None, None]), state


def test_a_link_with_memory_goes_on_where_it_was(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    sim = worlds.cells(link=Tiring(), algorithm=scaffold())
    whole = worlds.after(sim, rounds=4)
    with RunFolder(tmp_path / "run") as folder:
        folder.append({"type": "round"})
        half = Checkpoint(worlds.after(sim, rounds=2), RunningSummary(), folder.offset(), 0.0, 0.0)
        checkpoint.write(folder, half, tiny())
        found, _ = last_good(folder.path, tiny(), form(half.state))
    assert found is not None
    state = found.state
    assert state.parts["hops.0.link"]["n"].tolist() == [4.0, 4.0]
    for _ in range(2):
        state, _, _ = run_round(sim, state, evaluate=False)
    assert torch.equal(state.memory.shared["w"], whole.memory.shared["w"])
    assert not torch.equal(
        whole.memory.shared["w"], worlds.after(worlds.cells(algorithm=scaffold()), 4).memory.shared["w"]
    )
