"""The cluster `demo`: ordered through the API once, followed, and its password kept for `make query`."""

from __future__ import annotations

import json
import socket
import sys
import time
from dataclasses import dataclass
from typing import Any

from infra.local.api import Api, ApiError
from infra.local.layout import ENGINE, Layout
from infra.local.programs import write_private
from infra.local.progress import Progress

NAME = "demo"
_ORDER = {
    "name": NAME,
    "engine": ENGINE,
    "provider": "local",
    "region": "local-1",
    "zones": ["local-1a", "local-1b", "local-1c"],
    "machine_type": "local.small",
    "nodes_per_zone": 1,
}
_POLL_SECONDS = 0.25
_NODES_UP_SECONDS = 180.0
_ENDED = {"succeeded", "failed", "cancelled"}


class DemoError(RuntimeError):
    """The cluster cannot be had. The text says why and what to do."""


@dataclass(frozen=True)
class Demo:
    """The cluster as found: None as `cluster` when its owner has deleted it."""

    cluster: dict[str, Any] | None
    contact_points: list[str]
    port: int


def provide(api: Api, place: Layout, *, order_again: bool = False) -> Demo:
    """Order the cluster unless that was done before, wait until it can be used, and keep its password.

    A cluster that was deleted is not ordered again unless `order_again`. Raises DemoError and ApiError.
    """
    cluster = _find(api)
    if cluster is None:
        if place.demo_file.exists() and not order_again:
            return Demo(None, [], 0)
        place.demo_file.unlink(missing_ok=True)
        print(f"Ordering the cluster {NAME}: one node in each of three zones")
        answer = api.post("/clusters", _ORDER)
        cluster = answer["cluster"]
        write_private(place.demo_file, json.dumps({"cluster_id": cluster["id"]}) + "\n")
        follow(api, answer["operation"]["id"])
    elif cluster["current_operation"] is not None:
        follow(api, cluster["current_operation"]["id"])
    cluster = api.get(f"/clusters/{cluster['id']}")
    if cluster["state"] in {"deleting", "deleted"}:
        return Demo(None, [], 0)
    connection = api.get(f"/clusters/{cluster['id']}/connection")
    if connection["ready"]:
        _wait_for_nodes(connection["contact_points"], connection["port"])
        _keep_password(api, place, cluster["id"])
    return Demo(cluster, connection["contact_points"], connection["port"])


def follow(api: Api, operation_id: str) -> None:
    """Show an operation until it ends. Raises DemoError when it does not end well."""
    progress = Progress(sys.stdout)
    while True:
        operation = api.get(f"/operations/{operation_id}")
        progress.show(operation)
        if operation["state"] == "succeeded":
            return
        if operation["state"] in _ENDED or operation["state"] == "blocked":
            reason = operation.get("reason") or {}
            why = " ".join(part for part in (reason.get("message"), reason.get("hint")) if part)
            raise DemoError(f"{operation['title']}: {operation['state']}. {why}".strip())
        time.sleep(_POLL_SECONDS)


def _find(api: Api) -> dict[str, Any] | None:
    found = [cluster for cluster in api.get("/clusters", name=NAME)["items"] if cluster["state"] != "deleted"]
    return found[0] if found else None


def _wait_for_nodes(addresses: list[str], port: int) -> None:
    """After `make down` and `make up` the nodes take some seconds until they serve again."""
    deadline = time.monotonic() + _NODES_UP_SECONDS
    waiting = [address for address in addresses if not _listens(address, port)]
    if waiting:
        print(f"Waiting for {len(waiting)} of {len(addresses)} nodes to serve again")
    while waiting:
        if time.monotonic() > deadline:
            raise DemoError(f"Nothing serves CQL on {', '.join(waiting)} port {port}: `make status`, `make logs`.")
        time.sleep(0.25)
        waiting = [address for address in waiting if not _listens(address, port)]


def _listens(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=1):
            return True
    except OSError:
        return False


def _keep_password(api: Api, place: Layout, cluster_id: str) -> None:
    """The API reveals the password once: keep it, so that `make query` works today and tomorrow."""
    known = json.loads(place.demo_file.read_text()) if place.demo_file.exists() else {}
    if known.get("cluster_id") == cluster_id and known.get("password"):
        return
    try:
        revealed = api.post(f"/clusters/{cluster_id}/credentials/reveal")
    except ApiError as error:
        if error.code != "already_revealed":
            raise
        print(f"The password of {NAME} was shown to somebody already; rotate it in the console to have `make query`.")
        return
    document = {"cluster_id": cluster_id, "username": revealed["username"], "password": revealed["password"]}
    write_private(place.demo_file, json.dumps(document) + "\n")
