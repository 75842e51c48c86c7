"""Connection diagnosis: is the server down, another program, or its certificate wrong?

Flower's SuperNode tries again whatever the reason. A node asks the same address once more, by a plain
connection and then by a handshake, and tells its owner what is wrong and what to do.
"""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from .flower import split_address

PATIENCE = 3.0
"""Seconds for a connection, and for a handshake."""


def explain_silence(link: str, root: Path | None) -> str:
    """One sentence on what stands between this machine and a link; nothing is sent to it."""
    host, port = split_address(link)
    try:
        with socket.create_connection((host, port), PATIENCE) as connection:
            return _explain_handshake(connection, link, host, root)
    except socket.gaierror:
        return f"there is no host called {host}; check --server and the network."
    except ConnectionRefusedError:
        return (
            f"nobody listens at {link}; the server has not been started or has ended, or --server has "
            "another port than `unalike serve --address`."
        )
    except TimeoutError:
        return f"{link} does not answer; check --server, and whether a firewall is in between."
    except OSError as error:
        return f"{link} cannot be reached ({error.strerror or error}); check --server and the network."


def _explain_handshake(connection: socket.socket, link: str, host: str, root: Path | None) -> str:
    try:
        with _trusting(root).wrap_socket(connection, server_hostname=host):
            pass
    except ssl.SSLCertVerificationError as error:
        return _explain_certificate(error, link, host, root)
    except (ssl.SSLError, ConnectionError, TimeoutError):
        if root is None:
            return f"{link} is there, but does not take nodes yet."
        return (
            f"{link} does not speak TLS; another program listens there, or the server was started with "
            "--insecure."
        )
    if root is None:
        return f"{link} asks for TLS; leave out --insecure, and give --certificate and --key."
    return f"{link} is there, but does not take nodes yet."


def _trusting(root: Path | None) -> ssl.SSLContext:
    """Trusts one authority; without one, it only asks whether TLS is spoken."""
    if root is not None:
        return ssl.create_default_context(cafile=root)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


_OTHER_NAME = {62, 64}
"""OpenSSL's numbers for a certificate of another host name or IP address."""
_EXPIRED, _NOT_YET = 10, 9


def _explain_certificate(error: ssl.SSLCertVerificationError, link: str, host: str, root: Path | None) -> str:
    if error.verify_code in _OTHER_NAME:
        return (
            f"the certificate of {link} is not made for {host}; give --server the name it was made for, or "
            f"have the server's owner make it again with `unalike certs --hosts {host} --replace`."
        )
    if error.verify_code in {_EXPIRED, _NOT_YET}:
        return f"the certificate of {link} is not valid today ({error.verify_message}); tell its owner."
    return (
        f"the certificate of {link} is not of the authority in {root}; get ca.pem from the server's owner "
        "and give it as --certificate."
    )
