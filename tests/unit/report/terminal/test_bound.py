"""Assessed bounds on a terminal."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from support.terminal import shown

from fedradio.papers.bounds.assess import assess
from fedradio.report.terminal import bound as report
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Maker = Callable[..., Spec]


def made(spec: Spec, folder: Path) -> Path:
    run(spec, folder)
    return folder


def test_the_table_says_what_is_what(cells: Maker, tmp_path: Path) -> None:
    spec = cells("hops.0.policy={kind: sampling, clients: 2, steps: [1, 4]}", "rule.lr=0.5", "rounds=3")
    found = assess(made(spec, tmp_path / "a"), rounds=2, given={"variance": 4.0})
    text = shown(report.assessment_view(found), width=140)
    for words in (
        "replayed (2 rounds)",
        "whole run (3 rounds)",
        "given",
        "estimated: largest of 2",
        "claims nothing here",
    ):
        assert words in text
    assert "bias of unequal steps" in text
    low = replace(found, columns=[replace(found.columns[0], measured=math.inf)])
    assert "NO" in shown(report.assessment_view(replace(low, applies=True)), width=140)
    assert "no claim at this rate" in text
    assert report.number(None) == "-"
