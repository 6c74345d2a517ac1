"""The privacy protocol on a terminal of 80 columns."""

import pytest
from support.terminal import shown

from fedradio.papers.studies.protocol import Demonstration, Setting, demonstrate
from fedradio.papers.studies.tags import Named, RequestWorld
from fedradio.privacy.disclosure import TITLES
from fedradio.privacy.leaks import SizeLeak
from fedradio.privacy.steps import Step, Walk
from fedradio.privacy.sum_trial import SumTrial
from fedradio.report.terminal.protocol import (
    attacks_table,
    chart,
    costs_table,
    leaks_table,
    refusals_table,
    seen_table,
    sum_table,
)
from fedradio.spec.spec import load_spec

SMALL = ("topology.edges=2", "topology.clients_per_edge=3", "hops.0.policy.clients=2", "data.source.test_requests=20")


@pytest.fixture(scope="module")
def made() -> Demonstration:
    return demonstrate(RequestWorld.of(load_spec("rawhfl", SMALL)), Setting(megabytes=(0.01, 0.01)))


def test_arrows_by_hand() -> None:
    steps = (
        Step("2", "UE", "BS", "request", 144, 0.5),
        Step("5", "CSP", None, "tag to content", None, 0.25),
        Step("7", "ISP", "BS", "+ temp", 100, 12.345),
    )
    head, *lines = shown(chart(Walk(steps, True, 0)), width=80).splitlines()
    assert head.split() == ["UE", "BS", "ISP", "CSP", "ES", "octets", "ms"]
    assert [line.split() for line in lines] == [
        ["2", "│─", "request", "─▶│", "│", "│", "│", "144", "0.50"],
        ["5", "│", "│", "tag", "to", "content", "●", "│", "0.25"],
        ["7", "│", "│◀─", "+", "temp", "──│", "│", "│", "100", "12.35"],
    ]
    assert {len(line) for line in [head, *lines]} == {79}


def test_the_whole_chart_fits_80_columns(made: Demonstration) -> None:
    lines = shown(chart(made.first), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    numbers = [line.split()[0] for line in lines[1:]]
    assert numbers == [*map(str, range(1, 10)), *(f"9{letter}" for letter in "abcdefg"), "10", "11", "12", "$"]


def test_tables(made: Demonstration) -> None:
    text = shown(seen_table(made.seen, TITLES), width=80)
    content = next(line for line in text.splitlines() if line.startswith("content"))
    assert content.split() == ["content", "yes", "-", "-", "yes", "yes"]
    text = shown(refusals_table(made.outcomes), width=200)
    assert "24 of 25 attempts refused" in text
    assert "not refused, by design" in text
    assert "UNEXPECTED" not in text
    text = shown(costs_table(made, 1), width=80)
    for words in ("1,152 bit", "3,808 bit", "1,312 bit", "512 bit", "0 hits, 1 miss, 1 epoch"):
        assert words in text


def test_a_masked_sum() -> None:
    trial = SumTrial(12, 256, True, False, 8192, 256, 0.5, 0.13)
    lines = shown(sum_table(trial), width=80).splitlines()
    assert [line.split()[-1] for line in lines[1:3]] == ["yes", "NO"]
    assert "8,192 bit" in lines[3]
    assert "12 clients, 256 contents" in lines[-1]


def test_what_sizes_tell() -> None:
    leaks = [SizeLeak("none", 1.0, 0.0), SizeLeak("padme", 0.92, 0.012)]
    text = shown(leaks_table(leaks, "padme", (5, 50)), width=80)
    assert [line.split() for line in text.splitlines()[1:3]] == [
        ["none", "100.0", "%", "0.0", "%"],
        ["padme", "*", "92.0", "%", "1.2", "%"],
    ]
    assert "files of 5 to 50 MB" in text
    assert "sizes reveal nothing" in shown(leaks_table(leaks, "none", (1, 1)), width=80)


def test_attacks() -> None:
    rows = [Named("ranks", 6, 0.041), Named("ranks", 24, 0.5), Named("sequences", 6, 0.0), Named("sequences", 24, 1.0)]
    lines = shown(attacks_table(rows, 3, 8), width=80).splitlines()
    assert lines[1].split() == ["ranks", "0.04", "0.50"]
    assert lines[2].split() == ["sequences", "0.00", "1.00"]
    assert "3 worlds x 8 epochs" in " ".join(lines)
