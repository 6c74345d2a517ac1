"""A choice of figures: metric, axis, limits, names, order."""

from collections.abc import Callable
from pathlib import Path

import matplotlib
import pytest
from support.past import digest_of, past

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.report.figures.axes import save
from fedradio.report.figures.choice import chosen_drawings, chosen_variants, drawable, figures
from fedradio.report.figures.gallery import write
from fedradio.results.run import Run
from fedradio.results.variants import Variant, variants
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def runs_of(tiny: Make, *changes: str) -> list[Run]:
    """Two seeds for each change, with accuracies 0.5, 0.6, 0.7 in three rounds."""
    runs = [past(tiny(f"seed={seed}", *change.split()), [0.5, 0.6, 0.7]) for change in changes for seed in (1, 2)]
    for run in runs:
        run.__dict__["digest"] = digest_of(run)
    return runs


@pytest.fixture
def three(tiny: Make) -> list[Variant]:
    return variants(runs_of(tiny, "algorithm=fedavg", "algorithm=fedprox", "algorithm=scaffold"))


@pytest.fixture
def grid(tiny: Make) -> list[Variant]:
    pairs = [f"algorithm={kind} rule.lr={lr}" for kind in ("fedavg", "fedprox") for lr in (0.1, 0.2)]
    return variants(runs_of(tiny, *pairs))


def refused(call: Callable[[], object]) -> list[Problem]:
    with pytest.raises(SpecError) as caught:
        call()
    return list(caught.value.problems)


def labels(every: list[Variant]) -> list[str]:
    return [variant.label.removeprefix("algorithm=") for variant in every]


def test_all_or_the_curves_of_a_metric_or_some(three: list[Variant]) -> None:
    def names(**choice: object) -> list[str]:
        return [drawing.name for drawing in chosen_drawings(three, **choice)]  # type: ignore[arg-type]

    assert {"accuracy-rounds", "loss-rounds", "energy-clients"} <= set(names())
    assert names(metric="loss") == ["loss-rounds", "loss-seconds", "loss-joules", "loss-bits"]
    assert names(against=["joules", "bits"]) == ["accuracy-joules", "accuracy-bits"]
    assert names(only=["accuracy-bits"]) == ["accuracy-bits"]
    assert names(target=0.6, only=["accuracy-joules"]) == ["accuracy-joules"]


def test_wrong_choices(three: list[Variant]) -> None:
    found = refused(lambda: chosen_drawings(three, against=["joule"], target=90.0))
    assert [(one.path, one.reason) for one in found] == [
        ("--against", "no such axis"),
        ("--target", "accuracies are between 0 and 1"),
    ]
    (one,) = refused(lambda: chosen_drawings(three, "acuracy"))
    assert one.remedy == "did you mean 'accuracy'?"
    (one,) = refused(lambda: chosen_drawings(three, only=["accuracy-joule"]))
    assert one.remedy == "did you mean 'accuracy-joules'?"
    (one,) = refused(lambda: chosen_drawings(three, against=["seconds"]))
    assert (one.path, one.reason) == ("accuracy-seconds", "cannot be drawn: seconds are undefined")


def test_a_figure_is_the_same_wherever_it_is_saved(tiny: Make, tmp_path: Path) -> None:
    runs = runs_of(tiny, "algorithm=fedavg", "algorithm=fedprox")
    write(chosen_drawings(variants(runs), only=["accuracy-joules"]), tmp_path, ["pdf"])
    save(figures(*runs, only="accuracy-joules")["accuracy-joules"], tmp_path / "b.pdf", 300)
    assert (tmp_path / "accuracy-joules.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()


def test_runs_that_can_be_drawn(tiny: Make) -> None:
    unfinished, done = past(tiny(), [0.5], status=None), past(tiny("seed=2"), [0.5])
    assert drawable([unfinished]) == [unfinished]
    assert drawable([unfinished, done]) == [done]
    with pytest.raises(StoreError, match="no run is complete"):
        drawable([unfinished, unfinished])
    with pytest.raises(StoreError, match="no runs to draw"):
        figures()


def test_what_is_left_out(three: list[Variant]) -> None:
    assert labels(chosen_variants(three, ["fedprox"])) == ["fedavg", "scaffold"]
    (one,) = refused(lambda: chosen_variants(three, ["fedavgg"]))
    assert (one.path, one.remedy) == ("--without", "did you mean 'fedavg'?")


def test_a_style_of_matplotlib_applies(tiny: Make) -> None:
    runs = runs_of(tiny, "algorithm=fedavg", "algorithm=fedprox")
    with matplotlib.rc_context({"font.size": 11, "axes.labelsize": 11, "font.family": "DejaVu Serif"}):
        figure = figures(*runs, only="accuracy-rounds")["accuracy-rounds"]
    assert figure.axes[0].xaxis.label.get_fontsize() == 11
    assert figure.axes[0].xaxis.label.get_fontfamily() == ["DejaVu Serif"]
    figure.axes[0].set_xlim(0, 2)
