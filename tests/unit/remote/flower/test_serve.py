"""Where a federation may be served, and a small one without TLS on this machine, from hello to run folder."""

import json
import threading
from pathlib import Path

import pytest

pytest.importorskip("flwr")

from support.federations import quiet, spec_of
from support.patience import PATIENCE_S
from support.started import free_port

from fedradio.core.contracts import ExchangeRecord
from fedradio.core.errors import DataError, SpecError, StoreError
from fedradio.remote.flower.join import join_federation
from fedradio.remote.flower.keys import make_keys
from fedradio.remote.flower.serve import Place, is_loopback, join_command, serve
from fedradio.runs.records import read_records
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer, run
from fedradio.runs.stored import read_environment


class Notes(Observer):
    """Remembers what a run notes."""

    def __init__(self) -> None:
        self.notes = list[str]()

    def noted(self, text: str) -> None:
        self.notes.append(text)


@pytest.mark.parametrize(
    ("place", "insecure", "path"),
    [
        (Place(), True, ""),
        (Place("::1"), True, ""),
        (Place("0.0.0.0", tls=Path("keys")), False, ""),
        (Place(), False, "--tls"),
        (Place("0.0.0.0"), True, "--bind"),
        (Place("192.168.1.10"), True, "--bind"),
        (Place("server.example.org"), True, "--bind"),
        (Place(tls=Path("keys")), True, "--insecure"),
    ],
)
def test_other_machines_need_certificates_and_keys(place: Place, insecure: bool, path: str) -> None:
    if not path:
        place.check(insecure)
        return
    with pytest.raises(SpecError, match=f"^{path}"):
        place.check(insecure)


def test_addresses_and_the_command_of_a_device() -> None:
    assert [is_loopback(name) for name in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "example.org")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert join_command(Place("127.0.0.1", 5), 2) == "fedradio join 127.0.0.1:5 --client 2 --insecure"
    assert "--key node-0.key --ca ca.crt" in join_command(Place(tls=Path("k")), 0)


def test_a_federation_without_tls_on_this_machine(tmp_path: Path) -> None:
    spec, place, devices = spec_of(rounds=2), Place(port=free_port()), list[threading.Thread]()

    def opened() -> None:
        for number in range(3):
            given = (f"127.0.0.1:{place.port}", number, None, None, tmp_path / str(number), PATIENCE_S, quiet)
            devices.append(threading.Thread(target=join_federation, args=given, daemon=True))
            devices[-1].start()

    summary = serve(spec, tmp_path / "run", place, wait_s=PATIENCE_S, tell=quiet, opened=opened)
    for device in devices:
        device.join(PATIENCE_S)
        assert not device.is_alive()
    plain = run(spec, tmp_path / "plain")
    assert (summary.status, summary.accuracy, summary.loss) == ("complete", plain.accuracy, plain.loss)
    assert summary.measured_s is not None
    assert summary.planned_s is None  # no fleet says how long anything takes
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("run", "plain")]
    assert models[0] == models[1]
    assert [record.why for record in read_records(tmp_path / "run", ExchangeRecord)] == [["none"] * 3] * 2
    assert read_environment(tmp_path / "run")["federation"]["own_data"] is False
    with pytest.raises(StoreError, match=r"federation of real devices.*complete, and federations cannot be extended"):
        resume(tmp_path / "run", rounds=3)
    said = Notes()
    resume(tmp_path / "run", observer=said)
    assert said.notes == [f"{tmp_path / 'run'} is complete: there is nothing left to do"]
    with pytest.raises(StoreError, match=r"is not empty; .* by adding --resume to this command"):
        serve(spec, tmp_path / "run", place)
    with pytest.raises(StoreError, match="cannot be extended"):
        serve(spec, tmp_path / "run", place, resumed=True)


def test_what_cannot_be_resumed(tmp_path: Path) -> None:
    spec, place = spec_of(), Place(port=free_port())
    with pytest.raises(StoreError, match="not the run of a federation"):
        serve(spec, tmp_path / "nothing", place, resumed=True, tell=quiet)
    run(spec, tmp_path / "plain")
    with pytest.raises(StoreError, match="not the run of a federation"):
        serve(spec, tmp_path / "plain", place, resumed=True, tell=quiet)
    environment = tmp_path / "plain" / "environment.json"
    environment.write_text(json.dumps(read_environment(tmp_path / "plain") | {"federation": {"run": "abc"}}))
    with pytest.raises(StoreError, match="another spec"):
        serve(spec_of(seed=2), tmp_path / "plain", place, resumed=True, tell=quiet)
    with pytest.raises(StoreError, match="is complete"):
        serve(spec, tmp_path / "plain", place, resumed=True, tell=quiet)


def test_what_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys", "localhost", 2)
    with pytest.raises(SpecError, match="has no key for client 2, but the spec has 3 clients"):
        serve(spec_of(), tmp_path / "run", Place(port=free_port(), tls=tmp_path / "keys"), tell=quiet)
    with pytest.raises(SpecError, match="central training"):
        serve(spec_of(algorithm="central"), tmp_path / "run", Place(port=free_port()), tell=quiet)
    with pytest.raises(DataError, match=r"these clients are still missing: 0, 1, 2"):
        serve(spec_of(), tmp_path / "run", Place(port=free_port()), wait_s=0.2, tell=quiet)
    assert not (tmp_path / "run").exists()
