"""A device that misbehaves as it is told: ``device.py ADDRESS CLIENT KEY CA STATE PLAN``, where PLAN is JSON with what
happens in which exchange: ``{"1": "nan", "2": "late"}``. Everything else is a real device's."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import torch

from fedradio.remote.flower.extra import need_flower
from fedradio.remote.flower.keys import load_node_key
from fedradio.remote.flower.letters import Letter
from fedradio.remote.flower.trainer import Trainer

LATE_S = 36.0


def twisted(what: str, reply: bytes, first: bytes) -> bytes:
    """A reply after something was done to it."""
    letter = Letter.unpack(reply)
    payload = letter.body["payload"]
    if what == "late":
        time.sleep(LATE_S)
        return reply
    if what == "replay":
        return first
    if what == "noise":
        return os.urandom(5000)
    changed = {
        "nan": payload * torch.nan,
        "shape": payload[:, :-3].contiguous(),
        "large": payload.repeat(1, 3).contiguous(),
    }[what]
    return Letter(letter.head, {"payload": changed}).pack()


def main() -> None:
    address, client, key, ca, state, plan = sys.argv[1:]
    need_flower("device")
    from fedradio.remote.flower.node import Node

    Path(state).mkdir(parents=True, exist_ok=True)
    trainer, actions, uploads = Trainer(int(client), None, Path(state)), json.loads(plan), list[bytes]()

    def answer(data: bytes) -> bytes:
        head = Letter.unpack(data).head
        what = actions.get(str(head.get("n"))) if head["ask"] == "train" else None
        if what == "die":
            os._exit(9)
        reply = trainer.answer(data)
        if head["ask"] == "train":
            uploads.append(reply)
        return reply if what is None else twisted(what, reply, uploads[0])

    with Node(address, Path(ca), load_node_key(Path(key)), 600.0, print) as node:
        node.serve(answer, lambda: trainer.closed is not None)


if __name__ == "__main__":
    main()
