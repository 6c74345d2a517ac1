"""fedradio: a fast simulator of federated learning over wireless edge networks.

Run specs with :func:`run` and :func:`sweep`, or compose the factories of :mod:`fedradio.parts` with :func:`compose`.
Names are imported when they are first used; every built-in part is registered when parts are first asked for.
"""

from typing import TYPE_CHECKING

from fedradio._version import __version__
from fedradio.core.lazy import lazy

if TYPE_CHECKING:
    from fedradio import algorithms, data, engine, fleet, gym, links, metrics, models, network, parts, policies
    from fedradio.algorithms.fedavg import FedAvg, fedavg
    from fedradio.core.contracts import (
        Airtime,
        Algorithm,
        Allocation,
        Cache,
        CacheRecord,
        CacheView,
        Channel,
        ChannelState,
        Clock,
        Coded,
        Cohort,
        Delivery,
        EvaluationRecord,
        Exchange,
        ExchangeRecord,
        Held,
        Hop,
        Info,
        Link,
        LinkTrait,
        Memory,
        Merged,
        Message,
        Metric,
        Noted,
        Piece,
        Placement,
        Policy,
        Prices,
        Reason,
        ReceiverRule,
        RoundRecord,
        Samples,
        Sent,
        Site,
        Slots,
        Trained,
        Transform,
        View,
        Work,
    )
    from fedradio.core.errors import DataError, DivergenceError, FedradioError, OwnCodeError, SpecError, StoreError
    from fedradio.core.params import group_rank
    from fedradio.core.part_files import load_part_file
    from fedradio.core.registry import Arg, part, register
    from fedradio.core.rng import Rng
    from fedradio.data.partition import dirichlet
    from fedradio.data.sources import digits
    from fedradio.data.streams import static
    from fedradio.data.tapes import make_tapes
    from fedradio.engine.rules import sgd
    from fedradio.links.ideal import Ideal, ideal
    from fedradio.models import wrap
    from fedradio.models.model import FlatModel
    from fedradio.models.zoo import mlp
    from fedradio.network.clusters import clusters
    from fedradio.network.power_law import power_law
    from fedradio.network.topology import hierarchical
    from fedradio.papers.collect import collect
    from fedradio.papers.judge import judge
    from fedradio.papers.make import load_specs, make_runs, make_studies
    from fedradio.papers.plan import plan_reproduction
    from fedradio.papers.published import matching
    from fedradio.policies.effort import Effort, Epochs, Steps, effort
    from fedradio.policies.fixed import at_full_power, fixed
    from fedradio.policies.sampling import sampling
    from fedradio.report.figures.axes import save as save_figure
    from fedradio.report.figures.choice import figures
    from fedradio.report.figures.lines import curves
    from fedradio.report.figures.plot import plot
    from fedradio.report.page import page
    from fedradio.results.compare import compare
    from fedradio.results.diagnosis import Diagnosis, RoundDiagnosis, diagnose
    from fedradio.results.export import export
    from fedradio.results.made import resume, run
    from fedradio.results.run import Run, open_run, open_runs
    from fedradio.results.statistics import interval, paired
    from fedradio.rounds.accounts import planned_j
    from fedradio.rounds.planning import plan_slots
    from fedradio.rounds.round import begin, iterate, run_round
    from fedradio.rounds.simulation import Simulation, compose
    from fedradio.runs.records import read_records
    from fedradio.runs.run import Observer
    from fedradio.runs.stored import read_summary
    from fedradio.runs.summary import Summary
    from fedradio.spec.build import build
    from fedradio.spec.spec import Spec, check_spec, load_spec
    from fedradio.sweeps.grid import plan_sweep
    from fedradio.sweeps.pool import run_batch
    from fedradio.sweeps.result import Sweep, open_sweep
    from fedradio.sweeps.result import results as sweep_results
    from fedradio.sweeps.sweep import sweep
    from fedradio.theory.whfl import Printed, figure_4, loss_33

__all__ = [
    "Airtime",
    "Algorithm",
    "Allocation",
    "Arg",
    "Cache",
    "CacheRecord",
    "CacheView",
    "Channel",
    "ChannelState",
    "Clock",
    "Coded",
    "Cohort",
    "DataError",
    "Delivery",
    "Diagnosis",
    "DivergenceError",
    "Effort",
    "Epochs",
    "EvaluationRecord",
    "Exchange",
    "ExchangeRecord",
    "FedAvg",
    "FedradioError",
    "FlatModel",
    "Held",
    "Hop",
    "Ideal",
    "Info",
    "Link",
    "LinkTrait",
    "Memory",
    "Merged",
    "Message",
    "Metric",
    "Noted",
    "Observer",
    "OwnCodeError",
    "Piece",
    "Placement",
    "Policy",
    "Prices",
    "Printed",
    "Reason",
    "ReceiverRule",
    "Rng",
    "RoundDiagnosis",
    "RoundRecord",
    "Run",
    "Samples",
    "Sent",
    "Simulation",
    "Site",
    "Slots",
    "Spec",
    "SpecError",
    "Steps",
    "StoreError",
    "Summary",
    "Sweep",
    "Trained",
    "Transform",
    "View",
    "Work",
    "__version__",
    "algorithms",
    "at_full_power",
    "begin",
    "build",
    "check_spec",
    "clusters",
    "collect",
    "compare",
    "compose",
    "curves",
    "data",
    "diagnose",
    "digits",
    "dirichlet",
    "effort",
    "engine",
    "export",
    "fedavg",
    "figure_4",
    "figures",
    "fixed",
    "fleet",
    "group_rank",
    "gym",
    "hierarchical",
    "ideal",
    "interval",
    "iterate",
    "judge",
    "links",
    "load_part_file",
    "load_spec",
    "load_specs",
    "loss_33",
    "make_runs",
    "make_studies",
    "make_tapes",
    "matching",
    "metrics",
    "mlp",
    "models",
    "network",
    "open_run",
    "open_runs",
    "open_sweep",
    "page",
    "paired",
    "part",
    "parts",
    "plan_reproduction",
    "plan_slots",
    "plan_sweep",
    "planned_j",
    "plot",
    "policies",
    "power_law",
    "read_records",
    "read_summary",
    "register",
    "resume",
    "run",
    "run_batch",
    "run_round",
    "sampling",
    "save_figure",
    "sgd",
    "static",
    "sweep",
    "sweep_results",
    "wrap",
]

__getattr__ = lazy(
    __name__,
    {
        "Airtime": "fedradio.core.contracts",
        "Algorithm": "fedradio.core.contracts",
        "Allocation": "fedradio.core.contracts",
        "Arg": "fedradio.core.registry",
        "Cache": "fedradio.core.contracts",
        "CacheRecord": "fedradio.core.contracts",
        "CacheView": "fedradio.core.contracts",
        "Channel": "fedradio.core.contracts",
        "ChannelState": "fedradio.core.contracts",
        "Clock": "fedradio.core.contracts",
        "Coded": "fedradio.core.contracts",
        "Cohort": "fedradio.core.contracts",
        "DataError": "fedradio.core.errors",
        "Delivery": "fedradio.core.contracts",
        "Diagnosis": "fedradio.results.diagnosis",
        "DivergenceError": "fedradio.core.errors",
        "Effort": "fedradio.policies.effort",
        "Epochs": "fedradio.policies.effort",
        "EvaluationRecord": "fedradio.core.contracts.records",
        "Exchange": "fedradio.core.contracts",
        "ExchangeRecord": "fedradio.core.contracts.records",
        "FedAvg": "fedradio.algorithms.fedavg",
        "FedradioError": "fedradio.core.errors",
        "FlatModel": "fedradio.models.model",
        "Held": "fedradio.core.contracts",
        "Hop": "fedradio.core.contracts",
        "Ideal": "fedradio.links.ideal",
        "Info": "fedradio.core.contracts",
        "Link": "fedradio.core.contracts",
        "LinkTrait": "fedradio.core.contracts",
        "Memory": "fedradio.core.contracts",
        "Merged": "fedradio.core.contracts",
        "Message": "fedradio.core.contracts",
        "Metric": "fedradio.core.contracts",
        "Noted": "fedradio.core.contracts.radio",
        "Observer": "fedradio.runs.run",
        "OwnCodeError": "fedradio.core.errors",
        "Piece": "fedradio.core.contracts",
        "Placement": "fedradio.core.contracts",
        "Policy": "fedradio.core.contracts",
        "Prices": "fedradio.core.contracts",
        "Printed": "fedradio.theory.whfl",
        "Reason": "fedradio.core.contracts",
        "ReceiverRule": "fedradio.core.contracts",
        "Rng": "fedradio.core.rng",
        "RoundDiagnosis": "fedradio.results.diagnosis",
        "RoundRecord": "fedradio.core.contracts.records",
        "Run": "fedradio.results.run",
        "Samples": "fedradio.core.contracts",
        "Sent": "fedradio.core.contracts",
        "Simulation": "fedradio.rounds.simulation",
        "Site": "fedradio.core.contracts",
        "Slots": "fedradio.core.contracts",
        "Spec": "fedradio.spec.spec",
        "SpecError": "fedradio.core.errors",
        "Steps": "fedradio.policies.effort",
        "StoreError": "fedradio.core.errors",
        "Summary": "fedradio.runs.summary",
        "Sweep": "fedradio.sweeps.result",
        "Trained": "fedradio.core.contracts",
        "Transform": "fedradio.core.contracts",
        "View": "fedradio.core.contracts",
        "Work": "fedradio.core.contracts",
        "algorithms": "fedradio.algorithms:",
        "at_full_power": "fedradio.policies.fixed",
        "begin": "fedradio.rounds.round",
        "build": "fedradio.spec.build",
        "check_spec": "fedradio.spec.spec",
        "clusters": "fedradio.network.clusters",
        "collect": "fedradio.papers.collect",
        "compare": "fedradio.results.compare",
        "compose": "fedradio.rounds.simulation",
        "curves": "fedradio.report.figures.lines",
        "data": "fedradio.data:",
        "diagnose": "fedradio.results.diagnosis",
        "digits": "fedradio.data.sources",
        "dirichlet": "fedradio.data.partition",
        "effort": "fedradio.policies.effort",
        "engine": "fedradio.engine:",
        "export": "fedradio.results.export",
        "fedavg": "fedradio.algorithms.fedavg",
        "figure_4": "fedradio.theory.whfl",
        "figures": "fedradio.report.figures.choice",
        "fixed": "fedradio.policies.fixed",
        "fleet": "fedradio.fleet:",
        "group_rank": "fedradio.core.params",
        "gym": "fedradio.gym:",
        "hierarchical": "fedradio.network.topology",
        "ideal": "fedradio.links.ideal",
        "interval": "fedradio.results.statistics",
        "iterate": "fedradio.rounds.round",
        "judge": "fedradio.papers.judge",
        "links": "fedradio.links:",
        "load_part_file": "fedradio.core.part_files",
        "load_spec": "fedradio.spec.spec",
        "load_specs": "fedradio.papers.make",
        "loss_33": "fedradio.theory.whfl",
        "make_runs": "fedradio.papers.make",
        "make_studies": "fedradio.papers.make",
        "make_tapes": "fedradio.data.tapes",
        "matching": "fedradio.papers.published",
        "metrics": "fedradio.metrics:",
        "mlp": "fedradio.models.zoo",
        "models": "fedradio.models:",
        "network": "fedradio.network:",
        "open_run": "fedradio.results.run",
        "open_runs": "fedradio.results.run",
        "open_sweep": "fedradio.sweeps.result",
        "page": "fedradio.report.page",
        "paired": "fedradio.results.statistics",
        "part": "fedradio.core.registry",
        "parts": "fedradio.parts:",
        "plan_reproduction": "fedradio.papers.plan",
        "plan_slots": "fedradio.rounds.planning",
        "plan_sweep": "fedradio.sweeps.grid",
        "planned_j": "fedradio.rounds.accounts",
        "plot": "fedradio.report.figures.plot",
        "policies": "fedradio.policies:",
        "power_law": "fedradio.network.power_law",
        "read_records": "fedradio.runs.records",
        "read_summary": "fedradio.runs.stored",
        "register": "fedradio.core.registry",
        "resume": "fedradio.results.made",
        "run": "fedradio.results.made",
        "run_batch": "fedradio.sweeps.pool",
        "run_round": "fedradio.rounds.round",
        "sampling": "fedradio.policies.sampling",
        "save_figure": "fedradio.report.figures.axes:save",
        "sgd": "fedradio.engine.rules",
        "static": "fedradio.data.streams",
        "sweep": "fedradio.sweeps.sweep",
        "sweep_results": "fedradio.sweeps.result:results",
        "wrap": "fedradio.models",
    },
)


def __dir__() -> list[str]:
    return __all__
