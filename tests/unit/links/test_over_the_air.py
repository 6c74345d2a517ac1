"""Hand-computed cases and bookkeeping; distributions are in ``tests/statistical``."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.exchanges import everyone, exchange, sent
from torch import Tensor

from fedradio.core.contracts import ChannelState, Delivery, Message, Reason
from fedradio.core.rng import Rng
from fedradio.links.air import weighted
from fedradio.links.over_the_air import OverTheAir, over_the_air

PARENT = torch.tensor([0, 1, 0, 1, 1])


def doubles(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def send(
    link: OverTheAir,
    payload: Tensor,
    weight: Tensor,
    gain: Tensor,
    parent: Tensor,
    noise: float = 0.0,
    amplitude: Tensor | None = None,
    seed: int = 0,
) -> Delivery:
    """A whole exchange of everybody."""
    alloc = everyone(len(payload), amplitude=amplitude)
    x = exchange(
        parent, channel=ChannelState(gain, noise_symbol=noise), message=Message(*payload.shape[1:]), alloc=alloc
    )
    delivery, _ = link.combine(x, link.plan(x, {}, Rng(0)), sent(x, payload, weight), {}, Rng(seed))
    return delivery


def test_one_sender_without_noise_is_only_scaled() -> None:
    """D = 0 exactly; what is left is g/K, which many antennas harden to 1: 5 standard deviations at K = 10^6."""
    payload = torch.randn(1, 1, 200, generator=Rng(10).torch())
    gain, weight = torch.full((1, 1), 1e-9, dtype=torch.float64), doubles(0.5)
    few = send(over_the_air(antennas=1), payload, weight, gain, torch.zeros(1).long()).total / payload
    assert torch.allclose(few[..., :100], few[..., 100:], rtol=1e-5)  # both parts of a symbol by the same g
    assert float(few.std()) > 0.2
    many = send(over_the_air(antennas=1_000_000), payload, weight, gain, torch.zeros(1).long())
    assert torch.allclose(many.total, 0.5 * payload, rtol=5e-3)


def test_without_noise_and_with_many_antennas_equal_gains_give_the_weighted_sum() -> None:
    payload = torch.randn(5, 2, 40, generator=Rng(11).torch())
    weight = doubles(0.3, 1.0, 0.7, 2.0, 0.5)
    gain = torch.zeros(2, 5, dtype=torch.float64)
    gain[PARENT, torch.arange(5)] = 0.25  # no foreign gains
    expected = torch.zeros(2, 2, 40, dtype=torch.float64).index_add_(0, PARENT, weight[:, None, None] * payload)
    done = send(over_the_air(antennas=1_000_000), payload, weight, gain, PARENT)
    assert torch.allclose(done.total, expected.float(), atol=0.02)
    assert float(done.notes["bias"].values.max()) < 1e-12
    printed = send(over_the_air(antennas=1_000_000, normaliser="sum"), payload, weight, gain, PARENT)
    assert torch.allclose(printed.total, expected.float() / torch.tensor([2.0, 3.0])[:, None, None], atol=0.02)


def test_senders_scale_their_weights_to_a_mean_of_one() -> None:
    factor, total = weighted(np.array([0.3, 1.0, 0.7, 2.0, 0.0]), PARENT.numpy(), 3)
    assert factor.tolist() == pytest.approx([0.6, 1.0, 1.4, 2.0, 0.0])
    assert total.tolist() == [1.0, 3.0, 0.0]
    nothing, _ = weighted(np.zeros(2), np.zeros(2, dtype=np.int64), 1)
    assert nothing.tolist() == [0.0, 0.0]


def test_receivers_without_senders_or_weight_deliver_nothing() -> None:
    payload = torch.randn(5, 1, 6, generator=Rng(12).torch())
    gain = torch.ones(3, 5, dtype=torch.float64)
    for sampler in ("exact", "direct"):
        link = over_the_air(sampler=sampler, antennas=3)
        done = send(link, payload, doubles(1, 0, 1, 0, 0), gain, PARENT, noise=1.0)
        assert float(done.total[1:].abs().max()) == 0.0
        assert float(done.total[0].abs().min()) > 0.0
        assert all(float(note.values[2]) == 0.0 for name, note in done.notes.items() if not name.startswith("tx_power"))


def test_the_noise_of_a_receiver_does_not_depend_on_who_else_is_active() -> None:
    payload = torch.randn(5, 1, 6, generator=Rng(13).torch())
    gain = torch.eye(2, dtype=torch.float64)[:, PARENT]
    both = send(over_the_air(), payload, torch.ones(5).double(), gain, PARENT, noise=1.0)
    mine = PARENT == 0
    alone = send(over_the_air(), payload[mine], torch.ones(2).double(), gain[:, mine], PARENT[mine], noise=1.0)
    assert torch.allclose(both.total[0], alone.total[0], rtol=1e-5)


def test_expect_is_the_share_of_the_air() -> None:
    """Gains 1 and 3 at amplitudes 2 and 1: 2*2/5 and 2*3/5; as printed half of that. Silent senders have no share."""
    gain = torch.tensor([[1.0, 3.0, 9.0]], dtype=torch.float64)
    alloc = everyone(3, active=[True, True, False], amplitude=doubles(2, 1, 1))
    x = exchange([0, 0, 0], channel=ChannelState(gain, noise_symbol=1.0), alloc=alloc, message=10)
    for normaliser, factor in (("mean", 1.0), ("sum", 0.5)):
        link = over_the_air(normaliser=normaliser)
        airtime = link.plan(x, {}, Rng(0))
        assert airtime.expect.tolist() == pytest.approx([0.8 * factor, 1.2 * factor, 0.0])
        assert airtime.arrived.tolist() == [True, True, False]


def test_no_bits_but_uses_and_seconds_where_there_is_a_rate() -> None:
    gain = torch.ones(2, 5, dtype=torch.float64)
    x = exchange(PARENT, channel=ChannelState(gain, noise_symbol=1.0), ready_s=[1, 2, 3, 4, 9], message=8)
    timeless = over_the_air().plan(replace(x, message=Message(2, 7)), {}, Rng(0))
    assert over_the_air().bits(x.message) is None
    assert (timeless.uses, timeless.tx_s, timeless.done_s) == (8.0, None, None)
    link = over_the_air(symbol_rate_hz=4.0)
    timed = link.plan(x, {}, Rng(0))
    assert timed.tx_s is not None
    assert timed.done_s is not None
    assert timed.tx_s.tolist() == [1.0] * 5
    assert timed.done_s.tolist() == [10.0] * 5  # all start with the last
    assert link.plan(replace(x, ready_s=None), {}, Rng(0)).done_s is None


def test_who_cannot_end_in_time_stays_silent() -> None:
    """One second of air, deadline 5: ready at 4 is in time, at 9 late. The late one neither counts nor interferes."""
    gain = torch.ones(2, 5, dtype=torch.float64)
    x = exchange(
        PARENT, channel=ChannelState(gain, noise_symbol=0.0), ready_s=[1, 2, 3, 4, 9], message=8, deadline_s=5.0
    )
    link = over_the_air(symbol_rate_hz=4.0)
    airtime = link.plan(x, {}, Rng(0))
    assert airtime.arrived.tolist() == [True, True, True, True, False]
    assert airtime.reason.tolist() == [Reason.NONE] * 4 + [Reason.DEADLINE]
    assert airtime.done_s is not None
    assert airtime.tx_s is not None
    assert airtime.done_s.tolist() == [5.0, 5.0, 5.0, 5.0, 10.0]
    assert airtime.tx_s.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]
    payload = torch.randn(5, 1, 8, generator=Rng(14).torch())
    done, _ = link.combine(x, airtime, sent(x, payload, doubles(1, 1, 1, 1, 0)), {}, Rng(1))
    four = send(link, payload[:4], torch.ones(4).double(), gain[:, :4], PARENT[:4], seed=1)
    assert torch.allclose(done.total, four.total, rtol=1e-6)
    assert done.notes["tx_power"].values[4].item() == 0.0
    nobody = replace(airtime, arrived=torch.zeros(5, dtype=torch.bool))
    empty, _ = link.combine(x, nobody, sent(x, payload, torch.zeros(5)), {}, Rng(1))
    assert float(empty.total.abs().max()) == 0.0


def test_transmit_power_and_joules() -> None:
    """P = 2, weights 1 and 3 of mean 2: factors 0.5, 1.5. |x|^2 = 25 a symbol: 4*.25*25 = 25 and 225. At 0.1 W a unit,
    2 symbols and 4 symbols a second: 0.1 * 25 * 2/4 J."""
    payload = torch.tensor([[[3.0, 4.0, 4.0, 3.0]], [[5.0, 0.0, 0.0, 5.0]]])
    gain, parent = torch.ones(1, 2, dtype=torch.float64), torch.zeros(2).long()
    link = over_the_air(symbol_rate_hz=4.0, power_unit_w=0.1)
    done = send(link, payload, doubles(1, 3), gain, parent, amplitude=doubles(2, 2))
    assert done.notes["tx_power"].values.tolist() == pytest.approx([25.0, 225.0])
    assert done.notes["tx_power_vector"].values.tolist() == pytest.approx([50.0, 450.0])
    assert done.tx_j is not None
    assert done.tx_j.tolist() == pytest.approx([1.25, 11.25])
    for lacking in (over_the_air(symbol_rate_hz=4.0), over_the_air(power_unit_w=0.1)):
        assert send(lacking, payload, doubles(1, 3), gain, parent).tx_j is None


def test_notes_are_the_expected_error_of_the_total() -> None:
    """Weights that sum to 3: errors grow by 9. 40 000 equal symbols; bias and variance to 3 %."""
    symbol = torch.tensor([[1.0, -2.0], [0.5, 1.0], [2.0, 0.3]])
    payload = symbol.repeat_interleave(40_000, dim=1)[:, None]
    gain, parent = torch.tensor([[1.0, 2.0, 4.0]], dtype=torch.float64), torch.zeros(3).long()
    weight = doubles(0.5, 2.0, 0.5)
    for link in (over_the_air(antennas=5), over_the_air(antennas=5, normaliser="sum")):
        done = send(link, payload, weight, gain, parent, noise=3.0)
        truth = (weight[:, None] * symbol).sum(dim=0).repeat_interleave(40_000)
        error = 2 * (done.total[0, 0] - truth).square().mean()
        assert float(error) == pytest.approx(
            sum(float(note.values[0]) for k, note in done.notes.items() if not k.startswith("tx_power")), rel=0.03
        )
        mean = 2 * (done.total[0, 0].view(2, -1).mean(dim=1) - truth[::40_000]).square().mean()
        assert float(mean) == pytest.approx(float(done.notes["bias"].values), rel=0.03, abs=1e-3)


def test_the_power_of_a_vector_by_hand() -> None:
    """A constant change of 0.1 in each of 7850 numbers, sent with P = 2: |P delta|^2 = 4 * 7850 * 0.01 = 314. An odd
    number of them leaves the last symbol half empty; two blocks have twice as much."""
    gain, parent = torch.ones(1, 1, dtype=torch.float64), torch.zeros(1).long()
    for blocks, values in ((1, 7850), (1, 7849), (2, 7850)):
        payload = torch.full((1, blocks, values), 0.1)
        done = send(over_the_air(), payload, doubles(1), gain, parent, amplitude=doubles(2))
        assert done.notes["tx_power_vector"].values.tolist() == pytest.approx([0.04 * blocks * values])
        symbols = blocks * ((values + 1) // 2)
        assert done.notes["tx_power"].values.tolist() == pytest.approx([0.04 * blocks * values / symbols])


def over_density(
    n0: float, rate: float, unit: float, gain: float = 0.25, antennas: int = 10, draws: int = 40_000
) -> Delivery:
    """One sender with P = 1 of 40 000 symbols of size 0: its receiver hears noise alone."""
    link = over_the_air(antennas=antennas, symbol_rate_hz=rate, power_unit_w=unit)
    channel = ChannelState(torch.full((1, 1), gain, dtype=torch.float64), n0)
    x = exchange([0], channel=channel, message=Message(1, 2 * draws), alloc=everyone(1))
    payload = torch.zeros(1, 1, 2 * draws)
    delivery, _ = link.combine(x, link.plan(x, {}, Rng(0)), sent(x, payload, doubles(1)), {}, Rng(5))
    return delivery


def test_noise_of_an_estimate_follows_from_the_density() -> None:
    """N0 = 4e-9 W/Hz, 1 MHz, 1 mW a unit, beta = 1/4, K = 10: 4e-9 * 1e6 / (1e-3 * .25 * 10) = 1.6 a symbol."""
    done = over_density(4e-9, 1e6, 1e-3)
    assert float(done.notes["noise"].values) == pytest.approx(1.6)
    assert 2 * float(done.total.square().mean()) == pytest.approx(1.6, rel=0.03)
    assert over_the_air(symbol_rate_hz=1e6, power_unit_w=1e-3).noise(ChannelState(torch.ones(1, 1), 4e-9)) == 4.0


def test_joules_and_noise_are_one_physics() -> None:
    """Over a density, ten times the power at ten times the rate is the same energy a symbol: same error, same joules,
    a tenth of the time. Ten times the power alone is a tenth of the noise for ten times the joules. Where the ratio of
    noise to symbol is given, power and rate change joules (and seconds) and no error."""
    gain, parent, weight = torch.ones(1, 2, dtype=torch.float64), torch.zeros(2).long(), doubles(1, 1)
    payload = torch.randn(2, 1, 64, generator=Rng(15).torch())

    def run(rate: float, unit: float, **noise: float) -> tuple[Delivery, float]:
        link = over_the_air(symbol_rate_hz=rate, power_unit_w=unit)
        x = exchange(parent, channel=ChannelState(gain, **noise), message=Message(1, 64), alloc=everyone(2))
        airtime = link.plan(x, {}, Rng(0))
        assert airtime.tx_s is not None
        delivery, _ = link.combine(x, airtime, sent(x, payload, weight), {}, Rng(6))
        assert delivery.tx_j is not None
        return delivery, float(airtime.tx_s[0])

    (one, slow), (both, fast), (loud, _) = (run(1e6 * r, u, noise_w_hz=1e-6) for r, u in ((1, 1), (10, 10), (1, 10)))
    assert torch.equal(one.total, both.total)
    assert torch.allclose(one.tx_j, both.tx_j, rtol=1e-12)  # type: ignore[arg-type]
    assert slow == pytest.approx(10 * fast)
    assert float(loud.notes["noise"].values) == pytest.approx(float(one.notes["noise"].values) / 10)
    assert torch.allclose(loud.tx_j, 10 * one.tx_j)  # type: ignore[arg-type, operator]
    ratio, _ = run(1e6, 1.0, noise_symbol=1.0)
    other, _ = run(5e6, 20.0, noise_symbol=1.0)
    assert torch.equal(one.total, ratio.total)
    assert torch.equal(ratio.total, other.total)
    assert torch.allclose(other.tx_j, 4 * ratio.tx_j)  # type: ignore[arg-type, operator]


def test_a_density_needs_a_rate_and_a_unit() -> None:
    density = ChannelState(torch.ones(1, 1), 1e-9)
    assert "symbol_rate_hz and power_unit_w" in over_the_air().check(density)
    assert "link's power_unit_w" in over_the_air(symbol_rate_hz=1.0).check(density)
    assert over_the_air(symbol_rate_hz=1.0, power_unit_w=1.0).check(density) == ""
    assert over_the_air().check(ChannelState(torch.ones(1, 1), noise_symbol=1.0)) == ""
    assert "above 1e+12" in over_the_air(symbol_rate_hz=1e6, power_unit_w=1e-20).check(density)
