"""Code that connects to a cluster, for common drivers, from the templates in this folder.

Every snippet runs as pasted from a folder with the unpacked connection bundle, with the password in CQL_PASSWORD.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

# Guards a public certificate only; a PKCS 12 file needs some password.
TRUSTSTORE_PASSWORD = "ringmaster"


@dataclass(frozen=True)
class _Kind:
    id: str
    title: str
    language: str
    template: str
    install: str


_KINDS = (
    _Kind("cqlsh", "cqlsh", "bash", "cqlsh.sh.j2", "pip install cqlsh"),
    _Kind("python", "Python", "python", "python.py.j2", "pip install cassandra-driver"),
    _Kind("java", "Java", "java", "java.java.j2", "java.xml.j2"),
    _Kind("go", "Go", "go", "go.go.j2", "go mod init demo && go get github.com/gocql/gocql"),
    _Kind("node", "Node.js", "javascript", "node.mjs.j2", "npm install cassandra-driver"),
    _Kind("spark", "Spark", "bash", "spark.sh.j2", "pip install 'pyspark==3.5.*'"),
)

# Not HTML: autoescape would spoil the code. Nothing of a user's goes in but names that have passed the order's pattern.
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).resolve().parent),
    autoescape=False,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def render(connection: dict[str, Any]) -> list[dict[str, str]]:
    """Every snippet for a connection (queries.get_connection); none while there is no address to connect to."""
    if not connection["contact_points"]:
        return []
    values = {**connection, "truststore_password": TRUSTSTORE_PASSWORD}
    return [
        {
            "id": kind.id,
            "title": kind.title,
            "language": kind.language,
            "install": _render(kind.install, values) if kind.install.endswith(".j2") else kind.install,
            "code": _render(kind.template, values),
        }
        for kind in _KINDS
    ]


def with_snippets(connection: dict[str, Any]) -> dict[str, Any]:
    """The connection as the API shows it."""
    shown = {name: value for name, value in connection.items() if name != "name"}
    return shown | {"snippets": render(connection)}


def _render(template: str, values: dict[str, Any]) -> str:
    return _TEMPLATES.get_template(template).render(values)
