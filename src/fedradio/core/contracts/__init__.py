"""READ FIRST: every value type and Protocol of the house.

One experiment is a product of independent parts; one round is a function ``(parts, state) -> (state, records)``.
Every per-client quantity is a tensor whose first axis is the client. A model is a flat vector ``w [d]``.

Letters: ``C`` clients, ``S`` senders and ``R`` receivers of a hop, ``A`` active senders (compact rows, their numbers
in ``ids [A]``), ``k`` payload blocks, ``d`` shared parameters, ``T`` updates, ``B`` samples of a mini-batch.
Everything is linear SI; a name carries its unit (``_s _j _w _hz _m _bits``). ``None`` means *not defined by this part*
(seconds without a clock, joules without a fleet) and is never replaced by 0.
"""

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
    Reason,
    Slots,
    Topology,
    View,
)
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
