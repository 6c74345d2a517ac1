"""Parts of an evaluation, and what is known of them from before.

An algorithm with own models predicts with the own and the shared one, with each alone, and with both mixed: every
member of these ensembles goes through the test samples once. A client's own model changes only when the client trains,
so that at the next evaluation only those of the clients that have trained since are computed.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from fedradio.core.contracts import EvalJob, Model, TestSet
from fedradio.engine.distinct import Questions, questions, repeating
from fedradio.engine.layers import dense_layers
from fedradio.models.checks import evaluated_one_by_one

REMEMBER = True
"""Whether log-probabilities are kept; tests and benchmarks compare both ways."""

MOST_BYTES = 256_000_000
"""Most memory for the log-probabilities of one member; above it they are computed anew."""

PARTS, FEWEST = 8, 128
"""Fewest parts of distinct inputs, if each has so many of them: most cores then have work, and finish together."""


Labels = dict[tuple[int, int], Tensor]
"""Labels of the samples ``lo:hi``."""


@dataclass(frozen=True)
class Part:
    """Inputs ``lo:hi`` that go through the model of ``client`` at once."""

    client: int
    lo: int
    hi: int


Likelihoods = list[dict[Part, Tensor]]
"""Log-probabilities ``[inputs, C]`` of every member's parts."""


@dataclass(frozen=True)
class Plan:
    """Parts of an evaluation, client after client: of the distinct inputs ``asked`` about, or (None) of all samples.
    ``labels`` of all samples are noted when they are first fetched."""

    parts: list[Part]
    asked: Questions | None
    labels: Labels

    @property
    def rows(self) -> int:
        return sum(part.hi - part.lo for part in self.parts)


@dataclass
class Known:
    """Log-probabilities of a member, by part (with client 0 where all have the same model).

    The member is a tensor that may be written in place: ``version`` counts its writes; of rows that only training
    clients write (``kept``), ``trained`` have done so since, in ``trainings`` writes. Others may have been trained by
    another engine and written along with them: the ``sums`` of the rows tell.
    """

    member: weakref.ReferenceType[Tensor]
    version: int
    plan: Plan
    kept: bool
    sums: Tensor
    parts: dict[Part, Tensor] = field(default_factory=dict)
    trained: set[int] = field(default_factory=set)
    trainings: int = 0

    def is_of(self, member: Tensor) -> bool:
        """Whether the member is the same as before; what training clients have changed is forgotten."""
        if self.member() is not member:
            return False
        written = member._version - self.version
        if written and not (self.kept and written == self.trainings):
            return False
        if written:
            before, self.sums = self.sums, checksums(member)
            self.trained.update((before != self.sums).nonzero().flatten().tolist())
        self.parts = {part: rows for part, rows in self.parts.items() if part.client not in self.trained}
        self.version, self.trained, self.trainings = member._version, set(), 0
        return True


class Memo:
    """What an engine keeps between evaluations; never part of a state: without it, the same bits are computed."""

    def __init__(self) -> None:
        self._of_what: tuple[Model, TestSet] | None = None
        self._known: list[Known] = []
        self._plans: dict[tuple[int, int, bool], Plan] = {}
        self._labels: Labels = {}
        self._one_by_one: bool | None = None

    def trained(self, ids: Tensor | None) -> None:
        """Note that these clients have trained (None: unknown which)."""
        if ids is None:
            self._known = [known for known in self._known if not known.kept]
            return
        for known in self._known:
            if known.kept:
                known.trained.update(ids.tolist())
                known.trainings += 1

    def plan(self, job: EvalJob, clients: int, size: int) -> Plan:
        """Parts of the evaluation of ``clients`` models, of up to ``size`` inputs; a shared model that has been
        evaluated beside own ones is cut as it was there."""
        if self._of_what is None or self._of_what[0] is not job.model or self._of_what[1] is not job.test:
            self._of_what, self._known, self._plans, self._labels = (job.model, job.test), [], {}, {}
            self._one_by_one = None
        if clients == 1 and job.test.per_client and len(job.ensemble.members) == 1:
            for known in self._known:
                if known.is_of(job.ensemble.members[0]) and self._takes_samples_alone(job.model):
                    return replace(known.plan, parts=[_alone(part, 1) for part in known.plan.parts])
        share = job.target == "class" and repeating(job.test.fetch) is not None and self._takes_samples_alone(job.model)
        key = clients, size, share
        if key not in self._plans:
            self._plans[key] = _plan(job.test, clients, size, self._labels, share=key[2])
        return self._plans[key]

    def _takes_samples_alone(self, model: Model) -> bool:
        """Whether a sample's log-probabilities do not depend on what else is evaluated at once; found once."""
        if self._one_by_one is None:
            self._one_by_one = dense_layers(model) is not None or evaluated_one_by_one(model.module, model.shape)
        return self._one_by_one

    def known(self, job: EvalJob, plan: Plan) -> Likelihoods | None:
        """Known log-probabilities of every member, to be added to; None where nothing is worth keeping."""
        members = job.ensemble.members
        keeps = job.ensemble.kept or (False,) * len(members)
        self._known = [known for known in self._known if known.member() is not None]
        size = plan.rows * job.model.classes * members[0].element_size()
        worthwhile = len(members) > 1 or any(keeps) or any(known.member() is members[0] for known in self._known)
        countless = any(member.is_inference() for member in members)  # their writes are not counted
        if not REMEMBER or not worthwhile or size > MOST_BYTES or job.local is not None or countless:
            return None
        return [self._of(member, kept, plan).parts for member, kept in zip(members, keeps, strict=True)]

    def _of(self, member: Tensor, kept: bool, plan: Plan) -> Known:
        for known in self._known:
            if known.is_of(member) and known.plan.asked is plan.asked:
                return known
        self._known = [known for known in self._known if known.member() is not member]
        sums = checksums(member) if kept else torch.zeros(0)
        self._known.append(Known(weakref.ref(member), member._version, plan, kept, sums))
        return self._known[-1]


def checksums(rows: Tensor) -> Tensor:
    """Sums ``[n]`` of the bits of rows ``[n, d]``, which wrap around; faster than any use of the rows."""
    whole = {2: torch.int16, 4: torch.int32, 8: torch.int64}[rows.element_size()]
    return rows.view(whole).sum(dim=1, dtype=whole)


def place_of(part: Part, member: Tensor) -> Part:
    """The part as that of a member's log-probabilities."""
    return _alone(part, len(member))


def _alone(part: Part, models: int) -> Part:
    return part if models > 1 else Part(0, part.lo, part.hi)


def _plan(test: TestSet, clients: int, size: int, labels: Labels, share: bool) -> Plan:
    """Parts of the evaluation of one model for all, or of one per client on its own or on all samples; ``share`` equal
    inputs."""
    owned, everybody = clients > 1 and test.per_client, clients > 1 and not test.per_client
    nobody = torch.zeros_like(test.group)
    groups = nobody if everybody else test.group
    asked = questions(test, test.group if owned else nobody, groups) if share else None
    inputs = len(test.index if asked is None else asked.index)
    if asked is not None and not owned:
        size = min(size, max(FEWEST, -(-inputs // PARTS)))
    if owned:
        bounds = test.bounds() if asked is None else asked.bounds
        return Plan(
            [part for client, (lo, hi) in enumerate(bounds) for part in _cut(client, lo, hi, size)], asked, labels
        )
    return Plan([part for client in range(clients) for part in _cut(client, 0, inputs, size)], asked, labels)


def _cut(client: int, lo: int, hi: int, size: int) -> list[Part]:
    return [Part(client, i, min(i + size, hi)) for i in range(lo, hi, size)]


def missing(known: Likelihoods, members: Sequence[Tensor], parts: Sequence[Part]) -> list[Part]:
    """Parts of which a member's log-probabilities are not known, once each."""
    lacking: dict[Part, None] = {}
    covered: set[tuple[int, Part]] = set()
    for part in parts:
        places = [(number, place_of(part, member)) for number, member in enumerate(members)]
        if any(place not in known[number] and (number, place) not in covered for number, place in places):
            lacking[part] = None
            covered.update(places)
    return list(lacking)
