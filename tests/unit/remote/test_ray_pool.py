"""Room on a cluster, and the file by which a shared folder is known; tests/cluster has the contract of pools."""

from pathlib import Path
from typing import Any

import pytest

from fedradio.core.errors import SpecError
from fedradio.remote.ray_pool import RayPool
from fedradio.remote.ray_task import probe_name


class Ray:
    def cluster_resources(self) -> dict[str, Any]:
        return {"CPU": 8.0}

    def nodes(self) -> list[dict[str, Any]]:
        here, dead = {"Alive": True, "Resources": {"CPU": 4.0}}, {"Alive": False, "Resources": {"CPU": 64.0}}
        return [here, here, {"Alive": True, "Resources": {}}, dead]


def test_as_many_runs_as_have_processors_unless_told_otherwise() -> None:
    assert RayPool(Ray()).share(100, None) == (8, 1)
    assert RayPool(Ray()).share(100, 3) == (2, 3)
    assert RayPool(Ray(), 5).share(100, None) == (5, 1)
    with pytest.raises(SpecError, match="the largest machine of the cluster has 4"):
        RayPool(Ray()).share(100, 5)


def test_a_probe_lies_beside_the_run_folder(tmp_path: Path) -> None:
    probe = RayPool(Ray()).probe(tmp_path / "runs" / "one", "abc")
    assert probe == tmp_path / "runs" / probe_name("abc")
    assert probe.is_file()
    assert not (tmp_path / "runs" / "one").exists()
