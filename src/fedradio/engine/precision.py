"""Mixed precision: forward pass and loss of training in bfloat16, parameters and everything else in float32."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

from fedradio.core.contracts import Precision

CPU_INFO = Path("/proc/cpuinfo")

BF16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""Names of bfloat16 units in Linux's list of processor features: of AMD and Intel, and of ARM."""


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """A context for one forward pass; it changes nothing with ``float32``.

    Note: autocast keeps bfloat16 copies of the parameters until the context ends. The context must end before the
    parameters are updated in place.
    """
    return nullcontext() if precision == "float32" else torch.autocast(device.type, torch.bfloat16)


def has_bf16_units(device: torch.device, cpu_info: Path = CPU_INFO) -> bool:
    """Whether the device multiplies bfloat16 numbers in hardware; False if the processor's features are unknown."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    try:
        words = cpu_info.read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return False
    return not BF16_FLAGS.isdisjoint(words)
