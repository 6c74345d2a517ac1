"""Writes the results that ship with the package, from the runs and studies that ``fedradio reproduce`` has stored.

``python tools/publish.py --to src/fedradio/published/results`` writes a small file for every item of which something
is stored in ``reproductions/``; ``python tools/publish.py --to DIR rawhfl table4 fig9`` writes those of some items.
Nothing is run. It exits with 0 if it has written a file, with 2 if an item does not exist, with 5 if nothing is stored.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fedradio.cli.app import err, out
from fedradio.core.errors import FedradioError, StoreError
from fedradio.core.files import write_text
from fedradio.papers.absence import Absence, Reason
from fedradio.papers.collect import Entry, collect
from fedradio.papers.items import Item
from fedradio.papers.judge import JudgedClaim, JudgedTest, judge
from fedradio.papers.make import load_specs, make_folder, outdated
from fedradio.papers.plan import (
    Reproduction,
    Unit,
    group,
    plan_reproduction,
    reproduce_command,
    stored_seeds,
    stored_study,
)
from fedradio.papers.published import items, matching
from fedradio.papers.scales import OUT, SCALES, Scale
from fedradio.papers.series import picture
from fedradio.papers.shipped import FORMAT, FoundClaim, FoundTest, Made, Numbers, ShippedResult, fingerprints
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress
from fedradio.runs.stored import read_environment

POINTS = 60
"""Largest number of points of a curve, or of quantiles of a distribution, that ships."""

DIGITS = 5
"""Significant digits of what is drawn."""

ALONG = {"curves": ("x", "mean", "low", "high"), "bound": ("x", "y"), "cdf": ("samples",)}
"""What is thinned out in a series, by the kind of the picture."""


def stored_reproduction(item: Item, folder: Path) -> Reproduction | None:
    """The reproduction of an item that is stored, at paper scale if it can be; None if nothing that ships is stored.

    Its seeds are those of which everything is there. Without such seeds at either scale, they are all that are stored,
    and the rows that have been made for all of them count.
    """
    seeds = {scale: _seeds(item, scale, folder) for scale in reversed(SCALES)}
    for scale, (_, whole) in seeds.items():
        if whole:
            return plan_reproduction(item, scale, whole, folder)
    for scale, (some, _) in seeds.items():
        if some and _ended(plan := plan_reproduction(item, scale, some, folder)):
            return plan
    return None


def _seeds(item: Item, scale: Scale, folder: Path) -> tuple[tuple[int, ...], list[int]]:
    """All stored seeds of an item, and those of which everything is there."""
    some = stored_seeds(item, scale, folder)
    units = {seed: plan_reproduction(item, scale, (seed,), folder).units for seed in some}
    return some, [seed for seed, of in units.items() if of and all(unit.settled() for unit in of)]


def _ended(reproduction: Reproduction) -> list[Unit]:
    """The units that have ended for all seeds: a row with a few of the seeds tells nothing before the others are there.

    Else verdicts would depend on when somebody looked.
    """
    settled = [unit for unit in reproduction.units if unit.settled()]
    groups = [group(unit) for unit in settled]
    return [unit for unit in settled if groups.count(group(unit)) == len(reproduction.seeds)]


def shipped_result(reproduction: Reproduction) -> ShippedResult:
    """The result of a reproduction as it ships; nothing is run.

    What was made from other specs is left out, and so is what has not ended for all seeds.
    """
    wrong = outdated(reproduction, load_specs(reproduction.units))
    ended = [unit for unit in _ended(reproduction) if unit.path not in wrong]
    paths = {unit.path for unit in ended}
    waiting = {unit.path: Absence(Reason.NOT_RUN) for unit in reproduction.units if unit.path not in paths}
    result = collect(reproduction, waiting | wrong)
    machines = [environment(unit) for unit in ended]
    drawn = picture(result)
    labels = [group(unit) for unit in ended]
    return ShippedResult(
        format=FORMAT,
        paper=result.item.paper,
        item=result.item.name,
        scale=reproduction.scale,
        seeds=reproduction.seeds,
        command=reproduce_command(replace(reproduction, out=OUT)),
        fedradio=_each(machine["fedradio"] for machine in machines),
        commits=_each(machine["commit"] for machine in machines),
        python=_each(machine["python"] for machine in machines),
        packages=_packages([machine["packages"] for machine in machines]),
        machines=_each(machine["machine"] for machine in machines),
        made=_made(reproduction.units, ended),
        left=_each(group(unit) for unit in reproduction.units if group(unit) not in labels),
        rows={
            row.label: {key: _numbers(entry) for key, entry in entries.items()}
            for row, entries in zip(result.rows, result.entries, strict=True)
        },
        claims=tuple(_claim(one) for one in judge(result)),
        picture=None if drawn is None else compact(drawn),
    )


def environment(unit: Unit) -> dict[str, Any]:
    """Versions and machine that made a unit; studies keep the version and the commit alone."""
    if unit.study is not None:
        study = stored_study(unit.path)
        if study is None:
            raise StoreError(f"{unit.path} is gone")
        return {"fedradio": study.fedradio, "commit": study.commit, "python": None, "packages": {}, "machine": None}
    known = read_environment(unit.path)
    wanted = ("fedradio", "commit", "python", "machine")
    return {key: known.get(key) for key in wanted} | {"packages": known.get("packages", {})}


def _made(units: list[Unit], ended: Sequence[Unit]) -> tuple[Made, ...]:
    """The units that have ended, by spec and study."""
    specs = fingerprints(units)
    groups: dict[str, list[Unit]] = {}
    for unit in ended:
        groups.setdefault(group(unit), []).append(unit)
    made = []
    for label, alike in groups.items():
        found = [stored for unit in alike if (stored := unit.stored()) is not None]
        wall = sum(stored.wall_s for stored in found)
        counted = [stored.cpu_s for stored in found if stored.cpu_s is not None]
        cpu = round(sum(counted), 3) if len(counted) == len(alike) else None
        seeds = tuple(unit.seed for unit in alike)
        made.append(Made(label=label, spec_sha256=specs[label], seeds=seeds, wall_s=round(wall, 3), cpu_s=cpu))
    return tuple(made)


def _numbers(entry: Entry) -> Numbers:
    return Numbers(
        values={str(seed): value for seed, value in entry.values.items()},
        lost={str(seed): absence.reason for seed, absence in entry.lost.items()},
    )


def _claim(judged: JudgedClaim) -> FoundClaim:
    return FoundClaim(id=judged.claim.id, verdict=judged.judgement, tests=tuple(map(_test, judged.tests)))


def _test(judged: JudgedTest) -> FoundTest:
    found, wide = judged.found, judged.wide
    return FoundTest(
        mean=None if found is None else found.mean,
        interval=None if found is None else found.ends,
        corrected_interval=None if wide is None else wide.ends,
        seeds=len(judged.values),
        verdict=judged.judgement,
    )


def _each(values: Iterable[str | None]) -> tuple[str, ...]:
    """Every known value once, in order of first use."""
    return tuple(dict.fromkeys(value for value in values if value is not None))


def _packages(found: Sequence[dict[str, str | None]]) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys(name for packages in found for name in packages)
    return {name: _each(packages.get(name) for packages in found) for name in names}


def compact(drawn: dict[str, Any]) -> dict[str, Any]:
    """What is drawn with few digits, long curves thinned out to :data:`POINTS` with both of their ends."""
    keys = ALONG.get(drawn["show"], ())
    series = [{key: _thinned(value) if key in keys else value for key, value in one.items()} for one in drawn["series"]]
    short: dict[str, Any] = _short(drawn | {"series": series})
    return short


def _thinned(values: Sequence[float]) -> list[float]:
    if len(values) <= POINTS:
        return list(values)
    chosen = np.unique(np.linspace(0, len(values) - 1, POINTS).round().astype(int))
    return [values[index] for index in chosen]


def _short(data: Any) -> Any:
    """Plain data with numbers of :data:`DIGITS` digits."""
    if isinstance(data, dict):
        return {key: _short(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_short(value) for value in data]
    if isinstance(data, float):
        return int(data) if data.is_integer() and abs(data) < 1e9 else float(f"{data:.{DIGITS}g}")
    return data


def shipped_json(shipped: ShippedResult) -> str:
    """A shipped result as the text of its file: a line for every run, entry, claim and series."""
    plain = shipped.model_dump(mode="json", exclude={"superseded"} if shipped.superseded is None else None)
    return _lines(plain, 0) + "\n"


def _lines(data: Any, depth: int) -> str:
    """JSON with line breaks down to the third level, and compact below, or where nothing is nested."""
    inner = list(data.values() if isinstance(data, dict) else data) if isinstance(data, dict | list) else []
    if depth == 3 or not any(isinstance(value, dict | list) for value in inner):
        return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    pad = "\n" + " " * (depth + 1)
    if isinstance(data, dict):
        inside = [f"{json.dumps(key, ensure_ascii=False)}: {_lines(value, depth + 1)}" for key, value in data.items()]
        return "{" + pad + f",{pad}".join(inside) + pad[:-1] + "}"
    return "[" + pad + f",{pad}".join(_lines(value, depth + 1) for value in data) + pad[:-1] + "]"


def publish(listed: Sequence[Item], folder: Path, to: Path) -> Iterator[Path]:
    """Write the stored results of some items below a folder, showing progress; yields the files."""
    with LateProgress(err) as progress:
        for number, item in enumerate(listed):
            progress(f"{item.paper} {item.name}", number / len(listed))
            reproduction = stored_reproduction(item, folder)
            if reproduction is not None:
                file = make_folder(to / item.paper) / f"{item.name}.json"
                write_text(file, shipped_json(shipped_result(reproduction)))
                yield file


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paper", metavar="PAPER", nargs="?", help="a paper, such as rawhfl; default: all papers")
    parser.add_argument("items", metavar="ITEM", nargs="*", help="items of the paper, such as table4; default: all")
    parser.add_argument("--to", metavar="DIR", type=Path, required=True, help="write DIR/PAPER/ITEM.json")
    parser.add_argument(
        "--runs", metavar="FOLDER", type=Path, default=OUT, help="the --out of fedradio reproduce; default: %(default)s"
    )
    options = parser.parse_args(words)
    try:
        listed = matching(options.paper, *options.items) if options.items else items(options.paper)
        files = []
        for file in publish(listed, options.runs, options.to):
            say(out, str(file))
            files.append(file)
        if not files:
            raise StoreError(f"no results in {options.runs}; run fedradio reproduce first, or choose another --runs")
    except FedradioError as error:
        say(err, str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
