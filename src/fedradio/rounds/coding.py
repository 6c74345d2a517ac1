"""Compatibility of transforms and receiver rules: with each other, with the link and with the algorithm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fedradio.core.contracts import SUPERPOSITION, Message, Transform
from fedradio.core.errors import Problem, SpecError
from fedradio.core.units import show
from fedradio.transforms.feedback import Feedback
from fedradio.transforms.noise import Noise
from fedradio.transforms.sparsify import RandomK, TopK

if TYPE_CHECKING:
    from fedradio.rounds.simulation import Simulation


def coding_problems(sim: Simulation, h: int) -> list[Problem]:
    """Problems of the transforms and of the receiver rule of a hop."""
    transforms, chain = sim.hops[h].transforms, _chain(sim, h)
    problems = _receiver_problems(sim, h)
    for i, transform in enumerate(transforms):
        problems += _link_problems(sim, h, i, transform)
        problems += _algorithm_problems(sim, h, i, transform)
    if isinstance(chain, SpecError):
        return problems + list(chain.problems)
    for i in range(len(transforms)):
        problems += _order_problems(transforms, _path(h, i), i)
        problems += _code_problems(transforms, chain, _path(h, i), i)
        problems += _feedback_problems(transforms, chain, _path(h, i), i)
    return problems


def coding_warnings(sim: Simulation, h: int) -> list[str]:
    """Warnings about transforms that can be used but may not do what was meant."""
    transforms, chain = sim.hops[h].transforms, _chain(sim, h)
    if not transforms or isinstance(chain, SpecError):
        return []
    warnings = []
    plain, coded = (sim.hops[h].link.bits(message) for message in (chain[0], chain[-1]))
    if plain is not None and coded is not None and coded > plain:
        warnings.append(
            f"hops.{h}.transforms: a coded payload takes {show(coded, 'bit')}, a plain one {show(plain, 'bit')}: fewer"
        )
    if SUPERPOSITION in sim.hops[h].link.offers and any(transform.conceals for transform in transforms):
        warnings.append(
            f"hops.{h}.transforms: noise at the receiver is matched to the weights, but over the air "
            "senders with high gains count for more"
        )
    if "memory" in sim.algorithm.sends and any(transform.lossy for transform in transforms):
        warnings.append(
            f"hops.{h}.transforms: control variates follow the decoded payloads, and more slowly if these are noisy"
        )
    for i, transform in enumerate(transforms):
        if isinstance(transform, Feedback) and (found := _amplified(transforms, chain, i)) is not None:
            place, omega, contracted = found
            if contracted:
                warnings.append(
                    f"{_path(h, place)}: its error is up to {omega:.3g} times its input, after error feedback; "
                    "more bits, or shrink: true, make it smaller"
                )
    return warnings


def _path(h: int, i: int) -> str:
    return f"hops.{h}.transforms.{i}"


def _chain(sim: Simulation, h: int) -> list[Message] | SpecError:
    """The messages between the transforms of a hop, or why there are none."""
    chain = [sim.message(h)]
    for i, transform in enumerate(sim.hops[h].transforms):
        try:
            chain.append(transform.message(chain[-1]))
        except SpecError as error:
            place = _path(h, i)
            return SpecError(replace(one, path=place + one.path.removeprefix("transform")) for one in error.problems)
    return chain


def _link_problems(sim: Simulation, h: int, i: int, transform: Transform) -> list[Problem]:
    missing = transform.needs - sim.hops[h].link.offers
    if not missing:
        return []
    reason = f"the link must offer {', '.join(sorted(missing))}: this transform's output cannot be decoded from a sum"
    return [Problem(_path(h, i), reason, "use a link that does, such as digital or ideal, or another transform")]


def _algorithm_problems(sim: Simulation, h: int, i: int, transform: Transform) -> list[Problem]:
    algorithm, path, problems = sim.algorithm, _path(h, i), list[Problem]()
    if transform.conceals and "individual" in algorithm.needs:
        reason = "noise at the receiver hides individual payloads, which the algorithm needs"
        problems.append(Problem(path, reason, "set at: client, or use an algorithm that only needs sums"))
    if transform.conceals and h == 0 and "memory" in algorithm.sends:
        reason = (
            "clients and receivers must accumulate the same changes, but noise at the receiver reaches one side only"
        )
        problems.append(Problem(path, reason, "set at: client, or use an algorithm without control variates"))
    if isinstance(transform, Noise) and transform.at == "receiver" and algorithm.reveals:
        equal = "algorithm.weighting=equal" if algorithm.reveals <= {"samples"} else "an algorithm with equal weights"
        reason = f"the weights of the sum depend on the clients' {', '.join(sorted(algorithm.reveals))}"
        problems.append(Problem(path, reason, f"use {equal}, or set at: client"))
    if transform.lossy and algorithm.relay == "fixed" and h > 0:
        reason = "fixed weights and control variates need exact outer hops: what a coder loses there is lost for good"
        problems.append(Problem(path, reason, "use transforms on hop 0 only"))
    return problems


def _order_problems(transforms: tuple[Transform, ...], path: str, i: int) -> list[Problem]:
    """Problems of the place of transform ``i`` in the chain."""
    transform, before, behind = transforms[i], transforms[:i], transforms[i + 1 :]
    problems = []
    if any(type(other) is type(transform) for other in before):
        problems.append(Problem(path, "appears twice", "remove one of them"))
    if isinstance(transform, RandomK) and any(isinstance(other, TopK) for other in before):
        problems.append(
            Problem(path, "picking random positions from the output of top_k drops most of it", "put it before top_k")
        )
    if transform.conceals and any(other.omega(1 << 20) is not None for other in behind):
        reason = (
            "the noise is scaled to the clipping norm, but an unbiased coder after it can increase the payloads' norm"
        )
        problems.append(
            Problem(path, reason, "set at: client, or use coders that never increase the norm (top_k, shrink: true)")
        )
    if isinstance(transform, Feedback) and any(_adds_noise(other) for other in behind):
        reason = "it would treat the clients' noise as an error and add it to the next payload"
        problems.append(Problem(path, reason, "use noise with at: receiver, or no feedback"))
    return problems


def _code_problems(transforms: tuple[Transform, ...], chain: list[Message], path: str, i: int) -> list[Problem]:
    """Numbers that are added to coded ones: they are not in the code, and its bits would not hold them."""
    first, before = chain[0], chain[i]
    coded = (before.size, before.sent, before.value_bits) != (first.size, first.sent, first.value_bits)
    if isinstance(transforms[i], Feedback) and coded:
        reason = "what it adds does not fit the numbers, positions or levels chosen by a coder before it"
        return [Problem(path, reason, "put feedback before all coders")]
    if _adds_noise(transforms[i]) and (before.sent is not None or before.value_bits is not None):
        reason = "it adds noise to all numbers, including those that a coder before it does not send"
        return [Problem(path, reason, "put coders after the noise, or set at: receiver")]
    return []


def _adds_noise(transform: Transform) -> bool:
    """Whether senders add noise of their own."""
    return isinstance(transform, Noise) and transform.at == "client"


def _feedback_problems(transforms: tuple[Transform, ...], chain: list[Message], path: str, i: int) -> list[Problem]:
    """An unbiased coder with ``omega > 1`` directly behind error feedback: its error would grow without limit."""
    if not isinstance(transforms[i], Feedback):
        return []
    found = _amplified(transforms, chain, i)
    if found is None or found[2]:
        return []
    reason = (
        f"the unbiased coder after it makes an error of up to {found[1]:.3g} times its input, which would accumulate"
    )
    remedy = "use more bits, quantise with shrink: true, random_k with scale: false, or top_k in between"
    return [Problem(path, reason, remedy)]


def _amplified(transforms: tuple[Transform, ...], chain: list[Message], i: int) -> tuple[int, float, bool] | None:
    """Place and ``omega > 1`` of the first unbiased coder behind transform ``i``, and whether a contractive coder
    stands between them; None if there is no such coder."""
    contracted = False
    for place in range(i + 1, len(transforms)):
        omega = transforms[place].omega(chain[place].coded)
        if omega is not None and omega > 1.0:
            return place, omega, contracted
        contracted = contracted or transforms[place].delta(chain[place].size) is not None
    return None


def _receiver_problems(sim: Simulation, h: int) -> list[Problem]:
    problems = []
    own, rule = sim.hops[h].receiver, sim.algorithm.server_rule
    if own is not None and h > 0 and sim.algorithm.relay == "fixed":
        reason = "with fixed weights and control variates, outer hops must add exactly what is relayed"
        problems.append(Problem(f"hops.{h}.receiver", reason, "use hops.0.receiver, or an averaging algorithm"))
    if own is not None and rule is not None and h == len(sim.hops) - 1:
        reason = "the algorithm has its own optimiser for this receiver"
        problems.append(
            Problem(
                f"hops.{h}.receiver",
                reason,
                "use only one of the two: algorithm=fedavg with this receiver, or the algorithm alone",
            )
        )
    return problems
