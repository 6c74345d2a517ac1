"""Control variates: diagnostics of their invariant ``c = sum_i w_i c_i``."""

from __future__ import annotations

from torch import Tensor

from fedradio.core.contracts import VARIATE, Memory
from fedradio.core.mapped import weighted_sum


def variate_measures(memory: Memory, mass: Tensor) -> dict[str, float]:
    """``variate_norm`` is ``|c|``, ``variate_error`` the violation of the invariant, ``|c - sum_i w_i c_i| / |c|`` with
    the shares ``w_i`` of ``mass [C]``: 0 but for rounding, unless the air adds noise."""
    c = memory.shared[VARIATE]
    share = (mass / mass.sum()).to(c)
    norm, gap = float(c.norm()), float((c - weighted_sum(share, memory.client[VARIATE])).norm())
    return {"variate_norm": norm, "variate_error": gap / norm if norm > 0 else gap}
