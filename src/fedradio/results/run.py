"""Finished and unfinished runs, read from their folders, and the runs of a sweep.

All commands that read results (compare, report, export, figures, reproduce) use this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts.records import (
    MAIN_SCORES,
    CacheRecord,
    EvaluationRecord,
    ExchangeRecord,
    Record,
    RoundRecord,
    main_score,
)
from fedradio.core.errors import FormatError, StoreError
from fedradio.core.lazy import offered
from fedradio.results import frames, shown
from fedradio.results.digest import Digest, digest
from fedradio.results.figure_options import FigureOptions
from fedradio.results.participation import Participation, participation_of
from fedradio.results.quantities import QUANTITIES, counted
from fedradio.results.sweep_file import MARKER, ListedRun, is_sweep, listed_runs
from fedradio.runs.cache_summary import CacheSummary, stored_cache
from fedradio.runs.folder import (
    DESCRIPTION_FILE,
    ENVIRONMENT_FILE,
    NETWORK_FILE,
    RECORDS_FILE,
    SPEC_FILE,
    is_run,
)
from fedradio.runs.manifest import Damage
from fedradio.runs.records import R, read_header, read_records
from fedradio.runs.stored import read_description, read_environment, read_network
from fedradio.runs.summary import Summary, plain_summary
from fedradio.runs.verify import check_run
from fedradio.spec.spec import Spec, stored_spec
from fedradio.spec.yaml import Plain

CACHE_METRICS = ("hit_ratio", "net_bits")
"""Metrics of caches, which an evaluation lacks if nothing was requested before."""

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]
"""``x`` and ``y`` of the same length, ``x`` rising."""


@dataclass(frozen=True, repr=False)
class Run:
    """A run, read from its folder on demand; ``summary`` is None if the process was killed before writing it.

    ``damage``: files that differ from what the run wrote. Such a run is shown as *damaged* and excluded from means. The
    headline numbers of the summary are attributes (``run.accuracy``); None means undefined.
    """

    folder: Path
    spec: Spec
    summary: Mapping[str, Any] | None
    damage: tuple[Damage, ...] = ()

    @property
    def status(self) -> str:
        if self.damage:
            return "damaged"
        return "unfinished" if self.summary is None else str(self.summary["status"])

    def __repr__(self) -> str:
        return shown.run_text(self)

    def _repr_html_(self) -> str:
        return shown.run_html(self)

    @property
    def name(self) -> str:
        """The name of its spec."""
        return self.spec.name

    @property
    def seed(self) -> int:
        return self.spec.seed

    @property
    def accuracy(self) -> float | None:
        """Test accuracy of the last evaluation, from 0 to 1."""
        return self.last.get("accuracy")

    @property
    def best_accuracy(self) -> float | None:
        """Test accuracy of the best evaluation."""
        return None if self.best is None else self.best.metrics.get("accuracy")

    @property
    def rmse(self) -> float | None:
        """Root mean square error of the last evaluation, where values are predicted."""
        return self.last.get("rmse")

    @property
    def best_rmse(self) -> float | None:
        """Root mean square error of the best evaluation, where values are predicted."""
        return None if self.best is None else self.best.metrics.get("rmse")

    @property
    def main_score(self) -> str:
        """Name of its main score: ``accuracy``, or ``rmse`` where values are predicted."""
        return main_score(self.last)

    @property
    def loss(self) -> float | None:
        """Test loss of the last evaluation."""
        return self.last.get("loss")

    @property
    def time_s(self) -> float | None:
        """Simulated seconds of all rounds; None if undefined."""
        return QUANTITIES["seconds"].of(self)

    @property
    def energy_j(self) -> float | None:
        """Joules of all clients and edges; None if undefined."""
        return QUANTITIES["joules"].of(self)

    @property
    def bits(self) -> float | None:
        """Bits sent over all hops; None if undefined."""
        return QUANTITIES["bits"].of(self)

    @property
    def arrived(self) -> float | None:
        """Average number of clients per edge round whose payloads arrived."""
        return None if self.summary is None else self.summary.get("arrived")

    @property
    def trouble(self) -> str:
        """A description of the damage, or the status if there is none."""
        return f"damaged: {damage_words(self.damage)}" if self.damage else self.status

    @property
    def algorithm(self) -> str:
        return str(self.spec.plain["algorithm"]["kind"])

    @cached_property
    def rounds(self) -> list[RoundRecord]:
        return self._in_order(list(self.records(RoundRecord)))

    @cached_property
    def evaluations(self) -> list[EvaluationRecord]:
        return self._of_rounds(list(self.records(EvaluationRecord)), len(self.rounds))

    @property
    def cache(self) -> CacheSummary | None:
        """The balance of the caches from the summary; None without caches, or without a summary."""
        return None if self.summary is None else stored_cache(self.summary.get("cache"))

    @cached_property
    def caches(self) -> list[CacheRecord]:
        """The records of the caches, one an edge round; empty without any."""
        return [] if self.spec.plain.get("cache") is None else list(self.records(CacheRecord))

    @property
    def best(self) -> EvaluationRecord | None:
        """The first evaluation with the best main score; None without any."""
        name = self.main_score
        sign = 1.0 if MAIN_SCORES[name] else -1.0
        return max(self.evaluations, key=lambda record: sign * record.metrics[name], default=None)

    @property
    def last(self) -> Mapping[str, float]:
        """Metrics of the last evaluation; empty without any."""
        if self.summary is not None and "metrics" in self.summary:
            metrics: Mapping[str, float] = self.summary["metrics"]
            return metrics
        return self.evaluations[-1].metrics if self.evaluations else {}

    @cached_property
    def clients(self) -> int:
        """Registered clients: the senders of hop 0; 0 if nothing is on record."""
        header = read_header(self.folder)
        return 0 if header is None else header.senders[0]

    @cached_property
    def environment(self) -> Plain:
        return self._undamaged(ENVIRONMENT_FILE, read_environment)

    @cached_property
    def network(self) -> Plain:
        """``parents`` per hop and ``positions`` per tier; empty if it was not written, or is damaged."""
        return self._undamaged(NETWORK_FILE, read_network)

    @cached_property
    def description(self) -> Plain:
        """What the values of the spec mean; without the run's own, as the parts that are installed here say it."""
        stored = self._undamaged(DESCRIPTION_FILE, read_description)
        if stored:
            return stored
        from fedradio.spec.description import describe  # slow: it needs the parts

        return describe(self.spec)

    def _undamaged(self, name: str, read: Callable[[Path], Plain]) -> Plain:
        """The content of a file; empty if it is damaged, as the run's status shows."""
        return {} if any(each.file == name for each in self.damage) else read(self.folder)

    @cached_property
    def declared_metrics(self) -> dict[str, dict[str, str]]:
        """``unit`` and ``better`` (more or less) of the scores of the metrics that the spec lists, by name."""
        stored = self._undamaged(DESCRIPTION_FILE, read_description)
        found: dict[str, dict[str, str]] = stored.get("metrics", {})
        return found

    @property
    def part_files(self) -> list[Plain]:
        """The user's own files that parts of the run came from: ``name``, ``sha256``, ``parts``, ``source``;
        and ``neighbours``, the files of their folder that they imported, if any."""
        stored = self._undamaged(DESCRIPTION_FILE, read_description)
        return list(stored.get("part_files", []))

    def declared(self, metric: str) -> dict[str, str] | None:
        """``unit`` and ``better`` of a score, under the name of a prediction too (``personal_macro_f1``)."""
        names = [name for name in self.declared_metrics if metric == name or metric.endswith(f"_{name}")]
        return self.declared_metrics[names[0]] if names else None

    @cached_property
    def digest(self) -> Digest:
        """States and joules of clients, notes: what one pass over the records yields."""
        return digest(self)

    @cached_property
    def participation(self) -> Participation:
        return participation_of([record for record in self.records(ExchangeRecord) if record.hop == 0], self.clients)

    @overload
    def records(self) -> Iterator[Record]: ...
    @overload
    def records(self, kind: type[R]) -> Iterator[R]: ...
    def records(self, kind: type[Any] | None = None) -> Iterator[Any]:
        """The records, all or of one type."""
        return read_records(self.folder) if kind is None else read_records(self.folder, kind)

    def exchanges(self) -> Iterator[ExchangeRecord]:
        """The exchanges; at its end the same pass has read rounds and evaluations and tallied the exchanges."""
        rounds: list[RoundRecord] = []
        evaluations: list[EvaluationRecord] = []
        tallies: dict[str, list[tuple[int, float]]] = {}
        for record in self.records():
            if isinstance(record, ExchangeRecord):
                for name, amount in counted(record):
                    tallies.setdefault(name, []).append((record.t, amount))
                yield record
            elif isinstance(record, RoundRecord):
                rounds.append(record)
            elif isinstance(record, EvaluationRecord):
                evaluations.append(record)
        known = {"rounds": self._in_order(rounds), "evaluations": self._of_rounds(evaluations, len(rounds))}
        vars(self).update(known, tallies=tallies)

    def _in_order(self, rounds: list[RoundRecord]) -> list[RoundRecord]:
        """The rounds, which must be numbered from 0 without a gap."""
        if [record.t for record in rounds] != list(range(len(rounds))):
            raise StoreError(f"{self.folder / RECORDS_FILE}: the rounds are not in order")
        return rounds

    def _of_rounds(self, evaluations: list[EvaluationRecord], rounds: int) -> list[EvaluationRecord]:
        """The evaluations, which must be of rounds on record, in their order, and have the same main score.

        Those without any metric are left out: no device of a federation could be asked.
        """
        at = [record.round for record in evaluations]
        if at != sorted(set(at)) or not all(0 < done <= rounds for done in at):
            raise StoreError(f"{self.folder / RECORDS_FILE}: the evaluations are not in order")
        scored = [record for record in evaluations if record.metrics]
        if not any(all(name in record.metrics for record in scored) for name in MAIN_SCORES):
            raise StoreError(f"{self.folder / RECORDS_FILE}: an evaluation has neither accuracy nor RMSE")
        return scored

    def read(self, exchanges: bool = False) -> int:
        """Read rounds, evaluations and if asked hop 0 now, which takes time for large runs; how many records."""
        edge_rounds = self.digest.states.edge_rounds if exchanges else 0  # the same pass reads the others
        return edge_rounds + len(self.rounds) + len(self.evaluations)

    def metrics(self) -> list[str]:
        """Names of the metrics that every evaluation has, and of caches that had no request at first."""
        every = [record.metrics for record in self.evaluations]
        return [n for n in every[-1] if n in CACHE_METRICS or all(n in metrics for metrics in every)] if every else []

    @cached_property
    def tallies(self) -> dict[str, list[tuple[int, float]]]:
        """Rounds and amounts of the exchanges that count for a quantity, by its name."""
        for _ in self.exchanges():
            pass
        tallies: dict[str, list[tuple[int, float]]] = vars(self)["tallies"]
        return tallies

    def totals(self, against: str) -> Floats | None:
        """What had been spent after each round, ``[rounds]``: rounds, seconds, joules ...; None where undefined."""
        return QUANTITIES[against].totals(self)

    def curve(self, metric: str | None = None, against: str = "rounds") -> Curve | None:
        """A metric (by default the main score) at every evaluation against what had been spent by then; None where
        either is undefined."""
        totals, metric = self.totals(against), metric or self.main_score
        points = [(record.round, record.metrics[metric]) for record in self.evaluations if metric in record.metrics]
        if totals is None or not points:
            return None
        at, values = zip(*points, strict=True)
        return totals[np.array(at) - 1], np.array(values, dtype=np.float64)

    def to_pandas(self, table: frames.Table = "evaluations") -> Any:
        """A table of ``fedradio export`` as a pandas DataFrame; evaluations also say what had been spent by then."""
        return frames.frame([self], table)

    def plot(
        self,
        metric: str | None = None,
        against: str = "rounds",
        target: float | None = None,
        **options: Unpack[FigureOptions],
    ) -> Any:
        """The curve of a metric (by default the main score) against rounds, seconds, joules or bits, as a matplotlib
        figure; ``options`` are those of :func:`fedradio.figures`, such as ``labels``."""
        return offered("plot")([self], metric, against, target, **options)


@dataclass(frozen=True)
class LeftOut:
    """A run excluded from means because it is incomplete, has not begun, is damaged, or has another format.

    ``status`` says which; for another format it is a whole sentence (``other_format``).
    """

    label: str
    seed: int
    folder: str
    status: str
    other_format: bool = False

    @property
    def sentence(self) -> str:
        """Which run it is and what about it."""
        return self.status if self.other_format else f"{self.folder} is {self.status}"


def open_run(folder: Path | str) -> Run:
    """The run in a folder; it may be incomplete, or even damaged as long as its spec can be read."""
    folder = Path(folder)
    if not is_run(folder):
        raise StoreError(f"{folder} is {why_no_run(folder)}")
    verdict = check_run(folder)
    if verdict.spec is None:
        raise StoreError(f"{folder} is damaged: {damage_words(verdict.damage)}")
    return Run(folder, verdict.spec, verdict.summary, verdict.damage)


def ended_run(folder: Path | str, summary: Summary) -> Run:
    """The run that has just ended in this folder, with this summary."""
    return Run(Path(folder), stored_spec(Path(folder) / SPEC_FILE), plain_summary(summary))


def open_runs(*folders: Path | str) -> list[Run]:
    """The runs of run folders and sweeps, in order and without duplicates; all other folders are refused together."""
    return open_all(*folders)[0]


def open_all(*folders: Path | str) -> tuple[list[Run], list[LeftOut]]:
    """The runs of run folders and of sweeps, and the runs of these sweeps that have not begun or cannot be read."""
    runs: dict[Path, Run] = {}
    left_out: list[LeftOut] = []
    wrong: list[str] = []
    for folder in map(Path, folders):
        try:
            if not is_sweep(folder):
                runs.setdefault(folder.resolve(), open_run(folder))
                continue
            listed = listed_runs(folder)
        except StoreError as error:
            wrong.append(str(error))
            continue
        for entry in listed:
            run = open_listed(entry)
            if isinstance(run, LeftOut):
                left_out.append(run)
            else:
                runs.setdefault(entry.folder.resolve(), run)
    if wrong:
        raise StoreError("\n".join(wrong))
    return list(runs.values()), left_out


def open_listed(entry: ListedRun) -> Run | LeftOut:
    """A run that a sweep lists; its spec must match the one listed."""
    if not is_run(entry.folder):
        return LeftOut(entry.label, entry.spec.seed, str(entry.folder), "not begun")
    try:
        run = open_run(entry.folder)
    except FormatError as error:
        return LeftOut(entry.label, entry.spec.seed, str(entry.folder), str(error), other_format=True)
    except StoreError as error:
        reason = str(error).removeprefix(f"{entry.folder} is ")
        return LeftOut(entry.label, entry.spec.seed, str(entry.folder), reason)
    if run.spec.sha256() == entry.spec.sha256():
        return run
    return replace(run, damage=(*run.damage, Damage(SPEC_FILE, f"is not the spec that {MARKER} lists for this run")))


def undamaged(runs: Iterable[Run]) -> list[Run]:
    """The runs that are not damaged, complete or not."""
    return [run for run in runs if not run.damage]


def damage_words(damage: Iterable[Damage]) -> str:
    """A description of the damage in one line."""
    return "; ".join(map(str, damage))


def why_no_run(folder: Path) -> str:
    """The reason why a folder is not a run folder, and a suggestion."""
    if not folder.is_dir():
        return f"not a run folder: {'it is a file' if folder.exists() else 'it does not exist'}"
    inside = sum(map(is_run, folder.glob("*/")))
    hint = f"; {inside} of the folders in it are: write {folder / '*'}" if inside else ""
    return f"not a run folder: no {SPEC_FILE} with {RECORDS_FILE} beside it{hint}"
