"""Late senders: what they compute, send and pay until the deadline and beyond it, with and without fading."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
import torch

from fedradio.algorithms.fedavg import fedavg
from fedradio.core.contracts import (
    Channel,
    ChannelState,
    Clock,
    Fleet,
    Hop,
    Late,
    Link,
    Policy,
    Site,
    Slots,
    Stream,
    Topology,
)
from fedradio.core.rng import Rng
from fedradio.engine.rules import sgd
from fedradio.links.digital import digital
from fedradio.links.ideal import ideal
from fedradio.links.over_the_air import over_the_air
from fedradio.models.zoo import logistic
from fedradio.policies.fixed import fixed
from fedradio.rounds.accounts import planned_j
from fedradio.rounds.planning import plan_exchange
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation, compose
from fedradio.rounds.tiers import start_tiers

FADING = pytest.mark.parametrize("faded", [False, True], ids=["still", "faded"])


@dataclass(frozen=True)
class Gains(Channel):
    """Sender ``m`` is heard with ``gain[m]``; if ``faded``, a quarter of it is path loss and 4 is ``|h|^2``."""

    gain: Sequence[float]
    noise_w_hz: float
    faded: bool

    def realise(self, site: Site, state: Slots, rng: Rng) -> tuple[ChannelState, Slots]:
        rows = torch.tensor(self.gain, dtype=torch.float64).expand(len(site.receivers_m), -1).contiguous()
        if not self.faded:
            return ChannelState(rows, self.noise_w_hz), state
        h = torch.full((len(rows), 1, rows.shape[1]), 2.0, dtype=torch.complex128)
        return ChannelState(rows / 4, self.noise_w_hz, coefficient=h, rayleigh=True), state


@pytest.fixture
def late_sender(
    tree: Callable[..., Topology], turns: Callable[..., Policy], holding: Callable[..., Stream]
) -> Callable[..., Simulation]:
    """One client with a deadline of 1 s. It computes for ``ready_s`` at 8 Hz, and sends 40 bits at .2 W in 2 s: SNR 1
    on 20 Hz. Computing takes ``zeta/2 f^3 = 16`` W and 1 W of static power, sending .2 W and the circuit's."""

    def make(
        ready_s: float,
        late: Late = "stop",
        faded: bool = False,
        link: Link | None = None,
        circuit_w: float = 0.0,
        **world: object,
    ) -> Simulation:
        one = torch.ones(1, dtype=torch.float64)
        fleet = Fleet(ready_s * one, 8.0 * one, 0.2 * one, 1e3 * one, 1 / 16, circuit_w=circuit_w, cpu_static_w=1.0)
        hop = Hop(
            link=link or digital(bandwidth_hz=20.0, bits_per_value=10.0),
            policy=turns([(0,)]),
            channel=Gains((1.0,), 0.2 / 20.0, faded),
            fleet=fleet,
            deadline_s=1.0,
            late=late,
        )
        return compose(
            topology=tree((0,)),
            hops=[hop],
            stream=holding((1,)),
            model=logistic((1,), 2),
            algorithm=fedavg(),
            rule=sgd(batch=1),
        )

    return make


@FADING
def test_a_sender_stops_at_the_deadline_and_pays_until_then(
    late_sender: Callable[..., Simulation], faded: bool
) -> None:
    """Ready after .4 s, it sends for .6 s of 2 s: ``.6 * .2 = .12`` J, and ``17 * .4 = 6.8`` J of computing."""
    sim = late_sender(0.4, faded=faded)
    _, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert (exchange.arrived, exchange.why, exchange.seconds) == ([False], ["deadline"], [1.0])
    assert exchange.tx_j == pytest.approx([0.12])
    assert exchange.compute_j == pytest.approx([6.8])
    assert record.energy_j == pytest.approx(6.92)
    assert record.time_s == 1.0


@FADING
def test_a_sender_that_finishes_pays_for_everything(late_sender: Callable[..., Simulation], faded: bool) -> None:
    """2 s on the air, .4 J; it ends after 2.4 s, but nobody waits for it, and its payload is lost all the same."""
    sim = late_sender(0.4, late="finish", faded=faded)
    _, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert (exchange.arrived, exchange.why) == ([False], ["deadline"])
    assert exchange.seconds == pytest.approx([2.4])
    assert exchange.tx_j == pytest.approx([0.4])
    assert record.time_s == 1.0


@pytest.mark.parametrize(("late", "seconds", "joules"), [("stop", 1.0, 17.0), ("finish", 3.0, 51.0)])
@pytest.mark.parametrize("link", [ideal(), digital(bandwidth_hz=20.0, bits_per_value=1e-9)], ids=["ideal", "digital"])
def test_computing_stops_at_the_deadline_too(
    late_sender: Callable[..., Simulation], link: Link, late: Late, seconds: float, joules: float
) -> None:
    """24 cycles take 3 s; after 1 s 8 of them are done, for 17 J, and nothing is sent."""
    sim = late_sender(3.0, late=late, link=link)
    _, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert (exchange.arrived, exchange.why) == ([False], ["deadline"])
    assert exchange.seconds == pytest.approx([seconds])
    assert exchange.compute_j == pytest.approx([joules])
    assert exchange.tx_j == pytest.approx([0.0], abs=1e-6)
    assert record.time_s == 1.0


def test_the_circuit_stops_with_its_sender(late_sender: Callable[..., Simulation]) -> None:
    """``.6 * (.2 + .5) = .42`` J; the plan knows it before anything is sent."""
    sim = late_sender(0.4, circuit_w=0.5)
    _, _, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.tx_j == pytest.approx([0.42])
    state = begin(sim)
    planned, _ = plan_exchange(sim, state, start_tiers(sim.topology, state.memory), 0, Clock(0))
    joules = planned_j(planned)
    assert joules is not None
    assert joules.tolist() == pytest.approx([6.8 + 0.42])


def test_a_sender_in_time_is_as_the_link_has_forecast_it(late_sender: Callable[..., Simulation]) -> None:
    """Ready after .4 s, 1 bit a number takes .2 s: .6 s, .04 J, whatever late senders do."""
    link = digital(bandwidth_hz=20.0, bits_per_value=1.0)
    for late in ("stop", "finish"):
        sim = late_sender(0.4, late=late, link=link)
        _, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
        assert exchange.arrived == [True]
        assert exchange.seconds == pytest.approx([0.6])
        assert exchange.tx_j == pytest.approx([0.04])
        assert record.time_s == pytest.approx(0.6)


def test_a_silent_sender_on_the_air_ends_at_the_deadline(late_sender: Callable[..., Simulation]) -> None:
    """2 symbols take 2 s: it computes for .4 s, stays silent and has nothing to pay on the air."""
    sim = late_sender(0.4, link=over_the_air(symbol_rate_hz=1.0, power_unit_w=1.0), circuit_w=0.5)
    _, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert (exchange.arrived, exchange.seconds, exchange.tx_j) == ([False], [1.0], [0.0])
    assert record.time_s == 1.0


@pytest.mark.parametrize(("deadline_s", "seconds", "joules"), [(1.5, 1.5, 0.5), (0.5, 0.5, 0.0)])
def test_relays_stop_at_their_deadline(
    late_sender: Callable[..., Simulation],
    tree: Callable[..., Topology],
    deadline_s: float,
    seconds: float,
    joules: float,
) -> None:
    """A relay is ready after 1 s, with its client, and would send for 2 s at 1 W: until 1.5 s, or not at all."""
    below = late_sender(0.4, link=digital(bandwidth_hz=20.0, bits_per_value=3.0))
    one = torch.ones(1, dtype=torch.float64)
    above = Hop(
        link=digital(bandwidth_hz=20.0, bits_per_value=10.0),
        policy=fixed(),
        channel=Gains((1.0,), 1.0 / 20.0, False),
        fleet=Fleet(one, one, one, one, 0.0),
        deadline_s=deadline_s,
    )
    sim = compose(
        topology=tree((0,), (0,)),
        hops=[below.hops[0], above],
        stream=below.stream,
        model=below.model,
        algorithm=fedavg(),
        rule=sgd(batch=1),
    )
    _, record, (_, relay) = run_round(sim, begin(sim), evaluate=False)
    assert (relay.arrived, relay.seconds) == ([False], [seconds])
    assert relay.tx_j == pytest.approx([joules])
    assert record.time_s == deadline_s


def test_late_is_a_setting_of_the_hop(late_sender: Callable[..., Simulation]) -> None:
    """Without a deadline nobody is late: 2.4 s and .4 J with both."""
    for late in ("stop", "finish"):
        sim = late_sender(0.4, late=late)
        sim = replace(sim, hops=(replace(sim.hops[0], deadline_s=None),))
        _, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
        assert exchange.arrived == [True]
        assert record.time_s == pytest.approx(2.4)
        assert exchange.tx_j == pytest.approx([0.4])
