"""What every registered part must do, whoever wrote it."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from support.caches import view_of
from support.elsewhere import received
from support.exchanges import everyone, exchange, realised, sent, site

from fedradio.core.contracts import ChannelState, Clock, Fading, LinkTrait, Message, Samples, SingleHop, Tapes
from fedradio.core.errors import SpecError
from fedradio.core.registry import FAMILIES, Part, parts
from fedradio.core.rng import Rng
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.network.channel import urban_macro
from fedradio.network.trace import Trace
from fedradio.placements.service import scores_of
from fedradio.report.terminal.catalog import parameters_table
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build
from fedradio.spec.schema import part_schema
from fedradio.spec.spec import Spec

OWN = Path(__file__).parents[1] / "support" / "own"
"""Files as users have them."""

NEEDED: dict[tuple[str, str], dict[str, Any]] = {
    ("schedule", "step"): {"at": (1, 2)},
    ("schedule", "linear"): {"rounds": 5},
    ("schedule", "cosine"): {"rounds": 5},
    ("channel", "trace"): {"path": str(Path(__file__).parents[1] / "support" / "gains.csv")},
    ("topology", "file"): {"path": str(OWN / "nodes.csv")},
    ("fleet", "file"): {"path": str(OWN / "fleet.csv")},
    ("source", "csv"): {"path": str(OWN / "samples.csv"), "label": "kind"},
    ("source", "npz"): {"path": str(OWN / "samples.npz")},
    ("source", "parquet"): {"path": str(OWN / "samples.parquet"), "label": "kind"},
    ("source", "image_folder"): {"path": str(OWN / "pictures")},
    ("source", "own"): {"shape": (1, 8, 8), "classes": 10},
    ("partition", "file"): {"path": str(OWN / "owners.csv")},
    ("transform", "clip"): {"norm": 1.0},
    ("transform", "noise"): {"multiplier": 0.5},
}
"""Values for the keywords that have no default."""

LIGHT: dict[tuple[str, str], dict[str, Any]] = {
    ("source", "video_files"): {"requests": 40, "test_requests": 20},
    ("stream", "fifo"): {"capacity": [100, 150]},
}
"""Values that keep a part small, or fit it to small data."""


def of(family: str) -> Any:
    return pytest.mark.parametrize("part", parts(family), ids=lambda part: part.kind)


def make(part: Part, *context: Any) -> Any:
    name = (part.family, part.kind)
    return part.factory(*context, **NEEDED.get(name, {}) | LIGHT.get(name, {}))


@pytest.mark.parametrize("part", parts(), ids=lambda part: f"{part.family}-{part.kind}")
def test_words_defaults_and_schema(part: Part) -> None:
    assert part.summary.endswith((".", ":"))
    assert part.kind == part.kind.lower()
    for parameter in part.parameters():
        assert parameter.arg.doc
        assert parameter.required == (parameter.name in NEEDED.get((part.family, part.kind), {}))
    schema = part_schema(part)
    checked = schema.model_validate({"kind": part.kind, **NEEDED.get((part.family, part.kind), {})})
    assert checked.model_dump()["kind"] == part.kind
    assert parameters_table(part).row_count == len(part.parameters())


def test_every_family_has_a_part() -> None:
    assert {part.family for part in parts()} == set(FAMILIES)


@of("gather")
def test_gathers(part: Part) -> None:
    """What is merged is there by then, at least one update is, and a fresh one has its whole weight."""
    gather, due_s = make(part), torch.tensor([3.0, 1.0, 2.0])
    now, seconds = gather.due(due_s, torch.arange(3))
    assert bool(now.any())
    assert bool((due_s[now] <= seconds).all())
    assert gather.weight(torch.zeros(2).long()).tolist() == [1.0, 1.0]


@of("channel")
def test_channels(part: Part) -> None:
    channel = make(part)
    if isinstance(channel, Trace):
        channel = channel.every(1.0)
    receivers, senders = torch.zeros(2, 2).double(), torch.full((5, 2), 60.0, dtype=torch.float64)
    state = channel.start(5, 2, Rng(1))
    (a, after), (b, _) = (channel.realise(site(receivers, senders), state, Rng(1)) for _ in range(2))
    assert {name: rows.shape for name, rows in after.items()} == {name: rows.shape for name, rows in state.items()}
    assert a.gain.shape == (2, 5)
    assert torch.equal(a.gain, b.gain)
    assert bool((a.gain > 0).all())
    assert (a.noise_w_hz or a.noise_symbol or 0.0) > 0
    assert channel.fading in get_args(Fading)


@of("topology")
def test_topologies(part: Part) -> None:
    a, b = make(part, Rng(1)), make(part, Rng(1))
    assert all(torch.equal(x, y) for x, y in zip(a.positions, b.positions, strict=True))
    assert len(a.positions) == a.hops + 1
    assert a.receivers(a.hops - 1) == 1
    for h, parent in enumerate(a.parents):
        assert parent.shape == (a.senders(h),)
        assert set(parent.tolist()) == set(range(a.receivers(h)))


@pytest.mark.usefixtures("image_sets")
@of("source")
def test_sources(part: Part) -> None:
    if part.kind == "own":  # samples on the devices of a federation, which a simulation has not
        with pytest.raises(SpecError, match="fedradio serve"):
            make(part, 4, Rng(1))
        return
    a, b = make(part, 4, Rng(1)), make(part, 4, Rng(1))
    if isinstance(a, Tapes):
        _check_tapes(a, b, 4)
        return
    assert isinstance(a, Samples)
    assert torch.equal(a.x, b.x)
    assert torch.equal(a.y, b.y)
    assert a.x.dtype == (torch.float32 if a.scale is None else torch.uint8)
    a.check()
    assert len(a.test_y) > 0
    if a.y.is_floating_point():
        assert (a.classes, a.y.dtype) == (1, torch.float32)
    else:
        assert set(a.y.unique().tolist()) == set(range(a.classes))
    assert 0.5 < float((a.x if a.scale is None else a.scale(a.x)).std()) < 2.0
    assert a.sample_bits > 0


def _check_tapes(a: Tapes, b: Tapes, clients: int) -> None:
    """A source that gives every client its own samples: the same again, none held out and trained on, in range."""
    assert a.clients == clients
    assert a.offset.shape == (clients + 1,)
    assert int(a.offset.diff().min()) > 0
    assert len(a.index) == len(a.label) == len(a.labelled) == int(a.offset[-1])
    assert not set(a.index.tolist()) & set(a.test.index.tolist())
    assert torch.equal(a.test.group, a.test.group.sort().values)
    assert set(a.test.group.tolist()) == set(range(a.test.groups))
    assert (a.test.groups == clients) or not a.test.per_client
    for tape, again in ((a, b), (a.test, b.test)):
        (x, y), (other, labels) = tape.fetch(tape.index), received(again.fetch)(again.index)
        assert torch.equal(x, other)
        assert torch.equal(y, labels)
        assert x.shape == (len(tape.index), *a.shape)
        assert (x.dtype, y.dtype) == (torch.float32, torch.int64)
        assert float(x.abs().max()) <= 10
        assert 0 <= int(y.min()) <= int(y.max()) < a.classes
    assert torch.equal(a.fetch(a.index)[1], a.label)
    assert a.sample_bits > 0
    assert dict(a.reference) == dict(b.reference)
    assert all(0 <= accuracy <= 1 for accuracy in a.reference.values())


@of("partition")
def test_partitions(part: Part) -> None:
    labels = torch.arange(2000) % 10
    parent = torch.arange(20) // 5
    shares = make(part, labels, 10, parent, Rng(1))
    again = make(part, labels, 10, parent, Rng(1))
    assert len(shares) == 20
    assert sorted(torch.cat(shares).tolist()) == list(range(2000))
    assert all(torch.equal(a, b) for a, b in zip(shares, again, strict=True))


@of("model")
def test_models(part: Part) -> None:
    ids = part.kind == "lstm"
    model = make(part, (12,) if ids else (1, 28, 28), 10)
    row = model.init(Rng(1))
    assert row.shape == (model.shared.size + model.local.size + model.buffers.size,)
    assert torch.equal(row, model.init(Rng(1)))
    g = Rng(2).torch()
    x = torch.randint(10, (3, 12), generator=g) if ids else torch.randn(3, 1, 28, 28, generator=g)
    assert model.apply(row, x).shape == (3, 10)
    assert torch.equal(model.apply(row, x), model.apply(row, x))
    elsewhere = received(model)
    assert torch.equal(elsewhere.init(Rng(1)), row)
    assert torch.equal(elsewhere.apply(row, x), model.apply(row, x))


@of("policy")
def test_policies(part: Part) -> None:
    policy = make(part)
    parent = torch.tensor([0, 0, 0, 1, 1, 1])
    signals = {"epoch_steps": torch.arange(1, 7), "samples": torch.arange(10, 16)}
    where = torch.arange(12, dtype=torch.float64).view(6, 2) * 20
    channel = realised(urban_macro(), site(where[::3], where), Rng(1))
    cycles = torch.full((6,), 1e6, dtype=torch.float64)
    radio = {"channel": channel, "link": digital(bits_per_value=1), "fleet": cellular(6, Rng(0))}
    view = exchange(parent, cycles_per_step=cycles, message=10**6, deadline_s=10.0, signals=signals, **radio)
    before = {name: rows.clone() for name, rows in signals.items()}
    state = policy.start(6)
    a, b = policy.decide(view, state, Rng(3))[0], policy.decide(view, state, Rng(3))[0]
    strength = "power_w" if a.amplitude is None else "amplitude"  # analogue symbols have no power before a payload
    for name in ("active", "steps", "cpu_hz", strength, "reason"):
        assert getattr(a, name).shape == (6,)
        assert torch.equal(getattr(a, name), getattr(b, name))
    assert a.active.dtype == torch.bool
    assert bool((a.steps[a.active] >= 1).all())
    assert bool((a.steps[~a.active] == 0).all())
    assert all(torch.equal(rows, before[name]) for name, rows in signals.items())


@of("link")
def test_links(part: Part) -> None:
    link = make(part)
    gain = torch.full((3, 4), 1e-9, dtype=torch.float64)
    noises = ChannelState(gain, 4e-21), ChannelState(gain, noise_symbol=1.0)
    channel = next(state for state in noises if not link.check(state))
    x = exchange(
        [0, 0, 1, 1], channel=channel, alloc=everyone(4, power_w=1.0), ready_s=[0.0] * 4, message=Message(2, 5)
    )
    state = link.start(4, 3)
    airtime = link.plan(x, state, Rng(0))
    payload = sent(x, torch.randn(4, 2, 5, generator=Rng(1).torch()), torch.full((4,), 0.5).double())
    (a, after), (b, _) = (link.combine(x, airtime, payload, state, Rng(2)) for _ in range(2))
    assert a.total.shape == (3, 2, 5)
    assert torch.equal(a.total, b.total)
    assert float(a.total[2].abs().max()) == 0.0
    assert link.offers <= set(get_args(LinkTrait))
    assert {"none"} <= link.takes <= set(get_args(Fading))
    assert {name: rows.shape for name, rows in after.items()} == {name: rows.shape for name, rows in state.items()}
    assert ("individual" in link.offers) == (a.rows is not None)


@of("transform")
def test_transforms(part: Part) -> None:
    """Bits are foreseen and not more than is sent, memory keeps its form, nobody's code depends on who else is active,
    sums are decoded as the sum of what is decoded, payloads are not written to."""
    transform, before = make(part), Message(2, 40, norm=1.0)
    after, state = transform.message(before), transform.start(4, before)
    assert 0 < after.values <= before.values
    x = exchange((0, 0, 0, 0), message=before)
    rows = torch.randn(4, 2, 40, generator=Rng(1).torch())
    given, copy = sent(x, rows), rows.clone()
    one, two = (transform.encode(x, given, state, Rng(2)) for _ in range(2))
    assert torch.equal(one.payload, two.payload)
    assert torch.equal(rows, copy)
    assert one.payload.shape == (4, 2, after.size)
    alone = exchange((0, 0, 0, 0), message=before, alloc=everyone(4, active=[False, False, True, False]))
    single = transform.encode(alone, sent(alone, rows[2:3]), {name: r[2:3] for name, r in state.items()}, Rng(2))
    assert torch.equal(single.payload[0], one.payload[2])
    if not transform.conceals:
        heard = transform.decode(x, given, one.payload, Rng(2))
        assert heard.shape == rows.shape
        total = transform.decode(x, given, one.payload.sum(dim=0, keepdim=True), Rng(2))
        assert torch.allclose(total[0], heard.sum(dim=0), atol=1e-4)
    kept = transform.keep(one.payload, one.payload, torch.ones(4).bool(), state)
    assert {name: r.shape for name, r in kept.items()} == {name: r.shape for name, r in state.items()}
    assert transform.needs <= set(get_args(LinkTrait))
    assert received(transform) == transform


@of("receiver")
def test_receivers(part: Part) -> None:
    """Memory keeps its form, receivers that heard nobody stay, the same twice."""
    rule = make(part)
    state = {name: rows.clone() for name, rows in rule.start(3, torch.zeros(5)).items()}
    change, heard = torch.randn(3, 5, generator=Rng(1).torch()), torch.tensor([True, False, True])
    (one, after), (two, _) = (rule.step(change, heard, state, Clock(0)) for _ in range(2))
    assert one.shape == change.shape
    assert torch.equal(one, two)
    assert float(one[1].abs().max()) == 0.0
    assert {name: r.shape for name, r in after.items()} == {name: r.shape for name, r in state.items()}
    assert all(torch.equal(rows[1], state[name][1]) for name, rows in after.items())
    assert received(rule) == rule


@of("schedule")
def test_schedules(part: Part) -> None:
    schedule = make(part)
    factors = [schedule(t, j) for t in range(12) for j in (0, 3)]
    assert all(0.0 <= factor <= 1.0 for factor in factors)
    assert schedule(0, 0) == 1.0
    assert [received(schedule)(t, j) for t in range(12) for j in (0, 3)] == factors


@of("rule")
def test_rules(part: Part, tiny: Callable[..., Spec]) -> None:
    _learns(tiny(f"rule={{kind: {part.kind}, lr: 0.05}}", "hops.0.policy.steps=30"))


@of("loss")
def test_losses(part: Part, tiny: Callable[..., Spec], cells: Callable[..., Spec]) -> None:
    """Every loss learns, on one hop and on two, and can be sent to other processes."""
    values = ("data.source=synthetic_regression", "data.partition=iid", "rule.lr=0.05")
    more = values if make(part).target == "value" else ()
    _learns(tiny(f"loss={part.kind}", "hops.0.policy.steps=10", *more))
    _learns(cells(f"loss={part.kind}", "hops.0.policy.steps=10", *more))
    assert received(make(part)) == make(part)


@of("fleet")
def test_fleets(part: Part) -> None:
    fleet, again = make(part, 7, Rng(1)), make(part, 7, Rng(1))
    for name in ("cycles_per_bit", "f_max_hz", "p_max_w", "energy_j"):
        assert getattr(fleet, name).shape == (7,)
        assert torch.equal(getattr(fleet, name), getattr(again, name))


@of("algorithm")
def test_algorithms(part: Part, tiny: Callable[..., Spec], cells: Callable[..., Spec]) -> None:
    _learns(tiny(f"algorithm={part.kind}", "hops.0.policy.steps=10"))
    if not isinstance(make(part), SingleHop):
        _learns(cells(f"algorithm={part.kind}", "hops.0.policy.steps=10"))


@of("stream")
@pytest.mark.parametrize("source", ["digits", "{kind: videos, requests: 300, test_requests: 5}"])
def test_streams(part: Part, source: str, tiny: Callable[..., Spec]) -> None:
    kind = json.dumps({"kind": part.kind, **LIGHT.get(("stream", part.kind), {})})  # JSON is YAML
    stream = build(tiny(f"data.stream={kind}", f"data.source={source}", "data.partition=null")).stream
    begun = stream.start()
    state, again = stream.arrive(begun, Clock(0), Rng(1)), stream.arrive(begun, Clock(0), Rng(1))
    assert all(torch.equal(state[name], again[name]) for name in state)
    assert all(torch.equal(begun[name], fresh) for name, fresh in stream.start().items())
    assert stream.lasts(1) == ""
    stats = stream.stats(state)
    assert stats["samples"].shape == stats["labelled"].shape == (6,)
    assert stats["label_counts"].sum(dim=1).equal(stats["labelled"])
    assert bool((stats["seen"] >= stats["samples"]).all())
    who, updates = torch.tensor([1, 4]), torch.tensor([3, 30])
    both = stream.draw(state, who, updates, 8, Rng(2)).labelled
    alone = stream.draw(state, who[:1], updates[:1], 8, Rng(2)).labelled
    longer = stream.draw(state, who, updates + 5, 8, Rng(2)).labelled
    assert torch.equal(both.index[0, :3], alone.index[0, :3])
    assert torch.equal(both.index[1, :30], longer.index[1, :30])


def _learns(spec: Spec) -> None:
    """Three rounds beat guessing, or the mean of values, by far, twice the same."""
    results = []
    for _ in range(2):
        sim = build(spec)
        state = begin(sim)
        for _ in range(3):
            state, record, _ = run_round(sim, state)
        score = record.metrics.get("accuracy", 1.0 - record.metrics.get("rmse", 1.0))
        results.append((score, state.memory.shared["w"]))
    assert results[0][0] > (0.4 if sim.stream.target == "class" else 0.1)
    assert torch.equal(results[0][1], results[1][1])


@of("schedule")
@pytest.mark.parametrize("algorithm", [part.kind for part in parts("algorithm")])
def test_every_schedule_with_every_algorithm(part: Part, algorithm: str, tiny: Callable[..., Spec]) -> None:
    """Two rounds with finite weights, or a refusal before the run."""
    keywords = {"kind": part.kind, **NEEDED.get(("schedule", part.kind), {})}
    flow = json.dumps(keywords)  # JSON is YAML
    sim = build(tiny(f"schedule={flow}", f"algorithm={algorithm}"))
    state = begin(sim)
    for _ in range(2):
        state, _, _ = run_round(sim, state, evaluate=False)
    assert bool(torch.isfinite(state.memory.shared["w"]).all())


@of("policy")
def test_every_policy_on_the_outer_hop(part: Part, cells: Callable[..., Spec]) -> None:
    """It runs, or is refused before the run."""
    radio = ("link=digital", "channel=urban_macro", "fleet=cellular", "deadline_s=9", f"policy={part.kind}")
    try:
        sim = build(cells(*[f"hops.1.{piece}" for piece in radio]))
    except SpecError as error:
        assert {problem.path for problem in error.problems} == {"hops.1.policy"}  # noqa: PT017
        return
    run_round(sim, begin(sim))


@of("metric")
def test_metrics(part: Part, tiny: Callable[..., Spec]) -> None:
    """Scores under announced names, finite, the same again and in another process; inputs stay as they were."""
    metric = make(part)
    g = Rng(1).torch()
    logits, y = torch.randn(60, 10, generator=g).log_softmax(1), torch.randint(10, (60,), generator=g)
    client = torch.arange(60) // 12 * 2  # some groups have no samples
    before = [tensor.clone() for tensor in (logits, y, client)]
    scores = metric.score(logits, y, client)
    assert set(scores) == set(metric.names)
    assert all(isinstance(value, float) and math.isfinite(value) for value in scores.values())
    assert metric.score(logits, y, client) == received(metric).score(logits, y, client) == scores
    assert all(torch.equal(*pair) for pair in zip(before, (logits, y, client), strict=True))
    assert metric.better in ("more", "less")
    assert isinstance(metric.unit, str)
    assert metric.score(logits[:1], y[:1], client[:1]).keys() == scores.keys()
    with pytest.raises(SpecError, match=r"metrics.0.no_such_keyword: unknown key"):
        tiny(f"metrics=[{{kind: {part.kind}, no_such_keyword: 1}}]")
    sim = build(tiny(f"metrics=[{part.kind}]"))
    _, record, _ = run_round(sim, begin(sim))
    assert set(metric.names) <= record.metrics.keys()


@of("placement")
def test_placements_score_every_file_at_every_edge(part: Part) -> None:
    """Scores of the right shape, none negative, the same again; the view is not changed; keywords are refused."""
    placement = make(part)
    view = view_of(recent=((0, 1), (2, -1)))
    counts = view.counts.clone()
    scores = scores_of(placement, view, 3)
    assert scores.equal(scores_of(placement, view, 3))
    assert view.counts.equal(counts)
    assert placement.name == part.kind
    assert placement.needs <= {"model", "law"}
    assert placement.move_cost is None or placement.move_cost >= 0
    assert received(placement) == placement
    with pytest.raises(TypeError):
        part.factory(nonsense=1)
