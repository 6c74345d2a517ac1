"""Contracts: every value type and Protocol that parts share. Read this package first.

One experiment is a product of independent parts; one round is a function ``(parts, state) -> (state, records)``.
Every per-client quantity is a tensor whose first axis is the client. A model is a flat vector ``w [d]``.

Letters: ``C`` clients, ``S`` senders and ``R`` receivers of a hop, ``A`` active senders (compact rows, their numbers
in ``ids [A]``), ``k`` payload blocks, ``d`` shared parameters, ``T`` updates, ``B`` samples of a mini-batch.
Everything is linear SI; a name carries its unit (``_s _j _w _hz _m _bits``). ``None`` means *not defined by this part*
(seconds without a clock, joules without a fleet) and is never replaced by 0.
"""

from typing import TYPE_CHECKING

from fedradio.core.lazy import lazy

if TYPE_CHECKING:
    from fedradio.core.contracts.algorithm import Algorithm, Ensemble, Info, Memory, Pooling, Work
    from fedradio.core.contracts.data import Batches, Fetch, Picks, Samples, Stream, Tapes, TestSet
    from fedradio.core.contracts.learning import Backend, LocalRule, Model, Objective, Schedule, Start, Trained
    from fedradio.core.contracts.radio import (
        Airtime,
        Allocation,
        Channel,
        ChannelState,
        Clock,
        Delivery,
        Fleet,
        Hop,
        Link,
        Policy,
        RateLink,
        Slots,
        Topology,
        View,
    )
    from fedradio.core.contracts.reasons import Reason
    from fedradio.core.contracts.records import ExchangeRecord, RoundRecord, SimState

__all__ = [
    "Airtime",
    "Algorithm",
    "Allocation",
    "Backend",
    "Batches",
    "Channel",
    "ChannelState",
    "Clock",
    "Delivery",
    "Ensemble",
    "ExchangeRecord",
    "Fetch",
    "Fleet",
    "Hop",
    "Info",
    "Link",
    "LocalRule",
    "Memory",
    "Model",
    "Objective",
    "Picks",
    "Policy",
    "Pooling",
    "RateLink",
    "Reason",
    "RoundRecord",
    "Samples",
    "Schedule",
    "SimState",
    "Slots",
    "Start",
    "Stream",
    "Tapes",
    "TestSet",
    "Topology",
    "Trained",
    "View",
    "Work",
]

__getattr__ = lazy(
    __name__,
    {
        "Airtime": "fedradio.core.contracts.radio",
        "Algorithm": "fedradio.core.contracts.algorithm",
        "Allocation": "fedradio.core.contracts.radio",
        "Backend": "fedradio.core.contracts.learning",
        "Batches": "fedradio.core.contracts.data",
        "Channel": "fedradio.core.contracts.radio",
        "ChannelState": "fedradio.core.contracts.radio",
        "Clock": "fedradio.core.contracts.radio",
        "Delivery": "fedradio.core.contracts.radio",
        "Ensemble": "fedradio.core.contracts.algorithm",
        "ExchangeRecord": "fedradio.core.contracts.records",
        "Fetch": "fedradio.core.contracts.data",
        "Fleet": "fedradio.core.contracts.radio",
        "Hop": "fedradio.core.contracts.radio",
        "Info": "fedradio.core.contracts.algorithm",
        "Link": "fedradio.core.contracts.radio",
        "LocalRule": "fedradio.core.contracts.learning",
        "Memory": "fedradio.core.contracts.algorithm",
        "Model": "fedradio.core.contracts.learning",
        "Objective": "fedradio.core.contracts.learning",
        "Picks": "fedradio.core.contracts.data",
        "Policy": "fedradio.core.contracts.radio",
        "Pooling": "fedradio.core.contracts.algorithm",
        "RateLink": "fedradio.core.contracts.radio",
        "Reason": "fedradio.core.contracts.reasons",
        "RoundRecord": "fedradio.core.contracts.records",
        "Samples": "fedradio.core.contracts.data",
        "Schedule": "fedradio.core.contracts.learning",
        "SimState": "fedradio.core.contracts.records",
        "Slots": "fedradio.core.contracts.radio",
        "Start": "fedradio.core.contracts.learning",
        "Stream": "fedradio.core.contracts.data",
        "Tapes": "fedradio.core.contracts.data",
        "TestSet": "fedradio.core.contracts.data",
        "Topology": "fedradio.core.contracts.radio",
        "Trained": "fedradio.core.contracts.learning",
        "View": "fedradio.core.contracts.radio",
        "Work": "fedradio.core.contracts.algorithm",
    },
)
