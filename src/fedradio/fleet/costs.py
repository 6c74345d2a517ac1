"""Time and energy of a sender in one exchange, in seconds and joules per sender ``[S]``.

The energy of a sender that computes ``n`` cycles at frequency ``f``, sends for ``tau`` seconds at power ``P`` and waits
for the end of the exchange is

``E = zeta/2 n f^2 + P_static n / f + tau (P / eta + P_circuit) + P_idle t_wait``.

The CMOS model of the first term is the one that wireless federated learning uses (RawHFL, eqs. (10) and (11)); sending
takes ``P tau`` in the papers (eq. (14)), which is the case ``eta = 1``, ``P_circuit = 0``. A sender that does not take
part uses nothing.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from fedradio.core.contracts import Allocation, Fleet, View


def cycles_per_step(fleet: Fleet, sample_bits: float, samples_per_step: int, passes: float | Tensor) -> Tensor:
    """CPU cycles of one local step, ``n * nbar * c_u * D_u`` of eq. (10), times training passes per sample."""
    return fleet.cycles_per_bit * (sample_bits * samples_per_step * passes)


def compute_s(cycles: Tensor, cpu_hz: Tensor) -> Tensor:
    """Computing time of a task of ``cycles`` (10); 0 for a sender without work."""
    return (cycles / cpu_hz).where(cycles > 0, 0.0)


def ready_s(view: View, alloc: Allocation) -> Tensor | None:
    """Seconds ``[S]`` from the receiver's last broadcast until each sender's payload is ready; None where undefined.

    A client computes once it has the model; a client that the broadcast did not reach is not waited for.
    """
    if view.hop > 0:
        return view.elapsed_s
    if view.cycles_per_step is None or alloc.cpu_hz is None:
        return None
    computing_s = compute_s(view.cycles_per_step * alloc.steps, alloc.cpu_hz)
    return computing_s if view.down is None else computing_s + view.down.start_s.where(view.down.reached, 0.0)


def compute_j(fleet: Fleet, cycles: Tensor, cpu_hz: Tensor) -> Tensor:
    """Computing energy of a task of ``cycles`` (11), with the CPU's static power while it runs."""
    return 0.5 * fleet.capacitance * cycles * cpu_hz**2 + fleet.cpu_static_w * compute_s(cycles, cpu_hz)


def transmit_j(fleet: Fleet, radiated_j: Tensor, tx_s: Tensor) -> Tensor:
    """Energy of sending ``radiated_j`` in ``tx_s`` seconds on the air: the amplifier's, and the circuit's."""
    amplifier_j = radiated_j / fleet.pa_efficiency
    return amplifier_j + fleet.circuit_w * tx_s if fleet.circuit_w else amplifier_j


def wait_j(fleet: Fleet, seconds: Tensor) -> Tensor:
    """Energy of waiting for the end of an exchange, ``P_idle t``; 0 where the exchange has ended already."""
    return fleet.idle_w * seconds.clamp(min=0.0)


def sender_j(
    fleet: Fleet, cycles: Tensor, cpu_hz: Tensor, power_w: Tensor, tx_s: Tensor, end_s: float | Tensor
) -> Tensor:
    """Energy of senders that compute, send for ``tx_s`` seconds, and wait until ``end_s``."""
    waiting_s = end_s - compute_s(cycles, cpu_hz) - tx_s
    active_j = compute_j(fleet, cycles, cpu_hz) + transmit_j(fleet, power_w * tx_s, tx_s)
    return active_j + wait_j(fleet, waiting_s)


def beyond_idle(fleet: Fleet) -> Fleet:
    """The same devices with powers counted from ``idle_w`` on.

    A sender that ends in time computes, sends or waits at every moment until the deadline ``T``. So its energy is
    ``idle_w T`` plus the energy of these devices, which do not draw power while they wait.
    """
    return replace(
        fleet,
        circuit_w=fleet.circuit_w - fleet.idle_w,
        cpu_static_w=fleet.cpu_static_w - fleet.idle_w,
        idle_w=0.0,
    )
