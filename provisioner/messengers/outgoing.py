"""Posting JSON to an address that a customer named: only where `reason_against` lets it, and never elsewhere.

A name is resolved once, every address that it stands for is judged, and the connection goes to the one that was judged:
a name that stands for something else a moment later gains nothing. Redirects are not followed, proxies not used.
"""

import http.client
import ipaddress
import json
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

SECONDS = 10.0
_SHOWN = 300
_RETRYABLE = frozenset({408, 425, 429})

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Judge = Callable[[Address], str | None]
"""Why nothing is sent there; None when it may be."""


class NotSent(Exception):
    """The other side does not have the message. `final`: another try would not help."""

    def __init__(self, message: str, *, final: bool) -> None:
        super().__init__(message)
        self.final = final


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    """Its beginning, on one line."""


def post_json(url: str, body: bytes, *, headers: Mapping[str, str], judge: Judge) -> Answer:
    """The answer if it is a success. Raises NotSent."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = _connection(parts.scheme, host, port, _judged(host, port, judge))
    try:
        connection.request(
            "POST",
            path,
            body=body,
            headers={"Content-Type": "application/json", "User-Agent": "Ringmaster", "Connection": "close", **headers},
        )
        response = connection.getresponse()
        answer = Answer(response.status, _line(response.read(4096)))
    except ssl.SSLCertVerificationError as error:
        raise NotSent(f"{host}: its certificate is not trusted: {error.verify_message}.", final=False) from error
    except (OSError, http.client.HTTPException) as error:
        raise NotSent(f"{host} was not reached: {_why(error)}.", final=False) from error
    finally:
        connection.close()
    if not 200 <= answer.status < 300:
        final = 300 <= answer.status < 500 and answer.status not in _RETRYABLE
        raise NotSent(f"{host} answered {answer.status} {answer.text}".rstrip(), final=final)
    return answer


def encoded(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _judged(host: str, port: int, judge: Judge) -> str:
    """The address to connect to. All that the name stands for must be allowed."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotSent(f"{host} is not known: {_why(error)}.", final=False) from error
    addresses = [str(each[4][0]).partition("%")[0] for each in found]
    for address in addresses:
        if (reason := judge(ipaddress.ip_address(address))) is not None:
            raise NotSent(f"Nothing is sent to {host}: {reason}", final=True)
    return addresses[0]


def _connection(scheme: str, host: str, port: int, address: str) -> http.client.HTTPConnection:
    if scheme == "https":
        return _TlsConnection(host, port, address)
    return _Connection(host, port, address)


class _Connection(http.client.HTTPConnection):
    """To the address that was judged, whatever the name stands for by now."""

    def __init__(self, host: str, port: int, address: str) -> None:
        super().__init__(host, port, timeout=SECONDS)
        self._address = address

    def connect(self) -> None:
        self.sock = socket.create_connection((self._address, self.port), SECONDS)


class _TlsConnection(_Connection):
    default_port = 443

    def connect(self) -> None:
        super().connect()
        self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


def _line(text: bytes) -> str:
    said = " ".join(text.decode(errors="replace").split())
    return "".join(character for character in said if character.isprintable())[:_SHOWN]


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
