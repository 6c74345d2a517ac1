"""The wrong lines of ``mutants.py``: each changes what a simulation means, and no default test may overlook it."""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = "src/fedradio/"
TESTS = "tests/unit/"


@dataclass(frozen=True)
class Mutant:
    """A wrong line: in the module ``place`` of the package, ``wrong`` stands in place of ``text``.

    ``name`` says what is wrong then; ``nearest`` are the tests that must notice, as node paths below ``tests/unit``.
    """

    place: str
    name: str
    text: str
    wrong: str
    nearest: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place}: {self.name}"

    @property
    def package(self) -> str:
        return self.place.split("/")[0]

    @property
    def file(self) -> str:
        return f"{SOURCE}{self.place}"

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(TESTS + test for test in self.nearest)


ACCOUNTS = ("rounds/test_accounts.py",)
DIAGNOSIS = (
    "results/test_diagnosis.py::test_loss_drop_smoothness_and_divergence_by_hand",
    "results/test_diagnosis.py::test_divergence_of_edges_by_hand",
)
EXCHANGE = ("rounds/test_exchange.py",)
RANDOMNESS = ("rounds/test_round.py::test_no_two_parts_share_a_generator_and_none_draws_twice_from_one",)
SCAFFOLD = ("algorithms/test_scaffold.py",)
SLOT = ("policies/test_slot.py",)
SOLVER = (
    "policies/test_solvers.py::test_hand_checked_plan",
    "policies/test_solvers.py::test_the_optimum_by_hand",
    "policies/test_solvers.py::test_an_overlap_by_hand",
)

MUTANTS = (
    Mutant(
        "rounds/exchange.py",
        "the mass of lost relays is handed up",
        "mass=group_sum(tiers.mass[h - 1] * arrives, x.parent, x.receivers)",
        "mass=group_sum(tiers.mass[h - 1], x.parent, x.receivers)",
        EXCHANGE,
    ),
    Mutant(
        "rounds/exchange.py",
        "lost relays keep their weight",
        "(share * arrives)[ids]",
        "share[ids]",
        EXCHANGE,
    ),
    Mutant(
        "rounds/exchange.py",
        "shares of relays do not sum to 1 over those that arrive",
        "else tiers.mass[h - 1] * arrives",
        "else tiers.mass[h - 1]",
        EXCHANGE,
    ),
    Mutant(
        "rounds/exchange.py",
        "nodes relay what they have, not its change",
        "rows[sender_ids] - own[name][parent_ids]",
        "rows[sender_ids]",
        EXCHANGE,
    ),
    Mutant(
        "rounds/exchange.py",
        "samples of lost clients count in the mass of their edge",
        "importance(info.known, len(info.ids)) * info.arrived",
        "importance(info.known, len(info.ids))",
        EXCHANGE,
    ),
    Mutant(
        "rounds/exchange.py",
        "receivers step by momentum though all payloads were lost",
        "x.parent[planned.airtime.arrived]",
        "x.parent[x.alloc.active]",
        EXCHANGE,
    ),
    Mutant(
        "rounds/exchange.py",
        "effective clients on the air ignore the gains",
        "sent.weight * planned.airtime.expect[sent.ids] if",
        "sent.weight if",
        ("rounds/test_norm_layers.py",),
    ),
    Mutant(
        "rounds/exchange.py",
        "all hops hear the same noise",
        'sim.rng.child("air", x.hop, clock.t, clock.e)',
        'sim.rng.child("air", clock.t, clock.e)',
        RANDOMNESS,
    ),
    Mutant(
        "rounds/tiers.py",
        "masses are not forgotten when they are handed up",
        "= torch.zeros_like(tiers.mass[h - 1])",
        "= tiers.mass[h - 1]",
        EXCHANGE,
    ),
    Mutant(
        "rounds/round.py",
        "only the mass of the last edge round counts",
        "tiers.mass[h] = tiers.mass[h] + outcome.mass",
        "tiers.mass[h] = outcome.mass",
        EXCHANGE,
    ),
    Mutant(
        "rounds/accounts.py",
        "receivers wait for senders that stay silent",
        "torch.where(x.alloc.active, done_s, x.ready_s).double()",
        "done_s.double()",
        ACCOUNTS,
    ),
    Mutant(
        "rounds/accounts.py",
        "receivers wait beyond the deadline",
        "seconds = seconds.clamp(max=x.deadline_s)",
        "seconds = seconds.clamp(min=0.0)",
        ACCOUNTS,
    ),
    Mutant(
        "rounds/accounts.py",
        "joules on the air without the circuit's",
        "return tx_j + x.fleet.circuit_w * airtime.tx_s",
        "return tx_j",
        ACCOUNTS,
    ),
    Mutant(
        "rounds/accounts.py",
        "bits of payloads that did not arrive are not counted",
        "x.payload_bits * len(ids)",
        "x.payload_bits * int(airtime.arrived.sum())",
        ACCOUNTS,
    ),
    Mutant(
        "rounds/accounts.py",
        "the channel is used though nobody sends",
        "airtime.uses * bool(airtime.arrived.any())",
        "airtime.uses",
        ACCOUNTS,
    ),
    Mutant(
        "rounds/accounts.py",
        "plans of idle clients take joules",
        "torch.where(x.alloc.active, computing + transmit_j(x.fleet, x.alloc.power_w, tx_s), 0.0)",
        "computing + transmit_j(x.fleet, x.alloc.power_w, tx_s)",
        ACCOUNTS,
    ),
    Mutant(
        "rounds/planning.py",
        "edges are ready after all of the round so far",
        "own - above[view.parent]",
        "own",
        ACCOUNTS,
    ),
    Mutant(
        "rounds/planning.py",
        "the second training pass of a pair costs nothing",
        "sim.stream.sample_bits, samples, passes)",
        "sim.stream.sample_bits, samples, 1.0)",
        ACCOUNTS,
    ),
    Mutant(
        "rounds/planning.py",
        "models that rest are paid as in round 0",
        "_passes(rule, clock.t, signals)",
        "_passes(rule, 0, signals)",
        ACCOUNTS,
    ),
    Mutant(
        "rounds/planning.py",
        "reasons of clients without data and of edges without news are swapped",
        "Reason.NO_DATA if view.hop == 0 else Reason.NO_NEWS",
        "Reason.NO_NEWS if view.hop == 0 else Reason.NO_DATA",
        EXCHANGE,
    ),
    Mutant(
        "rounds/planning.py",
        "policies decide alike in all edge rounds",
        'sim.rng.child("hop", view.hop, view.clock.t, view.clock.e)',
        'sim.rng.child("hop", view.hop, view.clock.t)',
        RANDOMNESS,
    ),
    Mutant(
        "rounds/planning.py",
        "all hops have the same fading",
        'sim.rng.child("channel", h)',
        'sim.rng.child("channel")',
        RANDOMNESS,
    ),
    Mutant(
        "rounds/cohort.py",
        "clients draw the same mini-batches in all edge rounds",
        'learner.rng.child("train", clock.t, clock.e)',
        'learner.rng.child("train", clock.t)',
        RANDOMNESS,
    ),
    Mutant(
        "rounds/cohort.py",
        "the rate per step is that of all steps together",
        "rates[updates] / steps.clamp(min=1) if rule.lr_per_step else rates[updates]",
        "rates[updates]",
        ("rounds/test_cohort.py",),
    ),
    Mutant(
        "rounds/payload.py",
        "transforms of all hops draw alike",
        'run.child("transform", x.hop, x.clock.t, x.clock.e)',
        'run.child("transform", x.clock.t, x.clock.e)',
        RANDOMNESS,
    ),
    Mutant(
        "rounds/payload.py",
        "receivers undo the first transform first",
        "reversed(list(enumerate(transforms))):\n        total",
        "list(enumerate(transforms)):\n        total",
        ("rounds/test_payload.py",),
    ),
    Mutant(
        "rounds/round.py",
        "clocks of exchanges start anew in every round",
        "add(now.state.time_s, now.tiers.latest_s(h))",
        "now.tiers.latest_s(h)",
        ("rounds/test_planning.py",),
    ),
    Mutant(
        "links/rates.py",
        "rates in nats",
        "torch.log1p(power_w / unit_w) / torch.log(torch.tensor(2.0, dtype=power_w.dtype))",
        "torch.log1p(power_w / unit_w)",
        ("links/test_digital.py",),
    ),
    Mutant(
        "links/rates.py",
        "noise does not grow with the bandwidth",
        "return noise_w_hz * bandwidth_hz / own",
        "return noise_w_hz / own",
        ("links/test_digital.py",),
    ),
    Mutant(
        "links/rates.py",
        "many antennas fade like one",
        "antennas * level.clamp(min=0.0)",
        "level.clamp(min=0.0)",
        ("links/test_rates.py",),
    ),
    Mutant(
        "links/digital.py",
        "computing takes nothing of the deadline",
        "done_s = tx_s if ready_s is None else ready_s + tx_s",
        "done_s = tx_s",
        ("links/test_digital.py",),
    ),
    Mutant(
        "links/digital.py",
        "payloads survive with the probability of a loss",
        ".random(x.senders)) < self.erasure",
        ".random(x.senders)) > self.erasure",
        ("links/test_digital.py",),
    ),
    Mutant(
        "links/digital.py",
        "late payloads cost no energy",
        "torch.where(x.alloc.active, x.alloc.power_w * airtime.tx_s, 0.0)",
        "torch.where(airtime.arrived, x.alloc.power_w * airtime.tx_s, 0.0)",
        ACCOUNTS,
    ),
    Mutant(
        "links/digital.py",
        "fading does not change the probability to arrive",
        "expect = expect * self._in_time(x, left_s)",
        "expect = expect * 1.0",
        ("links/test_digital.py",),
    ),
    Mutant(
        "links/air.py",
        "noise falls with the amplitude, not with its square",
        "inverse(self.strength) * inverse(self.level) ** 2",
        "inverse(self.strength) * inverse(self.level)",
        ("links/test_air.py",),
    ),
    Mutant(
        "links/air.py",
        "a sender interferes with itself",
        "near * (1.0 - near) * q",
        "near * q",
        ("links/test_air.py",),
    ),
    Mutant(
        "links/air.py",
        "twice the noise in each part of a symbol",
        "(g * heard.spread).mul_(0.5).sqrt_()",
        "(g * heard.spread).sqrt_()",
        ("links/test_over_the_air.py",),
    ),
    Mutant(
        "links/air.py",
        "weights on the air are not normalised to a mean of 1",
        "np.divide(members, total,",
        "np.divide(1.0, total,",
        ("links/test_over_the_air.py",),
    ),
    Mutant(
        "links/over_the_air.py",
        "senders on the air do not wait for the slowest",
        "torch.where(sends, slowest_s, ready_s) + air_s",
        "ready_s + air_s",
        ("links/test_over_the_air.py",),
    ),
    Mutant(
        "links/over_the_air.py",
        "a vector takes the joules of one symbol",
        "self.power_unit_w * tx_power * uses / self.symbol_rate_hz",
        "self.power_unit_w * tx_power / self.symbol_rate_hz",
        ("links/test_over_the_air.py",),
    ),
    Mutant(
        "policies/slot.py",
        "the upload takes nothing of the energy budget",
        "(fleet.energy_j - up_j) / step_j",
        "fleet.energy_j / step_j",
        SLOT,
    ),
    Mutant(
        "policies/slot.py",
        "one step more than fits into the deadline",
        "in_time = torch.floor(",
        "in_time = torch.ceil(",
        SLOT,
    ),
    Mutant(
        "policies/slot.py",
        "reasons of those short of time and of energy are swapped",
        "torch.where(in_time < 1, int(Reason.DEADLINE), int(Reason.ENERGY))",
        "torch.where(in_time < 1, int(Reason.ENERGY), int(Reason.DEADLINE))",
        SLOT,
    ),
    Mutant(
        "policies/solvers.py",
        "computing takes twice the joules",
        "0.5 * slot.fleet.capacitance * n**3",
        "slot.fleet.capacitance * n**3",
        SOLVER,
    ),
    Mutant(
        "policies/solvers.py",
        "local steps are a cost",
        "(1 - theta) * joules - theta * steps",
        "(1 - theta) * joules + theta * steps",
        SOLVER,
    ),
    Mutant(
        "policies/solvers.py",
        "one client too many takes part twice in a row",
        "torch.full_like(least, overlap)",
        "torch.full_like(least, overlap + 1)",
        SOLVER,
    ),
    Mutant(
        "policies/sca.py",
        "the CPU takes the whole deadline",
        "return cycles / left",
        "return cycles / slot.deadline_s",
        ("policies/test_sca.py::test_the_published_pass_by_hand",),
    ),
    Mutant(
        "policies/sampling.py",
        "one client too many is drawn",
        "group_rank(keys[below], group[below]) < m",
        "group_rank(keys[below], group[below]) <= m",
        ("policies/test_sampling.py::test_sampling_takes_m_of_each_receiver",),
    ),
    Mutant(
        "policies/effort.py",
        "the largest number of steps is never drawn",
        "integers(low, high + 1,",
        "integers(low, max(high, low + 1),",
        ("policies/test_effort.py",),
    ),
    Mutant(
        "policies/ramp.py",
        "the amplitude is late by a round",
        "self.slope * (t + 1)",
        "self.slope * t",
        ("policies/test_ramp.py",),
    ),
    Mutant(
        "policies/budget.py",
        "all clients take as many steps as the richest can afford",
        "offer.steps[active].min()",
        "offer.steps[active].max()",
        ("policies/test_budget.py",),
    ),
    Mutant(
        "engine/update.py",
        "half of the proximal term",
        "rate * rule.prox)",
        "0.5 * rate * rule.prox)",
        ("engine/test_update.py",),
    ),
    Mutant(
        "engine/update.py",
        "Adam forgets its updates of earlier rounds",
        "adam_scales(self.rule, n + j + 1, rate)",
        "adam_scales(self.rule, j + 1, rate)",
        ("engine/test_update.py", "engine/test_backend.py::test_kept_memory_carries_over"),
    ),
    Mutant(
        "engine/local.py",
        "the proximal term pulls towards 0",
        "g.add_(w, alpha=prox).sub_(w0, alpha=prox)",
        "g.add_(w, alpha=prox)",
        ("engine/test_local.py",),
    ),
    Mutant(
        "engine/local.py",
        "Adam without bias correction of the second moment",
        "root = math.sqrt(1.0 - rule.beta2**n)",
        "root = 1.0",
        ("engine/test_local.py",),
    ),
    Mutant(
        "engine/local.py",
        "updates without samples lower the mean loss",
        "((count > 0) & due).sum(1)",
        "due.sum(1)",
        ("engine/test_backend.py::test_kernels_equal_the_reference",),
    ),
    Mutant(
        "engine/dense.py",
        "gradients of full batches are sums",
        "1.0 / b if full and b > 0 else 1.0)",
        "1.0)",
        ("engine/test_dense.py",),
    ),
    Mutant(
        "engine/objective.py",
        "the pull to uniform predictions is no gradient of the entropy",
        "to.flat * (log_h - mean)",
        "to.flat * log_h",
        ("engine/test_objective.py",),
    ),
    Mutant(
        "engine/objective.py",
        "pseudo-labels are flatter the more they should be sharp",
        "ratio = objective.alpha_p / objective.alpha_r if",
        "ratio = objective.alpha_r / objective.alpha_p if",
        ("engine/test_objective.py",),
    ),
    Mutant(
        "engine/mixture.py",
        "the mixture weight forgets its prior",
        "(prior + share.sum()) / (1 + len(log_ratio))",
        "share.sum() / len(log_ratio)",
        ("engine/test_mixture.py",),
    ),
    Mutant(
        "engine/pair.py",
        "both models of a pair draw the same dropout",
        'self._network("dropout_own", semi.own, row)',
        'self._network("dropout", semi.own, row)',
        ("engine/test_pair.py::test_dropout_in_pairs",),
    ),
    Mutant(
        "engine/local.py",
        "own models learn at the shared rate",
        "lr=rule.lr * objective.lr_factor",
        "lr=rule.lr",
        ("engine/test_pair.py::test_one_step_of_a_pair_by_hand",),
    ),
    Mutant(
        "engine/evaluate.py",
        "top-m accuracy counts m + 1 classes",
        "rank(judged, y) < torch.arange(1, job.top + 1)",
        "rank(judged, y) <= torch.arange(1, job.top + 1)",
        ("engine/test_evaluate.py",),
    ),
    Mutant(
        "algorithms/averaging.py",
        "lost clients have a share",
        "group_share(mass * info.arrived, info.group, info.receivers)",
        "group_share(mass, info.group, info.receivers)",
        ("algorithms/test_averaging.py",),
    ),
    Mutant(
        "algorithms/fedavg.py",
        "weights are multiplied by the probability to arrive",
        "share / torch.where(info.arrived, info.expect, 1.0)",
        "share * torch.where(info.arrived, info.expect, 1.0)",
        ("algorithms/test_fedavg.py",),
    ),
    Mutant(
        "algorithms/fedavg.py",
        "shares of the selected sum to 1 over those that arrive",
        "group_share(mass, info.group, info.receivers) * info.arrived",
        "group_share(mass * info.arrived, info.group, info.receivers)",
        ("algorithms/test_fedavg.py",),
    ),
    Mutant(
        "algorithms/buffers.py",
        "clients that were never seen hold the model back",
        "coefficient.double() * (ledger[AGE] >= 0)",
        "coefficient.double()",
        ("algorithms/test_buffers.py",),
    ),
    Mutant(
        "algorithms/scaffold.py",
        "control variates double the drift",
        "shift = cohort.got[VARIATE][cohort.row] - cohort.mine[VARIATE]",
        "shift = cohort.mine[VARIATE] - cohort.got[VARIATE][cohort.row]",
        SCAFFOLD,
    ),
    Mutant(
        "algorithms/scaffold.py",
        "variates of lost uploads move",
        "heard[:, 1] * moves",
        "heard[:, 1] * cohort.damping",
        SCAFFOLD,
    ),
    Mutant(
        "algorithms/scaffold.py",
        "the variate is the sum of all gradients, not their mean",
        "-1.0 / (eta * work.effective)",
        "-1.0 / eta",
        SCAFFOLD,
    ),
    Mutant(
        "algorithms/scaffold.py",
        "the server's variate moves as if everybody had come",
        "(info.damping * share).to(c)",
        "(info.damping * torch.ones_like(share)).to(c)",
        SCAFFOLD,
    ),
    Mutant(
        "algorithms/feddyn.py",
        "the correction has the wrong sign",
        "mean - h / self.alpha",
        "mean + h / self.alpha",
        ("algorithms/test_feddyn.py",),
    ),
    Mutant(
        "algorithms/fednova.py",
        "steps are divided out, but their mean is not put back",
        "share * tau_eff / tau",
        "share / tau",
        ("algorithms/test_fednova.py",),
    ),
    Mutant(
        "algorithms/feddisco.py",
        "skewed clients weigh more",
        "share - self.a * discrepancy(",
        "share + self.a * discrepancy(",
        ("algorithms/test_feddisco.py",),
    ),
    Mutant(
        "algorithms/osafl.py",
        "scores reach 2",
        "(chi + cosine) / (chi + 1.0)",
        "(chi + cosine) / chi",
        ("algorithms/test_osafl.py",),
    ),
    Mutant(
        "algorithms/osafl.py",
        "mean updates are divided by steps, not by updates",
        'work.effective if self.normalise == "updates" else work.steps',
        'work.steps if self.normalise == "updates" else work.effective',
        ("algorithms/test_osafl.py",),
    ),
    Mutant(
        "algorithms/fedcpsl.py",
        "the step of few clients is not scaled up to all",
        "eta_g * info.members / arrived",
        "eta_g",
        ("algorithms/test_fedcpsl.py::test_two_of_four_by_hand",),
    ),
    Mutant(
        "algorithms/fedcpsl.py",
        "the server's variate moves along the step, not against it",
        "- times(inverse_eta, total)",
        "+ times(inverse_eta, total)",
        ("algorithms/test_fedcpsl.py::test_two_of_four_by_hand",),
    ),
    Mutant(
        "transforms/feedback.py",
        "nothing is owed of lost payloads",
        "heard * arrived.to(heard)[:, None, None]",
        "heard",
        ("transforms/test_feedback.py",),
    ),
    Mutant(
        "transforms/sparsify.py",
        "random places shrink the mean",
        "received * (size / number)",
        "received * (number / size)",
        ("transforms/test_sparsify.py",),
    ),
    Mutant(
        "transforms/quantise.py",
        "rounding to the nearest level is biased",
        "levels * ratio + u",
        "levels * ratio + 0.5",
        ("transforms/test_quantise.py",),
    ),
    Mutant(
        "transforms/noise.py",
        "the receiver's noise grows with the clients",
        '"amax"',
        '"sum"',
        ("transforms/test_noise.py",),
    ),
    Mutant(
        "receivers/adaptive.py",
        "Yogi turns away from the mean square",
        "torch.sign(v - square)",
        "torch.sign(square - v)",
        ("receivers/test_adaptive.py",),
    ),
    Mutant(
        "network/channel.py",
        "fading has a mean power of 2",
        "/ math.sqrt(2)",
        "/ 1.0",
        ("network/test_channel.py",),
    ),
    Mutant(
        "network/channel.py",
        "shadows at a place have nothing in common between receivers",
        "math.sqrt(SITES_SHARE) * common + ",
        "",
        ("network/test_channel.py",),
    ),
    Mutant(
        "network/channel.py",
        "shadows of a place are drawn with the clock",
        'now if self.redraw == "exchange" else rng',
        "now",
        ("network/test_channel.py",),
    ),
    Mutant(
        "network/fields.py",
        "the correlation distance of a field is inverted",
        "(np.abs(scale) * distance_m)",
        "(np.abs(scale) / distance_m)",
        ("network/test_fields.py",),
    ),
    Mutant(
        "network/channel.py",
        "decibels of an amplitude, not of a power",
        "-(loss + shadow) / 10.0",
        "-(loss + shadow) / 20.0",
        ("network/test_channel.py",),
    ),
    Mutant(
        "fleet/costs.py",
        "computing takes twice the joules",
        "0.5 * fleet.capacitance * cycles",
        "fleet.capacitance * cycles",
        ("fleet/test_costs.py",),
    ),
    Mutant(
        "fleet/costs.py",
        "sending takes no circuit power",
        "(power_w + fleet.circuit_w) * tx_s",
        "power_w * tx_s",
        ("fleet/test_costs.py",),
    ),
    Mutant(
        "sweeps/grid.py",
        "folders of two variants differ in capitals only",
        "name.casefold() not in others",
        "name not in others",
        ("sweeps/test_grid.py",),
    ),
    Mutant(
        "remote/courier.py",
        "a wish to stop is forgotten at the next visit",
        "self._stopped = self._stopped or stopped",
        "self._stopped = stopped",
        ("remote/test_courier.py",),
    ),
    Mutant(
        "results/diagnosis.py",
        "the mean gradient forgets the clients' weights",
        "+= weight[i] * before.cpu().double()",
        "+= before.cpu().double() / len(losses)",
        DIAGNOSIS,
    ),
    Mutant(
        "results/diagnosis.py",
        "gradients of edges are not divided by their share",
        "(squared_norm(sums) / share.clamp(min=1e-300))",
        "(squared_norm(sums) * share)",
        DIAGNOSIS,
    ),
    Mutant(
        "results/diagnosis.py",
        "samples that arrive before a round are left out",
        "stream = _arrived(sim, recall(state.parts, STREAM), t)",
        "stream = recall(state.parts, STREAM)",
        ("results/test_diagnosis.py::test_data_at_the_start_of_a_round",),
    ),
)
