"""Which addresses messages about alerts may be sent to. Pure.

Receivers are named by customers, and whoever sends stands inside the operator's network: without a rule they could
reach what is nobody's business there (metadata services, databases, the control plane itself). So only public
addresses, and networks that the operator has named (RINGMASTER_ALERT_NETWORKS).
"""

import ipaddress
from collections.abc import Sequence
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def reason_against(address: Address, networks: Sequence[str]) -> str | None:
    """Why nothing is sent there; None when it may be."""
    mapped = getattr(address, "ipv4_mapped", None)
    plain: Address = mapped or address
    if any(plain in ipaddress.ip_network(network) for network in networks):
        return None
    if plain.is_global and not plain.is_multicast:
        return None
    return f"{plain} is not a public address, and RINGMASTER_ALERT_NETWORKS does not name it."


def checked_url(text: str, networks: Sequence[str]) -> str:
    """An address that may be sent to as far as its text says. ValueError with what is wrong.

    A name is resolved, and what it stands for checked, each time that something is sent.
    """
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("write it like https://hooks.example.com/alerts")
    if parts.username is not None or parts.password is not None:
        raise ValueError("leave name and password out of the address")
    if not text.isascii() or any(character <= " " for character in text):
        raise ValueError("an address has no spaces and only ASCII characters")
    try:
        if parts.port == 0:
            raise ValueError
    except ValueError:
        raise ValueError("its port is not one") from None
    try:
        address = ipaddress.ip_address(parts.hostname)
    except ValueError:
        return text
    if (reason := reason_against(address, networks)) is not None:
        raise ValueError(reason)
    return text
