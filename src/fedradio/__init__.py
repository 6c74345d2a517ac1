"""fedradio: a fast simulator of federated learning over wireless edge networks.

Compose parts with :func:`compose` and :func:`iterate`, or load and run specs with :func:`load_spec` and :func:`run`.
Names are imported when they are first used; every built-in part is registered when parts are first asked for.
"""

from typing import TYPE_CHECKING

from fedradio._version import __version__
from fedradio.core.lazy import lazy

if TYPE_CHECKING:
    from fedradio import algorithms, data, engine, fleet, links, models, network, policies
    from fedradio.core.contracts import Hop
    from fedradio.core.errors import DataError, DivergenceError, FedradioError, SpecError, StoreError
    from fedradio.core.registry import Arg, register
    from fedradio.core.rng import Rng
    from fedradio.models import wrap
    from fedradio.papers.collect import collect
    from fedradio.papers.make import load_specs, make_runs, make_studies
    from fedradio.papers.plan import plan_reproduction
    from fedradio.papers.published import matching
    from fedradio.report.figures.axes import save as save_figure
    from fedradio.report.figures.lines import curves
    from fedradio.report.figures.run import selection_figure
    from fedradio.report.page import page
    from fedradio.results.compare import compare
    from fedradio.results.export import export
    from fedradio.results.run import PastRun, open_run, open_runs
    from fedradio.results.statistics import interval, paired
    from fedradio.rounds.accounts import planned_j
    from fedradio.rounds.exchange import plan_slots
    from fedradio.rounds.round import begin, iterate, run_round
    from fedradio.rounds.simulation import Simulation, compose
    from fedradio.runs.folder import read_summary
    from fedradio.runs.records import read_records
    from fedradio.runs.resume import resume
    from fedradio.runs.run import Observer, run
    from fedradio.runs.summary import Summary
    from fedradio.spec.build import build
    from fedradio.spec.spec import Spec, check_spec, load_spec
    from fedradio.sweeps.grid import plan_sweep
    from fedradio.sweeps.pool import run_batch
    from fedradio.sweeps.sweep import results as sweep_results
    from fedradio.sweeps.sweep import sweep

__all__ = [
    "Arg",
    "DataError",
    "DivergenceError",
    "FedradioError",
    "Hop",
    "Observer",
    "PastRun",
    "Rng",
    "Simulation",
    "Spec",
    "SpecError",
    "StoreError",
    "Summary",
    "__version__",
    "algorithms",
    "begin",
    "build",
    "check_spec",
    "collect",
    "compare",
    "compose",
    "curves",
    "data",
    "engine",
    "export",
    "fleet",
    "interval",
    "iterate",
    "links",
    "load_spec",
    "load_specs",
    "make_runs",
    "make_studies",
    "matching",
    "models",
    "network",
    "open_run",
    "open_runs",
    "page",
    "paired",
    "plan_reproduction",
    "plan_slots",
    "plan_sweep",
    "planned_j",
    "policies",
    "read_records",
    "read_summary",
    "register",
    "resume",
    "run",
    "run_batch",
    "run_round",
    "save_figure",
    "selection_figure",
    "sweep",
    "sweep_results",
    "wrap",
]

__getattr__ = lazy(
    __name__,
    {
        "Arg": "fedradio.core.registry",
        "DataError": "fedradio.core.errors",
        "DivergenceError": "fedradio.core.errors",
        "FedradioError": "fedradio.core.errors",
        "Hop": "fedradio.core.contracts",
        "Observer": "fedradio.runs.run",
        "PastRun": "fedradio.results.run",
        "Rng": "fedradio.core.rng",
        "Simulation": "fedradio.rounds.simulation",
        "Spec": "fedradio.spec.spec",
        "SpecError": "fedradio.core.errors",
        "StoreError": "fedradio.core.errors",
        "Summary": "fedradio.runs.summary",
        "algorithms": "fedradio.algorithms:",
        "begin": "fedradio.rounds.round",
        "build": "fedradio.spec.build",
        "check_spec": "fedradio.spec.spec",
        "collect": "fedradio.papers.collect",
        "compare": "fedradio.results.compare",
        "compose": "fedradio.rounds.simulation",
        "curves": "fedradio.report.figures.lines",
        "data": "fedradio.data:",
        "engine": "fedradio.engine:",
        "export": "fedradio.results.export",
        "fleet": "fedradio.fleet:",
        "interval": "fedradio.results.statistics",
        "iterate": "fedradio.rounds.round",
        "links": "fedradio.links:",
        "load_spec": "fedradio.spec.spec",
        "load_specs": "fedradio.papers.make",
        "plan_reproduction": "fedradio.papers.plan",
        "make_runs": "fedradio.papers.make",
        "make_studies": "fedradio.papers.make",
        "matching": "fedradio.papers.published",
        "models": "fedradio.models:",
        "network": "fedradio.network:",
        "open_run": "fedradio.results.run",
        "open_runs": "fedradio.results.run",
        "page": "fedradio.report.page",
        "paired": "fedradio.results.statistics",
        "plan_slots": "fedradio.rounds.exchange",
        "plan_sweep": "fedradio.sweeps.grid",
        "planned_j": "fedradio.rounds.accounts",
        "policies": "fedradio.policies:",
        "read_records": "fedradio.runs.records",
        "read_summary": "fedradio.runs.folder",
        "register": "fedradio.core.registry",
        "resume": "fedradio.runs.resume",
        "run": "fedradio.runs.run",
        "run_batch": "fedradio.sweeps.pool",
        "run_round": "fedradio.rounds.round",
        "save_figure": "fedradio.report.figures.axes:save",
        "selection_figure": "fedradio.report.figures.run",
        "sweep": "fedradio.sweeps.sweep",
        "sweep_results": "fedradio.sweeps.sweep:results",
        "wrap": "fedradio.models",
    },
)


def __dir__() -> list[str]:
    return __all__
