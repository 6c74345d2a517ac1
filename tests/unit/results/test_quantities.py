"""The table of quantities: complete, in the order of columns, and open to metrics that it does not know."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.past import past, two_rounds, written
from support.records import exchange

from fedradio.core.contracts import Note
from fedradio.results.quantities import QUANTITIES, axes, counted, entry, of_runs, of_variants, spent
from fedradio.results.run import Run
from fedradio.runs.summary import Summary
from fedradio.spec.spec import Spec


def test_the_table_is_sound() -> None:
    for name, each in QUANTITIES.items():
        assert each.name == name
        assert each.title
        assert (each.per is None) == (each.amount is None)
        assert not each.axis or each.total == "sum"
        assert not each.field or each.field in Summary.__annotations__
        assert each.format != "percent" or each.unit == "%"
        assert each.format not in ("clock", "prefix") or each.unit
    columns = [each.column for each in QUANTITIES.values()]
    assert len(set(columns)) == len(columns)


def test_who_shows_what() -> None:
    assert [each.name for each in axes()] == ["rounds", "seconds", "joules", "bits", "uses"]
    metrics = ["accuracy", "best_accuracy", "rmse", "best_rmse", "hit_ratio", "net_bits"]
    assert [each.name for each in of_variants()][:6] == metrics
    assert of_variants()[6:] == spent()
    assert {"rounds", "wall_s", "disk_bytes"} <= {each.name for each in of_runs()} - {each.name for each in spent()}
    assert not {"arrived", "best_round"} & {each.name for each in of_runs()}
    assert [each.name for each in QUANTITIES.values() if each.reference] == ["bayes", "top_popular"]


@pytest.mark.parametrize(
    ("name", "title", "unit", "better"),
    [
        ("accuracy", "accuracy", "%", "more"),
        ("loss", "test loss", "nat", "less"),
        ("rmse", "RMSE", "", "less"),
        ("train_loss", "training loss", "nat", "less"),
        ("top_5_accuracy", "top 5 accuracy", "%", "more"),
        ("personal_accuracy_spread", "personal accuracy spread", "%", "less"),
        ("local_loss", "local loss", "nat", "less"),
        ("variate_error", "variate error", "", "less"),
        ("variate_norm", "variate norm", "", "less"),
        ("bayes", "Bayes ceiling, expected", "%", "more"),
        ("mixture", "mixture", "", None),
        ("perplexity", "perplexity", "", "more"),
    ],
)
def test_metrics_by_entry_or_by_name(name: str, title: str, unit: str, better: str | None) -> None:
    found = entry(name)
    assert (found.title, found.unit, found.better) == (title, unit, better)
    assert (found.format == "percent") == (unit == "%")


@pytest.mark.parametrize(
    ("name", "unit", "better"),
    [
        ("regret", "nat", "less"),
        ("personal_regret", "nat", "less"),
        ("noregret", "", "more"),
        ("bit_error", "", "more"),
        ("worst_accuracy", "%", "more"),
        ("loss", "nat", "less"),
        ("variate_error", "", "less"),
    ],
)
def test_what_runs_declare_of_their_metrics(tiny: Callable[..., Spec], name: str, unit: str, better: str) -> None:
    """Before what the name tells, under the name of a prediction too; shares stay shares, entries stay entries."""
    plain, judged = past(tiny(), [0.5]), past(tiny("seed=4"), [0.5])
    judged.__dict__["declared_metrics"] = {
        "regret": {"unit": "nat", "better": "less"},
        "bit_error": {"unit": "", "better": "more"},
        "worst_accuracy": {"unit": "", "better": "more"},
        "loss": {"unit": "J", "better": "more"},
    }
    found = entry(name, [plain, judged])
    assert (found.unit, found.better) == (unit, better)
    assert entry(name, [plain]).better == entry(name).better


def test_all_that_an_exchange_counts_for() -> None:
    notes = {"eligible": Note("receiver", [2, 3])}
    record = exchange(ids=[0, 3], arrived=[True, False], uses=10.0, notes=notes)
    assert dict(counted(record)) == {"uses": 10, "clients": 2, "arrived": 1, "eligible": 5}
    assert dict(counted(exchange(hop=1, notes=notes))) == {}


def test_uplink_bits_per_client(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    """100 bit of two registered clients, of whom one took part in one of two rounds."""
    run = two_rounds(tmp_path / "run", tiny("topology.clients=2"))
    per_client = QUANTITIES["bits_per_client"]
    assert per_client.of(run) == 50
    assert per_client.text(50) == "50 bit"
    assert per_client.of(Run(run.folder, run.spec, {"status": "complete", "bits": 8e6})) == 4e6
    assert per_client.of(Run(run.folder, run.spec, {"status": "complete", "bits": None})) is None
    assert per_client.of(written(tmp_path / "empty", run.spec, [])) is None
