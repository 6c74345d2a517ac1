"""Padded sizes of payloads: how many octets an edge server sends in place of a file's own.

``padme`` rounds a size ``L`` up to one whose ``E - S`` low bits are 0, ``E = floor(log2 L)``, ``S = floor(log2 E) + 1``
(Nikitin et al., "Reducing metadata leakage from encrypted files and communication with PURBs", 2019): at most 12 %
more. ``power_of_two`` rounds up to one; ``largest`` makes all sizes that of the largest file. By hand: ``padme(9)`` is
10, since E = 3, S = 2 and one low bit is cleared.
"""

from __future__ import annotations

from typing import Literal, get_args

Padding = Literal["none", "padme", "power_of_two", "largest"]
PADDINGS: tuple[Padding, ...] = get_args(Padding)

MARK = b"\x80"
"""Ends a padded file; zeros follow (ISO/IEC 7816-4)."""


def padme(size: int) -> int:
    """The padded size of a text of ``size`` octets; those below 2 stay."""
    if size < 2:
        return size
    exponent = size.bit_length() - 1
    kept = exponent.bit_length()  # floor(log2 E) + 1 bits, which is 0 for E = 0
    low = max(exponent - kept, 0)
    return -(-size >> low) << low


def padded_size(size: int, padding: Padding, largest: int) -> int:
    """Octets that are sent for a file of ``size`` octets, the mark of the padding included."""
    if padding == "none":
        return size
    if padding == "padme":
        return padme(size + 1)
    if padding == "power_of_two":
        return 1 << size.bit_length()  # the lowest above size
    return largest + 1


def pad(data: bytes, padding: Padding, largest: int) -> bytes:
    """The file with mark and zeros behind it."""
    if padding == "none":
        return data
    return data + MARK + bytes(padded_size(len(data), padding, largest) - len(data) - 1)


def unpad(data: bytes, padding: Padding) -> bytes:
    """The file without mark and zeros; ``ValueError`` where there is no mark."""
    if padding == "none":
        return data
    found = data.rstrip(b"\0")
    if not found.endswith(MARK):
        raise ValueError("the end of the file is missing")
    return found[:-1]
