"""Schema of a paper's claims: a sentence of the paper, and the tests that it is turned into.

A test is about one number per seed: an entry of the item, its difference to another row's, or its ratio to it. It says
in which region the mean of that number over seeds should lie.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fedradio.papers.form import Key, Text
from fedradio.spec.strict import Strict


class ClaimTest(Strict):
    """A test of a claim: the row's number in a column, alone, less (``than``) or divided by (``over``) another row's.

    The claimed region is ``above`` or ``below`` a number, or ``between`` two, which belong to it. ``exact`` numbers do
    not depend on chance (bits, formulas): one seed decides.
    """

    column: Key
    row: Text
    than: Text | None = None
    over: Text | None = None
    above: float | None = None
    below: float | None = None
    between: tuple[float, float] | None = None
    exact: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> ClaimTest:
        if self.than is not None and self.over is not None:
            raise ValueError("give than (a difference) or over (a ratio), not both")
        if sum(bound is not None for bound in (self.above, self.below, self.between)) != 1:
            raise ValueError("give exactly one of above, below, between")
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError("between: the lower end comes first")
        if self.row in (self.than, self.over):
            raise ValueError("a row is compared with another row, not with itself")
        return self

    @property
    def other(self) -> str | None:
        """The row it is compared with; None for the value itself."""
        return self.than or self.over

    @property
    def rows(self) -> tuple[str, ...]:
        """The labels of the one or two rows it is about."""
        return (self.row,) if self.other is None else (self.row, self.other)


class Claim(Strict):
    """A claim of a paper: what it ``says`` in one sentence, its ``source``, and either tests or why it has none.

    ``scale: paper`` is a claim about the published scale alone. ``condition``: a choice of ours on which the verdict
    depends; it stands beside the sentence wherever the verdict is shown. ``note`` tells how the sentence was turned
    into tests, and which margins are ours; ``tried`` what else was tried where ours disagrees, ``decided_by`` whose
    choice decides it then: the paper's print, or our threshold, reading or derivation. ``abstract`` is the sentence of
    the abstract that the claim is evidence for, see :mod:`fedradio.papers.abstracts`.
    """

    id: Key
    says: Text
    source: Text
    scale: Literal["any", "paper"] = "any"
    tests: Annotated[tuple[ClaimTest, ...], Field(min_length=1)] | None = None
    not_testable: Text | None = None
    condition: Text | None = None
    note: Text | None = None
    tried: Text | None = None
    decided_by: Text | None = None
    abstract: Key | None = None

    @model_validator(mode="after")
    def _one(self) -> Claim:
        if (self.tests is None) == (self.not_testable is None):
            raise ValueError("give either tests or the reason why it is not_testable")
        return self


def claim_problems(claims: tuple[Claim, ...], columns: Collection[str], labels: Collection[str]) -> Iterator[str]:
    """What does not fit together in the claims of an item, as sentences."""
    names = [claim.id for claim in claims]
    yield from (f"two claims are named {name!r}" for name in dict.fromkeys(names) if names.count(name) > 1)
    for claim in claims:
        for test in claim.tests or ():
            if test.column not in columns:
                yield f"claim {claim.id!r}: {test.column!r} is not a column"
            yield from (f"claim {claim.id!r}: {label!r} is not a row" for label in test.rows if label not in labels)
