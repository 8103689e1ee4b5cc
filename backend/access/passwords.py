"""Passwords of roles in the vault: one sealed document per cluster, so that they are destroyed with the cluster.

A role has a `current` one, which the database has, and while it is being changed a `next` one. Callers hold the
cluster's row locked, or the lease of the only operation that changes access.
"""

import json
import secrets
from typing import Literal

from backend.clusters import vault
from backend.clusters.states import SecretPurpose

Which = Literal["current", "next"]
_PASSWORD_BYTES = 24  # 32 characters


def make_next(cluster_id: str, role: str) -> None:
    """32 characters that need no quoting in a shell, a URL or CQL."""
    known = _read(cluster_id)
    known.setdefault(role, {})["next"] = secrets.token_urlsafe(_PASSWORD_BYTES)
    _write(cluster_id, known)


def find(cluster_id: str, role: str, which: Which) -> str | None:
    return _read(cluster_id).get(role, {}).get(which)


def next_is_set(cluster_id: str, role: str) -> None:
    """The database has the next one: it is the current one now. Again: nothing."""
    known = _read(cluster_id)
    if (password := known.get(role, {}).get("next")) is not None:
        known[role] = {"current": password}
        _write(cluster_id, known)


def forget_next(cluster_id: str, role: str) -> None:
    known = _read(cluster_id)
    if known.get(role, {}).pop("next", None) is not None:
        _write(cluster_id, {name: which for name, which in known.items() if which})


def forget(cluster_id: str, role: str) -> None:
    known = _read(cluster_id)
    if known.pop(role, None) is not None:
        _write(cluster_id, known)


def _read(cluster_id: str) -> dict[str, dict[str, str]]:
    found = vault.find(cluster_id, SecretPurpose.ROLE_PASSWORDS)
    known: dict[str, dict[str, str]] = {} if found is None else json.loads(vault.opened(found))
    return known


def _write(cluster_id: str, known: dict[str, dict[str, str]]) -> None:
    if known:
        vault.keep(cluster_id, SecretPurpose.ROLE_PASSWORDS, json.dumps(known).encode())
    else:
        vault.destroy(cluster_id, SecretPurpose.ROLE_PASSWORDS)
