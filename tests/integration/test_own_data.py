"""Data and networks of one's own in whole runs: twice the same bits, checksums on record, wrong data told as such."""

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.batches import made

from fedradio import Arg, Hop, Rng, Samples, compose, fedavg, iterate, make_tapes, register, resume, run, sgd, static
from fedradio.core import registry
from fedradio.core.contracts import RoundRecord, SimState, Tapes
from fedradio.core.errors import DataError, FedradioError, SpecError
from fedradio.data.tapes import Pool
from fedradio.links.ideal import ideal
from fedradio.models.zoo import logistic
from fedradio.network.topology import flat
from fedradio.policies.fixed import fixed
from fedradio.runs.run import Observer
from fedradio.spec.build import build
from fedradio.spec.spec import Spec
from fedradio.sweeps.pool import RunTask, settled_outcome

OWN = Path(__file__).parents[1] / "support" / "own"


class StopAfterOne(Observer):
    """Interrupts a run after one round."""

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        raise KeyboardInterrupt


def flow(**keywords: Any) -> str:
    return json.dumps(keywords)


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "csv", "path": str(OWN / "samples.csv"), "label": "kind"},
        {"kind": "npz", "path": str(OWN / "samples.npz")},
        {"kind": "parquet", "path": str(OWN / "samples.parquet"), "label": "kind"},
        {"kind": "image_folder", "path": str(OWN / "pictures"), "test_path": str(OWN / "pictures")},
    ],
    ids=lambda source: str(source["kind"]),
)
def test_the_same_seed_gives_the_same_bits(source: dict[str, Any], tiny: Callable[..., Spec], tmp_path: Path) -> None:
    spec = tiny(f"data.source={flow(**source)}")
    for name in ("one", "two"):
        run(spec, tmp_path / name)
    assert made(tmp_path / "one") == made(tmp_path / "two")
    stored = json.loads((tmp_path / "one" / "environment.json").read_text())["files"]
    assert stored.keys() == {source["path"]}
    if Path(source["path"]).is_file():
        assert stored[source["path"]] == sha256(Path(source["path"]).read_bytes()).hexdigest()


def test_a_whole_network_from_files(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    """Topology, fleet, gains, samples and their owners: a run goes on with the same files only."""
    texts = {
        "nodes.csv": "x_m,y_m\n10,0\n0,50\n-90,0\n",
        "fleet.csv": "cycles_per_bit,f_max_hz,p_max_dbm,energy_j\n" + "30,1.5e9,23,1\n" * 3,
        "gains.csv": "time_s,receiver,sender,gain_db\n" + "".join(f"0,0,{i},{-90 - 3 * i}\n" for i in range(3)),
        "train.csv": (OWN / "samples.csv").read_text(),
        "owners.csv": "client,index\n" + "".join(f"{i % 3},{i}\n" for i in range(60)),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    at = {name: str(tmp_path / name) for name in texts}
    hop = {
        "link": "digital",
        "channel": {"kind": "trace", "path": at["gains.csv"], "interval_s": 1},
        "fleet": {"kind": "file", "path": at["fleet.csv"]},
        "policy": {"kind": "fixed", "steps": 2},
    }
    source = flow(kind="csv", path=at["train.csv"], test_path=at["train.csv"], label="kind")
    spec = tiny(
        f"topology={flow(kind='file', path=at['nodes.csv'])}",
        f"hops=[{json.dumps(hop)}]",
        f"data.source={source}",
        f"data.partition={flow(kind='file', path=at['owners.csv'])}",
    )
    run(spec, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(spec, tmp_path / "cut", observer=StopAfterOne())
    stored = json.loads((tmp_path / "cut" / "environment.json").read_text())["files"]
    assert stored == {path: sha256(Path(path).read_bytes()).hexdigest() for path in at.values()}
    for name, text in texts.items():
        (tmp_path / name).write_text(text + "\n")
        with pytest.raises(FedradioError, match=rf"{name} is not the file that this run was made with"):
            resume(tmp_path / "cut")
        (tmp_path / name).write_text(text)
    resume(tmp_path / "cut")
    assert made(tmp_path / "cut") == made(tmp_path / "whole")


def test_a_batch_does_not_take_runs_of_other_data_for_its_own(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text((OWN / "samples.csv").read_text())
    task = RunTask(tiny(f"data.source={flow(kind='csv', path=str(file), label='kind')}"), tmp_path / "run", "own")
    run(task.spec, task.folder)
    ends = [settled_outcome(task)]
    file.write_text(file.read_text().replace("ant", "bee", 1))
    ends.append(settled_outcome(task))
    file.unlink()
    ends.append(settled_outcome(task))
    assert [end and end.status for end in ends] == ["complete", "failed", "complete"]
    assert "was made with a different" in str(ends[1] and ends[1].error)


def test_problems_are_told_at_their_keys(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,0\nx,1\n")
    source = flow(kind="csv", path=str(tmp_path / "t.csv"), label="y")
    with pytest.raises(SpecError, match=r"data.source.path: .*t.csv, line 3: a is not a finite number: 'x'"):
        build(tiny(f"data.source={source}"))
    with pytest.raises(SpecError, match=r"data.partition.path: .*no-owners.csv|data.partition.path: cannot be read"):
        build(tiny(f"data.partition={flow(kind='file', path='no-owners.csv')}"))
    (tmp_path / "t.csv").write_text("a,y\n" + "1,0\n2,1\n" * 20)
    with pytest.raises(SpecError, match=r"data.test: the source has no test set"):
        build(tiny(f"data.source={flow(kind='csv', path=str(tmp_path / 't.csv'), label='y', test_fraction=0)}"))


def test_an_unchecked_source_is_blamed_for_its_data(tiny: Callable[..., Spec]) -> None:
    """A source of a user that gives NaN: the data is wrong, before the first round, not the learning rate."""

    @register("source", "holes")
    def holes(clients: int, rng: Rng, /) -> Samples:
        """Samples with a hole."""
        x, y = torch.randn(60, 4, generator=rng.torch()), torch.arange(60) % 3
        x[17, 2] = torch.nan
        return Samples(x, y, x[:10], y[:10], 3, 8.0)

    try:
        with pytest.raises(DataError, match="x is not finite at sample 17, position 2: the data is wrong"):
            build(tiny("data.source=holes"))
    finally:
        registry.forget([("source", "holes")])


def test_own_tapes_are_tried(tiny: Callable[..., Spec]) -> None:
    """A source that gives every client its samples, all of them NaN."""

    @register("source", "own_tapes")
    def own_tapes(clients: int, rng: Rng, /) -> Tapes:
        """Samples that are no numbers."""
        samples = Samples.from_arrays(torch.zeros(60, 4), torch.arange(60) % 3, rng=rng)
        tapes = make_tapes(samples, list(torch.arange(len(samples.y)).chunk(clients)), rng)
        return replace(tapes, fetch=Pool(samples.x * torch.nan, samples.y))

    try:
        with pytest.raises(DataError, match="x is not finite at sample 0, position 0: the data is wrong"):
            build(tiny("data.source=own_tapes", "data.partition=null"))
    finally:
        registry.forget([("source", "own_tapes")])


def test_large_inputs_are_worth_a_warning(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", x=np.full((60, 2), 255.0), y=np.arange(60) % 2)
    plain = {"kind": "npz", "path": str(tmp_path / "t.npz"), "standardise": False}
    assert "the inputs have a magnitude of about 255" in " ".join(build(tiny(f"data.source={flow(**plain)}")).warnings)
    assert build(tiny(f"data.source={flow(**plain | {'standardise': True})}")).warnings == ()


@pytest.mark.parametrize("given", [(torch.zeros(4, 2), torch.zeros(4)), {"x": 1}], ids=["pair", "mapping"])
def test_a_source_that_gives_something_else(given: Any, tiny: Callable[..., Spec]) -> None:
    @register("source", "odd")
    def odd(clients: int, rng: Rng, /) -> Any:
        """What is no data set."""
        return given

    try:
        with pytest.raises(
            SpecError, match=r"data.source: the source returns (tuple|dict), but must return Samples or Tapes"
        ):
            build(tiny("data.source=odd"))
    finally:
        registry.forget([("source", "odd")])


def test_files_of_own_parts_are_on_record(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    """A keyword that is a file by its annotation is one for parts of users, too."""
    from typing import Annotated

    np.save(tmp_path / "x.npy", np.arange(120.0).reshape(60, 2))

    @register("source", "mine")
    def mine(clients: int, rng: Rng, /, *, path: Annotated[str, Arg("an npy file", file=True)]) -> Samples:
        """Rows of a file."""
        return Samples.from_arrays(np.load(path), np.arange(60) % 2, rng=rng, standardise=True)

    try:
        sim = build(tiny(f"data.source={flow(kind='mine', path=str(tmp_path / 'x.npy'))}"))
        assert list(sim.files) == [str(tmp_path / "x.npy")]
    finally:
        registry.forget([("source", "mine")])


def test_arrays_in_a_composed_simulation() -> None:
    x, y = np.random.default_rng(1).normal(size=(90, 4)), np.arange(90) % 3
    ends = []
    for _ in range(2):
        samples = Samples.from_arrays(x + y[:, None], y, rng=Rng(4))
        shares = list(torch.arange(len(samples.y)).chunk(3))
        stream = static(make_tapes(samples, shares, Rng(0)), Rng(0))
        sim = compose(
            topology=flat(Rng(0), clients=3),
            hops=[Hop(ideal(), fixed(steps=2))],
            stream=stream,
            model=logistic(samples.shape, samples.classes),
            algorithm=fedavg(),
            rule=sgd(lr=0.1),
        )
        ends.append([record.train_loss for record in iterate(sim, rounds=2)])
    assert ends[0] == ends[1]
