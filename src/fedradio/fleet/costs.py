"""Time and energy of computing and transmitting, in seconds and joules per sender ``[S]``.

The CMOS model that wireless federated learning uses: a task of ``n`` cycles at frequency ``f`` takes ``n / f``
seconds and ``zeta/2 * n * f^2`` joules (RawHFL, eqs. (10) and (11)); sending for ``tau`` seconds at power ``P`` takes
``P * tau`` joules (eq. (14)). Static and circuit powers add ``power * duration``.
"""

from __future__ import annotations

from torch import Tensor

from fedradio.core.contracts import Allocation, Fleet, View


def cycles_per_step(fleet: Fleet, sample_bits: float, samples_per_step: int, passes: float | Tensor) -> Tensor:
    """CPU cycles of one local step, ``n * nbar * c_u * D_u`` of eq. (10), times training passes per sample."""
    return fleet.cycles_per_bit * (sample_bits * samples_per_step * passes)


def compute_s(cycles: Tensor, cpu_hz: Tensor) -> Tensor:
    """Computing time of a task of ``cycles`` (10); 0 for a sender without work."""
    return (cycles / cpu_hz).where(cycles > 0, 0.0)


def ready_s(view: View, alloc: Allocation) -> Tensor | None:
    """Seconds ``[S]`` from the receiver's last broadcast until each sender's payload is ready; None where undefined."""
    if view.hop > 0:
        return view.elapsed_s
    if view.cycles_per_step is None or alloc.cpu_hz is None:
        return None
    return compute_s(view.cycles_per_step * alloc.steps, alloc.cpu_hz)


def compute_j(fleet: Fleet, cycles: Tensor, cpu_hz: Tensor) -> Tensor:
    """Computing energy of a task of ``cycles`` (11), with the CPU's static power while it runs."""
    return 0.5 * fleet.capacitance * cycles * cpu_hz**2 + fleet.cpu_static_w * compute_s(cycles, cpu_hz)


def transmit_j(fleet: Fleet, power_w: Tensor, tx_s: Tensor) -> Tensor:
    """Transmit energy (14), with the circuit's power while the sender is on the air."""
    return (power_w + fleet.circuit_w) * tx_s
