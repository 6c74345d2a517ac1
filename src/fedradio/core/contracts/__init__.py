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
    from fedradio.core.contracts.algorithm import (
        MODEL as MODEL,
        VARIATE as VARIATE,
        Algorithm as Algorithm,
        ClientSide as ClientSide,
        Cohort as Cohort,
        Ensemble as Ensemble,
        Held as Held,
        Info as Info,
        Ledger as Ledger,
        Merged as Merged,
        Normalise as Normalise,
        Pooling as Pooling,
        Phased as Phased,
        Pools as Pools,
        Publishes as Publishes,
        ReceiverSide as ReceiverSide,
        Sends as Sends,
        SingleHop as SingleHop,
        Work as Work,
    )
    from fedradio.core.contracts.data import (
        Batches as Batches,
        Fetch as Fetch,
        Law as Law,
        Picks as Picks,
        Repeats as Repeats,
        RequestStream as RequestStream,
        Samples as Samples,
        Scale as Scale,
        Spanned as Spanned,
        Stream as Stream,
        Tapes as Tapes,
        Target as Target,
        TestSet as TestSet,
    )
    from fedradio.core.contracts.learning import (
        Backend as Backend,
        Constant as Constant,
        Epoch as Epoch,
        EpochsOver as EpochsOver,
        EvalJob as EvalJob,
        Grouping as Grouping,
        LocalRule as LocalRule,
        Metric as Metric,
        Model as Model,
        Precision as Precision,
        Schedule as Schedule,
        Scores as Scores,
        Start as Start,
        Trained as Trained,
        TrainJob as TrainJob,
    )
    from fedradio.core.contracts.loss import (
        NO_SAMPLE as NO_SAMPLE,
        PREVIOUS as PREVIOUS,
        RECEIVED as RECEIVED,
        Batch as Batch,
        KeptTargets as KeptTargets,
        Loss as Loss,
        Outputs as Outputs,
    )
    from fedradio.core.contracts.network import (
        Channel as Channel,
        ChannelState as ChannelState,
        Fading as Fading,
        Fleet as Fleet,
        Site as Site,
        Topology as Topology,
    )
    from fedradio.core.contracts.payload import (
        Coded as Coded,
        Message as Message,
        ReceiverRule as ReceiverRule,
        Sent as Sent,
        Transform as Transform,
    )
    from fedradio.core.contracts.placement import (
        Cache as Cache,
        CacheView as CacheView,
        Foresight as Foresight,
        Placement as Placement,
    )
    from fedradio.core.contracts.radio import (
        SUPERPOSITION as SUPERPOSITION,
        Airtime as Airtime,
        Allocation as Allocation,
        Broadcast as Broadcast,
        Delivery as Delivery,
        Exchange as Exchange,
        Gather as Gather,
        GatherAll as GatherAll,
        Hop as Hop,
        Late as Late,
        Link as Link,
        LinkTrait as LinkTrait,
        Noted as Noted,
        Piece as Piece,
        Policy as Policy,
        Rates as Rates,
        View as View,
        noted as noted,
    )
    from fedradio.core.contracts.reasons import Reason as Reason
    from fedradio.core.contracts.records import (
        CacheRecord as CacheRecord,
        DenseExchange as DenseExchange,
        EvaluationRecord as EvaluationRecord,
        ExchangeRecord as ExchangeRecord,
        Header as Header,
        Note as Note,
        Record as Record,
        RoundRecord as RoundRecord,
        ShelfRecord as ShelfRecord,
    )
    from fedradio.core.contracts.state import Memory as Memory, SimState as SimState, Slots as Slots
    from fedradio.core.contracts.time import Clock as Clock
    from fedradio.core.contracts.updates import (
        BITS as BITS,
        LOSS as LOSS,
        PAYLOADS as PAYLOADS,
        Measured as Measured,
        Updates as Updates,
        join_updates as join_updates,
    )

__getattr__, __dir__, __all__ = lazy(__name__)
