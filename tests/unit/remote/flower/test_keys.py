"""Keys and certificates: what they hold for, who can read them, and what is refused."""

import json
import stat
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from fedradio.core.errors import DataError, SpecError, StoreError
from fedradio.remote.flower.keys import kept_key, load_node_key, make_keys, public_keys, server_files


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("federation") / "keys"
    make_keys(folder, "server.example.org", 2)
    return folder


def test_files_are_their_owners_alone(made: Path) -> None:
    names = ["ca.crt", "clients.json", "node-0.key", "node-1.key", "server.crt", "server.key"]
    assert sorted(path.name for path in made.iterdir()) == names
    assert {stat.S_IMODE(path.stat().st_mode) for path in made.iterdir()} == {0o600}
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_the_certificate_holds_for_the_host_and_this_machine(made: Path) -> None:
    server = x509.load_pem_x509_certificate((made / "server.crt").read_bytes())
    ca = x509.load_pem_x509_certificate((made / "ca.crt").read_bytes())
    server.verify_directly_issued_by(ca)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["server.example.org", "localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert not server.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert ca.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length == 0


def test_devices_have_pairs_of_which_the_server_knows_the_public_half(made: Path) -> None:
    known = public_keys(made)
    assert list(known) == [0, 1]
    assert known[0] != known[1]
    assert (made / "node-0.key").read_bytes().startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    private, public = load_node_key(made / "node-1.key")
    assert isinstance(private.curve, ec.SECP384R1)
    assert public.public_numbers() == private.public_key().public_numbers()
    assert set(server_files(made)) == {"ca.crt", "server.crt", "server.key"}


def test_an_address_is_one_in_the_certificate(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys", "192.168.1.10", 1)
    server = x509.load_pem_x509_certificate((tmp_path / "keys" / "server.crt").read_bytes())
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["192.168.1.10", "127.0.0.1"]


def test_what_is_refused(made: Path, tmp_path: Path) -> None:
    before = (made / "node-0.key").read_bytes()
    with pytest.raises(StoreError, match="is not empty: keys are never overwritten"):
        make_keys(made, "localhost", 2)
    assert (made / "node-0.key").read_bytes() == before
    for host in ("", "two words", "a/b", "sérver", "x" * 300):
        with pytest.raises(SpecError, match="--host"):
            make_keys(tmp_path / "new", host, 1)
    with pytest.raises(SpecError, match="--nodes"):
        make_keys(tmp_path / "new", "localhost", 0)
    assert not (tmp_path / "new").exists()


def test_keys_that_cannot_be_used(made: Path, tmp_path: Path) -> None:
    open_key = tmp_path / "open.key"
    open_key.write_bytes((made / "node-0.key").read_bytes())
    open_key.chmod(0o644)
    with pytest.raises(DataError, match="can be read by other users; run: chmod 600"):
        load_node_key(open_key)
    (tmp_path / "no.key").write_bytes(b"no key")
    (tmp_path / "no.key").chmod(0o600)
    for name, reason in (("no.key", "not the private key"), ("absent.key", "No such file")):
        with pytest.raises(DataError, match=reason):
            load_node_key(tmp_path / name)
    with pytest.raises(DataError, match=r"has no clients\.json"):
        public_keys(tmp_path)
    with pytest.raises(DataError, match=r"has no ca\.crt"):
        server_files(tmp_path)
    listed = json.loads((made / "clients.json").read_text())
    for clients, reason in (
        ({"0": "no key"}, "no public key of client 0"),
        ({"0": 1}, "no public key of client 0"),
        ({"zero": listed["0"]}, "no public key of client zero"),
        ({"0": listed["0"], "1": listed["0"]}, "two clients have the same key"),
    ):
        (tmp_path / "clients.json").write_text(json.dumps(clients))
        with pytest.raises(DataError, match=reason):
            public_keys(tmp_path)


def test_a_key_that_is_kept_is_the_same_the_next_time(tmp_path: Path) -> None:
    numbers = [kept_key(tmp_path / "node.key")[1].public_numbers() for _ in range(2)]
    assert numbers[0] == numbers[1]
    assert stat.S_IMODE((tmp_path / "node.key").stat().st_mode) == 0o600
