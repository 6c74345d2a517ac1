"""Writes the results that ship with the package, from the runs and studies that ``fedradio reproduce`` has stored.

``python tools/publish.py --to src/fedradio/published/results`` writes a small file for every item of which something
is stored in ``reproductions/``; ``python tools/publish.py --to DIR rawhfl table4 fig9`` writes those of some items.
A file that is there already is united with what is stored: seeds and rows are added, claims are judged anew. Nothing is
run. It exits with 0 if it has written a file, with 2 if an item does not exist, with 5 if nothing is stored, or if a
file and the runs do not fit together, which it explains.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from unite import POINTS, Part, Parts, conflicts, joined, made_pairs, stored_parts, united, united_parts

from fedradio.cli.app import err, out
from fedradio.core.errors import FedradioError, StoreError
from fedradio.core.files import write_text
from fedradio.papers.absence import Absence, Reason
from fedradio.papers.collect import Entry, Result, collect
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
from fedradio.papers.series import Series, picture
from fedradio.papers.shipped import (
    FORMAT,
    FoundClaim,
    FoundTest,
    Made,
    Numbers,
    ShippedResult,
    fingerprints,
    parse_shipped,
    restored,
)
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress
from fedradio.runs.stored import read_environment

DIGITS = 5
"""Significant digits of what is drawn."""

ALONG = {"curves": ("x", "mean", "low", "high"), "bound": ("x", "y"), "cdf": ("samples",)}
"""What is thinned out in a series, by the kind of the picture."""


def stored_reproduction(item: Item, folder: Path, old: ShippedResult | None = None) -> Reproduction | None:
    """The reproduction of an item that is stored, at paper scale if it can be; None if nothing that ships is stored.

    Its seeds are those of which everything is there, in the folder or in ``old``, the shipped result that it is united
    with. Without such seeds at either scale, they are all that are stored, and the rows that have been made for all of
    them count.
    """
    scales = SCALES if old is None else (old.scale,)
    seeds = {scale: _seeds(item, scale, folder, old) for scale in reversed(scales)}
    for scale, (_, whole) in seeds.items():
        if whole:
            return plan_reproduction(item, scale, whole, folder)
    for scale, (some, _) in seeds.items():
        if some and _ended(plan := plan_reproduction(item, scale, some, folder), old):
            return plan
    return None


def _seeds(item: Item, scale: Scale, folder: Path, old: ShippedResult | None) -> tuple[tuple[int, ...], list[int]]:
    """All stored seeds of an item, and those of which everything is there."""
    some, known = stored_seeds(item, scale, folder), made_pairs(old)
    units = {seed: plan_reproduction(item, scale, (seed,), folder).units for seed in some}
    return some, [seed for seed, of in units.items() if of and all(_is_made(unit, known) for unit in of)]


def _is_made(unit: Unit, known: Collection[tuple[str, int]]) -> bool:
    """Whether a unit has ended in the folder, or is one of those that a shipped result holds."""
    return (group(unit), unit.seed) in known or unit.settled()


def _ended(reproduction: Reproduction, old: ShippedResult | None) -> list[Unit]:
    """The stored units of rows that have ended for all seeds: others tell nothing before the rest is there.

    Else verdicts would depend on when somebody looked.
    """
    known = made_pairs(old)
    there = [unit for unit in reproduction.units if _is_made(unit, known)]
    groups = [group(unit) for unit in there]
    whole = [unit for unit in there if groups.count(group(unit)) == len(reproduction.seeds)]
    return [unit for unit in whole if unit.settled()]


def shipped_result(reproduction: Reproduction, old: ShippedResult | None = None) -> ShippedResult:
    """The result of a reproduction as it ships, united with the shipped result ``old``; nothing is run.

    What was made from other specs is left out, and so is what has not ended for all seeds. A result of which the folder
    has everything is written anew from it.
    """
    item = reproduction.item
    wrong = outdated(reproduction, load_specs(reproduction.units))
    ended = [unit for unit in _ended(reproduction, old) if unit.path not in wrong]
    paths = {unit.path for unit in ended}
    absent = {unit.path: Absence(Reason.NOT_RUN) for unit in reproduction.units if unit.path not in paths} | wrong
    known = made_pairs(old)
    if known <= {(group(unit), unit.seed) for unit in ended}:
        old, known = None, set()
    found = _numbers_of(reproduction, ended, absent, known)
    parts = _seed_parts(reproduction, absent)
    if old is not None:
        if problem := next(conflicts(item, old, found), None):
            raise StoreError(
                f"{item.paper} {item.name}: {problem}; --replace writes the file from the stored runs alone"
            )
        found = united(item, old, found)
        before = stored_parts(old)
        parts = {row.label: united_parts(before.get(row.label, ()), parts.get(row.label, ())) for row in item.rows}
    return finished(item, found, parts)


def _numbers_of(
    reproduction: Reproduction,
    ended: Sequence[Unit],
    absent: Mapping[Path, Absence],
    known: Collection[tuple[str, int]],
) -> ShippedResult:
    """Numbers, costs and versions of units that have ended; those that are ``known`` cost nothing again."""
    result = collect(reproduction, absent)
    fresh = [unit for unit in ended if (group(unit), unit.seed) not in known]
    machines = [environment(unit) for unit in fresh]
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
        made=_made(reproduction.units, fresh),
        left=_each(group(unit) for unit in reproduction.units if group(unit) not in labels),
        rows={
            row.label: {key: _numbers(entry) for key, entry in entries.items()}
            for row, entries in zip(result.rows, result.entries, strict=True)
        },
        claims=(),
        picture=None,
    )


def _seed_parts(reproduction: Reproduction, absent: Mapping[Path, Absence]) -> dict[str, list[Part]]:
    """What every row shows of each seed, as it ships."""
    item, parts = reproduction.item, dict[str, list[Part]]()
    for seed in reproduction.seeds:
        drawn = picture(collect(plan_reproduction(item, reproduction.scale, (seed,), reproduction.out), absent))
        for series in compact(drawn)["series"] if drawn else ():
            shown = {key: value for key, value in series.items() if key not in ("label", "algorithm", "row", "seeds")}
            parts.setdefault(item.rows[series["row"]].label, []).append(Part((seed,), shown))
    return parts


def finished(item: Item, found: ShippedResult, parts: Parts) -> ShippedResult:
    """A result with what follows from its numbers: the command, the verdicts on the item's claims, and the picture."""
    result = restored(item, found)

    def shows(_: Result, row: int) -> Series | None:
        of = parts.get(item.rows[row].label)
        return joined(item.show, of) if of else None

    drawn = picture(result, None if item.show == "bars" else shows)
    return found.model_copy(
        update={
            "command": reproduce_command(replace(result.reproduction, out=OUT)),
            "rows": {
                row.label: {key: _numbers(entry) for key, entry in entries.items()}
                if row.best_of
                else found.rows[row.label]
                for row, entries in zip(item.rows, result.entries, strict=True)
            },
            "claims": tuple(_claim(one) for one in judge(result)),
            "picture": None if drawn is None else _short(drawn),
        }
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


def publish(item: Item, folder: Path, to: Path, *, anew: bool = False) -> Path | None:
    """Write the stored result of an item below a folder, united with the file that is there; None if nothing is new.

    ``anew``: write it from the stored runs alone.
    """
    file = to / item.paper / f"{item.name}.json"
    old = None if anew or not file.is_file() else parse_shipped(file.read_text(encoding="utf-8"), file.name)
    if old is not None and old.scale == "quick":
        better = stored_reproduction(item, folder)
        old = None if better is not None and better.scale == "paper" else old
    reproduction = stored_reproduction(item, folder, old)
    if reproduction is None:
        return None
    text = shipped_json(shipped_result(reproduction, old))
    make_folder(file.parent)
    write_text(file, text)
    return file


def judged_anew(item: Item, to: Path) -> Path | None:
    """Judge the claims of an item's file anew, from the numbers in it; None if there is no file."""
    file = to / item.paper / f"{item.name}.json"
    if not file.is_file():
        return None
    found = parse_shipped(file.read_text(encoding="utf-8"), file.name)
    claims = tuple(_claim(one) for one in judge(restored(item, found)))
    write_text(file, shipped_json(found.model_copy(update={"claims": claims})))
    return file


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paper", metavar="PAPER", nargs="?", help="a paper, such as rawhfl; default: all papers")
    parser.add_argument("items", metavar="ITEM", nargs="*", help="items of the paper, such as table4; default: all")
    parser.add_argument("--to", metavar="DIR", type=Path, required=True, help="write DIR/PAPER/ITEM.json")
    parser.add_argument(
        "--runs", metavar="FOLDER", type=Path, default=OUT, help="the --out of fedradio reproduce; default: %(default)s"
    )
    parser.add_argument(
        "--replace", action="store_true", help="write the files from the stored runs alone, without uniting them"
    )
    parser.add_argument(
        "--judge", action="store_true", help="judge the claims of the files in DIR anew, without looking at any runs"
    )
    options = parser.parse_args(words)
    code = 0
    try:
        listed = matching(options.paper, *options.items) if options.items else items(options.paper)
        written = 0
        with LateProgress(err) as progress:
            for number, item in enumerate(listed):
                progress(f"{item.paper} {item.name}", number / len(listed))
                try:
                    file = (
                        judged_anew(item, options.to)
                        if options.judge
                        else publish(item, options.runs, options.to, anew=options.replace)
                    )
                except StoreError as error:
                    say(err, str(error))
                    code = error.exit_code
                    continue
                if file is not None:
                    say(out, str(file))
                    written += 1
        if not written and not code:
            raise StoreError(f"no results in {options.runs}; run fedradio reproduce first, or choose another --runs")
    except FedradioError as error:
        say(err, str(error))
        return error.exit_code
    return code


if __name__ == "__main__":
    sys.exit(main())
