"""The examples run, their neutral elements hold, and the pages speak of every field that runs write."""

import importlib.util
import os
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest
import torch
from support.caches import view_of
from support.page_commands import PAGES
from support.processes import fedradio
from support.receiver import knowledge
from torch import Tensor
from typer.main import get_command

from fedradio import begin, build, load_spec, plan_slots, run, run_round
from fedradio.cli import app
from fedradio.core import registry
from fedradio.core.contracts import (
    Batch,
    Clock,
    Delivery,
    EvaluationRecord,
    ExchangeRecord,
    Header,
    Held,
    Outputs,
    RoundRecord,
    Site,
)
from fedradio.core.contracts.reasons import REASON_NAMES
from fedradio.core.registry import parts
from fedradio.core.rng import Rng
from fedradio.runs.folder import plain_environment
from fedradio.runs.summary import Summary

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

Load = Callable[[str], ModuleType]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads ``examples/NAME.py``; the parts that it registers are forgotten afterwards."""
    parts()  # the built-in ones are known from now on
    monkeypatch.setattr(registry, "_PARTS", dict(registry._PARTS))
    return lambda name: load(EXAMPLES / f"{name}.py", monkeypatch)


def load(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    found = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found.loader.exec_module(module)
    return module


def test_the_bound_of_figure_4(
    example: Load, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ideal links are below the air; the bound falls from its start of 5000."""
    monkeypatch.setattr(sys, "argv", ["whfl_bound.py", "--layouts", "1", "--iterations", "100"])
    example("whfl_bound").main()
    ideal, *air = [float(cell) for cell in capsys.readouterr().out.splitlines()[2].split("|")[2:6]]
    assert ideal < min(air) < 5000


@pytest.mark.parametrize("memory", [0.0, 0.9, 1.0])
def test_slow_shadows_have_their_deviation_from_the_first_exchange_on(example: Load, memory: float) -> None:
    """6 dB of 5,000 pairs at a distance of 1 m, four standard deviations; with memory 1 nothing changes."""
    channel = example("own_channel").slow_shadows(sigma_db=6.0, memory=memory)
    at, pairs = torch.zeros(5000, 2, dtype=torch.float64), 5000
    state, shadows = channel.start(pairs, 1, Rng(1)), []
    for t in range(3):
        drawn, state = channel.realise(Site(at[:1], at, torch.zeros(pairs, dtype=torch.long), Clock(t)), state, Rng(1))
        shadows.append(10 * drawn.gain.log10())
        assert float(shadows[-1].std()) == pytest.approx(6.0, rel=4 / (2 * pairs) ** 0.5)
    assert torch.equal(shadows[0], shadows[2]) == (memory == 1.0)


@pytest.mark.wide
def test_fleets_and_what_remains_of_the_saving(
    example: Load, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full power by the formula of joules; planning saves a factor of 1.21 on handsets, 251 without floors."""
    table = example("fleet_table")
    devices = "{kind: handset, cycles_per_bit: [250, 400], energy_j: null}"
    sim = build(load_spec("rawhfl", [f"hops.0.fleet={devices}", "hops.0.policy={kind: fixed, steps: 50}"]))
    fleet, parts_j = sim.hops[0].fleet, []
    assert fleet is not None
    for planned in plan_slots(sim, begin(sim), 1):
        cycles, tau = 50 * fleet.cycles_per_bit * sim.stream.sample_bits * sim.rule.batch, planned.airtime.tx_s
        assert tau is not None
        compute = 0.5e-28 * cycles * fleet.f_max_hz**2 + 0.1 * cycles / fleet.f_max_hz
        send = (fleet.p_max_w / 0.15 + 0.74) * tau
        parts_j.append([float((compute + send).sum()), float(0.02 * (150 - cycles / fleet.f_max_hz - tau).sum())])
    active, waiting = torch.tensor(parts_j).mean(dim=0).tolist()
    (fixed,) = table.costs("handset", "energy_j: null", table.POLICIES["fixed"], [1])
    assert (fixed.joules, fixed.waiting_j) == pytest.approx((active + waiting, waiting))
    assert (fixed.senders, fixed.arrived, fixed.steps) == (48, 48, 2400)

    monkeypatch.setattr(sys, "argv", ["fleet_table.py", "--seeds", "1", "--fleets", "handset,cellular"])
    table.main()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    (optimal,) = [row for row in rows if row[:2] == ["no budget", "joint, optimal"] and float(row[3]) > 0]
    assert optimal[2:] == ["72.2 (72.2 to 72.2)", "47.2", "3.18", "16.0", "50.0"]
    nobody = [row[5] for row in rows if row[:2] == ["0.8 to 1.5 J", "joint, optimal"]]
    assert nobody == ["0.0", "16.0"]
    assert [row[1] for row in rows[-2:]] == ["1.21 (1.6)", "251 (251)"]


def test_our_rule_for_layouts_favours_clusters(example: Load) -> None:
    """Six standard deviations around 47.8 % and 97.4 %, the shares over 2,000 layouts."""
    number = 150
    noise = {rule: example("whfl_layouts").shares(rule, number, 2)[0] for rule in ("as_printed", "spaced")}
    assert abs(noise["as_printed"] - 0.478) < 6 * (0.478 * 0.522 / number) ** 0.5
    assert abs(noise["spaced"] - 0.974) < 6 * (0.974 * 0.026 / number) ** 0.5


def test_the_bandit_finds_who_arrives(
    example: Load, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More payloads of the bandit than of random selection, and all of the planner's."""
    monkeypatch.setattr(sys, "argv", ["bandit.py", "--seeds", "1", "rounds=25"])
    example("bandit/bandit").main()
    random, bandit, planner = [float(line.split()[1].rstrip("%")) for line in capsys.readouterr().out.splitlines()[-3:]]
    assert random < bandit < planner == 100


@pytest.mark.parametrize(
    ("name", "lines", "word"),
    [
        ("minimal", 12, "round 10  accuracy 0.9"),
        ("from_spec", 3, "scaffold  final 0.9"),
        ("results", 11, "Sweep demo: 2 variants, 4 runs, all complete"),
        ("own_algorithm", 2, "my_fedavgm"),
        ("own_policy", 2, "highest_loss"),
        ("own_link", 4, "inverse"),
        ("own_gather", 2, "first_some  40 rounds  0.49 s"),
        ("own_loss", 2, "focal         accuracy 0.8"),
        ("own_metric", 2, "brier_score"),
        ("own_placement", 4, "borrowed       hits"),
        ("own_transform", 3, "rounded"),
        ("own_receiver", 2, "warm_up"),
        ("own_channel", 2, "of 20 arrive"),
        ("own_source", 2, "dirichlet"),
        ("own_transformer", 2, "714 numbers a payload"),
    ],
)
def test_examples_run(example: Load, capsys: pytest.CaptureFixture[str], name: str, lines: int, word: str) -> None:
    example(name).main()
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == lines
    assert word in printed


def test_the_focal_loss_by_hand(example: Load) -> None:
    """h_y = .8, gamma 2: .2^2 * .223144 = .008926; gamma 0 is cross entropy."""
    z = torch.tensor([[[0.8, 0.2]]]).log()
    batch = Batch(torch.tensor([[0]]), torch.ones(1, 1), z[:, :0], z[:, :0, 0])
    focal = example("own_loss").focal
    costs = [float(focal(gamma=gamma).costs({"w": Outputs(z)}, batch)["w"]) for gamma in (2.0, 0.0)]
    assert costs == pytest.approx([0.008926, 0.223144], abs=1e-6)


def test_local_training_is_compared_in_pairs(example: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every spec of the folder runs; finished runs are read again."""
    module = example("local_training/compare")
    for _ in range(2):
        module.main(["--seeds", "2", "--rounds", "1", "--out", str(tmp_path / "runs")])
        *_, moon, _, _, _, _, _, regression = capsys.readouterr().out.splitlines()
        assert moon.startswith("| moon | ")
        assert regression.endswith("| RMSE |")
        assert "±" in regression
    assert len(list((tmp_path / "runs").iterdir())) == 4 * len(module.CASES)


def test_mixed_precision_is_compared_in_pairs_and_resumed(
    example: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, out = example("mixed_precision"), tmp_path / "runs.jsonl"
    asked = ["--specs", "digits_flat", "--seeds", "2", "--rounds", "3", "--every", "3", "--out", str(out)]
    module.main(asked)
    line, text = capsys.readouterr().out, out.read_text()
    assert line.startswith("digits_flat: 2 seed(s), accuracy float32 0.")
    assert "difference +0.0000 +- 0.0000, CPU factor " in line  # the dense kernel ignores bf16
    assert [(run["seed"], run["precision"], list(run["accuracy"])) for run in module.stored(out)] == [
        (seed, precision, ["3"]) for seed in (1, 2) for precision in ("float32", "bf16")
    ]
    assert all(len(run["cpu_s"]) == 1 for run in module.stored(out))
    module.main(asked)
    assert (capsys.readouterr().out, out.read_text()) == (line, text)


def test_the_study_of_mixed_precision_by_hand(example: Load) -> None:
    def run(seed: int, precision: str, accuracy: float, cpu_s: float) -> dict[str, object]:
        found = {"spec": "a", "seed": seed, "rounds": 5, "precision": precision}
        return found | {"accuracy": {"5": accuracy}, "cpu_s": [cpu_s, cpu_s]}

    runs = [
        run(1, "float32", 0.5, 3.0),
        run(1, "bf16", 0.6, 2.0),
        run(2, "float32", 0.7, 5.0),
        run(2, "bf16", 0.6, 3.0),
    ]
    wanted = "a: 2 seed(s), accuracy float32 0.6000, bf16 0.6000, difference +0.0000 +- 0.1414, CPU factor 1.60"
    assert example("mixed_precision").summary(runs) == [wanted]


def test_the_minimal_example_is_small_and_needs_no_file() -> None:
    text = (EXAMPLES / "minimal.py").read_text()
    assert len(text.splitlines()) <= 60
    assert "load_spec" not in text


# --8<-- [start:neutral]
def model_after(rounds: int, override: str) -> Tensor:
    sim = build(load_spec("digits_flat", [override]))
    state = begin(sim)
    for _ in range(rounds):
        state, _, _ = run_round(sim, state, evaluate=False)
    return state.memory.shared["w"]


@pytest.mark.parametrize(
    ("name", "own", "known"),
    [
        ("own_algorithm", "algorithm={kind: my_fedavgm, momentum: 0}", "algorithm=fedavg"),
        (
            "own_policy",
            "hops.0.policy={kind: highest_loss, clients: 5, candidates: 5}",
            "hops.0.policy={kind: sampling, clients: 5}",
        ),
        ("own_link", "hops.0.link={kind: erasure, loss: 0}", "hops.0.link=ideal"),
    ],
)
def test_neutral_elements_bit_for_bit(example: Load, name: str, own: str, known: str) -> None:
    example(name)
    assert torch.equal(model_after(3, own), model_after(3, known))


def test_momentum_by_hand(example: Load) -> None:
    algorithm = example("own_algorithm").my_fedavgm(momentum=0.5)
    memory = algorithm.init(torch.zeros(1), clients=1, receivers=1)
    held = Held({"w": torch.zeros(1, 1)}, receiver=memory.receiver)
    delivery = Delivery(torch.ones(1, 1, 1), None, None)
    info = knowledge(torch.zeros(1).long(), torch.zeros(1).long(), {})
    seen = []
    for _ in range(2):
        held = algorithm.merge(held, delivery, info).held
        seen.append((float(held.receiver["v"]), float(held.shared["w"])))
    assert seen == [(1.0, 1.0), (1.5, 2.5)]
    # --8<-- [end:neutral]


def test_the_brier_score_by_hand(example: Load) -> None:
    """Probabilities .8 and .2 with label 0 give .08, sure and wrong gives 2."""
    metric = example("own_metric").brier()
    logits, zero = torch.tensor([[0.8, 0.2], [0.0, 1.0]]).log(), torch.zeros(1).long()
    assert metric.score(logits[:1], zero, zero)["brier_score"] == pytest.approx(0.08)
    assert metric.score(logits[1:], zero, zero)["brier_score"] == pytest.approx(2.0)
    assert metric.better == "less"


def test_borrowed_counts_by_hand(example: Load) -> None:
    """Counts 3 and 1 of one cell, 1 and 3 of the other, k = 4: 5/8 and 3/8 of .75 requests a slot."""
    view = view_of(counts=((3, 1, 0), (1, 3, 0)))
    scores = example("own_placement").borrowed(k=4.0).scores(view)
    assert scores[0].tolist() == pytest.approx([0.75 * 5 / 8, 0.75 * 3 / 8, 0])


def test_lost_payloads_have_a_reason(example: Load) -> None:
    example("own_link")
    sim = build(load_spec("digits_flat", ["hops.0.link={kind: erasure, loss: 0.5}", "algorithm.normalise=inverse"]))
    _, _, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    lost = [not arrived for arrived in exchange.arrived]
    assert any(lost)
    assert [why == "outage" for why in exchange.why] == lost


def test_the_spec_of_the_tutorial(tmp_path: Path) -> None:
    summary = run(load_spec(EXAMPLES / "own_spec.yaml", ["rounds=2"]), tmp_path / "run")
    assert summary.status == "complete"
    assert summary.time_s is not None
    assert summary.time_s <= 2 * 2 * 0.002 + 1e-12


def test_parts_of_other_packages(tmp_path: Path) -> None:
    (tmp_path / "my_parts.py").write_text((EXAMPLES / "own_algorithm.py").read_text())
    about = tmp_path / "my_parts-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-parts\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text("[fedradio.parts]\nmine = my_parts\n")
    done = fedradio(tmp_path, "show", "my_fedavgm", env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert "algorithm/my_fedavgm" in done.stdout


def test_the_pages_name_every_field_of_a_run_folder() -> None:
    page = (ROOT / "docs" / "run_folders.md").read_text()
    names = {
        field.name
        for kind in (Header, ExchangeRecord, RoundRecord, EvaluationRecord, Summary)
        for field in fields(kind)
    }
    names |= set(plain_environment("cpu", 1, {})) | set(REASON_NAMES.values())
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_every_command_on_the_pages_is_there() -> None:
    known = set(get_command(app).commands)  # type: ignore[attr-defined]
    named: set[str] = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fenced = "".join(re.split(r"^ *```.*$", text, flags=re.MULTILINE)[1::2])
        named |= {*re.findall(r"`fedradio ([a-z]+)", text), *re.findall(r"^(?:\$ )?fedradio ([a-z]+)", fenced, re.M)}
    assert {"run", "sweep", "reproduce", "report"} <= named
    assert named <= known
