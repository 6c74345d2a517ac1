"""A real code of coded payloads, bit by bit: what a sender would put on the link, and how it is read back.

A block is its scale (32 bits of a float), the places of its numbers where only some are sent (each as a number, or as a
bitmap where that is shorter), and the numbers: a sign and a level.
"""

from __future__ import annotations

import math
import struct

import torch
from torch import Tensor


def packed(row: Tensor, bits: int, number: int | None = None) -> str:
    """The bits of a quantised payload ``[k, d]`` of which ``number`` values a block are sent, as text of 0 and 1."""
    return "".join(_block(block, bits, number) for block in row)


def bits_of(row: Tensor, bits: int, number: int | None = None) -> int:
    return len(packed(row, bits, number))


def unpacked(text: str, blocks: int, size: int, bits: int, number: int | None = None) -> Tensor:
    """The payload of such a text."""
    rows = torch.zeros(blocks, size)
    for block in range(blocks):
        scale, text = _float(text[:32]), text[32:]
        places, text = _places(text, size, number)
        for place in places:
            sign, level, text = text[0], int(text[1:bits], 2), text[bits:]
            value = torch.tensor(scale, dtype=torch.float64) / (2 ** (bits - 1) - 1) * level
            rows[block, place] = float(-value if sign == "1" else value)
    assert text == ""
    return rows


def _block(block: Tensor, bits: int, number: int | None) -> str:
    levels, scale = 2 ** (bits - 1) - 1, float(block.abs().max())
    size = len(block)
    places = list(range(size)) if number is None else _chosen(block, number)
    code = format(struct.unpack(">I", struct.pack(">f", scale))[0], "032b")
    if number is not None:
        width = max(1, math.ceil(math.log2(size)))
        listed = "".join(format(place, f"0{width}b") for place in places)
        bitmap = "".join("1" if place in places else "0" for place in range(size))
        code += listed if number * width <= size else bitmap
    for place in places:
        value = float(block[place])
        level = round(abs(value) / scale * levels) if scale else 0
        code += ("1" if value < 0 else "0") + format(level, f"0{bits - 1}b")
    return code


def _chosen(block: Tensor, number: int) -> list[int]:
    """The places of the numbers that are not 0, filled up with zeros."""
    order = sorted(range(len(block)), key=lambda place: (float(block[place]) == 0.0, place))
    return sorted(order[:number])


def _places(text: str, size: int, number: int | None) -> tuple[list[int], str]:
    if number is None:
        return list(range(size)), text
    width = max(1, math.ceil(math.log2(size)))
    if number * width <= size:
        end = number * width
        return [int(text[at : at + width], 2) for at in range(0, end, width)], text[end:]
    return [place for place in range(size) if text[place] == "1"], text[size:]


def _float(text: str) -> float:
    value: float = struct.unpack(">f", struct.pack(">I", int(text, 2)))[0]
    return value
