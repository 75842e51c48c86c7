"""TLS certificates, node keys, and the allow-list of nodes.

One folder holds the keys of a federation's server: an authority made for this federation alone (`ca.pem`,
`ca.key`) and a server certificate it signed (`server.pem`, `server.key`). Nodes get `ca.pem`, so they talk
only to this server. A node makes its own key on its own machine (`nodes/NAME.key`, `nodes/NAME.pub`) and
hands over the `.pub` file; the server talks only to nodes whose `.pub` it was given. Private files are
readable by their owner alone.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigError, DataError
from .flower import check_cryptography

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

_ALWAYS = ("localhost", "127.0.0.1", "::1")  # the server's own processes reach it there
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")
_HOST = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(\.(?!-)[A-Za-z0-9-]{1,63})*")
_LARGEST_KEY_FILE = 10_000


@dataclass(frozen=True)
class AllowedNode:
    """A node that may take part: its name, and its public key as PEM bytes."""

    name: str
    public_key: bytes


def check_name(name: str) -> str:
    """The name itself, if it can name a node and its files.

    >>> check_name("hospital-3")
    'hospital-3'
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} cannot name a node; use 1 to 64 letters, digits, '-', '_' and '.', no '.' first."
        )
    return name


def make_authority(folder: str | Path, hosts: Sequence[str], days: int = 825, replace: bool = False) -> Path:
    """Make an authority and a server certificate for the hosts (names or IP addresses); returns `ca.pem`.

    Nodes reach the server under one of the hosts; `localhost` and the loopback addresses are always among
    them.
    """
    check_cryptography()
    folder = Path(folder)
    files = [folder / name for name in ("ca.pem", "ca.key", "server.pem", "server.key")]
    names = list(dict.fromkeys([*(_check_host(host) for host in hosts), *_ALWAYS]))
    if not isinstance(days, int) or not 1 <= days <= 36_500:
        raise ConfigError(f"certificates cannot last {days} days; choose a whole number from 1 to 36500.")
    _keep(files, replace)
    authority, signer = _authority(days)
    server, key = _server(names, days, authority, signer)
    for path, content in zip(
        files, (_pem(authority), _pkcs8(signer), _pem(server), _pkcs8(key)), strict=True
    ):
        _write(path, content, private=path.suffix == ".key")
    return files[0]


def make_node_key(folder: str | Path, name: str, replace: bool = False) -> tuple[Path, Path]:
    """Make a node's private key and public key; returns both paths. Only the public one ever travels."""
    check_cryptography()
    from cryptography.hazmat.primitives import serialization as form

    nodes = Path(folder) / "nodes"
    private, public = nodes / f"{check_name(name)}.key", nodes / f"{name}.pub"
    _keep([private, public], replace)
    key = _new_key()
    _write(
        private, key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption()), True
    )
    line = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    _write(public, line + f" {name}\n".encode(), False)
    return private, public


def read_allowed(source: str | Path | Iterable[str | Path]) -> list[AllowedNode]:
    """The nodes whose `.pub` files are in a folder (or in its `nodes`), or are given one by one, by name.

    A node's name is its file's name without `.pub`.
    """
    check_cryptography()
    nodes = sorted((_read_public(path) for path in _public_files(source)), key=lambda node: node.name)
    owners: dict[bytes, str] = {}
    for first, second in pairwise(nodes):
        if first.name == second.name:
            raise DataError(
                f"two files claim the node name {first.name!r}; every node needs a name of its own."
            )
    for node in nodes:
        if (other := owners.setdefault(node.public_key, node.name)) != node.name:
            raise DataError(f"nodes {other!r} and {node.name!r} have the same key; every node needs its own.")
    return nodes


def check_private_key(path: str | Path) -> Path:
    """The path itself, if it holds a node's private key that Flower can use and that others cannot read."""
    check_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    path = Path(path)
    try:
        key = load_ssh_private_key(_read(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise DataError(f"{path} is not a node's private key; make one with make_node_key.") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise DataError(f"{path} is not an elliptic-curve key; make one with make_node_key.")
    if path.stat().st_mode & 0o077:
        raise DataError(f"{path} can be read by others; allow only its owner (chmod 600).")
    return path


def check_dates(path: Path) -> None:
    """Raise if a certificate is not valid now, of which only nodes would hear the reason."""
    check_cryptography()
    from cryptography import x509

    try:
        made = x509.load_pem_x509_certificate(_read(path))
    except ValueError as error:
        raise DataError(f"{path} is no certificate; make certificates with make_authority.") from error
    now = datetime.datetime.now(datetime.UTC)
    if now > made.not_valid_after_utc:
        raise ConfigError(
            f"{path} expired on {made.not_valid_after_utc:%Y-%m-%d}; make new certificates (`unalike certs "
            "--replace`), and give ca.pem to every node."
        )
    if now < made.not_valid_before_utc:
        raise ConfigError(
            f"{path} is not valid before {made.not_valid_before_utc:%Y-%m-%d}; is this machine's clock right?"
        )


def _public_files(source: str | Path | Iterable[str | Path]) -> list[Path]:
    if not isinstance(source, str | Path):
        return [Path(path) for path in source]
    folder = Path(source)
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder} with the public keys of nodes.")
    found = list(folder.glob("*.pub")) or list(folder.glob("nodes/*.pub"))
    if not found:
        raise DataError(f"folder {folder} holds no public key of a node (NAME.pub).")
    return found


def _read_public(path: Path) -> AllowedNode:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        name = check_name(path.stem)
        key = form.load_ssh_public_key(_read(path).strip())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise DataError(f"{path} is not the public key of a node; make one with make_node_key.") from error
    except ConfigError as error:
        raise DataError(f"file {path}: {error}") from error
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise DataError(f"{path} is not an elliptic-curve key; make one with make_node_key.")
    return AllowedNode(name, key.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo))


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST_KEY_FILE:
            raise DataError(f"{path} is too large to be a key.")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the key {path} ({error.strerror}).") from error


def _keep(files: Iterable[Path], replace: bool) -> None:
    existing = [path for path in files if path.exists() or path.is_symlink()]
    if existing and not replace:
        raise ConfigError(f"{existing[0]} exists already; use another folder, or ask to replace it.")
    for path in existing:
        path.unlink()


def _write(path: Path, content: bytes, private: bool) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Created with its mode and never through a link: there is no moment in which others could read a key.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o644)
    except OSError as error:
        raise ConfigError(f"cannot write {path} ({error.strerror}).") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _new_key() -> ec.EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP384R1())


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _pkcs8(key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization as form

    return key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())


def _check_host(host: str) -> str:
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    if len(host) > 253 or not _HOST.fullmatch(host):
        raise ConfigError(f"{host!r} is neither a host name nor an IP address.")
    return host.lower()


def _draft(name: str, days: int, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    from cryptography import x509

    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_make_name(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))  # clocks of nodes may be late
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _make_name(name: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _authority(days: int) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    key = _new_key()
    draft = _draft("Unalike authority", days, key).issuer_name(_make_name("Unalike authority"))
    draft = draft.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    draft = draft.add_extension(_usage(signs_certificates=True), critical=True)
    return draft.sign(key, hashes.SHA384()), key


def _server(
    hosts: Sequence[str], days: int, authority: x509.Certificate, signer: ec.EllipticCurvePrivateKey
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = _new_key()
    issued = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    draft = _draft("Unalike server", days, key).issuer_name(authority.subject)
    draft = draft.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    draft = draft.add_extension(_usage(signs_certificates=False), critical=True)
    draft = draft.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    draft = draft.add_extension(issued, critical=False)
    draft = draft.add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), False)
    return draft.sign(signer, hashes.SHA384()), key


def _alternative(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
