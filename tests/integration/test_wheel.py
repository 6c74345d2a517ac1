"""The wheel: built from the sources, installed in a clean environment, it lists its parts and runs a spec.

Nothing is fetched: the environment's dependencies are those that are installed here, which it reaches through a path
file; fedradio itself comes from the wheel alone.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def build(target: Path) -> Path:
    """Build the wheel with the backend that pyproject.toml names."""
    pytest.importorskip("hatchling")
    code = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(target)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return target / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


def test_it_holds_all_that_the_package_reads(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in (source / "fedradio").rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    assert files <= inside
    assert {name.split("/")[0].split("-")[0] for name in inside} == {"fedradio"}  # no tests, nothing else


@pytest.mark.wide
def test_it_runs_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "clean"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    install = ["--python", str(python), "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", *install, str(wheel)], check=True)
    (packages / "here.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}

    def fedradio(*words: str) -> str:
        program = place / "bin" / "fedradio"
        done = subprocess.run([program, *words], cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run(
        [python, "-c", "import fedradio; print(fedradio.__file__)"],
        env=clean,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(place))
    assert "fedprox" in fedradio("ls", "algorithm")
    assert fedradio("run", "demo", "--rounds", "1", "-q", "--out", "run") == "run\n"
    assert (tmp_path / "run" / "model.safetensors").exists()
    assert "report.html" in fedradio("report", "run", "-q")
