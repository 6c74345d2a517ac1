"""The script of a Slurm array: Bash can read it, and it says what it should."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError
from fedradio.sweeps.slurm import slurm_script, write_script


def test_the_script_is_an_array_that_works_on_the_sweep(tmp_path: Path) -> None:
    folder = tmp_path / "my sweep 5%"
    folder.mkdir()
    options = "--time=2:00:00 -p 'a b'"
    text = slurm_script(folder, 40, name="demo", options=options, cpus=2, part_files=[Path("/p/x.py")])
    path = write_script(folder, text)
    assert os.access(path, os.X_OK)
    assert subprocess.run(["bash", "-n", str(path)], check=False).returncode == 0
    head, *directives, last = text.splitlines()
    assert head == "#!/bin/bash"
    assert directives == [
        "#SBATCH --job-name=fedradio-demo",
        "#SBATCH --array=0-39",
        "#SBATCH --cpus-per-task=2",
        f"#SBATCH --output='{tmp_path}/my sweep 5%%'/slurm-%A-%a.log",
        "#SBATCH --requeue",
        "#SBATCH --signal=B:INT@90",
        "#SBATCH --time=2:00:00 -p 'a b'",
    ]
    assert last == f"exec {sys.executable} -m fedradio work '{folder}' --workers 2 --parts /p/x.py"


def test_options_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="--sbatch"):
        slurm_script(tmp_path, 2, name="demo", options="-p 'short")
