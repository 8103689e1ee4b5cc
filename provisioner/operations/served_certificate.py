"""What an engine shows to those who connect: a TLS connection as a driver makes one, and no more."""

import socket
import ssl

from backend.clusters.models import Node
from backend.clusters.queries import CQL_PORT
from provisioner.agent.base import AgentUnreachable

_SECONDS = 2.0


def served_certificate(node: Node) -> str:
    """PEM, verified with the cluster's authority and the node's address. AgentUnreachable, ssl.SSLError."""
    address = str(node.address)
    context = ssl.create_default_context(cadata=node.cluster.ca_certificate)
    try:
        with (
            socket.create_connection((address, CQL_PORT), timeout=_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=address) as secured,
        ):
            shown = secured.getpeercert(binary_form=True)
    except ssl.SSLError:
        raise
    except OSError as error:
        raise AgentUnreachable(f"{address}:{CQL_PORT} does not answer: {error}") from error
    assert shown is not None  # or the handshake would have failed
    return ssl.DER_cert_to_PEM_cert(shown)
