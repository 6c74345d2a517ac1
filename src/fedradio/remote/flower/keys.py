"""Keys and certificates of a federation: its own certificate authority, the server's certificate, a key per device.

The authority signs the server's certificate for the names under which devices reach it, and nothing else. A device
shows which client it is by its own key: the server has a list of the clients with their public keys. Private files can
be read by their owner only.
"""

from __future__ import annotations

import ipaddress
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from fedradio.core.errors import DataError, Problem, SpecError, StoreError
from fedradio.core.files import canonical, parse_json, read_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.x509 import Certificate, GeneralName, Name

CA_FILE, SERVER_FILE, SERVER_KEY_FILE = "ca.crt", "server.crt", "server.key"
CLIENTS_FILE = "clients.json"
"""Name of the list of the clients: the public key of each, by its number."""

LASTS = timedelta(days=825)
"""How long a certificate is valid."""

MOST_NODES = 10_000


def node_file(number: int) -> str:
    """Name of the file with the private key of a client's device."""
    return f"node-{number}.key"


def make_keys(folder: Path, host: str, nodes: int) -> list[Path]:
    """Write certificates and keys into a new or empty folder; returns the files.

    ``ca.crt`` goes to every device, and ``node-K.key`` to that of client K; the rest stays with the server, such as the
    list of clients and their public keys. The authority's own key is thrown away: nothing else can be signed by it.
    """
    if not 1 <= nodes <= MOST_NODES:
        raise SpecError(Problem("--nodes", f"a federation has 1 to {MOST_NODES} devices", "such as 3", nodes))
    names = _names(host)
    _claim(folder)
    from cryptography.hazmat.primitives.serialization import Encoding

    authority, server = _new_key(), _new_key()
    ca = _certificate(_name("fedradio federation"), authority, authority.public_key(), None, ())
    signed = _certificate(_name(host), authority, server.public_key(), ca, names)
    files = {CA_FILE: ca.public_bytes(Encoding.PEM), SERVER_FILE: signed.public_bytes(Encoding.PEM)}
    files[SERVER_KEY_FILE] = _pem(server)
    listed = {}
    for number in range(nodes):
        files[node_file(number)], listed[str(number)] = _node_pair(_new_key())
    files[CLIENTS_FILE] = canonical(listed)
    for name, data in files.items():
        _write_private(folder / name, data)
    return [folder / name for name in files]


def public_keys(folder: Path) -> dict[int, bytes]:
    """Public keys of the clients in the list of a folder, by number, as Flower knows them (PEM)."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_public_key

    path, found = folder / CLIENTS_FILE, dict[int, bytes]()
    if not path.is_file():
        raise DataError(f"{folder} has no {CLIENTS_FILE}: fedradio keys {folder} --host NAME --nodes N makes it")
    for number, text in parse_json(read_bytes(path), path).items():
        try:
            key = load_ssh_public_key(text.encode())
            found[int(number)] = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        except (ValueError, AttributeError, UnsupportedAlgorithm) as error:
            raise DataError(f"{path}: no public key of client {number:.20} ({error})") from None
    if len(set(found.values())) < len(found):
        raise DataError(f"{path}: two clients have the same key")
    return found


def server_files(folder: Path) -> dict[str, Path]:
    """The server's certificate, its key and the authority's certificate in a folder of ``fedradio keys``."""
    files = {name: folder / name for name in (CA_FILE, SERVER_FILE, SERVER_KEY_FILE)}
    missing = [name for name, path in files.items() if not path.is_file()]
    if missing:
        raise DataError(f"{folder} has no {missing[0]}; create it with: fedradio keys {folder} --host NAME --nodes N")
    return files


def load_node_key(path: Path) -> tuple[EllipticCurvePrivateKey, EllipticCurvePublicKey]:
    """The key pair of a device, from its private file; one that others can read is refused."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise DataError(f"{path} can be read by other users; run: chmod 600 {path}")
        key = load_ssh_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    except (ValueError, UnsupportedAlgorithm) as error:
        raise DataError(f"{path}: not the private key of a device ({error})") from None
    if not isinstance(key, EllipticCurvePrivateKey):
        raise DataError(f"{path}: not an elliptic-curve key as made by fedradio keys")
    return key, key.public_key()


def kept_key(path: Path) -> tuple[EllipticCurvePrivateKey, EllipticCurvePublicKey]:
    """The key pair in a file, which is made where there is none: a device that is started again is the same one."""
    if not path.exists():
        _write_private(path, _node_pair(_new_key())[0])
    return load_node_key(path)


def check_authority(path: Path) -> None:
    """Refuse a file that is not the certificate of an authority."""
    from cryptography.x509 import load_pem_x509_certificates

    try:
        load_pem_x509_certificates(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: certificate not found ({error.strerror})") from None
    except ValueError as error:
        raise DataError(f"{path}: not a certificate ({error})") from None


def _claim(folder: Path) -> None:
    """Make the folder; refuse one that holds anything: keys are never replaced."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise StoreError(f"{folder} is not empty: keys are never overwritten, choose another folder")
    except OSError as error:
        raise StoreError(f"cannot use {folder}: {error.strerror or error}") from None


def _names(host: str) -> list[str]:
    """Names and addresses under which the server is reached."""
    if (
        not host
        or len(host) > 253
        or not all(letter.isalnum() or letter in "-.:" for letter in host)
        or not host.isascii()
    ):
        reason = "must be the name or address at which devices reach the server"
        raise SpecError(Problem("--host", reason, "such as server.example.org or 192.168.1.10", host))
    return list(dict.fromkeys([host, "localhost", "127.0.0.1"]))


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP384R1())


def _name(common: str) -> Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _certificate(
    subject: Name,
    signer: EllipticCurvePrivateKey,
    public: EllipticCurvePublicKey,
    issuer: Certificate | None,
    names: tuple[str, ...] | list[str],
) -> Certificate:
    """A certificate for these names, or, without an issuer, that of the authority itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID

    now, authority = datetime.now(UTC), issuer is None
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LASTS)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(
                digital_signature=not authority,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=not authority,
                key_cert_sign=authority,
                crl_sign=authority,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    return builder.sign(signer, hashes.SHA384())


def _alternative(name: str) -> GeneralName:
    """A name as an entry of a certificate: an address, or a name of the domain system."""
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _node_pair(key: EllipticCurvePrivateKey) -> tuple[bytes, str]:
    """The two halves of a device's key, in the format of OpenSSH."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    return private, key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def _write_private(path: Path, data: bytes) -> None:
    """Write a new file that only its owner can read."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None
