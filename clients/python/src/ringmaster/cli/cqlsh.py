"""`ringmaster cqlsh CLUSTER`: the real cqlsh over TLS, as a role that is made for it and taken away when it ends."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ringmaster.cli import progress
from ringmaster.cli.commands import cluster_names
from ringmaster.cli.session import Session
from ringmaster.errors import Conflict, NotFound, RingmasterError
from ringmaster.transport import answer_of, path_of

_READ = ("SELECT",)
_WRITE = ("MODIFY",)
_SCHEMA = ("CREATE", "ALTER", "DROP")
_PATIENCE = 20.0
"""Seconds for another change of the cluster's access to end."""


@dataclass(frozen=True)
class Login:
    username: str
    password: str


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("cluster", shell_complete=cluster_names)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--write", is_flag=True, help="It may also write rows")
@click.option("--schema", is_flag=True, help="It may also create, alter and drop tables and keyspaces")
@click.option("--member-of", multiple=True, metavar="ROLE", help="It may do what this role may, and no more by itself")
@click.option("--minutes", default=480, show_default=True, help="When the server takes it away, whatever happens here")
@click.option("--node", metavar="ADDRESS", help="The node to speak to; else the first contact point")
@click.pass_obj
def cqlsh(
    session: Session,
    cluster: str,
    arguments: tuple[str, ...],
    write: bool,
    schema: bool,
    member_of: tuple[str, ...],
    minutes: int,
    node: str | None,
) -> int:
    """Open cqlsh on a cluster, over TLS, as a role of its own that is taken away when the shell ends.

    It may read all tables, unless told otherwise. What follows CLUSTER goes to cqlsh: ringmaster cqlsh shop -e "..."
    Is this program killed, the server takes the role away when --minutes are over.
    """
    program = _program()
    cluster_id = session.cluster_id(cluster)
    connection = session.get(path_of("/api/v1/clusters/{id}/connection", id=cluster_id))
    if not connection["ready"] or not connection["contact_points"]:
        raise RingmasterError(f"{cluster} cannot be connected to yet: look at `ringmaster clusters get {cluster}`.")
    address = node or connection["contact_points"][0]
    permissions = () if member_of else (*_READ, *(_WRITE if write else ()), *(_SCHEMA if schema else ()))
    order: dict[str, Any] = {
        "name": _role_name(),
        "member_of": list(member_of),
        "permissions": [{"resource": "data", "permissions": list(permissions)}] if permissions else [],
        "lifetime_minutes": minutes,
    }
    with _ending_orderly(), _role(session, cluster_id, order) as login, _settings(connection, login) as file:
        command = [program, "--ssl", "--cqlshrc", str(file), *arguments, address, str(connection["port"])]
        return _shell(command)


def _program() -> str:
    beside = Path(sys.executable).with_name("cqlsh")
    found = str(beside) if beside.exists() else shutil.which("cqlsh")
    if found is None:
        raise RingmasterError("cqlsh is missing: pip install 'ringmaster[cqlsh]'")
    return found


def _role_name() -> str:
    """One that tells whose shell it was, in the database's own logs too."""
    user = re.sub(r"[^A-Za-z0-9_]", "_", getpass.getuser())[:20]
    return f"shell_{user}_{secrets.token_hex(4)}"


@contextlib.contextmanager
def _role(session: Session, cluster_id: str, order: dict[str, Any]) -> Iterator[Login]:
    """The role with its password, until the block ends, however it does."""
    roles = path_of("/api/v1/clusters/{id}/roles", id=cluster_id)
    mine = f"{roles}/{order['name']}"
    operation = _patiently(session, "POST", roles, order)
    try:
        progress.wait(session.transport, operation["id"], timeout=120)
        yield Login(**session.post(f"{mine}/reveal"))
    finally:
        _take_away(session, mine, operation["id"], order)


def _take_away(session: Session, role: str, operation_id: str, order: dict[str, Any]) -> None:
    """Ordered, not waited for: the server goes on without this program. Cancels the making of one that is not done."""
    try:
        made = session.get(f"/api/v1/operations/{operation_id}")
        if made["finished_at"] is None:
            session.post(f"/api/v1/operations/{operation_id}/cancel")
        elif made["state"] == "succeeded":
            _patiently(session, "DELETE", role)
    except NotFound:
        return
    except RingmasterError as problem:
        sys.stderr.write(f"The role {order['name']} could not be taken away now: {problem}\n")
        sys.stderr.write(f"It is taken away by itself {order['lifetime_minutes']} minutes after it was made.\n")


def _patiently(session: Session, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """The operation that was started. While another one changes the cluster's access, it is tried again."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            answer = answer_of(session.transport.send(method, path, body=body))
            operation: dict[str, Any] = answer["operation"]
            return operation
        except Conflict as busy:
            if busy.code != "operation_in_progress" or time.monotonic() > until:
                raise
            session.transport.sleep(1.0)


@contextlib.contextmanager
def _settings(connection: dict[str, Any], login: Login) -> Iterator[Path]:
    """A cqlshrc with CA, name and password in a folder that only its owner can open, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="ringmaster-cqlsh-") as name:
        folder = Path(name)
        files = {
            "ca.pem": connection["ca_certificate"],
            "credentials": (f"[PlainTextAuthProvider]\nusername = {login.username}\npassword = {login.password}\n"),
            "cqlshrc": (
                "[auth_provider]\nmodule = cassandra.auth\nclassname = PlainTextAuthProvider\n"
                f"username = {login.username}\n\n"
                f"[authentication]\ncredentials = {folder / 'credentials'}\n\n"
                f"[ssl]\ncertfile = {folder / 'ca.pem'}\nvalidate = true\n"
            ),
        }
        for file, content in files.items():
            descriptor = os.open(folder / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as output:
                output.write(content)
        yield folder / "cqlshrc"


def _shell(command: list[str]) -> int:
    """Its exit code. Ctrl-C belongs to it, not to us."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = subprocess.Popen(command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        return child.wait()
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait(10)
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _ending_orderly() -> Iterator[None]:
    """A terminal that is closed, and a polite kill, end the block as leaving the shell does."""

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    before = {one: signal.signal(one, end) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
