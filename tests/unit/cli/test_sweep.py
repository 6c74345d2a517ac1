"""``fedradio sweep``: the command that makes what is missing, and lists."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from support.commands import Call
from support.sealing import other_format

from fedradio.cli.sweep import _options, _resume_command
from fedradio.core.errors import SpecError, StoreError
from fedradio.spec.spec import Spec


def test_the_same_command_resume_command() -> None:
    """Options at their defaults are left out, the folder is always named."""
    plain = _options(None, None, None, "cpu", None, "local", Path("s"))
    assert plain == {"--out": Path("s")}
    given = _options("1,2", 5, 2, "cuda", 3, "ray", Path("a b"))
    assert _resume_command(["my spec.yaml", "rule.lr=0.1,0.2"], given, [Path("mine.py"), Path("my own.py")]) == (
        "fedradio sweep 'my spec.yaml' rule.lr=0.1,0.2 --seeds 1,2 --rounds 5 --jobs 2 --on ray --device cuda "
        "--workers 3 --out 'a b' --parts mine.py --parts 'my own.py'"
    )


def test_a_list_makes_nothing(call: Call, tmp_path: Path) -> None:
    done = call("sweep", "digits_flat", "rule.lr=0.1,0.2", "--seeds", "3", "--out", tmp_path / "s", "--list")
    assert done.exit_code == 0, done.output
    assert f"2 variants x 3 seeds = 6 runs in {tmp_path / 's'}\n" in done.output
    assert list(tmp_path.iterdir()) == []


def test_runs_of_another_format_are_not_tried_again(call: Call, tiny: Callable[..., Spec], tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(json.dumps(tiny("rounds=1").plain))
    words = ("sweep", tmp_path / "a.yaml", "--seeds", "1,2", "--out", tmp_path / "s", "--workers", "1")
    assert call(*words).exit_code == 0
    one, two = sorted((tmp_path / "s" / "runs").iterdir())
    other_format(one)
    done = call(*words)
    assert (done.exit_code, "retry" in done.stderr) == (5, False)
    assert "has format 2, but" in done.stderr
    shutil.copyfile(one / "spec.yaml", two / "spec.yaml")  # the run of another seed: to be tried again once removed
    assert "to retry the failed runs: fedradio sweep" in call(*words).stderr


def test_wrong_seeds(call: Call) -> None:
    refused = call("sweep", "digits_flat", "--seeds", "none").exception
    assert isinstance(refused, SpecError)


def test_no_sweep_is_put_inside_another(call: Call, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text("{}")
    refused = call("sweep", "digits_flat", "--out", tmp_path / "deeper").exception
    assert isinstance(refused, StoreError)
    assert "inside the sweep folder" in str(refused)


def test_a_slurm_array_is_written_and_not_submitted(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    words = ("sweep", "digits_flat", "rule.lr=0.1,0.2", "--seeds", "3", "--out", folder, "--on", "slurm")
    done = call(*words, "--jobs", "4", "--sbatch", "--time=2:00:00 -p short", "-q")
    assert (done.exit_code, done.output) == (0, f"sbatch {folder}/slurm.sh\n")
    script = (folder / "slurm.sh").read_text()
    assert "#SBATCH --array=0-3\n" in script
    assert "#SBATCH --time=2:00:00 -p short\n" in script
    assert subprocess.run(["bash", "-n", folder / "slurm.sh"], check=False).returncode == 0
    assert [*(folder / "runs").iterdir()] == []
    assert call(*words, "-q").exit_code == 0
    assert "#SBATCH --array=0-5\n" in (folder / "slurm.sh").read_text()
    assert isinstance(call("sweep", "digits_flat", "--sbatch", "-p x").exception, SpecError)
