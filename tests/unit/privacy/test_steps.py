"""Steps of a request: who, what, octets, milliseconds."""

from fedradio.privacy.messages import Order
from fedradio.privacy.steps import Step, Walk, Walker


def test_a_walker_writes_steps_down() -> None:
    walker = Walker()
    order = Order(bytes(16), bytes(80))
    assert walker.local("5", "CSP", "tag to content", lambda: 7) == 7
    assert walker.send("6", "CSP", "ISP", "order", lambda: order) is order
    assert walker.send("7", "ISP", "BS", "+ temp", lambda: (3, order)) == (3, order)
    assert [(s.number, s.sender, s.receiver, s.octets) for s in walker.steps] == [
        ("5", "CSP", None, None),
        ("6", "CSP", "ISP", 96),
        ("7", "ISP", "BS", 96),
    ]
    assert all(step.ms >= 0 for step in walker.steps)


def test_sums_over_a_walk() -> None:
    steps = (Step("2", "UE", "BS", "request", 144, 0.5), Step("12", "UE", None, "opens", None, 0.25))
    walk = Walk(steps, hit=True, octets=10)
    assert walk.ms("UE") == 0.75
    assert walk.ms("BS") == 0
    assert walk.bits(("2", "12")) == 8 * 144
