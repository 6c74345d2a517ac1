"""The over-the-air link, exact against direct: ``python benchmarks/over_the_air.py [--repeats 20] [--quick]``.

One exchange of W-HFL's first hop, 20 senders in 4 clusters, 4 receivers with 100 antennas, 3925 symbols (MNIST),
through link ``over_the_air``: the exact sampler (one Gamma and one complex normal for each receiver and symbol) against
the direct simulation of every antenna, sender and channel, the two taking turns on one torch thread. Then how the exact
one's time grows with symbols, senders and antennas, and a CIFAR-10 payload (153,749 symbols). Best times of the
repeats, for noise only adds; the median too, and the ratio of medians. About a minute.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from rich.console import Console
from rich.table import Table

from fedradio.core.contracts import Allocation, Clock, Exchange, Message, Sent
from fedradio.core.rng import Rng
from fedradio.links.over_the_air import OverTheAir, Sampler, over_the_air
from fedradio.network.clusters import clusters
from fedradio.network.power_law import power_law

MNIST, CIFAR, ANTENNAS, EACH = 3925, 153_749, 100, 5
FASTER, CIFAR_S = 500, 0.2


@dataclass(frozen=True)
class Case:
    """So many symbols, clients of each of 4 clusters, and antennas."""

    symbols: int = MNIST
    each: int = EACH
    antennas: int = ANTENNAS

    @property
    def senders(self) -> int:
        return 4 * self.each

    def exchange(self, sampler: Sampler) -> Callable[[int], torch.Tensor]:
        """A function that runs the exchange with a seed of its own."""
        link: OverTheAir = over_the_air(antennas=self.antennas, sampler=sampler)
        topology = clusters(Rng(0), clients_per_cluster=self.each)
        parent, n = topology.parents[0], self.senders
        channel, _ = power_law().realise(topology.site(0, Clock(0)), {}, Rng(0))
        yes, zeros = torch.ones(n, dtype=torch.bool), torch.zeros(n, dtype=torch.long)
        x = Exchange(
            clock=Clock(0),
            hop=0,
            parent=parent,
            receivers=4,
            channel=channel,
            link=link,
            fleet=None,
            cycles_per_step=None,
            message=Message(1, 2 * self.symbols),
            deadline_s=None,
            signals={},
            alloc=Allocation(yes, zeros, None, None, zeros, amplitude=torch.full((n,), 2.0, dtype=torch.float64)),
            ready_s=None,
        )
        payload = 0.01 * torch.randn(n, 1, 2 * self.symbols, generator=Rng(1).torch())
        sent = Sent(torch.arange(n), parent, payload, torch.full((n,), 1 / self.each, dtype=torch.float64))
        airtime = link.plan(x, {}, Rng(0))
        return lambda seed: link.combine(x, airtime, sent, {}, Rng(2).child(seed))[0].total


def seconds(do: Callable[[int], torch.Tensor], repeats: int, start: int = 0) -> list[float]:
    times = []
    for seed in range(start, start + repeats):
        began = time.perf_counter()
        do(seed)
        times.append(time.perf_counter() - began)
    return times


def turns(case: Case, repeats: int) -> dict[Sampler, list[float]]:
    """Both samplers in turn, the quick one as often as its time deserves; a rehearsal does not count."""
    samplers: tuple[Sampler, ...] = ("exact", "direct")
    does = {sampler: case.exchange(sampler) for sampler in samplers}
    for do in does.values():
        do(-1)
    times: dict[Sampler, list[float]] = {"exact": [], "direct": []}
    for turn in range(repeats):
        times["exact"] += seconds(does["exact"], 20, 20 * turn)
        times["direct"] += seconds(does["direct"], 1, turn)
    return times


def best(case: Case, repeats: int) -> float:
    do = case.exchange("exact")
    do(-1)
    return min(seconds(do, repeats))


def against(console: Console, repeats: int) -> float:
    """The table of both samplers; the ratio of their best times."""
    times = turns(Case(), repeats)
    table = Table("sampler", "best, ms", "median, ms", "symbols a second", title="3925 symbols, 20 senders, K = 100")
    for sampler, found in times.items():
        rate = 4 * MNIST / min(found)
        table.add_row(sampler, f"{1e3 * min(found):.3g}", f"{1e3 * statistics.median(found):.3g}", f"{rate:.3g}")
    ratio = min(times["direct"]) / min(times["exact"])
    medians = statistics.median(times["direct"]) / statistics.median(times["exact"])
    table.add_row("ratio", f"{ratio:.0f}x", f"{medians:.0f}x", "")
    console.print(table)
    return ratio


GROWTH = {
    "symbols": [Case(symbols=n) for n in (10_000, 20_000, 40_000, 80_000, 160_000)],
    "senders": [Case(symbols=20_000, each=n) for n in (25, 50, 100, 200)],
    "antennas": [Case(symbols=20_000, antennas=n) for n in (10, 100, 1000, 10_000)],
}


def growth(console: Console, repeats: int) -> dict[str, float]:
    """Best times of the exact sampler along each axis, and the exponent ``d log(seconds) / d log(axis)`` of a fit."""
    slopes = {}
    table = Table("axis", "values", "ms", "exponent", title="exact sampler: how its time grows")
    for axis, cases in GROWTH.items():
        values = [float(getattr(case, axis)) for case in cases]
        times = [best(case, 3 * repeats) for case in cases]
        x, y = [math.log(value) for value in values], [math.log(found) for found in times]
        slopes[axis] = statistics.linear_regression(x, y).slope
        sizes, ms = " ".join(f"{value:g}" for value in values), " ".join(f"{1e3 * found:.3g}" for found in times)
        table.add_row(axis, sizes, ms, f"{slopes[axis]:.2f}")
    console.print(table)
    return slopes


def verdict(console: Console, what: str, good: bool) -> None:
    console.print(("[green]kept  [/]" if good else "[red]MISSED[/]") + f" {what}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20, help="turns of the direct simulation")
    parser.add_argument("--quick", action="store_true", help="4 turns")
    options = parser.parse_args()
    repeats = 4 if options.quick else options.repeats
    console = Console(width=100)
    torch.set_num_threads(1)
    ratio = against(console, repeats)
    slopes = growth(console, repeats)
    cifar = best(Case(symbols=CIFAR), repeats)
    verdict(console, f"exact at least {FASTER} times faster than direct: {ratio:.0f} times", ratio >= FASTER)
    verdict(console, f"linear in symbols: exponent {slopes['symbols']:.2f}", 0.8 < slopes["symbols"] < 1.2)
    verdict(console, f"at most linear in senders: exponent {slopes['senders']:.2f}", slopes["senders"] < 1.2)
    verdict(console, f"flat in antennas: exponent {slopes['antennas']:.2f}", abs(slopes["antennas"]) < 0.1)
    verdict(console, f"CIFAR-10 hop ({CIFAR:,} symbols) below {CIFAR_S} s: {cifar:.3f} s", cifar < CIFAR_S)


if __name__ == "__main__":
    main()
