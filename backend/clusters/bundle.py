"""The connection bundle: everything a driver needs except the password, as a zip."""

import io
import json
import zipfile
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

from backend.clusters.snippets import TRUSTSTORE_PASSWORD
from backend.core.errors import Conflict

# The oldest time a zip can say: the same cluster always gives the same files.
_TIME = (1980, 1, 1, 0, 0, 0)


def make(connection: dict[str, Any]) -> bytes:
    """The zip for a connection (queries.get_connection). Raises Conflict while the cluster cannot be connected to."""
    if not connection["ready"]:
        raise Conflict(
            "cluster_not_active",
            f"The cluster {connection['name']} is not active, so there is nothing to connect to.",
            hint="Wait until it is active.",
        )
    files = {
        "ca.crt": connection["ca_certificate"].encode(),
        "truststore.p12": truststore(connection["ca_certificate"], connection["name"]),
        "cqlshrc": _cqlshrc(connection).encode(),
        "connection.json": _document(connection).encode(),
        "README.txt": _readme(connection).encode(),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _TIME)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()


def truststore(ca_certificate: str, alias: str) -> bytes:
    """A PKCS 12 file that Java accepts as a trust store (it wants its own mark on each entry)."""
    certificate = x509.load_pem_x509_certificate(ca_certificate.encode())
    return serialize_java_truststore(
        [PKCS12Certificate(certificate, alias.encode())], BestAvailableEncryption(TRUSTSTORE_PASSWORD.encode())
    )


def _cqlshrc(connection: dict[str, Any]) -> str:
    return f"""\
[connection]
hostname = {connection["contact_points"][0]}
port = {connection["port"]}
ssl = true

[ssl]
certfile = ca.crt
validate = true
"""


def _document(connection: dict[str, Any]) -> str:
    document = {
        "cluster": connection["name"],
        "contact_points": connection["contact_points"],
        "port": connection["port"],
        "local_datacenter": connection["datacenter"],
        "username": connection["username"],
        "tls": {
            "ca_file": "ca.crt",
            "truststore_file": "truststore.p12",
            "truststore_type": "PKCS12",
            "truststore_password": TRUSTSTORE_PASSWORD,
        },
    }
    return json.dumps(document, indent=2) + "\n"


def _readme(connection: dict[str, Any]) -> str:
    return f"""\
How to connect to the cluster {connection["name"]}

  contact points    {", ".join(connection["contact_points"])}
  port              {connection["port"]} (TLS only)
  data centre       {connection["datacenter"]}
  user              {connection["username"]} (the password is shown once, in the console or by the API)

  ca.crt            the cluster's own certificate authority, PEM: drivers check the nodes with it
  truststore.p12    the same for Java. Its password is {TRUSTSTORE_PASSWORD}: it guards nothing but a public certificate
  cqlshrc           for cqlsh:  cqlsh --cqlshrc cqlshrc --ssl -u {connection["username"]}
  connection.json   the same facts for programs

The nodes' certificates name their addresses, so leave the check of the host name on.
"""
