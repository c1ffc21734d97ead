"""Servers of TLS on loopback whose certificates are wrong in one way each, made for the tests."""

from __future__ import annotations

import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = dt.datetime.now(dt.UTC)


@dataclass(frozen=True)
class Authority:
    """Signs certificates; `path` has its own, for those who trust it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    path: Path

    @classmethod
    def make(cls, folder: Path, name: str) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(_name(name), key, _name(name), key, days=30, is_authority=True)
        path = folder / f"{name}.pem"
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return cls(key, certificate, path)

    def issue(self, folder: Path, host: str, days: int = 30) -> tuple[Path, Path]:
        """A certificate for a host and its key, valid until in so many days."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(_name(host), key, self.certificate.subject, self.key, days, host)
        paths = folder / f"{host}{days}.pem", folder / f"{host}{days}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return paths


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    days: int,
    host: str = "",
    is_authority: bool = False,
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - dt.timedelta(days=60))
        .not_valid_after(NOW + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if host:
        is_number = host.replace(".", "").isdecimal()
        name = x509.IPAddress(ipaddress.ip_address(host)) if is_number else x509.DNSName(host)
        builder = builder.add_extension(x509.SubjectAlternativeName([name]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


@contextmanager
def tls_server(certificate: Path, key: Path) -> Iterator[int]:
    """The port of a server that shakes hands, as one of Spark's would, and says no more."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            with client, suppress(OSError), context.wrap_socket(client, server_side=True) as secure:
                secure.recv(1 << 16)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
