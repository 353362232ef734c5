"""Certificates for the loopback: an authority of the tests, those it vouches for, and an impostor."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import pytest

NAMES = ("portal-a.test", "portal-b.test", "judge.test")


@dataclass(frozen=True)
class Certificates:
    ca: Path
    server: ssl.SSLContext
    impostor: ssl.SSLContext


def make_certificates(folder: Path) -> Certificates:
    openssl = which("openssl")
    if openssl is None:
        pytest.skip("openssl is not here to make certificates")

    def run(*arguments: str) -> None:
        subprocess.run([openssl, *arguments], check=True, capture_output=True, cwd=folder)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    run("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=fleet authority",
        "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # fmt: skip
    addresses = ["IP:127.0.0.1", *(f"IP:127.10.0.{number}" for number in range(1, 9))]  # the fleet's first
    names = ",".join([*addresses, *(f"DNS:{name}" for name in NAMES)])
    run("req", *key[:5], "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=portal-a.test")
    (folder / "extension").write_text(f"subjectAltName={names}\n")
    run("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
        "-out", "server.pem", "-days", "2", "-extfile", "extension")  # fmt: skip
    run("req", "-x509", *key, "-keyout", "evil.key", "-out", "evil.pem", "-subj", "/CN=evil",
        "-addext", f"subjectAltName={names}")  # fmt: skip
    return Certificates(folder / "ca.pem", _context(folder, "server"), _context(folder, "evil"))


def _context(folder: Path, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return context
