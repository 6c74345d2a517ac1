"""A subscriber's device (UE): asks for contents by their tags and opens the payloads."""

from __future__ import annotations

from dataclasses import dataclass, field

from fedradio.privacy.messages import OCTETS, KeyNotice, Payload, UplinkRequest
from fedradio.privacy.network_side import sim_code
from fedradio.privacy.padding import Padding, unpad
from fedradio.privacy.payload import decrypt
from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.sealing import PublicKey, Suite
from fedradio.privacy.secret import KEY_OCTETS, SYSTEM, Draw, Secret
from fedradio.privacy.tags import EPOCH_OCTETS, TAG_OCTETS, EpochKey, number, unwrap
from fedradio.privacy.views import View

REQUEST = b"request"
"""What the seal of a request is bound to."""

REQUEST_NONCE = 16


@dataclass(frozen=True)
class Sealing:
    """How requests are sealed: the suite, the provider's public key, and whether the tag stays outside.

    ``sealed = HPKE(epoch 4, tag 16, nonce 16, payload key 32)``; with ``tags_only`` it is ``epoch, tag, HPKE(nonce,
    payload key)``, as one may read the paper's "encrypted temporal tag ID". Both have the same length.
    """

    suite: Suite
    public: PublicKey = field(repr=False)
    tags_only: bool = False

    def seal(self, epoch: bytes, tag: bytes, rest: bytes) -> bytes:
        if self.tags_only:
            return epoch + tag + self.suite.seal(rest, self.public, REQUEST + epoch + tag)
        return self.suite.seal(epoch + tag + rest, self.public, REQUEST)


@dataclass(repr=False)
class Device:
    """The UE of a subscriber: SIM key (shared with the ISP), account key (with the CSP), key of the present epoch."""

    subscriber: int
    cell: int
    temp: bytes
    sim: Secret
    account: Secret
    sealing: Sealing
    padding: Padding = "none"
    draw: Draw = SYSTEM
    view: View = field(default_factory=lambda: View("UE"))
    epoch: EpochKey | None = None
    _count: int = 0
    _asked: tuple[bytes, Secret] | None = None

    def take_key(self, notice: KeyNotice) -> None:
        """The key of a new epoch from the provider's notice; an older one is refused."""
        self.view.saw(notice)
        key = unwrap(notice.notice, self.account, self.view.party)
        if self.epoch is not None and key.epoch <= self.epoch.epoch:
            raise Refused(self.view.party, Refusal.OLD_KEY)
        self.epoch = key

    def tag(self, content: int) -> bytes:
        """Step 1: the tag of a content in the present epoch."""
        if self.epoch is None:
            raise Refused(self.view.party, Refusal.OTHER_EPOCH)
        tag = self.epoch.tag(content)
        self.view.knows(subscriber=self.subscriber, bs=self.cell, content=content, tag=tag, epoch_key=self.epoch.key)
        return tag

    def ask(self, tag: bytes) -> UplinkRequest:
        """Step 2: a request with a fresh nonce and a fresh payload key, sealed to the provider."""
        if self.epoch is None:
            raise Refused(self.view.party, Refusal.OTHER_EPOCH)
        nonce, key = self.draw(REQUEST_NONCE), Secret.new(self.draw)
        self._asked = (nonce, key)
        sealed = self.sealing.seal(number(self.epoch.epoch, EPOCH_OCTETS), tag, nonce + key.reveal())
        count = number(self._count, OCTETS["count"])
        self._count += 1
        self.view.knows(payload_key=key)
        return self.view.saw(UplinkRequest(self.temp, count, sealed, sim_code(self.sim, count, sealed)))

    def open(self, answer: Payload) -> bytes:
        """Step 12: the file. After the first answer that opens nothing is asked any more; a second one is refused."""
        self.view.saw(answer)
        if self._asked is None:
            raise Refused(self.view.party, Refusal.NOTHING_ASKED)
        nonce, key = self._asked
        padded = decrypt(answer.payload, key, nonce, self.view.party)
        try:
            data = unpad(padded, self.padding)
        except ValueError:
            raise Refused(self.view.party, Refusal.ALTERED_PAYLOAD) from None
        self._asked = None
        self.view.knows(octets_sent=len(answer.payload))
        return data

    def __repr__(self) -> str:
        return f"Device({self.subscriber})"


@dataclass(frozen=True, repr=False)
class Opened:
    """A request as the provider reads it."""

    epoch: int
    tag: bytes
    nonce: bytes
    key: Secret

    @classmethod
    def of(cls, text: bytes) -> Opened:
        """From ``epoch 4, tag 16, nonce 16, payload key 32``; ``ValueError`` for another length."""
        head, middle = EPOCH_OCTETS + TAG_OCTETS, EPOCH_OCTETS + TAG_OCTETS + REQUEST_NONCE
        if len(text) != middle + KEY_OCTETS:
            raise ValueError("not a request")
        epoch = int.from_bytes(text[:EPOCH_OCTETS], "big")
        return cls(epoch, text[EPOCH_OCTETS:head], text[head:middle], Secret(text[middle:]))

    def __repr__(self) -> str:
        return "Opened(...)"
