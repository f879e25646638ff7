"""The token of a daemon, which both sides know and neither sends; and TLS, for those who want more."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import ssl
import stat
from typing import Any

from kinetograph.errors import UsageError

__all__ = ["client_tls", "daemon_tls", "end_of_connection", "new_challenge", "proof", "read_token"]

_LEAST_TOKEN_BYTES, _MOST_TOKEN_BYTES = 16, 4096


def read_token(path: str) -> bytes:
    """The first line of a file that only its user can read."""
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            token = file.read(_MOST_TOKEN_BYTES).partition(b"\n")[0].strip()
    except OSError as error:
        raise UsageError(f"cannot read the token in {path}: {error.strerror}") from error
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise UsageError(f"{path} can be read by others", hint=f"chmod 600 {path}, and take another token")
    if len(token) < _LEAST_TOKEN_BYTES:
        raise UsageError(
            f"the token in {path} has {len(token)} bytes, and is guessed too soon",
            hint=f"head -c 32 /dev/urandom | base64 > {path}",
        )
    return token


def new_challenge() -> str:
    return os.urandom(32).hex()


def proof(token: bytes, challenge: str, daemon: str) -> str:
    """That whoever answers the challenge knows the token, and is connected to that very daemon.

    Without the latter, somebody who listens where no daemon does could pass on the challenge of another one,
    and be let in there with the answer.
    """
    said = f"kinetograph visitor {challenge} {daemon}"
    return hmac.new(token, said.encode(errors="replace"), hashlib.sha256).hexdigest()


def end_of_connection(name: tuple[Any, ...]) -> str:
    """Address and port, spelled the same as seen from both ends."""
    address = ipaddress.ip_address(str(name[0]).partition("%")[0])
    of_version_4 = getattr(address, "ipv4_mapped", None)
    return f"{of_version_4 or address} {name[1]}"


def daemon_tls(certificate: str, key: str | None, clients: str | None) -> ssl.SSLContext:
    """`clients`: who signed the certificates that visitors have to show."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _load(context, certificate, key, clients)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_tls(authority: str, certificate: str | None, key: str | None) -> ssl.SSLContext:
    """`authority`: who signed the certificates of the daemons."""
    # Only that one: what the system trusts says nothing of daemons.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _load(context, certificate, key, authority)
    return context


def _load(context: ssl.SSLContext, certificate: str | None, key: str | None, authority: str | None) -> None:
    try:
        if certificate is not None:
            context.load_cert_chain(certificate, key)
        if authority is not None:
            context.load_verify_locations(authority)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(filter(None, (certificate, key, authority)))
        raise UsageError(f"cannot use {files} for TLS: {error}") from error
