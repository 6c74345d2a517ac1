"""Shipped results made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedradio.papers.items import Item
from fedradio.papers.judge import judge
from fedradio.papers.plan import plan_reproduction
from fedradio.papers.shipped import FoundClaim, Made, Numbers, ShippedResult, fingerprints, restored


def shipped_of(item: Item, values: Mapping[str, Sequence[float]], **more: Any) -> ShippedResult:
    """The quick-scale result of an item with a column accuracy: these values for seeds 1, 2, ... by row."""
    seeds = tuple(range(1, max(map(len, values.values())) + 1))
    units = plan_reproduction(item, "quick", seeds, Path("nowhere")).units
    found = ShippedResult(
        format=1,
        paper=item.paper,
        item=item.name,
        scale="quick",
        seeds=seeds,
        command=f"fedradio reproduce {item.paper} {item.name}",
        fedradio=("1.2",),
        commits=("a" * 40,),
        python=("3.11",),
        packages={"torch": ("2.4",)},
        machines=("x86_64",),
        made=tuple(
            Made(label=label, spec_sha256=sha256, seeds=seeds, wall_s=75.0, cpu_s=30.0)
            for label, sha256 in fingerprints(units).items()
        ),
        left=(),
        rows={
            label: {"accuracy": Numbers(values={str(seed): one for seed, one in zip(seeds, numbers, strict=True)})}
            for label, numbers in values.items()
        },
        claims=(),
        picture=None,
    )
    claims = tuple(FoundClaim(id=one.claim.id, verdict=one.judgement, tests=()) for one in judge(restored(item, found)))
    return found.model_copy(update={"claims": claims} | more)
