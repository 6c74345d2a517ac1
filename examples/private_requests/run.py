"""Private requests: RawHFL's request protocol (Fig. 2) with real cryptography.

Prints the messages of two requests, who has seen what of the second one, and which attacks are refused.

Run: python examples/private_requests/run.py (a second; needs pip install 'cryptography>=50')
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass

from ciphers import CHUNK, TAG_OCTETS
from parties import Message, Refusal, Refused
from service import Service, ask, who_has_seen

from fedradio.papers.protocol import FACTS, PARTIES, Party, request_steps

Earlier = dict[str, Message]
"""Messages of an earlier request, by the number of their step."""


@dataclass(frozen=True)
class Attack:
    """What an attacker does to the message of one step, and the refusal that it must meet."""

    about: str
    step: str
    change: Callable[[Message, Earlier], Message]
    party: Party
    reason: Refusal
    new_epoch: bool = False


def replace(name: str, value: Callable[[bytes], bytes]) -> Callable[[Message, Earlier], Message]:
    """Change one field of the message."""
    return lambda message, _: Message(message.number, message.fields | {name: value(message[name])})


def borrow(name: str) -> Callable[[Message, Earlier], Message]:
    """Take one field from the earlier message of the same step."""
    return lambda message, earlier: Message(message.number, message.fields | {name: earlier[message.number][name]})


def replay(message: Message, earlier: Earlier) -> Message:
    """Send the earlier message of the same step again."""
    return earlier[message.number]


def flip(octets: bytes) -> bytes:
    """Flip one bit."""
    return octets[:-1] + bytes([octets[-1] ^ 1])


def forge(octets: bytes) -> bytes:
    """Random octets."""
    return os.urandom(len(octets))


def swap_chunks(payload: bytes) -> bytes:
    step = CHUNK + TAG_OCTETS
    return payload[step : 2 * step] + payload[:step] + payload[2 * step :]


def drop_last_chunk(payload: bytes) -> bytes:
    return payload[: 2 * (CHUNK + TAG_OCTETS)]


R = Refusal
ATTACKS = (
    Attack("request under an unknown name", "3", replace("temporary_name", forge), "ISP", R.UNKNOWN_NAME),
    Attack("one bit of the request flipped", "3", replace("request", flip), "ISP", R.WRONG_MAC),
    Attack("request with a forged mac", "3", replace("mac", forge), "ISP", R.WRONG_MAC),
    Attack("request sent again", "3", replay, "ISP", R.OLD_COUNT),
    Attack("one bit of the sealed request flipped", "4", replace("request", flip), "CSP", R.ALTERED_REQUEST),
    Attack("sealed request cut off", "4", replace("request", lambda r: r[:20]), "CSP", R.ALTERED_REQUEST),
    Attack("request under a second ticket", "4", borrow("request"), "CSP", R.SEEN_REQUEST),
    Attack("request held back until the next epoch", "4", borrow("request"), "CSP", R.OTHER_EPOCH, new_epoch=True),
    Attack("order under a forged ticket", "6", replace("ticket", forge), "ISP", R.UNKNOWN_TICKET),
    Attack("order under a used ticket", "6", borrow("ticket"), "ISP", R.UNKNOWN_TICKET),
    Attack("order under another request's ticket", "8", borrow("ticket"), "ES", R.ALTERED_ORDER),
    Attack("one bit of the order flipped", "8", replace("order", flip), "ES", R.ALTERED_ORDER),
    Attack("order sent again", "8", replay, "ES", R.SEEN_ORDER),
    Attack("one bit of the fetch flipped", "9c", replace("fetch", flip), "CSP", R.ALTERED_FETCH),
    Attack("fetch sent again", "9c", replay, "CSP", R.SEEN_FETCH),
    Attack("file of an earlier fetch", "9d", replay, "ISP", R.UNKNOWN_FETCH),
    Attack("last chunk of a fetched file dropped", "9f", replace("file", drop_last_chunk), "ES", R.ALTERED_FILE),
    Attack("payload of another request", "11", replay, "UE", R.ALTERED_FILE),
    Attack("two chunks of the payload swapped", "11", replace("payload", swap_chunks), "UE", R.ALTERED_FILE),
    Attack("last chunk of the payload dropped", "11", replace("payload", drop_last_chunk), "UE", R.ALTERED_FILE),
    Attack("one bit of the payload flipped", "11", replace("payload", flip), "UE", R.ALTERED_FILE),
    Attack("payload without any chunk", "11", replace("payload", lambda _: b""), "UE", R.ALTERED_FILE),
    Attack("payload charged to a used ticket", "$", replay, "ISP", R.UNKNOWN_TICKET),
)


def attempt(attack: Attack, *, hybrid: bool = False, tags_in_clear: bool = False) -> Refused | None:
    """The refusal that an attack meets in a service of its own; None if nobody refuses."""
    files = (bytes(CHUNK), bytes(2 * CHUNK + 100))
    service = Service.start([0], files, hybrid=hybrid, tags_in_clear=tags_in_clear)
    earlier = {message.number: message for message in ask(service, 0, 0).messages}
    if attack.new_epoch:
        service.new_epoch()

    def wire(message: Message) -> Message:
        return attack.change(message, earlier) if message.number == attack.step else message

    try:
        ask(service, 0, 1, wire)
    except Refused as refused:
        return refused
    return None


def show_messages(service: Service, *, hybrid: bool, tags_in_clear: bool) -> None:
    """The messages of a miss and of a hit."""
    steps = {step.number: step for step in request_steps(hybrid=hybrid, tags_in_clear=tags_in_clear)}
    for client in (0, 1):
        service.clear_transcripts()
        done = ask(service, client, 1)
        print(f"client {client} requests content 1: {'hit' if done.hit else 'miss'}, file of {len(done.file):,} octets")
        for message in done.messages:
            step = steps[message.number]
            print(f"{step.number:>4}  {step.sender:>3} -> {step.receiver:3}  {step.about:26}{message.octets:12,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hybrid", action="store_true", help="seal requests to ML-KEM-768 and X25519")
    parser.add_argument("--tags-in-clear", action="store_true", help="leave tags outside of the sealed requests")
    options = vars(parser.parse_args())
    service = Service.start([0, 0, 1], [os.urandom(1_000_000) for _ in range(3)], **options)
    show_messages(service, **options)
    print(f"\n{'seen or computed by':24}", *(f"{party:>4}" for party in PARTIES))
    for fact, parties in who_has_seen(service, 1).items():
        print(f"{FACTS[fact]:24}", *("{:>4}".format("yes" if party in parties else "-") for party in PARTIES))
    print(f"\n{'attack':42}refused by")
    outcomes = [attempt(attack, **options) for attack in ATTACKS]
    for attack, refused in zip(ATTACKS, outcomes, strict=True):
        print(f"{attack.about:42}{'NOBODY' if refused is None else f'{refused.party:5}{refused.reason.value}'}")
    print(f"{sum(outcome is not None for outcome in outcomes)} of {len(ATTACKS)} attacks refused")


if __name__ == "__main__":
    main()
