"""Which addresses networks and their subnets get. Derived, not remembered."""

import hashlib
from collections.abc import Iterable
from ipaddress import IPv4Network, ip_network

from provisioner.providers.base import InvalidRequest, QuotaExceeded

_VPC_PREFIX = 16
_SUBNET_PREFIX = 20
_GIVEN_SUBNET_PREFIX = 24


def vpc_block(pool: str, name: str) -> IPv4Network:
    """The /16 of a network's own VPC: by its name, so that a second attempt asks for the same."""
    blocks = list(IPv4Network(pool).subnets(new_prefix=_VPC_PREFIX))
    digest = hashlib.sha256(name.encode()).digest()
    return blocks[int.from_bytes(digest[:8], "big") % len(blocks)]


def subnet_block(vpc: IPv4Network, position: int) -> IPv4Network:
    """The /20 of the zone at this position, in a VPC of our own."""
    return list(vpc.subnets(new_prefix=_SUBNET_PREFIX))[position]


def free_block(vpc: IPv4Network, taken: Iterable[str]) -> IPv4Network:
    """The first /24 of a given VPC that no subnet has. QuotaExceeded when there is none."""
    others = [IPv4Network(block) for block in taken]
    for block in vpc.subnets(new_prefix=max(_GIVEN_SUBNET_PREFIX, vpc.prefixlen)):
        if not any(block.overlaps(other) for other in others):
            return block
    raise QuotaExceeded(f"The VPC's address block {vpc} has no free /{_GIVEN_SUBNET_PREFIX} for another subnet.")


def client_block(source: str) -> str:
    """A source of clients as AWS spells it. InvalidRequest."""
    try:
        return str(ip_network(source, strict=False))
    except ValueError as error:
        raise InvalidRequest(f"{source!r} is not a CIDR block.") from error
