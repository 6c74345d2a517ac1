"""What is run on both checkouts to show that a change is neutral: shipped specs, for a few rounds each.

All quick specs, as they are; beside them specs at the size of a paper with few clients, and specs whose images would
have to be fetched with images made on the spot, so that every model, stream and link has its turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neutral_compare import ALL, RECORDS, SUMMARY
from neutral_programs import ENVIRONMENT, FEDERATION, THREE_HOPS

SPECS_PROGRAM = """
import json, sys, fedradio
print(json.dumps(fedradio.__file__))
for name in sys.argv[1:]:
    plain = None
    try:
        spec = fedradio.load_spec(name)
        plain = {key: value for key, value in spec.plain.items() if key != "about"}
        fedradio.build(spec)
        state = "built"
    except fedradio.DataError:
        state = "valid, data to be fetched"
    except fedradio.FedradioError as error:
        state = str(error)
    print(json.dumps({"spec": plain, "state": state}))
"""
"""Where the package is, then every spec and its state, a line each; an argument is the name of a spec.
``build`` checks all of a spec before it says that nothing but its data is missing."""

SOUND = ("built", "valid, data to be fetched")


@dataclass(frozen=True)
class Case:
    """A run to be made on both checkouts: a shipped spec, changed by ``overrides``, for a few rounds.

    ``label`` tells runs of one spec apart; ``program`` is Python that takes the place of ``python -m fedradio``;
    ``options`` are further options of the command, ``files`` what the run leaves.
    """

    spec: str
    rounds: int
    overrides: tuple[str, ...] = ()
    label: str = ""
    program: str = ""
    options: tuple[str, ...] = ()
    files: tuple[str, ...] = ALL

    @property
    def name(self) -> str:
        return f"{self.spec}+{self.label}" if self.label else self.spec

    @property
    def changes(self) -> list[str]:
        return [*self.overrides, f"rounds={self.rounds}"]

    def command(self, out: Path, workers: int) -> list[str]:
        """What follows ``python``."""
        begin = ["-c", self.program] if self.program else ["-m", "fedradio"]
        return [
            *begin,
            "run",
            self.spec,
            *self.changes,
            "--out",
            str(out),
            "--workers",
            str(workers),
            "--quiet",
            *self.options,
        ]


RADIO = "channel: urban_macro, link: {kind: digital, bandwidth_hz: 540.0e+3}, fleet: cellular, deadline_s: 150"
BELOW = f"{{{RADIO}, policy: {{kind: fixed, steps: 3}}, period: 2}}"
HOPS = f"hops=[{BELOW}, {{policy: fixed, period: 2}}, {{policy: fixed}}]"
LOSSY = "channel: urban_macro, link: {kind: digital, erasure: 0.4}, fleet: cellular, policy: fixed"
LOSSY_HOPS = f"hops=[{BELOW}, {{{LOSSY}, period: 2}}, {{{LOSSY}}}]"
SILENT = "hops.0.link.erasure=0.9"
"""Edges that heard none of their clients have no news: the only senders that fixed weights of relays can miss."""
FIXED = "algorithm={kind: fedavg, normalise: selected}"
GREY = "data.source={kind: synthetic_images, channels: 1, height: 28, width: 28, samples: 2000}"
COLOUR = "data.source={kind: synthetic_images, channels: 3, height: 32, width: 32, samples: 400}"
GAPS = "data.partition={kind: label_gaps, missing: 2}"
BUFFERS = ("topology.clients=8", "data.partition=iid", "data.stream.capacity=[8, 16]")
THREE_DEVICES = (
    "topology.clients=3",
    "hops.0.policy={kind: fixed, steps: 3}",
    "data.partition=iid",
    "algorithm=scaffold",
    "grouping=single",
)
FEW = ("topology.clients=4", "hops.0.policy.max_steps=1", "rule.batch=8", "data.source.test_requests=20")

PLACES = (
    "hops.0.channel={kind: urban_macro, redraw: place}",
    "hops.0.fleet={kind: handset, cycles_per_bit: [250, 400]}",
)
"""Sight and shadowing that belong to places, and devices with floors that pay for waiting."""
LATE = ("hops.0.policy={kind: fixed, steps: 5}", "hops.0.deadline_s=3")
"""Everybody at full power, some beyond the deadline."""

CASES = (
    Case("demo", 6),
    Case("rawhfl", 2),
    Case("osafl", 2),
    Case("rawhfl_cache", 1),
    Case("osafl_cache", 2),
    Case("whfl", 1),
    Case("fedcpsl", 1),
    Case("demo", 4, ("algorithm=scaffold",), "scaffold"),
    Case("demo", 2, ("topology=three_hops", HOPS), "three_hops", THREE_HOPS),
    Case("demo", 2, label="ray", options=("--on", "ray", "--actors", "2")),
    Case("digits_flat", 8, THREE_DEVICES, "federation", FEDERATION),
    Case("demo", 20, ("eval_every=5",), "environment", ENVIRONMENT, files=(RECORDS, SUMMARY)),
    Case("demo", 3, ("topology=three_hops", LOSSY_HOPS), "three_hops_losses", THREE_HOPS),
    Case("demo", 3, ("topology=three_hops", HOPS, SILENT, FIXED), "three_hops_fixed", THREE_HOPS),
    Case("rawhfl", 1, PLACES, "places"),
    Case("rawhfl", 1, (*LATE, "hops.0.late=stop"), "late_stop"),
    Case("rawhfl", 1, (*LATE, "hops.0.late=finish"), "late_finish"),
    Case("digits_flat", 2),
    Case("digits_central", 2),
    Case("rawhfl/quick/central", 1),
    Case("rawhfl/quick/fedavg_ub", 1),
    Case("rawhfl/quick/m1", 1),
    Case("rawhfl/quick/m2", 1),
    Case("rawhfl/quick/ub", 1),
    Case("rawhfl/quick/z2", 1),
    Case("rawhfl/quick/z4", 1),
    Case("rawhfl/quick/z4", 1, ("hops.0.policy.mode=dc", "hops.0.policy.iterations=8"), "dc"),
    Case("rawhfl/quick/z6", 1),
    Case("osafl/quick/afa_cd", 2),
    Case("osafl/quick/central", 2),
    Case("osafl/quick/fedavg", 2),
    Case("osafl/quick/feddisco", 2),
    Case("osafl/quick/fednova", 2),
    Case("osafl/quick/fedprox", 2),
    Case("osafl/quick/osafl", 2),
    Case("mnist_iid", 1, (GREY,), "made_up"),
    Case("mnist_shards", 1, (GREY,), "made_up"),
    Case("cifar10_cnn", 1, (COLOUR,), "made_up"),
    Case("whfl/cifar10", 1, (COLOUR, "rule.batch=8", "hops.0.period=1"), "made_up"),
    Case("whfl/mnist/cluster_noniid/i4", 1, (GREY, GAPS), "made_up"),
    Case("osafl/fig1/varying", 2, (COLOUR, *BUFFERS), "made_up"),
    Case("osafl/paper/cnn_k1/osafl", 1, FEW, "few"),
    Case("osafl/paper/lstm_k1/osafl", 1, FEW, "few"),
    Case("osafl/paper/squeezenet_k1/osafl", 1, FEW, "few"),
)
