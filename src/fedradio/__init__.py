"""fedradio: a fast simulator of federated learning over wireless edge networks.

Importing the package registers every built-in part. Compose parts with :func:`compose` and :func:`iterate`, or load
and run specs with :func:`load_spec` and :func:`run`.
"""

from fedradio import algorithms, data, engine, fleet, links, models, network, policies
from fedradio._version import __version__
from fedradio.core.contracts import Hop
from fedradio.core.errors import DataError, DivergenceError, FedradioError, SpecError, StoreError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.results.run import open_run, open_runs
from fedradio.rounds.round import begin, iterate, run_round
from fedradio.rounds.simulation import Simulation, compose
from fedradio.runs.folder import read_summary
from fedradio.runs.records import read_records
from fedradio.runs.resume import resume
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import check_spec, load_spec
from fedradio.sweeps.sweep import sweep

__all__ = [
    "Arg",
    "DataError",
    "DivergenceError",
    "FedradioError",
    "Hop",
    "Rng",
    "Simulation",
    "SpecError",
    "StoreError",
    "__version__",
    "algorithms",
    "begin",
    "build",
    "check_spec",
    "compose",
    "data",
    "engine",
    "fleet",
    "iterate",
    "links",
    "load_spec",
    "models",
    "network",
    "open_run",
    "open_runs",
    "policies",
    "read_records",
    "read_summary",
    "register",
    "resume",
    "run",
    "run_round",
    "sweep",
]
