"""What a party of the protocol refuses, and why."""

from __future__ import annotations

from enum import Enum

from fedradio.core.errors import FedradioError


class Refusal(Enum):
    """Reason of a refusal; the value is what people read."""

    UNKNOWN_TEMP = "unknown temporary name"
    WRONG_MAC = "wrong code of the SIM key"
    OLD_COUNT = "count not above the last one"
    UNKNOWN_TICKET = "unknown or spent ticket"
    ALTERED_SEALED = "sealed request cannot be opened"
    SEEN_NONCE = "request seen before"
    OTHER_EPOCH = "tag of another epoch"
    UNKNOWN_TAG = "tag of no content"
    ALTERED_ORDER = "order altered, or under another ticket"
    SEEN_ORDER = "order seen before"
    ALTERED_FETCH = "fetch altered, or under another name"
    SEEN_FETCH = "fetch seen before"
    UNKNOWN_CONTENT = "content not in the catalogue"
    EMPTY_PAYLOAD = "payload without a chunk"
    ALTERED_PAYLOAD = "payload altered, reordered or cut"
    NOTHING_ASKED = "no request is open"
    ALTERED_KEY = "key of an epoch altered, or of another account"
    OLD_KEY = "key of an epoch not after the present one"
    MALFORMED = "field of another length"


class Refused(FedradioError):
    """A party refuses what it was sent; ``party`` and ``refusal`` say who and why, and nothing of what it holds."""

    def __init__(self, party: str, refusal: Refusal) -> None:
        self.party = party
        self.refusal = refusal
        super().__init__(f"{party} refuses: {refusal.value}")
