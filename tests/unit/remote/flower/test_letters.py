"""Letters: there and back, and what is refused."""

import json

import pytest
import torch

from fedradio.remote.flower.letters import SPARE, Letter, LetterError, most_bytes

LETTER = Letter({"client": 2, "loss": 0.5, "who": "me"}, {"payload": torch.arange(6.0).view(2, 3)})


def test_there_and_back() -> None:
    back = Letter.unpack(LETTER.pack())
    assert back.head == LETTER.head
    assert torch.equal(back.body["payload"], LETTER.body["payload"])
    assert (back.whole("client"), back.number("loss"), back.text("who")) == (2, 0.5, "me")
    assert len(LETTER.pack()) < most_bytes((2, 3)) == 24 + SPARE


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x00",
        b"\x00\x00\x00\x00",
        b"\xff\xff\xff\xff" + b"x" * 100,
        b"\x00\x00\x00\x02{}",
        b"\x00\x00\x00\x02[]" + LETTER.pack()[-60:],
        b"\x00\x00\x00\x0b" + b'{"a":  NaN}' + b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ",
        LETTER.pack()[:-3],
    ],
)
def test_no_letter(data: bytes) -> None:
    with pytest.raises(LetterError):
        Letter.unpack(data)


@pytest.mark.parametrize(
    ("name", "value"),
    [("number", "1"), ("number", True), ("whole", 1.0), ("whole", False), ("text", 3), ("numbers", {"a": "b"})],
)
def test_heads_of_another_type(name: str, value: object) -> None:
    with pytest.raises(LetterError, match="is no"):
        getattr(Letter({"x": value}, {}), name)("x")


def test_infinite_numbers_are_not_even_written() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        Letter({"loss": float("nan")}, {}).pack()
    assert json.loads(LETTER.pack()[4:].split(b"}")[0] + b"}")["client"] == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "contains nothing"),
        ({"payload": torch.zeros(2, 3), "more": torch.zeros(1)}, "contains more, payload"),
        ({"payload": torch.zeros(3, 2)}, r"of shape \(3, 2\)"),
        ({"payload": torch.zeros(2, 3).double()}, "float64"),
        ({"payload": torch.full((2, 3), torch.inf)}, "NaN or infinity"),
    ],
)
def test_bodies_that_are_not_expected(body: dict[str, torch.Tensor], reason: str) -> None:
    with pytest.raises(LetterError, match=reason):
        Letter({}, body).expect({"payload": (2, 3)})
    LETTER.expect({"payload": (2, 3)})
