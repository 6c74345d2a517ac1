"""fedradio: a fast simulator of federated learning over wireless edge networks.

Run specs with :func:`run` and :func:`sweep`, or compose the factories of :mod:`fedradio.parts` with :func:`compose`.
Names are imported when they are first used; every built-in part is registered when parts are first asked for.
"""

from typing import TYPE_CHECKING

from fedradio.core.lazy import lazy

if TYPE_CHECKING:
    from fedradio import (
        algorithms as algorithms,
        data as data,
        engine as engine,
        fleet as fleet,
        gym as gym,
        links as links,
        metrics as metrics,
        models as models,
        network as network,
        parts as parts,
        policies as policies,
    )
    from fedradio._version import __version__ as __version__
    from fedradio.algorithms.averaging import add_total as add_total, shares_of_arrived as shares_of_arrived
    from fedradio.algorithms.fedavg import FedAvg as FedAvg, fedavg as fedavg
    from fedradio.core.contracts import (
        Airtime as Airtime,
        Algorithm as Algorithm,
        Allocation as Allocation,
        Batch as Batch,
        Broadcast as Broadcast,
        Cache as Cache,
        CacheRecord as CacheRecord,
        CacheView as CacheView,
        Channel as Channel,
        ChannelState as ChannelState,
        ClientSide as ClientSide,
        Clock as Clock,
        Coded as Coded,
        Cohort as Cohort,
        Delivery as Delivery,
        Ensemble as Ensemble,
        EvaluationRecord as EvaluationRecord,
        Exchange as Exchange,
        ExchangeRecord as ExchangeRecord,
        Fleet as Fleet,
        Gather as Gather,
        Held as Held,
        Hop as Hop,
        Info as Info,
        Ledger as Ledger,
        Link as Link,
        LinkTrait as LinkTrait,
        LocalRule as LocalRule,
        Loss as Loss,
        Memory as Memory,
        Merged as Merged,
        Message as Message,
        Metric as Metric,
        Noted as Noted,
        Outputs as Outputs,
        Phased as Phased,
        Piece as Piece,
        Placement as Placement,
        Policy as Policy,
        Publishes as Publishes,
        Rates as Rates,
        Reason as Reason,
        ReceiverRule as ReceiverRule,
        ReceiverSide as ReceiverSide,
        Repeats as Repeats,
        RequestStream as RequestStream,
        RoundRecord as RoundRecord,
        Samples as Samples,
        Sent as Sent,
        SingleHop as SingleHop,
        Site as Site,
        Slots as Slots,
        Spanned as Spanned,
        Start as Start,
        Stream as Stream,
        Trained as Trained,
        Transform as Transform,
        Updates as Updates,
        View as View,
        Work as Work,
        join_updates as join_updates,
        noted as noted,
    )
    from fedradio.core.errors import (
        DataError as DataError,
        DivergenceError as DivergenceError,
        FedradioError as FedradioError,
        OwnCodeError as OwnCodeError,
        SpecError as SpecError,
        StoreError as StoreError,
    )
    from fedradio.core.mapped import write_rows as write_rows
    from fedradio.core.params import group_rank as group_rank, group_share as group_share, group_sum as group_sum
    from fedradio.core.part_files import load_part_file as load_part_file
    from fedradio.core.registry import Arg as Arg, part as part, register as register
    from fedradio.core.rng import Rng as Rng
    from fedradio.data.partition import dirichlet as dirichlet
    from fedradio.data.sources import digits as digits
    from fedradio.data.streams import static as static
    from fedradio.data.tapes import make_tapes as make_tapes
    from fedradio.engine.rules import sgd as sgd
    from fedradio.links.digital import Digital as Digital
    from fedradio.links.ideal import Ideal as Ideal, ideal as ideal, weighted_total as weighted_total
    from fedradio.models import wrap as wrap
    from fedradio.models.model import FlatModel as FlatModel
    from fedradio.models.zoo import mlp as mlp
    from fedradio.network.clusters import clusters as clusters
    from fedradio.network.power_law import power_law as power_law
    from fedradio.network.topology import hierarchical as hierarchical
    from fedradio.papers.collect import collect as collect
    from fedradio.papers.judge import judge as judge
    from fedradio.papers.make import load_specs as load_specs, make_runs as make_runs, make_studies as make_studies
    from fedradio.papers.plan import plan_reproduction as plan_reproduction
    from fedradio.papers.published import matching as matching
    from fedradio.policies.effort import Effort as Effort, Epochs as Epochs, Steps as Steps, effort as effort
    from fedradio.policies.fixed import at_full_power as at_full_power, fixed as fixed
    from fedradio.policies.sampling import sampling as sampling
    from fedradio.report.figures.axes import save_figure as save_figure
    from fedradio.report.figures.choice import figures as figures
    from fedradio.report.figures.lines import curves as curves
    from fedradio.report.figures.plot import plot as plot
    from fedradio.report.page import page as page
    from fedradio.results.compare import compare as compare
    from fedradio.results.diagnosis import (
        Diagnosis as Diagnosis,
        RoundDiagnosis as RoundDiagnosis,
        diagnose as diagnose,
    )
    from fedradio.results.export import export as export
    from fedradio.results.made import resume as resume, run as run
    from fedradio.results.run import Run as Run, open_run as open_run, open_runs as open_runs
    from fedradio.results.statistics import interval as interval, paired as paired
    from fedradio.rounds.accounts import planned_j as planned_j
    from fedradio.rounds.planning import plan_slots as plan_slots
    from fedradio.rounds.round import begin as begin, iterate as iterate, run_round as run_round
    from fedradio.rounds.simulation import Simulation as Simulation, compose as compose
    from fedradio.runs.records import read_records as read_records
    from fedradio.runs.run import Observer as Observer
    from fedradio.runs.stored import read_summary as read_summary
    from fedradio.runs.summary import Summary as Summary
    from fedradio.spec.build import build as build
    from fedradio.spec.spec import Spec as Spec, check_spec as check_spec, load_spec as load_spec
    from fedradio.sweeps.grid import plan_sweep as plan_sweep
    from fedradio.sweeps.pool import run_batch as run_batch
    from fedradio.sweeps.result import Sweep as Sweep, open_sweep as open_sweep, sweep_results as sweep_results
    from fedradio.sweeps.sweep import sweep as sweep
    from fedradio.theory.whfl import Printed as Printed, figure_4 as figure_4, loss_33 as loss_33

__getattr__, __dir__, __all__ = lazy(__name__)
