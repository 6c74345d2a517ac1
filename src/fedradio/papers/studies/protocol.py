"""The privacy protocol on the cells, clients and requests of a spec: real parties and cryptography (RawHFL, Fig. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedradio.core.errors import Problem, SpecError
from fedradio.core.progress import Progress, silent
from fedradio.core.rng import Rng
from fedradio.papers.studies.tags import RequestWorld, file_sizes, size_leaks
from fedradio.privacy.disclosure import facts_of, seen_by
from fedradio.privacy.leaks import SizeLeak
from fedradio.privacy.messages import OCTETS
from fedradio.privacy.padding import Padding
from fedradio.privacy.protocol import MadeFiles, Service, ask
from fedradio.privacy.steps import PARTIES, Seen, Walk
from fedradio.privacy.sum_trial import SumTrial, try_sum
from fedradio.privacy.trials import Outcome, try_all
from fedradio.spec.spec import Spec

CAPACITY, MEGABYTES = 8, (1.0, 1.0)
"""Files that an edge server keeps, and their sizes, where the spec has no caches."""


@dataclass(frozen=True)
class Setting:
    """What is asked for, and how.

    ``megabytes`` is the lowest and the highest size of a file, ``epoch`` how many requests one key of tags is used for
    (0: for all), ``capacity`` how many files an edge server keeps.
    """

    requests: int = 1
    content: int | None = None
    tags_only: bool = False
    suite: str = "x25519"
    padding: Padding = "none"
    megabytes: tuple[float, float] = (1.0, 1.0)
    epoch: int = 0
    capacity: int = CAPACITY


@dataclass(frozen=True)
class Demonstration:
    """Requests that were made: the first one step by step, of all of them the medians of milliseconds by party."""

    client: int
    cell: int
    content: int
    first: Walk
    seen: tuple[Seen, ...]
    hits: int
    epochs: int
    key_bits: int
    ms: dict[str, float]
    mebibytes: float
    leaks: tuple[SizeLeak, ...]
    outcomes: tuple[Outcome, ...]
    summed: SumTrial | None


MOST_MEGABYTES = 4000.0
"""Megabytes of files that edge servers may hold in memory."""


def caches_of(spec: Spec) -> tuple[int, tuple[float, float]]:
    """Files that an edge server keeps (the largest of several capacities), and the range of their megabytes."""
    cache = spec.plain.get("cache")
    if cache is None:
        return CAPACITY, MEGABYTES
    capacity, bits = np.atleast_1d(cache["capacity"]), np.atleast_1d(cache["file_bits"])
    return int(capacity.max()), (float(bits.min()) / 8e6, float(bits.max()) / 8e6)


def demonstrate(world: RequestWorld, setting: Setting, progress: Progress = silent) -> Demonstration:
    """Make requests of the world's clients for the contents that they ask for, in a service of fresh keys."""
    if setting.content is not None and not 0 <= setting.content < world.contents:
        remedy = f"from 0 to {world.contents - 1}"
        raise SpecError(Problem("--content", f"there are {world.contents} contents", remedy, setting.content))
    held = min(setting.requests, setting.capacity * len(set(world.cell))) * setting.megabytes[1]
    if held > MOST_MEGABYTES:
        reason = f"the edge servers might hold {held:,.0f} MB of files in memory, more than {MOST_MEGABYTES:,.0f}"
        raise SpecError(Problem("--megabytes", reason, "use smaller files or fewer requests, such as --megabytes 1"))
    files = MadeFiles(file_sizes(world, setting.megabytes))
    service = Service.start(
        world.cell,
        files,
        suite=setting.suite,
        tags_only=setting.tags_only,
        padding=setting.padding,
        capacity=setting.capacity,
    )
    asked = _asked(world, setting)
    walks, seen = [], []
    epochs = 1
    for number, (client, content) in enumerate(asked):
        progress(f"request {number + 1} of {len(asked)}", number / len(asked))
        if setting.epoch and number and number % setting.epoch == 0:
            service.new_epoch()
            epochs += 1
        service.clear_views()
        files.read(content)  # at hand when it is asked for: only the protocol is timed
        walks.append(ask(service, client, content))
        if number == 0:
            seen = seen_by(service.views(client), facts_of(service, client, content))
    client, content = asked[0]
    return Demonstration(
        client=client,
        cell=world.cell[client],
        content=content,
        first=walks[0],
        seen=tuple(seen),
        hits=sum(walk.hit for walk in walks),
        epochs=epochs,
        key_bits=8 * OCTETS["notice"],
        ms={party: float(np.median([walk.ms(party) for walk in walks])) for party in PARTIES},
        mebibytes=float(np.mean([walk.octets for walk in walks])) / 2**20,
        leaks=size_leaks(world, setting.megabytes),
        outcomes=tuple(try_all()),
        summed=try_sum(
            len(world.members(world.cell[client])), world.contents, Rng(world.seed).child("protocol", "sum")
        ),
    )


def _asked(world: RequestWorld, setting: Setting) -> Sequence[tuple[int, int]]:
    """Clients, drawn at random, and the next contents on their tapes; or always the content that is given."""
    tapes = world.requests(world.spec.seed)
    clients = Rng(world.spec.seed).child("protocol").numpy().integers(len(world.cell), size=setting.requests)
    place = dict.fromkeys(range(len(world.cell)), 0)
    asked = []
    for client in clients.tolist():
        content = int(tapes[client, place[client] % tapes.shape[1]])
        asked.append((client, content if setting.content is None else setting.content))
        place[client] += 1
    return asked
