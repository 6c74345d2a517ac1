"""Transforms and receiver rules that do not fit, each with its path and a remedy."""

from dataclasses import replace

import pytest
from support.worlds import cells, tiny

from fedradio.algorithms.fedavg import fedavg
from fedradio.algorithms.fednova import fednova
from fedradio.algorithms.scaffold import scaffold
from fedradio.algorithms.server_optimisers import fedavgm
from fedradio.core.contracts import Algorithm, ReceiverRule, Transform
from fedradio.links.over_the_air import over_the_air
from fedradio.network.power_law import power_law
from fedradio.receivers.momentum import momentum
from fedradio.rounds.coding import coding_problems, coding_warnings
from fedradio.rounds.simulation import Simulation
from fedradio.transforms.clip import clip
from fedradio.transforms.feedback import feedback
from fedradio.transforms.noise import noise
from fedradio.transforms.quantise import quantise
from fedradio.transforms.sparsify import random_k, top_k

EQUAL = fedavg(weighting="equal")

NOISY = noise(multiplier=1.0, at="client")


def coded(
    *transforms: Transform, hop: int = 0, algorithm: Algorithm | None = None, receiver: ReceiverRule | None = None
) -> Simulation:
    """Two cells with these transforms and this receiver rule on a hop; not checked."""
    sim = cells(algorithm=algorithm)
    hops = list(sim.hops)
    hops[hop] = replace(hops[hop], transforms=transforms, receiver=receiver)
    return replace(sim, hops=tuple(hops))


@pytest.mark.parametrize(
    ("sim", "hop", "path", "words"),
    [
        (coded(clip(norm=1), quantise(), noise(multiplier=1.0), algorithm=EQUAL), 0, "hops.0.transforms.2", "put"),
        (coded(top_k(), feedback()), 0, "hops.0.transforms.1", "put feedback before all coders"),
        (coded(quantise(), feedback()), 0, "hops.0.transforms.1", "put feedback before all coders"),
        (coded(random_k(scale=False), feedback()), 0, "hops.0.transforms.1", "put feedback before all coders"),
        (coded(clip(norm=1), top_k(), NOISY), 0, "hops.0.transforms.2", "coders after the noise"),
        (coded(feedback(), clip(norm=1), NOISY), 0, "hops.0.transforms.0", "add it to the next payload"),
        (
            coded(clip(norm=1), noise(multiplier=1.0), algorithm=scaffold()),
            0,
            "hops.0.transforms.1",
            "without control variates",
        ),
        (coded(clip(norm=1), noise(multiplier=1.0), hop=1), 1, "hops.1.transforms.1", "algorithm.weighting=equal"),
        (
            coded(clip(norm=1), noise(multiplier=1.0), algorithm=fednova()),
            0,
            "hops.0.transforms.1",
            "an algorithm with equal weights",
        ),
        (coded(feedback(), clip(norm=1), feedback()), 0, "hops.0.transforms.2", "appears twice"),
        (coded(top_k(), random_k()), 0, "hops.0.transforms.1", "before top_k"),
        (coded(clip(norm=1), noise(multiplier=1.0)), 0, "hops.0.transforms.1", "algorithm.weighting=equal"),
        (
            coded(clip(norm=1), noise(multiplier=1.0), quantise(), algorithm=EQUAL),
            0,
            "hops.0.transforms.1",
            "can increase the payloads' norm",
        ),
        (
            coded(clip(norm=1), noise(multiplier=1.0), algorithm=fedavg(weighting="equal", buffer="gradients")),
            0,
            "hops.0.transforms.1",
            "hides individual payloads",
        ),
        (coded(top_k(), hop=1, algorithm=scaffold()), 1, "hops.1.transforms.0", "use transforms on hop 0 only"),
        (coded(feedback(), quantise(bits=3)), 0, "hops.0.transforms.0", "shrink: true"),
        (coded(feedback(), random_k()), 0, "hops.0.transforms.0", "scale: false"),
        (coded(hop=1, algorithm=scaffold(), receiver=momentum()), 1, "hops.1.receiver", "hops.0.receiver"),
        (coded(hop=1, algorithm=fedavgm(), receiver=momentum()), 1, "hops.1.receiver", "one of the two"),
    ],
)
def test_what_does_not_fit_is_refused(sim: Simulation, hop: int, path: str, words: str) -> None:
    (problem,) = coding_problems(sim, hop)
    assert problem.path == path
    assert words in f"{problem.reason} {problem.remedy}"
    assert problem.reason
    assert problem.remedy


@pytest.mark.parametrize("transform", [quantise(), top_k()])
def test_codes_that_cannot_be_added_are_refused_on_the_air(transform: Transform) -> None:
    sim = tiny(link=over_the_air(), channel=power_law(exponent=0))
    sim = replace(sim, hops=(replace(sim.hops[0], transforms=(transform,)),))
    (problem,) = coding_problems(sim, 0)
    assert (problem.path, "individual" in problem.reason) == ("hops.0.transforms.0", True)
    summed = replace(sim, hops=(replace(sim.hops[0], transforms=(clip(norm=1), random_k())),))
    assert coding_problems(summed, 0) == []
    assert coding_warnings(summed, 0) == []
    private = replace(sim, hops=(replace(sim.hops[0], transforms=(clip(norm=1), noise(multiplier=1.0))),))
    (warning,) = coding_warnings(private, 0)
    assert "senders with high gains count for more" in warning


def test_what_fits_is_not_refused() -> None:
    fine = [
        coded(),
        coded(feedback(), top_k(), quantise(bits=3)),
        coded(feedback(), quantise(bits=3, shrink=True)),
        coded(feedback(), random_k(scale=False)),
        coded(feedback(), quantise(bits=12)),
        coded(clip(norm=1), NOISY, quantise()),
        coded(clip(norm=1), random_k(scale=False), NOISY),
        coded(clip(norm=1), feedback(), top_k()),
        coded(feedback(), clip(norm=1), noise(multiplier=1.0), algorithm=EQUAL),
        coded(clip(norm=1), noise(multiplier=1.0), top_k(), algorithm=EQUAL),
        coded(quantise(), algorithm=scaffold()),
        coded(receiver=momentum(), algorithm=scaffold()),
        coded(hop=1, algorithm=fedavgm()),
    ]
    assert [coding_problems(sim, hop) for sim in fine for hop in (0, 1)] == [[]] * 26


def test_warnings_have_their_numbers() -> None:
    assert coding_warnings(coded(), 0) == []
    (longer,) = coding_warnings(coded(top_k(share=1.0)), 0)
    assert "takes" in longer
    (noisy,) = coding_warnings(coded(feedback(), top_k(share=0.2), quantise(bits=3)), 0)
    assert noisy.startswith("hops.0.transforms.2: its error is up to")
    (slow,) = coding_warnings(coded(quantise(), algorithm=scaffold()), 0)
    assert "control variates" in slow


def test_all_problems_of_a_chain_are_told_at_once() -> None:
    """Noise without a norm, and weights that depend on data: the chain that has no messages hides nothing else."""
    problems = coding_problems(coded(noise(multiplier=1.0), receiver=momentum()), 0)
    assert [problem.path for problem in problems] == ["hops.0.transforms.0", "hops.0.transforms.0"]
    assert [problem.remedy.split()[0] for problem in problems] == ["use", "put"]
