"""Messages: what is sent, counted before it exists."""

from fedradio.core.contracts import Message


def test_numbers_and_bits_by_hand() -> None:
    """Two blocks of 10 numbers at 33 bits; 3 numbers of each at 8 bits with 12 bits beside them: 2*3*8 + 12 = 60."""
    plain = Message(2, 10)
    assert (plain.values, plain.bits(33)) == (20, 660)
    coded = Message(2, 10, sent=3, value_bits=8, side_bits=12)
    assert (coded.values, coded.bits(33)) == (6, 60)
    assert Message(2, 10, side_bits=12).bits(33) == 672
