"""Worker processes: replaced when they die, heard to their last words, stopped at once."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.batches import Watch, jobs_in

from fedradio.spec.spec import Spec
from fedradio.sweeps import processes as module
from fedradio.sweeps.pool import RunTask, run_batch

Make = Callable[..., Spec]


@pytest.mark.usefixtures("fakes")
def test_a_dead_worker_is_replaced_and_its_last_words_are_told(tiny: Make, tmp_path: Path) -> None:
    specs = dict.fromkeys(("one", "crash", "two"), tiny())
    outcomes = run_batch(jobs_in(tmp_path, specs))
    assert [one.status for one in outcomes] == ["complete", "failed", "complete"]
    assert outcomes[1].exit_code == 1
    assert "crashed: no such luck" in str(outcomes[1].error)


def test_no_worker_can_be_started(tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMMAND", (str(tmp_path / "nothing"),))
    outcomes = run_batch(jobs_in(tmp_path, dict.fromkeys("ab", tiny())), parallel=2)
    assert [(one.status, one.exit_code) for one in outcomes] == [("failed", 1)] * 2
    assert "No such file" in str(outcomes[0].error)


@pytest.mark.usefixtures("fakes")
def test_nothing_is_left_running_when_the_observer_fails(
    tiny: Make, tmp_path: Path, processes: dict[str, subprocess.Popen[bytes]]
) -> None:
    def fail(job: RunTask) -> None:
        raise ArithmeticError("a broken view")

    with pytest.raises(ArithmeticError, match="a broken view"):
        run_batch(jobs_in(tmp_path, {"wait": tiny()}), observer=Watch(fail))
    assert processes["wait"].poll() == -signal.SIGKILL


@pytest.mark.usefixtures("fakes")
def test_a_second_interrupt_stops_at_once(
    tiny: Make, tmp_path: Path, processes: dict[str, subprocess.Popen[bytes]]
) -> None:
    """The first one waits for the round under way, which does not end here."""

    def press(job: RunTask) -> None:
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
        pytest.fail("two interrupts changed nothing")

    watch = Watch(press)
    with pytest.raises(KeyboardInterrupt):
        run_batch(jobs_in(tmp_path, dict.fromkeys(("wait", "never"), tiny())), observer=watch)
    assert ("stopping",) in watch.said
    assert processes["wait"].poll() == -signal.SIGKILL
    assert "never" not in processes
