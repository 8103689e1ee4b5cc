"""Regions, zones and loopback addresses of the local provider.

A zone is one /16 of 127/8, so a node's zone can be read off its address. Where in the /16 a machine starts to look is
derived from the state folder and its name: two checkouts on one computer rarely meet, and where they do the ports tell.
"""

import errno
import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

from provisioner.providers.base import OutOfCapacity

REGIONS = {
    "local-1": ("local-1a", "local-1b", "local-1c"),
    "local-2": ("local-2a", "local-2b", "local-2c"),
}
"""Zones by region. Both are the computer at hand: a second one is for trying out clusters of two data centres."""

SECOND_OCTET = {zone: 1 + number for number, zone in enumerate(zone for zones in REGIONS.values() for zone in zones)}
"""Zone → the x of its 127.x/16."""

AGENT_PORT = 7443
INTERNODE_PORT = 7000
CQL_PORT = 9042

_HOSTS_PER_OCTET = 254  # the last octet is never 0 or 255: some programs take those for a network or a broadcast
_HOSTS = 256 * _HOSTS_PER_OCTET
_MOST_PROBES = 2048


def choose_address(*, state_dir: Path, name: str, zone: str, held: frozenset[str]) -> str:
    """A free loopback address for a machine: the derived one, or the next that nobody holds. OutOfCapacity."""
    for probe, address in enumerate(_candidates(state_dir, name, zone)):
        if probe == _MOST_PROBES:
            break
        if address not in held and _ports_free(address):
            return address
    octet = SECOND_OCTET[zone]
    raise OutOfCapacity(
        f"No free loopback address in zone {zone} (127.{octet}.0.0/16) after {_MOST_PROBES} tries.",
        hint=f"Something may listen on all addresses: see `ss -ltn`, ports {AGENT_PORT}, {INTERNODE_PORT}, {CQL_PORT}.",
    )


def _candidates(state_dir: Path, name: str, zone: str) -> Iterator[str]:
    start = _start(state_dir, name)
    for step in range(_HOSTS):
        third, fourth = divmod((start + step) % _HOSTS, _HOSTS_PER_OCTET)
        yield f"127.{SECOND_OCTET[zone]}.{third}.{fourth + 1}"


def _start(state_dir: Path, name: str) -> int:
    digest = hashlib.sha256(f"{state_dir}\0{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def _ports_free(address: str) -> bool:
    return all(_can_bind(address, port) for port in (AGENT_PORT, INTERNODE_PORT, CQL_PORT))


def _can_bind(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As a server would: connections of an earlier owner that still linger are no hindrance, a listener is.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
                return False
            raise
        return True
