"""The table of quantities that describe runs.

The summary of a run, comparisons, exported tables, figures and pages read :data:`QUANTITIES`, so a new column is one
entry there. An evaluation metric without an entry, such as one from a plug-in, is described by what its run declares
and by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from fedradio.core.contracts.records import ExchangeRecord, RoundRecord
from fedradio.results.quantity import Quantity

if TYPE_CHECKING:
    from fedradio.results.run import Run

FALLING = ("loss", "spread", "error", "norm", "rmse")
"""Endings of metrics that are better when they are lower, unless the table says otherwise."""


def _by_name(name: str) -> Quantity:
    """A metric described by its name.

    Accuracies and their spreads are shares, losses are in nats; some endings are better when lower.
    """
    share = name.endswith(("accuracy", "accuracy_spread"))
    return Quantity(
        name,
        name.replace("_", " "),
        unit="%" if share else "nat" if name.endswith("loss") else "",
        format="percent" if share else "number",
        better="less" if name.endswith(FALLING) else "more",
        per="evaluation",
        amount=lambda record: record.metrics.get(name),
        total="last",
        shown="run",
    )


def _rounds(run: Run) -> float | None:
    known: int | None = (run.summary or {}).get("rounds")
    return len(run.rounds) if known is None else known


def _best_round(run: Run) -> float | None:
    known: int | None = (run.summary or {}).get("best_round")
    return run.best.round if known is None and run.best is not None else known


def _all_hops(record: RoundRecord) -> float | None:
    """Bits of all hops; undefined if those of one hop are."""
    known = [bits for bits in record.bits if bits is not None]
    return sum(known) if len(known) == len(record.bits) else None


def _of_edge_round(amount: Callable[[ExchangeRecord], float | None]) -> Callable[[ExchangeRecord], float | None]:
    """Amounts of the exchanges of hop 0 only."""
    return lambda record: amount(record) if record.hop == 0 else None


def _eligible(record: ExchangeRecord) -> float | None:
    """Clients that could have taken part, if the policy reports them."""
    return sum(record.notes["eligible"].values) if "eligible" in record.notes else None


def _bits_per_client(run: Run) -> float | None:
    """Bits of the whole run divided by the number of registered clients."""
    bits = QUANTITIES["bits"].of(run)
    return None if bits is None or not run.clients else bits / run.clients


def _of_cache(name: str) -> Callable[[Run], float | None]:
    """A number of the first placement over the whole run; None without caches."""

    def read(run: Run) -> float | None:
        told = (run.summary or {}).get("cache")
        shelf: dict[str, float | None] = next(iter(told["shelves"].values()), {}) if told else {}
        return shelf.get(name)

    return read


METRICS = (
    replace(_by_name("accuracy"), field="accuracy", shown="variants", long="test accuracy"),
    replace(
        _by_name("accuracy"),
        name="best_accuracy",
        title="best accuracy",
        total="best",
        field="best_accuracy",
        shown="variants",
        short="best",
    ),
    replace(_by_name("rmse"), title="RMSE", field="rmse", shown="variants", long="test RMSE"),
    replace(
        _by_name("rmse"),
        name="best_rmse",
        title="best RMSE",
        total="best",
        field="best_rmse",
        shown="variants",
        short="best",
    ),
    replace(_by_name("loss"), title="test loss", field="loss"),
    replace(_by_name("bayes"), title="Bayes ceiling, expected", unit="%", format="percent", reference=True),
    replace(_by_name("top_popular"), title="Top-Popular", unit="%", format="percent", reference=True),
    replace(_by_name("mixture"), better=None),
    replace(
        _by_name("hit_ratio"),
        title="hit ratio",
        unit="%",
        format="percent",
        read=_of_cache("hit_ratio"),
        shown="variants",
        short="hits",
        long="hit ratio of the first placement",
    ),
    replace(
        _by_name("net_bits"),
        title="net backhaul",
        unit="bit",
        format="prefix",
        better="less",
        read=_of_cache("net_bits"),
        shown="variants",
        long="net backhaul of the first placement",
    ),
    Quantity("payback", "payback round", format="count", better="less", read=_of_cache("payback"), shown="export"),
    Quantity("best_round", "best round", format="count", read=_best_round, field="best_round", shown="export"),
    Quantity(
        "train_loss",
        "training loss",
        "nat",
        better="less",
        per="round",
        amount=lambda record: record.train_loss,
        total="last",
        shown="export",
    ),
)
"""Evaluation metrics that their name alone does not describe, and further numbers about learning."""

SPENT = (
    Quantity(
        "rounds",
        "rounds",
        format="count",
        better="less",
        per="round",
        amount=lambda _: 1,
        read=_rounds,
        field="rounds",
        axis=True,
        shown="run",
        long="round",
        absent="No round is on record.",
    ),
    Quantity(
        "seconds",
        "simulated time",
        "s",
        "clock",
        "less",
        per="round",
        amount=lambda record: record.time_s,
        field="time_s",
        axis=True,
        short="simulated",
        absent="Simulated time is undefined: no part models time (a fleet or a link with rates would).",
    ),
    Quantity(
        "joules",
        "energy",
        "J",
        "prefix",
        "less",
        per="round",
        amount=lambda record: record.energy_j,
        field="energy_j",
        axis=True,
        long="energy of all clients",
        absent="Energy is undefined: no part models the energy of computing and sending (a fleet would).",
    ),
    Quantity(
        "bits",
        "uplink",
        "bit",
        "prefix",
        "less",
        per="round",
        amount=_all_hops,
        field="bits",
        axis=True,
        long="uplink of all hops",
        absent="Bits are undefined: payloads are not sent as bits.",
    ),
    Quantity(
        "bits_per_client", "uplink per client", "bit", "prefix", "less", read=_bits_per_client, short="uplink/client"
    ),
    Quantity(
        "uses",
        "channel uses",
        format="count",
        better="less",
        per="exchange",
        amount=lambda record: record.uses,
        field="uses",
        axis=True,
    ),
    Quantity(
        "clients",
        "clients",
        format="count",
        per="exchange",
        amount=_of_edge_round(lambda record: len(record.ids)),
        total="mean",
        field="clients",
    ),
    Quantity(
        "arrived",
        "clients that arrived",
        format="count",
        better="more",
        per="exchange",
        amount=_of_edge_round(lambda record: sum(record.arrived)),
        total="mean",
        field="arrived",
        shown="export",
    ),
    Quantity(
        "eligible",
        "eligible clients",
        format="count",
        better="more",
        per="exchange",
        amount=_of_edge_round(_eligible),
        total="mean",
        field="eligible",
        shown="export",
    ),
    Quantity(
        "wall_s",
        "wall time",
        "s",
        "clock",
        "less",
        per="round",
        amount=lambda record: record.wall_s,
        field="wall_s",
        shown="run",
    ),
    Quantity("planned_s", "planned upload", "s", "clock", field="planned_s", shown="run"),
    Quantity("measured_s", "measured upload", "s", "clock", field="measured_s", shown="run"),
    Quantity("slower", "measured over planned", field="slower", shown="run"),
    Quantity("planned_j", "planned energy of an upload", "J", "prefix", field="planned_j", shown="run"),
    Quantity("disk_bytes", "disk", "B", "prefix", "less", field="disk_bytes", shown="run"),
    Quantity("memory_bytes", "peak memory", "B", "prefix", "less", field="memory_bytes", shown="run"),
)
"""The costs of runs, for the simulated network and for the machine that simulated it."""

QUANTITIES: dict[str, Quantity] = {each.name: each for each in (*METRICS, *SPENT)}
"""Every quantity by its name, in the order of columns."""


def entry(name: str, runs: Iterable[Run] = ()) -> Quantity:
    """The entry of that name; a metric without one is described by what one of the runs declares, and by its name. The
    loss of predicted values, a squared error, is not in nats."""
    if name == "loss" and any(run.main_score == "rmse" for run in runs):
        return replace(QUANTITIES[name], unit="")
    if name in QUANTITIES:
        return QUANTITIES[name]
    told, declared = _by_name(name), next(filter(None, (run.declared(name) for run in runs)), None)
    if declared is None:
        return told
    unit = told.unit if told.format == "percent" else declared["unit"]
    return replace(told, unit=unit, better="less" if declared["better"] == "less" else "more")


def axes() -> list[Quantity]:
    """What a curve can be drawn against."""
    return [each for each in QUANTITIES.values() if each.axis]


def of_variants() -> list[Quantity]:
    """The columns of tables in which variants are compared."""
    return [each for each in QUANTITIES.values() if each.shown == "variants"]


def spent() -> list[Quantity]:
    """The cost columns shown next to the metric when variants are compared."""
    return [each for each in of_variants() if each.per != "evaluation"]


def of_runs() -> list[Quantity]:
    """Everything shown for a single run, apart from its further metrics."""
    return [each for each in QUANTITIES.values() if each.shown != "export"]


def counted(record: ExchangeRecord) -> Iterator[tuple[str, float]]:
    """The quantities to which an exchange contributes, with its amounts."""
    for each in QUANTITIES.values():
        if each.per == "exchange" and each.amount is not None and (amount := each.amount(record)) is not None:
            yield each.name, amount
