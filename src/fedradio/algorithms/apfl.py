"""APFL and APSFL, personalised learning: every client predicts with a mixture of its own model and the shared one.

Pair training of the two models is implemented here; FedCPSL adds control variates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.algorithms.averaging import SIZES, Weighting, add_total, shares_of_arrived, sizes, sizes_revealed
from fedradio.core.contracts import (
    MODEL,
    Algorithm,
    Cohort,
    Delivery,
    Ensemble,
    Held,
    Info,
    LocalRule,
    Memory,
    Merged,
    Schedule,
    Slots,
    Start,
    Trained,
    Work,
)
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.losses.fedcpsl import MIXED, OWN, FedCpslLoss

Pseudo = Literal["closed", "gradient"]
PseudoOn = Literal["unlabelled", "labelled"]
Phases = dict[Literal["global", "own"], int]
"""Rounds of two-phase training: of the shared model and its pseudo-labels, then of own models alone."""
Mixture = float | tuple[float, ...]
"""Weight of own models in the prediction: one for all clients, or one per client."""

PAIR = FedCpslLoss(pair=True)
"""Labelled cross entropy of both models, at the same rate and without momentum."""


BEGUN = "begun"
"""Client slot of two-phase training: whether a client's own model has begun (1) or not (0), ``[C]``. Pairs have the
slots ``OWN``, the own models ``[C, d]``, and ``MIXED``, their weights in the mixture ``[C]``."""


@dataclass(frozen=True)
class Personal(Algorithm):
    """Federated averaging with personal models: ``client`` has ``own [C, d]``, which are never sent (if
    ``loss.pair``).

    ``mixture [C]`` is the weight b of the own model in training and in the prediction ``b softmax(z_own) + (1-b)
    softmax(z)`` (5); with ``learn_mixture`` the weight of predictions is fitted to validation labels first. The other
    fields set the local rule. Without an ``unlabelled_batch`` it is as large as the labelled one. From round
    ``finetune_after`` on (counted from 0) the shared model stays as it is, and only own models are trained (Remark 3).
    With ``phases`` (section II) the shared model alone is trained for ``phases[0]`` rounds, then own models alone for
    ``phases[1]``; an own model begins, when its client first comes in the second phase, as the shared one, which until
    then predicts in its place.
    """

    weighting: Weighting = "samples"
    loss: FedCpslLoss = PAIR
    momentum: float = 0.0
    mixture: Mixture = 0.75
    learn_mixture: bool = False
    unlabelled_batch: int | None = None
    finetune_after: int | None = None
    phases: tuple[int, int] | None = None

    @property
    def reveals(self) -> frozenset[str]:
        return sizes_revealed(self.weighting)

    def lasts(self, rounds: int) -> str:
        if self.phases is None or rounds <= sum(self.phases):
            return ""
        return f"its two phases have {sum(self.phases)} rounds in total, but the run has {rounds}"

    def rule(self, rule: LocalRule) -> LocalRule:
        """The rule with the algorithm's loss and momentum; cross entropy without unlabelled costs and own models."""
        refuse_rule(rule)
        cost = self.loss
        unlabelled = 0 if cost.alpha_p == cost.alpha_r == 0 else self.unlabelled_batch or rule.batch
        loss = replace(cost, unlabelled_batch=unlabelled) if cost.pair or unlabelled else None
        rule = replace(rule, momentum=self.momentum, loss=loss)
        if self.phases is not None:
            return finetuned(rule, self.phases[0], begin=self.phases[0])
        return rule if self.finetune_after is None else finetuned(rule, self.finetune_after)

    def init(self, w: Tensor, clients: int, receivers: int) -> Memory:
        """Own models start at the shared one, ``theta_lc^0 = theta^0``: one expanded row until ``make_room``."""
        if not self.loss.pair:
            return Memory(shared={MODEL: w})
        b = weights_of(self.mixture, clients).to(w)
        begun = {} if self.phases is None else {BEGUN: torch.zeros_like(b)}
        return Memory(shared={MODEL: w}, client={OWN: w.clone().expand(clients, -1), MIXED: b} | begun)

    def start(self, cohort: Cohort) -> Start:
        start = super().start(cohort)
        if not self.loss.pair:
            return start
        own = begun_models(cohort.mine, cohort.got[MODEL][cohort.row])
        return replace(start, rows={OWN: own}, known={MIXED: cohort.mine[MIXED]})

    def keep(self, cohort: Cohort, trained: Trained, work: Work, heard: Tensor, acked: Tensor) -> Slots:
        """The client keeps its new own model, whether the upload arrived or not."""
        if not self.loss.pair:
            return {}
        if self.phases is None:
            return {OWN: trained.rows[OWN]}
        if cohort.clock.t < self.phases[0]:
            return {}
        return {OWN: trained.rows[OWN], BEGUN: torch.ones_like(cohort.mine[BEGUN])}

    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        return sizes(self.weighting, known, clients)

    def weights(self, held: Held, info: Info) -> Tensor:
        return shares_of_arrived(self.importance(info.known, len(info.ids)), info)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        return add_total(held, delivery)

    def predict(self, shared: Slots, client: Slots) -> dict[str, Ensemble]:
        """The mixture first, then each of the two models alone; for all clients, even those never sampled."""
        common = super().predict(shared, client)
        if not self.loss.pair:
            return common
        own, b, kept = begun_models(client, shared[MODEL]), client[MIXED], BEGUN not in client
        personal = Ensemble((own, shared[MODEL]), (b, 1.0 - b), self.learn_mixture, kept=(kept, False))
        return {"personal": personal, **common, "local": Ensemble((own,), kept=(kept,))}


def begun_models(client: Slots, shared: Tensor) -> Tensor:
    """Own models ``[n, d]``; of clients that have not begun theirs the row of ``shared [1 or n, d]``."""
    if BEGUN not in client:
        return client[OWN]
    return torch.where(client[BEGUN].unsqueeze(1) > 0, client[OWN], shared)


def refuse_rule(rule: LocalRule) -> None:
    """Refuse a local rule other than SGD, with kept state, or with a momentum, which the algorithm sets itself."""
    problems = []
    if rule.loss is not None:
        reason = "this algorithm trains with a cost of its own"
        problems.append(Problem("loss", reason, "set loss: null, or use another algorithm"))
    if rule.optimiser != "sgd":
        reason = "pair training and control variates are defined only for SGD, with or without momentum"
        problems.append(Problem("rule.kind", reason, "use sgd", rule.optimiser))
    elif rule.keep_state:
        reason = "this algorithm resets momentum to zero in every round"
        problems.append(Problem("rule.keep_state", reason, "set it to false", True))
    if rule.momentum != 0:
        reason = "this algorithm sets the momentum of the local steps itself"
        remedy = "set it to 0, and use algorithm.momentum of fedcpsl or apfl_tuned"
        problems.append(Problem("rule.momentum", reason, remedy, rule.momentum))
    if problems:
        raise SpecError(problems)


def check_mixture(mixture: Mixture, learn: bool = False) -> None:
    """Refuse mixture weights outside [0, 1], and weights 0 or 1 if they are to be learned."""
    for b in mixture if isinstance(mixture, tuple) else (mixture,):
        if not 0 <= b <= 1:
            raise SpecError(
                Problem("algorithm.mixture", "the weight of a client's own model must be in [0, 1]", "0.75", b)
            )
        if learn and b in (0, 1):
            reason = "a learned weight must start strictly between 0 and 1, or it cannot move"
            raise SpecError(Problem("algorithm.mixture", reason, "0.75", b))


def weights_of(mixture: Mixture, clients: int) -> Tensor:
    """Mixture weight of every client ``[C]``."""
    if not isinstance(mixture, tuple):
        return torch.full((clients,), mixture)
    if len(mixture) != clients:
        reason = f"there are {clients} clients"
        raise SpecError(
            Problem("algorithm.mixture", reason, "give one number for all, or one per client", len(mixture))
        )
    return torch.tensor(mixture)


def check_phases(phases: Phases | None, finetune_after: int | None) -> tuple[int, int] | None:
    """The rounds of both phases; refuses a phase without rounds, and fine-tuning beside them."""
    if phases is None:
        return None
    problems = []
    if missing := [name for name in ("global", "own") if name not in phases]:
        reason = f"the rounds of the phase {missing[0]!r} are missing"
        problems.append(Problem("algorithm.phases", reason, "{global: 50, own: 50}"))
    if finetune_after is not None:
        reason = "the second phase already is fine-tuning"
        problems.append(
            Problem("algorithm.finetune_after", reason, "leave out either it or the phases", finetune_after)
        )
    if problems:
        raise SpecError(problems)
    return phases["global"], phases["own"]


FINETUNE = Arg(
    "rounds after which only the clients' own models keep training (Remark 3); null: never", ge=1, le=1_000_000
)
MIXTURE = Arg(
    "weight beta of a client's own model in its prediction, 0 to 1; one number, or a list with one per client",
    ge=0,
    le=1,
)
LEARN = Arg("predict with betas learned from held-out labels (data.held_out); training still uses mixture")
MOMENTUM = Arg("momentum gamma of the local steps of both models, reset to zero in every round", ge=0, lt=1)
LR_FACTOR = Arg("learning rate of a client's own model relative to the shared one, eta_c / eta", gt=0, le=1e4)
PHASES = Arg(
    "two-phase training: rounds for the shared model, then for own models; null: train both at once", ge=1, le=1_000_000
)
ALPHA_P = Arg("weight alpha_p of the cross entropy with pseudo-labels; 0: no pseudo-labels", ge=0, le=1e4)
ALPHA_R = Arg("weight alpha_r of the pull towards uniform predictions; below .618 alpha_p, errors grow", ge=0, le=1e4)
UNLABELLED_BATCH = Arg("unlabelled samples per update; null: as many as labelled ones", ge=1, le=1_000_000)
PSEUDO = Arg(
    "closed: pseudo-labels that minimise the cost (7a); gradient: keep them and take one projected gradient step (10) "
    "per round"
)
PSEUDO_RATE = Arg("rate eta_v/m_i of (10) for the cost of one sample; null: 1/(4 alpha_r classes)", gt=0, le=1e9)
PSEUDO_ON = Arg(
    "which samples get pseudo-labels; labelled is a control experiment in which the unlabelled terms add no inputs"
)


def costs(
    alpha_p: float,
    alpha_r: float,
    pseudo: Pseudo = "closed",
    *,
    pseudo_rate: float | None = None,
    pseudo_on: PseudoOn = "unlabelled",
    lr_factor: float | None,
    momentum: float = 0.0,
) -> FedCpslLoss:
    """Loss with the costs (4) and (6c); without an ``lr_factor`` there is no own model."""
    if pseudo_rate is not None and pseudo == "closed":
        reason = "pseudo-labels in closed form take no gradient steps"
        raise SpecError(Problem("algorithm.pseudo_rate", reason, "algorithm.pseudo=gradient", pseudo_rate))
    loss = FedCpslLoss(alpha_p, alpha_r, pseudo=pseudo, pseudo_rate=pseudo_rate, pseudo_on=pseudo_on)
    if lr_factor is None:
        return loss
    return replace(loss, pair=True, lr_factor=lr_factor, momentum_own=momentum)


def finetuned(rule: LocalRule, after: int, begin: int = 0) -> LocalRule:
    """The rule with rate 0 for the shared model from round ``after`` on, and for own models before ``begin``."""
    assert isinstance(rule.loss, FedCpslLoss)
    own: Schedule = rule.schedule if begin == 0 else From(rule.schedule, begin)
    return replace(rule, schedule=Until(rule.schedule, after), loss=replace(rule.loss, schedule=own))


@dataclass(frozen=True)
class Until:
    """A schedule up to round ``end``, from which on the rate is 0."""

    schedule: Schedule
    end: int

    def __call__(self, t: int, j: int) -> float:
        return 0.0 if t >= self.end else self.schedule(t, j)


@dataclass(frozen=True)
class From:
    """A schedule from round ``begin`` on, before which the rate is 0."""

    schedule: Schedule
    begin: int

    def __call__(self, t: int, j: int) -> float:
        return 0.0 if t < self.begin else self.schedule(t, j)


@register("algorithm", "apfl", paper="Deng et al., 2020; FedCPSL, section V (mixture of probabilities)")
def apfl(
    *,
    mixture: Annotated[Mixture, MIXTURE] = 0.75,
    learn_mixture: Annotated[bool, LEARN] = False,
    weighting: Annotated[Weighting, SIZES] = "samples",
    finetune_after: Annotated[int | None, FINETUNE] = None,
    phases: Annotated[Phases | None, PHASES] = None,
) -> Personal:
    """APFL, personalised averaging: clients also train their own models, on a mixture of both; labelled data only.

    ``w_i -= eta grad f(w_i)``, ``v_i -= eta grad_v CE(b h(v_i) + (1-b) h(w_i))``; the server takes the weighted mean
    of the ``w_i``.
    """
    check_mixture(mixture, learn_mixture)
    return Personal(
        weighting,
        mixture=mixture,
        learn_mixture=learn_mixture,
        finetune_after=finetune_after,
        phases=check_phases(phases, finetune_after),
    )


@register("algorithm", "apfl_tuned", paper="Deng et al., 2020, with FedCPSL's momentum and own rate")
def apfl_tuned(
    *,
    mixture: Annotated[Mixture, MIXTURE] = 0.75,
    learn_mixture: Annotated[bool, LEARN] = False,
    momentum: Annotated[float, MOMENTUM] = 0.8,
    lr_factor: Annotated[float, LR_FACTOR] = 2.0,
    weighting: Annotated[Weighting, SIZES] = "samples",
    finetune_after: Annotated[int | None, FINETUNE] = None,
    phases: Annotated[Phases | None, PHASES] = None,
) -> Personal:
    """APFL with the momentum and doubled own-model rate that the published comparison gives only to FedCPSL."""
    check_mixture(mixture, learn_mixture)
    loss = costs(0.0, 0.0, lr_factor=lr_factor, momentum=momentum)
    return Personal(
        weighting,
        loss=loss,
        momentum=momentum,
        mixture=mixture,
        learn_mixture=learn_mixture,
        finetune_after=finetune_after,
        phases=check_phases(phases, finetune_after),
    )


@register("algorithm", "apsfl", paper="FedCPSL, section V")
def apsfl(
    *,
    mixture: Annotated[Mixture, MIXTURE] = 0.75,
    learn_mixture: Annotated[bool, LEARN] = False,
    alpha_p: Annotated[float, ALPHA_P] = 0.1,
    alpha_r: Annotated[float, ALPHA_R] = 0.1,
    pseudo: Annotated[Pseudo, PSEUDO] = "closed",
    pseudo_rate: Annotated[float | None, PSEUDO_RATE] = None,
    pseudo_on: Annotated[PseudoOn, PSEUDO_ON] = "unlabelled",
    unlabelled_batch: Annotated[int | None, UNLABELLED_BATCH] = None,
    weighting: Annotated[Weighting, SIZES] = "samples",
    finetune_after: Annotated[int | None, FINETUNE] = None,
    phases: Annotated[Phases | None, PHASES] = None,
) -> Personal:
    """APFL with semi-supervised costs: pseudo-labels for unlabelled data; equals APFL if both alphas are 0."""
    check_mixture(mixture, learn_mixture)
    loss = costs(alpha_p, alpha_r, pseudo, pseudo_rate=pseudo_rate, pseudo_on=pseudo_on, lr_factor=1.0)
    return Personal(
        weighting,
        loss=loss,
        mixture=mixture,
        learn_mixture=learn_mixture,
        unlabelled_batch=unlabelled_batch,
        finetune_after=finetune_after,
        phases=check_phases(phases, finetune_after),
    )
