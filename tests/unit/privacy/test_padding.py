"""Padded sizes: cases by hand, the bound of Padme, files that come back."""

import pytest

from fedradio.privacy.padding import PADDINGS, pad, padded_size, padme, unpad


def test_sizes_by_hand() -> None:
    assert [padme(size) for size in (0, 1, 2, 8, 9, 10, 100, 1000, 1025)] == [0, 1, 2, 8, 10, 10, 104, 1024, 1088]
    assert [padded_size(size, "power_of_two", 0) for size in (0, 1, 7, 8, 9)] == [1, 2, 8, 16, 16]
    assert padded_size(9, "padme", 0) == 10
    assert padded_size(9, "none", 50) == 9
    assert padded_size(9, "largest", 50) == 51


def test_padme_costs_at_most_twelve_per_cent() -> None:
    sizes = [*range(1, 5000), 10**6 + 1, 2**24 + 1]
    assert all(size <= padme(size) <= 1.12 * size + 1 for size in sizes)
    assert all(padme(padme(size)) == padme(size) for size in sizes)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("data", [b"", b"a", b"zeros \0\0", b"\x80", bytes(300)])
def test_files_come_back(padding: str, data: bytes) -> None:
    padded = pad(data, padding, 300)  # type: ignore[arg-type]
    assert len(padded) == padded_size(len(data), padding, 300)  # type: ignore[arg-type]
    assert unpad(padded, padding) == data  # type: ignore[arg-type]


def test_a_text_without_the_mark_is_no_padded_file() -> None:
    for text in (b"", b"abc", bytes(8)):
        with pytest.raises(ValueError, match="the end of the file is missing"):
            unpad(text, "padme")
