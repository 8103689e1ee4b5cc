"""`ringmaster tf export`: configuration and import blocks for Terraform, of what an organisation has."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from ringmaster.cli.session import Session
from ringmaster.errors import RingmasterError
from ringmaster.transport import path_of

_HEAD = """# Written by `ringmaster tf export`. A plan of it must have nothing to add, change or destroy.
# Then apply it, which takes all of it into the state. The import blocks may go afterwards.

terraform {
  required_providers {
    ringmaster = { source = "ringmaster.internal/ringmaster/ringmaster" }
  }
}
"""


@dataclass(frozen=True)
class Reference:
    """An attribute of another resource: written without quotes."""

    address: str


@dataclass
class Configuration:
    """Blocks of resources with their imports, and notes of what was left out."""

    blocks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)

    def add(self, kind: str, label: str, import_id: str, attributes: Mapping[str, Any]) -> str:
        """The address of the resource. What is None is left out."""
        address = self._address(kind, label)
        lines = "\n".join(f"  {name} = {written(one, 1)}" for name, one in attributes.items() if one is not None)
        imported = f"import {{\n  to = {address}\n  id = {written(import_id)}\n}}"
        self.blocks.append(f'{imported}\nresource "{kind}" "{address.partition(".")[2]}" {{\n{lines}\n}}\n')
        return address

    def _address(self, kind: str, label: str) -> str:
        beginning = re.sub(r"[^a-z0-9_]+", "_", label.lower()).strip("_") or "it"
        beginning = beginning if beginning[0].isalpha() else f"_{beginning}"
        label, number = f"{kind}.{beginning}", 1
        while label in self.labels:
            number += 1
            label = f"{kind}.{beginning}_{number}"
        self.labels.add(label)
        return label

    def text(self) -> str:
        notes = "".join(f"# Not exported: {note}\n" for note in self.notes)
        return "\n".join([_HEAD, *self.blocks]) + (f"\n{notes}" if notes else "")


def written(value: Any, depth: int = 0) -> str:
    """A value as Terraform's language has it."""
    inner, outer = "  " * (depth + 1), "  " * depth
    match value:
        case Reference(address):
            return address
        case Mapping():
            if not value:
                return "{}"
            lines = "".join(f"{inner}{written(key)} = {written(one, depth + 1)}\n" for key, one in value.items())
            return f"{{\n{lines}{outer}}}"
        case list():
            return f"[{', '.join(written(one, depth) for one in value)}]"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
    return json.dumps(value)


@click.group()
def tf() -> None:
    """Terraform: take over what exists."""


@tf.command()
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="A new file; else standard output")
@click.pass_obj
def export(session: Session, out: Path | None) -> None:
    """Write configuration and import blocks for what the organisation has.

    Clusters with their allowlists, network connections, database roles and grants, schedules, archives of commit logs
    and changed alert rules; budgets, cloud accounts, members, roles, groups with roles, service accounts and access
    settings. What cannot be taken over is named in comments at the end.

    \b
    ringmaster tf export --out ringmaster.tf && terraform init && terraform plan
    """
    if out is not None and out.exists():
        raise RingmasterError(f"{out} is there already. Choose another name, or move it away.")
    text = _exported(session).text()
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text)
        click.echo(f"Wrote {out}. Next: terraform init && terraform plan", err=True)


def _exported(session: Session) -> Configuration:
    made = Configuration()
    accounts = {}
    for one in _every(session, "/api/v1/cloud-accounts"):
        accounts[one["id"]] = _cloud_account(made, one)
    clusters = {}
    for one in _every(session, "/api/v1/clusters"):
        if one["state"] != "active":
            made.notes.append(f"the cluster {one['name']}, which is {one['state']}")
            continue
        clusters[one["id"]] = _cluster(session, made, one["id"], accounts)
    for one in _every(session, "/api/v1/budgets"):
        _budget(made, one, clusters)
    roles = {one["id"]: _role(made, one) for one in _every(session, "/api/v1/organisation/roles")}
    for one in _every(session, "/api/v1/members"):
        made.add("ringmaster_member", one["email"], one["email"], {"email": one["email"], **_held(one, roles)})
    for one in _every(session, "/api/v1/organisation/group-roles"):
        said = {"identity_provider_id": one["identity_provider"]["id"], "group": one["group"], "rank": one["rank"]}
        made.add("ringmaster_group_role", one["group"], one["id"], {**said, **_held(one, roles)})
    for one in _every(session, "/api/v1/service-accounts"):
        if one["disabled_at"] is not None:
            made.notes.append(f"the service account {one['name']}, which is disabled")
            continue
        said = {name: one[name] for name in ("name", "description", "contact")}
        made.add("ringmaster_service_account", one["name"], one["id"], {**said, **_held(one, roles)})
    _access_settings(session, made)
    for one in _every(session, "/api/v1/backup-locations"):
        if not one["operators"]:
            made.notes.append(
                f"the backup location {one['name']}, whose keys the API does not tell; its id is {one['id']}"
            )
    for one in _every(session, "/api/v1/alert-receivers"):
        made.notes.append(f"the receiver {one['name']}, whose address or key the API does not tell")
    return made


def _every(session: Session, path: str) -> Iterator[dict[str, Any]]:
    query: dict[str, Any] = {"limit": 200}
    while True:
        page = session.get(path, query)
        yield from page["items"]
        if not page.get("next_cursor"):
            return
        query["cursor"] = page["next_cursor"]


def _access_settings(session: Session, made: Configuration) -> None:
    now = session.get("/api/v1/organisation/access-settings")
    said = {
        "token_days_default": now["token_days_default"] or 0,
        "token_days_max": now["token_days_max"] or 0,
        **{word: now[word] for word in ("deletes_need_two", "password_sign_in", "second_factor_required")},
    }
    made.add("ringmaster_access_settings", "ours", session.get("/api/v1/organisation")["id"], said)


def _held(one: Mapping[str, Any], roles: Mapping[str, str]) -> dict[str, Any]:
    """The role of a person or a program."""
    custom = one["custom_role"]
    return {"role": one["role"], "custom_role_id": Reference(f"{roles[custom['id']]}.id") if custom else None}


def _role(made: Configuration, one: Mapping[str, Any]) -> str:
    said = {name: one[name] for name in ("name", "description", "permissions", "tags")}
    return made.add("ringmaster_role", one["name"], one["id"], said)


def _cloud_account(made: Configuration, one: Mapping[str, Any]) -> str:
    settings = one["settings"]
    said = {
        "name": one["name"],
        "cloud": one["provider"],
        "role_arn": one["role_arn"] or None,
        "project": one["project"] or None,
        "public_addresses": settings["public_addresses"],
        "networks": settings["networks"] or None,
        "vpcs": settings["vpcs"] or None,
    }
    return made.add("ringmaster_cloud_account", one["name"], one["id"], said)


def _budget(made: Configuration, one: Mapping[str, Any], clusters: Mapping[str, str]) -> None:
    cluster, tag = one["cluster"], one["tag"]
    if cluster and cluster["id"] not in clusters:
        made.notes.append(f"the budget {one['name']} of the cluster {cluster['name']}")
        return
    said = {
        "name": one["name"],
        "micros": one["micros"],
        "cluster_id": Reference(f"{clusters[cluster['id']]}.id") if cluster else None,
        "tag_key": tag["key"] if tag else None,
        "tag_value": tag["value"] if tag else None,
        "spent_percents": one["spent_percents"],
        "forecast_percents": one["forecast_percents"],
    }
    made.add("ringmaster_budget", one["name"], one["id"], said)


def _cluster(session: Session, made: Configuration, cluster_id: str, accounts: Mapping[str, str]) -> str:
    """The cluster, and what stands around it."""
    at = path_of("/api/v1/clusters/{id}", id=cluster_id)
    now = session.get(at)
    name, account = now["name"], now["cloud_account"]
    windows = session.get(f"{at}/maintenance-windows")["windows"]
    places = ("region", "zones", "machine_type", "nodes_per_zone")
    opening = ("weekdays", "starts_at", "minutes", "time_zone")
    address = made.add(
        "ringmaster_cluster",
        name,
        cluster_id,
        {
            "name": name,
            "engine": now["engine"],
            "engine_version": now["engine_version"],
            "cloud": now["provider"],
            "cloud_account": Reference(f"{accounts[account['id']]}.id") if account else None,
            "datacenters": [{word: one[word] for word in places} for one in now["datacenters"]],
            "settings": now["settings"] or None,
            "tags": now["options"]["tags"] or None,
            "image_build": now["image_build"],
            "termination_protection": now["termination_protection"],
            "healing": {word: now["healing"][word] for word in ("mode", "grace_seconds", "replacements_per_day")},
            "maintenance_windows": [
                {word: one[word] for word in opening}
                | ({"excluded_dates": one["excluded_dates"]} if one["excluded_dates"] else {})
                for one in windows
            ]
            or None,
        },
    )
    of = {"cluster_id": Reference(f"{address}.id")}
    for entry in session.get(f"{at}/allowlist")["entries"]:
        said = {"cidr": entry["cidr"], "description": entry["description"] or None}
        made.add("ringmaster_allowlist_entry", f"{name}_{entry['cidr']}", f"{cluster_id}/{entry['cidr']}", of | said)
    _database_roles(session, made, at, cluster_id, name, of)
    for one in session.get(f"{at}/backup-schedules")["items"]:
        _backup_schedule(made, one, cluster_id, name, of)
    if repairs := session.get(f"{at}/repairs")["schedule"]:
        words = ("enabled", "every_hours", "intensity", "parallelism")
        said = {word: repairs[word] for word in words}
        made.add("ringmaster_repair_schedule", name, cluster_id, of | said)
    _kept_for_restores(session, made, at, cluster_id, name, of)
    for rule in session.get(f"{at}/alert-rules")["items"]:
        if rule["changed"]:
            _alert_rule(made, rule, cluster_id, name, of)
    for one in _every(session, f"{at}/network-connections"):
        _connection(made, one, cluster_id, name, of)
    return address


def _connection(made: Configuration, one: Mapping[str, Any], cluster_id: str, name: str, of: dict[str, Any]) -> None:
    if one["state"] == "deleting":
        made.notes.append(f"the connection {one['name']} of {name}, which is being deleted")
        return
    kind, words = {
        "peering": ("ringmaster_vpc_peering", ("peer_network", "peer_owner", "peer_region", "cidrs")),
        "endpoint": ("ringmaster_private_endpoint", ("service",)),
    }[one["kind"]]
    said = {word: one[word] or None for word in ("name", "datacenter", *words)}
    made.add(kind, f"{name}_{one['name']}", f"{cluster_id}/{one['id']}", of | said)


def _database_roles(
    session: Session, made: Configuration, at: str, cluster_id: str, name: str, of: dict[str, Any]
) -> None:
    for role in session.get(f"{at}/roles")["items"]:
        if role["is_administrator"] or role["is_superuser"] or role["expires_at"]:
            made.notes.append(f"the database role {role['name']} of {name}: an administrator, or for a short time")
            continue
        said = {"name": role["name"], "can_login": role["can_login"]}
        address = made.add("ringmaster_cql_role", f"{name}_{role['name']}", f"{cluster_id}/{role['name']}", of | said)
        held: dict[str, list[str]] = {}
        for one in role["permissions"]:
            held.setdefault(one["resource"], []).append(one["permission"])
        for resource, permissions in held.items():
            said = {"role": Reference(f"{address}.name"), "resource": resource, "permissions": permissions}
            label, import_id = f"{name}_{role['name']}_{resource}", f"{cluster_id}/{role['name']}/{resource}"
            made.add("ringmaster_cql_grant", label, import_id, of | said)


def _backup_schedule(
    made: Configuration, one: Mapping[str, Any], cluster_id: str, name: str, of: dict[str, Any]
) -> None:
    words = (
        *("name", "cron", "interval_minutes", "time_zone", "location_id", "second_location_id", "keep_days"),
        *("keep_count", "keep_after_deletion_days", "lock_days", "rate_mib_per_second", "enabled"),
    )
    said = {word: one[word] for word in words} | {"keyspaces": _chosen(one)}
    made.add("ringmaster_backup_schedule", f"{name}_{one['name']}", f"{cluster_id}/{one['id']}", {**of, **said})


def _chosen(one: Mapping[str, Any]) -> list[str] | None:
    return [".".join(filter(None, (each["keyspace"], each["table"]))) for each in one["selection"]] or None


def _kept_for_restores(
    session: Session, made: Configuration, at: str, cluster_id: str, name: str, of: dict[str, Any]
) -> None:
    """The archive of commit logs, if there ever was one, and the schedule of drills."""
    archive = session.get(f"{at}/log-archive")
    if archive["keep_days"] is not None:
        said = {word: archive[word] for word in ("enabled", "keep_days", "interval_seconds", "location_id")}
        made.add("ringmaster_log_archive", name, cluster_id, of | said)
    if drills := session.get(f"{at}/drills/overview")["schedule"]:
        words = ("cron", "interval_minutes", "time_zone", "shape", "compare_live", "enabled")
        said = {word: drills[word] for word in words} | {"keyspaces": _chosen(drills)}
        made.add("ringmaster_drill_schedule", name, cluster_id, of | said)


def _alert_rule(made: Configuration, rule: Mapping[str, Any], cluster_id: str, name: str, of: dict[str, Any]) -> None:
    facts = rule["threshold_facts"]
    said = {
        "rule": rule["rule"],
        "threshold": rule["threshold"] if facts and rule["threshold"] != facts["default"] else None,
        "for_seconds": rule["for_seconds"] if rule["for_seconds"] != rule["default_for_seconds"] else None,
        "enabled": None if rule["enabled"] else False,
    }
    made.add("ringmaster_alert_rule", f"{name}_{rule['rule']}", f"{cluster_id}/{rule['rule']}", {**of, **said})
