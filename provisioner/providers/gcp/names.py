"""Our words in GCP's syntax: labels that can be read back, request ids, subnet ranges. Pure."""

import hashlib
import ipaddress
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import asdict

from provisioner.providers.base import InvalidRequest, MachineSpec

INSTALLATION_LABEL = "ringmaster-installation"
NETWORK_LABEL = "ringmaster-network"
"""Labels of our own; what else a machine carries are the tags of its spec."""

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_PLAIN = set("abcdefghijklmnopqrstuvwxyz0123456789-_")
_LONGEST_LABEL = 63
_REQUESTS = uuid.UUID("6f0d8f3e-0b0a-5a0e-9a53-2d6c1e0f7b11")
_SUBNET_PREFIX = 22


def is_name(name: str) -> bool:
    """Whether GCP takes this as the name of a resource (RFC 1035 label, at most 63 characters)."""
    return _NAME.fullmatch(name) is not None


def checked_name(name: str) -> str:
    if not is_name(name):
        raise InvalidRequest(f"{name!r} cannot be a name at GCP: lower case, digits and hyphens, at most 63.")
    return name


def label(text: str) -> str:
    """`text` as a label's key or value, read back by `unlabel`.

    Every byte that labels do not take becomes `__` and two hex digits; so does an underscore before another underscore
    or before such a byte, which keeps it unambiguous. InvalidRequest when the result is longer than 63 characters.
    """
    written = ""
    for letter in reversed(text):
        if letter in _PLAIN and not (letter == "_" and written.startswith("_")):
            written = letter + written
        else:
            written = "".join(f"__{byte:02x}" for byte in letter.encode()) + written
    if len(written) > _LONGEST_LABEL:
        raise InvalidRequest(f"{text!r} is too long for a label of GCP: {len(written)} of {_LONGEST_LABEL} characters.")
    return written


def unlabel(written: str) -> str:
    escaped = re.sub(r"__([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), written)
    return escaped.encode("latin-1").decode()


def labels(tags: Mapping[str, str], *, installation: str, network: str) -> dict[str, str]:
    """The labels of a machine. InvalidRequest for a tag whose key does not start with a lower-case letter."""
    for key in tags:
        if not "a" <= key[:1] <= "z":
            raise InvalidRequest(f"Tag {key!r} cannot be a label of GCP: it must start with a lower-case letter.")
    ours = {INSTALLATION_LABEL: installation, NETWORK_LABEL: network}
    return {label(key): label(value) for key, value in tags.items()} | ours


def tags(written: Mapping[str, str]) -> dict[str, str]:
    """The tags that `labels` was given."""
    return {
        unlabel(key): unlabel(value)
        for key, value in sorted(written.items())
        if key not in (INSTALLATION_LABEL, NETWORK_LABEL)
    }


def request_id(*parts: str) -> str:
    """GCP ignores a second request with the same id, so it is derived from what is wanted and what was seen."""
    return str(uuid.uuid5(_REQUESTS, "/".join(parts)))


def spec_hash(spec: MachineSpec) -> str:
    return hashlib.sha256(json.dumps(asdict(spec), sort_keys=True).encode()).hexdigest()


def subnet_range(address_block: str, network: str) -> str:
    """A block of 1,024 addresses for this network, the same each time.

    Two networks get the same one with a chance of one in the number of blocks; that matters only when both are peered.
    """
    block = ipaddress.ip_network(address_block)
    blocks = 2 ** (_SUBNET_PREFIX - block.prefixlen)
    number = int.from_bytes(hashlib.sha256(network.encode()).digest()[:8], "big") % blocks
    first = block.network_address + number * 2 ** (block.max_prefixlen - _SUBNET_PREFIX)
    return f"{first}/{_SUBNET_PREFIX}"
