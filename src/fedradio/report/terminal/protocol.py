"""The privacy protocol for the terminal: message sequence chart, who sees what, refusals, costs, attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from fedradio.core.units import show_count
from fedradio.privacy.leaks import SizeLeak
from fedradio.privacy.steps import ACCESS, BACKHAUL, CHARGING, FETCHING, PARTIES, Seen, Step, Walk
from fedradio.report.terminal.words import count, plain_table

if TYPE_CHECKING:
    from fedradio.papers.studies.protocol import Demonstration
    from fedradio.papers.studies.tags import Named
    from fedradio.privacy.sum_trial import SumTrial
    from fedradio.privacy.trials import Outcome

FIRST, LANE = 5, 13
"""Column of the first lifeline, and columns from one to the next."""

WIDTH = FIRST + LANE * (len(PARTIES) - 1) + 2
"""Columns of the chart without its numbers."""


def chart(walk: Walk) -> Text:
    """The message sequence chart of a request: 80 columns, numbers as in RawHFL's Fig. 2, octets and milliseconds."""
    head = [" "] * WIDTH
    for party in PARTIES:
        _write(head, _column(party) - len(party) // 2, party)
    title = "".join(head) + f"{'octets':>12}{'ms':>8}"
    return Text("\n").join([Text(title, "bold"), *(Text(_row(step)) for step in walk.steps)])


def _row(step: Step) -> str:
    row = [" "] * WIDTH
    _write(row, 0, f"{step.number:>3}")
    for party in PARTIES:
        row[_column(party)] = "│"
    if step.receiver is None:
        _local(row, step)
    else:
        _arrow(row, _column(step.sender), _column(step.receiver), step.what)
    octets = "" if step.octets is None else f"{step.octets:,}"
    return "".join(row) + f"{octets:>12}{step.ms:>8.2f}"


def _local(row: list[str], step: Step) -> None:
    """A dot on the lifeline, with its text on the side that has room."""
    at = _column(step.sender)
    row[at] = "●"
    right = at + 2 + len(step.what) < WIDTH
    _write(row, at + 2 if right else at - 1 - len(step.what), step.what)


def _arrow(row: list[str], sender: int, receiver: int, what: str) -> None:
    left, right = sorted((sender, receiver))
    for at in range(left + 1, right):
        row[at] = "─"
    row[receiver - 1 if receiver > sender else receiver + 1] = "▶" if receiver > sender else "◀"
    label = f" {what} "
    _write(row, (left + right + 1 - len(label)) // 2, label)


def _column(party: str) -> int:
    return FIRST + LANE * PARTIES.index(party)


def _write(row: list[str], at: int, text: str) -> None:
    row[at : at + len(text)] = text


def seen_table(seen: Sequence[Seen], titles: Mapping[str, str]) -> Group:
    """Which party has seen which facts about a request."""
    rows = [[titles[each.fact], *("yes" if party in each.parties else "-" for party in PARTIES)] for each in seen]
    return Group(plain_table(("fact", *PARTIES), rows, left=1), "based on what each party received, sent and decrypted")


def refusals_table(outcomes: Sequence[Outcome]) -> Group:
    """Attempts to break the protocol, and their outcomes."""
    rows = []
    for each in outcomes:
        why = "not refused, by design" if each.refusal is None else each.refusal.value
        surprise = Text("" if each.as_expected else "  UNEXPECTED", "red")
        rows.append([each.trial.what, each.trial.by, each.party, Text(why) + surprise])
    refused = sum(each.refusal is not None for each in outcomes)
    says = f"{refused} of {len(outcomes)} attempts refused; each was just tried on a small service"
    return Group(plain_table(("attempt", "by", "refused by", "why"), rows), says)


def costs_table(shown: Demonstration, requests: int) -> Group:
    """Control traffic in bits and computing time in milliseconds."""
    walk, extra = shown.first, shown.first.bits(FETCHING)
    bits = {
        "control on the air, per request": walk.bits(ACCESS),
        "control on the backhaul, per request": walk.bits(BACKHAUL),
        **({"control on the backhaul, extra per miss": extra} if extra else {}),
        "billing report, per request": walk.bits(CHARGING),
        "epoch key, per subscriber": shown.key_bits,
    }
    rows = [[name, f"{number:,} bit"] for name, number in bits.items()]
    rows += [[f"computing time of {party}, per request", f"{shown.ms[party]:.2f} ms"] for party in PARTIES]
    mean = "" if requests == 1 else f" on average; times are medians over {show_count(requests)} requests"
    misses = requests - shown.hits
    counted = f"{count(shown.hits, 'hit')}, {misses} miss{'es' * (misses != 1)}, {count(shown.epochs, 'epoch')}"
    return Group(plain_table(("cost", ""), rows, left=1), f"{counted}; files of {shown.mebibytes:.3g} MiB{mean}")


def leaks_table(leaks: Sequence[SizeLeak], chosen: str, megabytes: tuple[float, float]) -> Group:
    """What file sizes reveal under every padding, with a star at the one in use; equal sizes reveal nothing."""
    low, high = megabytes
    if low == high:
        guess = f"guessing the most popular content is right for {100 * leaks[0].named:.1f} % of requests"
        return Group(f"all files are {low:g} MB, so sizes reveal nothing ({guess})")
    head = ("padding", "requests identified by size", "extra octets")
    rows = [
        [leak.padding + " *" * (leak.padding == chosen), f"{100 * leak.named:.1f} %", f"{100 * leak.more:.1f} %"]
        for leak in leaks
    ]
    who = "an observer who knows all sizes and the popularities in the cell"
    return Group(
        plain_table(head, rows, left=1),
        f"files of {low:g} to {high:g} MB, log-uniform; identified by {who}; * used here",
    )


def sum_table(trial: SumTrial) -> Group:
    """A masked sum over a cell: exactness, bits and milliseconds."""
    rows = [
        ["equals the plain sum of the rounded numbers", "yes" if trial.exact else "NO"],
        ["also when one client drops out", "yes" if trial.exact_without_one else "NO"],
        ["report, per client", f"{trial.report_bits:,} bit"],
        ["dropout of one client, per remaining client", f"{trial.dropout_bits:,} bit"],
        ["key agreement with the others, once per client", f"{trial.setup_ms:.2f} ms"],
        ["masking, per client", f"{trial.report_ms:.2f} ms"],
    ]
    says = f"{trial.members} clients, {trial.contents} contents; the sum of the clients' reports to their edge"
    return Group(plain_table(("masked sum over a cell", ""), rows, left=1), says)


def attacks_table(rows: Sequence[Named], worlds: int, draws: int) -> Group:
    """Shares of requests that tags in the clear reveal."""
    sizes = list(dict.fromkeys(row.requests for row in rows))
    share = {(row.attack, row.requests): f"{row.share:.2f}" for row in rows}
    lines = [[attack, *(share[attack, size] for size in sizes)] for attack in dict.fromkeys(row.attack for row in rows)]
    what = "share of requests whose content a base station can identify from tags in the clear"
    over = f"mean over {count(worlds, 'world')} x {count(draws, 'epoch')}"
    head = ("requests per cell and epoch", *map(str, sizes))
    return Group(plain_table(head, lines, left=1), f"{what}; {over}. Sealed requests show no tags")
