"""As much of CQL's binary protocol (version 4) as a warm-up of the engine needs: log in over TLS, run statements."""

import socket
import ssl
import struct
from types import TracebackType
from typing import Self

_ERROR, _STARTUP, _AUTHENTICATE, _QUERY, _AUTH_RESPONSE = 0x00, 0x01, 0x03, 0x07, 0x0F
_ALL = 5


class CqlError(Exception):
    """The engine refused, or the line broke."""


class CqlSession:
    def __init__(self, address: str, *, port: int = 9042, username: str, password: str) -> None:
        context = ssl.create_default_context()
        # A throw-away node of our own, on loopback, with a certificate made a moment ago.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        plain = socket.create_connection((address, port), timeout=20)
        self._socket = context.wrap_socket(plain)
        try:
            self._log_in(username, password)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def run(self, statement: str) -> None:
        """Execute a statement at ALL; its rows are read and dropped. CqlError."""
        text = statement.encode()
        self._ask(_QUERY, struct.pack(">I", len(text)) + text + struct.pack(">HB", _ALL, 0))

    def _log_in(self, username: str, password: str) -> None:
        version = b"\x00\x01" + _string("CQL_VERSION") + _string("3.0.0")
        if self._ask(_STARTUP, version) == _AUTHENTICATE:
            token = b"\x00" + username.encode() + b"\x00" + password.encode()
            self._ask(_AUTH_RESPONSE, struct.pack(">i", len(token)) + token)

    def _ask(self, opcode: int, body: bytes) -> int:
        self._socket.sendall(struct.pack(">BBhBI", 4, 0, 1, opcode, len(body)) + body)
        _, _, _, answer, length = struct.unpack(">BBhBI", self._read(9))
        content = self._read(length)
        if answer == _ERROR:
            raise CqlError(content[6:].decode(errors="replace"))
        return int(answer)

    def _read(self, count: int) -> bytes:
        parts = b""
        while len(parts) < count:
            part = self._socket.recv(count - len(parts))
            if not part:
                raise CqlError("the engine closed the connection")
            parts += part
        return parts


def _string(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()
