"""A Ray of this machine for all tests of the folder: three processors, loopback only, ended with the tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from support.gate import Gate


@pytest.fixture(scope="session")
def cluster_gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    """The gate of all runs that Ray makes; it is open."""
    made = Gate(tmp_path_factory.mktemp("cluster") / "gate", 300)
    made.open()
    return made


@pytest.fixture
def gate(cluster_gate: Gate) -> Iterator[Gate]:
    """The same, closed for this test."""
    cluster_gate.close()
    yield cluster_gate
    cluster_gate.open()


@pytest.fixture(scope="session")
def ray(cluster_gate: Gate) -> Iterator[Any]:
    """The package ray, connected. With FEDRADIO_REQUIRE_EXTRAS=1 it is a failure if it is not installed."""
    from fedradio.core.errors import SpecError
    from fedradio.remote.ray_cluster import ray_module

    try:
        module = ray_module()
    except SpecError as error:
        if os.environ.get("FEDRADIO_REQUIRE_EXTRAS") == "1":
            pytest.fail(f"ray is required here: {error}")
        pytest.skip(str(error))
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # paths of sockets have at most 107 bytes
    how = {"num_cpus": 3, "include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", cluster_gate.environment["PYTHONPATH"])
        module.init(address="local", _temp_dir=folder, **how)
    yield module
    module.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def address(ray: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of that Ray, by which commands in processes of their own find it."""
    found: str = ray.get_runtime_context().gcs_address
    monkeypatch.setenv("RAY_ADDRESS", found)
    return found
