"""Do certificates and keys let in those they should, and does every mistake have its sentence?"""

import datetime
import ipaddress
import ssl
import stat

import pytest

from unalike.deploy import AllowedNode, make_authority, make_node_key, read_allowed
from unalike.deploy.transport import certificates
from unalike.deploy.transport.certificates import check_dates, check_name, check_private_key
from unalike.deploy.transport.superlink import SuperLink
from unalike.errors import ConfigError, DataError

pytest.importorskip("cryptography")

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

EVIL_NAMES = ["", ".", "..", ".hidden", "../up", "a/b", "a\\b", "a b", "a\n", "ä", "a" * 65, "nul\0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make_authority(folder, ["fl.example.org", "10.1.2.3", "Upper.Example"])
    return folder


def load(path):
    return x509.load_pem_x509_certificate(path.read_bytes())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def shake_hands(server, client, name):
    """A TLS handshake in memory; returns nothing if it succeeds."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert sides[0].version() == "TLSv1.3"


def contexts(folder):
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.pem", folder / "server.key")
    return server, ssl.create_default_context(cafile=folder / "ca.pem")


@pytest.mark.parametrize(
    "host", ["fl.example.org", "10.1.2.3", "upper.example", "localhost", "127.0.0.1", "::1"]
)
def test_a_client_with_the_authority_trusts_the_server_under_each_of_its_hosts(folder, host):
    shake_hands(*contexts(folder), host)


def test_another_host_is_not_trusted(folder):
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(*contexts(folder), "evil.example.org")


def test_another_authority_is_not_trusted(folder, tmp_path):
    make_authority(tmp_path, [])
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(contexts(folder)[0], contexts(tmp_path)[1], "localhost")


def test_the_authority_signed_the_server_and_the_server_can_sign_nobody(folder):
    authority, server = load(folder / "ca.pem"), load(folder / "server.pem")
    server.verify_directly_issued_by(authority)
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not server.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    hosts = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert ipaddress.ip_address("10.1.2.3") in hosts.get_values_for_type(x509.IPAddress)


def test_private_files_are_for_their_owner_alone(folder):
    private, public = make_node_key(folder / "modes", "anna")
    for path in (folder / "ca.key", folder / "server.key", private):
        assert mode(path) == 0o600
    assert check_private_key(private) == private
    assert b"PRIVATE" not in public.read_bytes()


def test_certificates_last_as_many_days_as_asked(tmp_path):
    make_authority(tmp_path, [], days=3)
    server = load(tmp_path / "server.pem")
    assert 3 <= (server.not_valid_after_utc - server.not_valid_before_utc).total_seconds() / 86400 < 3.1


@pytest.mark.parametrize("days", [0, -1, 1.5, 10**6])
def test_an_impossible_number_of_days_is_refused(tmp_path, days):
    with pytest.raises(ConfigError, match="from 1 to 36500"):
        make_authority(tmp_path, [], days=days)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "host", ["", "a b", "-a.org", "a..b", "x" * 64, "https://a.org", "a.org:80", "ä.org"]
)
def test_a_host_that_is_none_is_refused(tmp_path, host):
    with pytest.raises(ConfigError, match="neither a host name nor an IP address"):
        make_authority(tmp_path, [host])


def test_nothing_is_overwritten_unless_asked(folder, tmp_path):
    before = (folder / "ca.key").read_bytes()
    with pytest.raises(ConfigError, match=r"ca\.pem exists already"):
        make_authority(folder, [])
    assert (folder / "ca.key").read_bytes() == before
    private, _ = make_node_key(tmp_path, "anna")
    before = private.read_bytes()
    with pytest.raises(ConfigError, match=r"anna\.key exists already"):
        make_node_key(tmp_path, "anna")
    assert private.read_bytes() == before
    make_node_key(tmp_path, "anna", replace=True)
    assert private.read_bytes() != before


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write"):
        make_authority(tmp_path / "file" / "folder", [])


@pytest.mark.parametrize("name", EVIL_NAMES)
def test_a_name_that_could_be_a_path_trick_is_refused(tmp_path, name):
    with pytest.raises(ConfigError, match="cannot name a node"):
        make_node_key(tmp_path, name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a", "hospital-3", "A_b.c", "9", "a" * 64])
def test_ordinary_names_are_fine(name):
    assert check_name(name) == name


def test_allowed_nodes_are_read_from_a_folder_a_list_or_a_file(tmp_path):
    made = [make_node_key(tmp_path, name)[1] for name in ("bert", "anna")]
    nodes = read_allowed(tmp_path)
    assert [node.name for node in nodes] == ["anna", "bert"]
    assert nodes == read_allowed(tmp_path / "nodes") == read_allowed(made)
    assert read_allowed(made[0]) == nodes[1:]
    private = serialization.load_ssh_private_key((tmp_path / "nodes/anna.key").read_bytes(), None)
    expected = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    assert nodes[0] == AllowedNode("anna", expected)


def test_the_same_key_twice_is_an_error_that_names_both(tmp_path):
    _, public = make_node_key(tmp_path, "anna")
    public.with_name("copy.pub").write_bytes(public.read_bytes())
    with pytest.raises(DataError, match="'anna' and 'copy' have the same key"):
        read_allowed(tmp_path)


def test_the_same_name_twice_is_an_error(tmp_path):
    files = [make_node_key(tmp_path / part, "anna")[1] for part in ("one", "two")]
    with pytest.raises(DataError, match="two files claim the node name 'anna'"):
        read_allowed(files)


def line(key):
    return key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not the public key of a node"),
        (b"\x00\xff nonsense", "is not the public key of a node"),
        (b"ecdsa-sha2-nistp384 AAAA anna", "is not the public key of a node"),
        (line(ed25519.Ed25519PrivateKey.generate()), "is not an elliptic-curve key"),
        (b"x" * 20_000, "is too large to be a key"),
    ],
    ids=["nothing", "nonsense", "short", "other kind", "too large"],
)
def test_a_bad_public_key_is_an_error_that_names_the_file(tmp_path, content, words):
    (tmp_path / "bad.pub").write_bytes(content)
    with pytest.raises(DataError, match=rf"bad\.pub {words}"):
        read_allowed(tmp_path)


def test_a_missing_or_empty_folder_and_a_bad_file_name_are_errors(tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        read_allowed(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds no public key"):
        read_allowed(tmp_path)
    with pytest.raises(DataError, match="cannot read the key"):
        read_allowed([tmp_path / "gone.pub"])
    (tmp_path / "a b.pub").write_bytes(line(ec.generate_private_key(ec.SECP256R1())))
    with pytest.raises(DataError, match=r"a b\.pub: 'a b' cannot name a node"):
        read_allowed(tmp_path)


def test_a_private_key_is_checked_before_it_is_used(tmp_path):
    private, public = make_node_key(tmp_path, "anna")
    with pytest.raises(DataError, match="is not a node's private key"):
        check_private_key(public)
    with pytest.raises(DataError, match="cannot read the key"):
        check_private_key(tmp_path / "gone.key")
    private.chmod(0o644)
    with pytest.raises(DataError, match="can be read by others"):
        check_private_key(private)


def test_flowers_supernode_reads_the_key_and_its_superlink_the_public_one(tmp_path):
    flower = pytest.importorskip("flwr.supercore.primitives.asymmetric")
    private, _ = make_node_key(tmp_path, "anna")
    key = serialization.load_ssh_private_key(private.read_bytes(), None)
    public = flower.bytes_to_public_key(read_allowed(tmp_path)[0].public_key)
    assert flower.uses_nist_ec_curve(public)
    assert flower.verify_signature(public, b"now", flower.sign_message(key, b"now"))


def test_the_server_says_that_its_own_certificate_expired(folder, tmp_path, monkeypatch):
    check_dates(folder / "server.pem")
    made = load(folder / "server.pem")

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return made.not_valid_after_utc + datetime.timedelta(days=1)

    monkeypatch.setattr(certificates.datetime, "datetime", Later)
    with pytest.raises(ConfigError, match=r"ca\.pem expired on 20\d\d-\d\d-\d\d; make new"):
        SuperLink("127.0.0.1:9092", folder, [], tmp_path)
