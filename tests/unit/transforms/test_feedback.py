"""Error feedback: by hand, and nothing is ever lost."""

import torch
from support.exchanges import everyone, exchange, sent

from fedradio.core.contracts import Message
from fedradio.core.rng import Rng
from fedradio.transforms.feedback import ERROR, feedback
from fedradio.transforms.quantise import quantise
from fedradio.transforms.sparsify import largest, top_k


def test_by_hand() -> None:
    """v = (1, 3), top 1 behind it: owed (1, 0). Then (1, 1): sent as (2, 1), heard (2, 0), owed (0, 1). Then lost."""
    part, x = feedback(), exchange((0,), message=2)
    mine = {ERROR: torch.zeros(1, 1, 2)}
    heard, owed = [], []
    for v, arrives in (([1.0, 3.0], True), ([1.0, 1.0], True), ([5.0, 0.0], False)):
        coded = part.encode(x, sent(x, torch.tensor([[v]])), mine, Rng(0)).payload
        heard.append(largest(coded, 1).flatten().tolist())
        mine = part.keep(coded, largest(coded, 1), torch.tensor([arrives]), mine)
        owed.append(mine[ERROR].flatten().tolist())
    assert heard == [[0, 3], [2, 0], [5, 0]]
    assert owed == [[1, 0], [0, 1], [5, 1]]


def test_what_was_heard_and_what_is_owed_are_all_that_was_sent() -> None:
    """Fifty exchanges of four senders of which some take part, behind it top-k and quantisation, 30 % lost."""
    part, top, coarse = feedback(), top_k(share=0.1), quantise(bits=4)
    rng, size = Rng(2), 60
    memory = {name: rows.clone() for name, rows in part.start(4, Message(1, size)).items()}
    gone, heard = torch.zeros(4, 1, size), torch.zeros(4, 1, size)
    for n in range(50):
        draw = rng.child(n).numpy()
        active = draw.random(4) < 0.7
        ids = torch.from_numpy(active).nonzero().flatten()
        if not len(ids):
            continue
        x = exchange((0,) * 4, message=size, alloc=everyone(4, active=active.tolist()))
        payload = torch.from_numpy(draw.standard_normal((len(ids), 1, size))).float()
        mine = {name: rows[ids] for name, rows in memory.items()}
        coded = part.encode(x, sent(x, payload), mine, rng.child(n, 0)).payload
        rows = top.encode(x, sent(x, coded), {}, rng.child(n, 1)).payload
        rows = coarse.encode(x, sent(x, rows), {}, rng.child(n, 2)).payload
        arrived = torch.from_numpy(draw.random(len(ids)) < 0.7)
        kept = part.keep(coded, rows, arrived, mine)
        memory[ERROR].index_copy_(0, ids, kept[ERROR])
        gone.index_add_(0, ids, payload)
        heard.index_add_(0, ids, rows * arrived[:, None, None])
    left = gone - heard - memory[ERROR]
    assert float(left.norm() / gone.norm()) < 1e-5
    assert float(memory[ERROR].norm()) > 0


def test_blocks_that_both_sides_accumulate_are_left_alone() -> None:
    part, x = feedback(), exchange((0,), message=Message(2, 2, memory=frozenset({1})))
    mine = {ERROR: torch.ones(1, 2, 2)}
    coded = part.encode(x, sent(x, torch.zeros(1, 2, 2)), mine, Rng(0)).payload
    assert coded.tolist() == [[[1, 1], [0, 0]]]
    assert torch.equal(mine[ERROR], torch.ones(1, 2, 2))
