"""The privacy protocol for the terminal: message sequence chart, who sees what, refusals, costs, attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fedradio.core.units import show_count
from fedradio.privacy.leaks import SizeLeak
from fedradio.privacy.steps import ACCESS, BACKHAUL, CHARGING, FETCHING, PARTIES, Seen, Step, Walk
from fedradio.report.terminal.words import count

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
    table = _table("fact", *PARTIES)
    for each in seen:
        table.add_row(titles[each.fact], *("yes" if party in each.parties else "-" for party in PARTIES))
    return Group(table, "based on what each party received, sent and decrypted")


def refusals_table(outcomes: Sequence[Outcome]) -> Group:
    """Attempts to break the protocol, and their outcomes."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("attempt", "by", "refused by", "why"):
        table.add_column(title)
    for each in outcomes:
        why = "not refused, by design" if each.refusal is None else each.refusal.value
        surprise = Text("" if each.as_expected else "  UNEXPECTED", "red")
        table.add_row(each.trial.what, each.trial.by, each.party or "-", Text(why) + surprise)
    refused = sum(each.refusal is not None for each in outcomes)
    return Group(table, f"{refused} of {len(outcomes)} attempts refused; each was just tried on a small service")


def costs_table(shown: Demonstration, requests: int) -> Group:
    """Control traffic in bits and computing time in milliseconds."""
    table = _table("cost", "")
    walk = shown.first
    table.add_row("control on the air, per request", f"{walk.bits(ACCESS):,} bit")
    table.add_row("control on the backhaul, per request", f"{walk.bits(BACKHAUL):,} bit")
    if extra := walk.bits(FETCHING):
        table.add_row("control on the backhaul, extra per miss", f"{extra:,} bit")
    table.add_row("billing report, per request", f"{walk.bits(CHARGING):,} bit")
    table.add_row("epoch key, per subscriber", f"{shown.key_bits:,} bit")
    for party in PARTIES:
        table.add_row(f"computing time of {party}, per request", f"{shown.ms[party]:.2f} ms")
    mean = "" if requests == 1 else f" on average; times are medians over {show_count(requests)} requests"
    misses = requests - shown.hits
    counted = f"{count(shown.hits, 'hit')}, {misses} miss{'es' * (misses != 1)}, {count(shown.epochs, 'epoch')}"
    return Group(table, f"{counted}; files of {shown.mebibytes:.3g} MiB{mean}")


def leaks_table(leaks: Sequence[SizeLeak], chosen: str, megabytes: tuple[float, float]) -> Group:
    """What file sizes reveal under every padding, with a star at the one in use; equal sizes reveal nothing."""
    low, high = megabytes
    if low == high:
        guess = f"guessing the most popular content is right for {100 * leaks[0].named:.1f} % of requests"
        return Group(f"all files are {low:g} MB, so sizes reveal nothing ({guess})")
    table = _table("padding", "requests identified by size", "extra octets")
    for leak in leaks:
        star = " *" if leak.padding == chosen else ""
        table.add_row(leak.padding + star, f"{100 * leak.named:.1f} %", f"{100 * leak.more:.1f} %")
    who = "an observer who knows all sizes and the popularities in the cell"
    return Group(table, f"files of {low:g} to {high:g} MB, log-uniform; identified by {who}; * used here")


def sum_table(trial: SumTrial) -> Group:
    """A masked sum over a cell: exactness, bits and milliseconds."""
    table = _table("masked sum over a cell", "")
    table.add_row("equals the plain sum of the rounded numbers", "yes" if trial.exact else "NO")
    table.add_row("also when one client drops out", "yes" if trial.exact_without_one else "NO")
    table.add_row("report, per client", f"{trial.report_bits:,} bit")
    table.add_row("dropout of one client, per remaining client", f"{trial.dropout_bits:,} bit")
    table.add_row("key agreement with the others, once per client", f"{trial.setup_ms:.2f} ms")
    table.add_row("masking, per client", f"{trial.report_ms:.2f} ms")
    return Group(
        table, f"{trial.members} clients, {trial.contents} contents; the sum of the clients' reports to their edge"
    )


def attacks_table(rows: Sequence[Named], worlds: int, draws: int) -> Group:
    """Shares of requests that tags in the clear reveal."""
    sizes = list(dict.fromkeys(row.requests for row in rows))
    table = _table("requests per cell and epoch", *map(str, sizes))
    for attack in dict.fromkeys(row.attack for row in rows):
        share = {row.requests: row.share for row in rows if row.attack == attack}
        table.add_row(attack, *(f"{share[size]:.2f}" for size in sizes))
    what = "share of requests whose content a base station can identify from tags in the clear"
    over = f"mean over {count(worlds, 'world')} x {count(draws, 'epoch')}"
    return Group(table, f"{what}; {over}. Sealed requests show no tags")


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first)
    for title in others:
        table.add_column(title, justify="right")
    return table
