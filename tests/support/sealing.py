"""Run folders and sweeps by hand, with checksums as if a run or a sweep had written it all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fedradio._version import __version__
from fedradio.core.files import sealed
from fedradio.core.format import FORMAT
from fedradio.results.sweep_file import MARKER
from fedradio.runs.folder import CHECKPOINT_FOLDER, LISTED_FILES, MODEL_FILE, RECORDS_FILE, SUMMARY_FILE
from fedradio.runs.manifest import checksum, plain_manifest
from fedradio.runs.stored import read_summary
from fedradio.runs.summary import Summary
from fedradio.spec.spec import Spec


def blank_summary(spec: Spec, **changes: Any) -> Summary:
    """The summary of a complete run that was never made: nothing is defined."""
    known = dict.fromkeys(Summary.__dataclass_fields__) | {"metrics": {}, "hop_bits": [], "wall_s": 1.0}
    known |= {"status": "complete", "name": spec.name, "rounds": spec.rounds, "seed": spec.seed}
    return Summary(**known | {"spec_sha256": spec.sha256()} | changes)  # type: ignore[arg-type]


def write_summary(folder: Path, summary: Summary | Mapping[str, Any]) -> None:
    """Write a summary, with the checksums of the files as they are now."""
    manifest = {name: checksum((folder / name).read_bytes()) for name in LISTED_FILES if (folder / name).exists()}
    plain = asdict(summary) if isinstance(summary, Summary) else summary
    (folder / SUMMARY_FILE).write_bytes(sealed({**plain, "files": plain_manifest(manifest)}))


def reseal(folder: Path, **changes: Any) -> None:
    """Change the summary of a run, which takes its files for right as they are now."""
    write_summary(folder, read_summary(folder) | changes)


def unfinish(folder: Path) -> None:
    """Make a complete run one whose process was killed before its first checkpoint."""
    (folder / SUMMARY_FILE).unlink()
    (folder / MODEL_FILE).unlink()
    shutil.rmtree(folder / CHECKPOINT_FOLDER)


def other_format(folder: Path) -> None:
    """Make a run one of format 2, by fedradio 0.1."""
    first, rest = (folder / RECORDS_FILE).read_text().split("\n", 1)
    header = json.loads(first) | {"format": 2, "fedradio": "0.1"}
    (folder / RECORDS_FILE).write_text(f"{json.dumps(header)}\n{rest}")


def list_runs(folder: Path, variants: Mapping[str, tuple[str, Spec, list[int]]]) -> None:
    """Write ``sweep.json``: of every label the stem of its run folders, its spec and its seeds."""
    cells = [
        {
            "label": label,
            "stem": stem,
            "runs": {str(seed): f"{stem}-seed{seed}" for seed in seeds},
            "set": {},
            "spec": spec.plain,
        }
        for label, (stem, spec, seeds) in variants.items()
    ]
    head = {"format": FORMAT, "fedradio": __version__, "name": "sweep", "axes": {}, "seeds": [1], "base": {}}
    (folder / MARKER).write_bytes(sealed(head | {"cells": cells}))
