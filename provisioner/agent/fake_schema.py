"""The schema of a simulated ring: keyspaces and tables that backups are of, and the jobs that tell and make them."""

import uuid
from collections.abc import Mapping
from typing import Any

from provisioner.agent.base import AgentRefused

JOBS = frozenset({"describe-schema", "create-schema", "describe-tables", "alter-table", "rewrite-table"})

OPTIONS: dict[str, Any] = {
    "compression": {"chunk_length_in_kb": "64", "class": "org.apache.cassandra.io.compress.LZ4Compressor"},
    "compaction": {"class": "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy"},
    "caching": {"keys": "ALL", "rows_per_partition": "NONE"},
    "gc_grace_seconds": 864000,
    "default_time_to_live": 0,
}

COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "id", "kind": "partition_key", "position": 0, "type": "bigint", "order": "none"},
    {"name": "value", "kind": "regular", "position": -1, "type": "text", "order": "none"},
)

Tables = dict[str, dict[str, dict[str, Any]]]
"""By keyspace and name: `id` and `columns`."""


def new_table(name: str, columns: tuple[dict[str, Any], ...] = COLUMNS) -> dict[str, Any]:
    return {
        "name": name,
        "id": str(uuid.uuid4()),
        "columns": [dict(column) for column in columns],
        "dropped": [],
        "indexes": [],
    }


def work(
    tables: Tables, keyspaces: dict[str, dict[str, int]], kind: str, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The job's result; `keyspaces` are replicas per data centre. AgentRefused."""
    match kind:
        case "describe-schema":
            return _described(tables, keyspaces, parameters)
        case "describe-tables":
            return _with_options(tables, keyspaces)
        case "alter-table":
            return _alter(_one(tables, parameters), parameters)
        case "rewrite-table":
            table = _one(tables, parameters)
            table["rewritten"] = options_of(table)
            return {}
    return _create(tables, keyspaces, parameters)


def options_of(table: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = OPTIONS | table.get("options", {})
    return options


def _one(tables: Tables, parameters: Mapping[str, Any]) -> dict[str, Any]:
    found = tables.get(parameters["keyspace"], {}).get(parameters["table"])
    if found is None:
        raise AgentRefused("unknown-table", f"there is no table {parameters['keyspace']}.{parameters['table']}")
    return found


def _alter(table: dict[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    wanted, now = parameters["options"], options_of(table)
    changed = any(now.get(name) != value for name, value in wanted.items())
    if changed:
        if any(now.get(name) != value for name, value in parameters["before"].items()):
            raise AgentRefused("options-differ", "options were changed by somebody else meanwhile")
        table["options"] = table.get("options", {}) | wanted
    return {"changed": changed, "options": dict(wanted)}


def _with_options(tables: Tables, keyspaces: Mapping[str, dict[str, int]]) -> dict[str, Any]:
    own = [name for name in sorted(keyspaces) if name != "ringmaster" and not name.startswith("system")]
    return {
        "keyspaces": [
            {"name": name, "class": "NetworkTopologyStrategy", "replication": keyspaces[name]} for name in own
        ],
        "tables": [
            {
                "keyspace": name,
                "table": table["name"],
                "id": table["id"],
                "options": options_of(table),
                "columns": table["columns"],
                "indexes": [],
                "statement": _statement(name, table)["statement"],
            }
            for name in own
            for table in tables.get(name, {}).values()
        ],
    }


def _told(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in ("options", "rewritten")}


def _described(
    tables: Tables, keyspaces: Mapping[str, dict[str, int]], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    own = [name for name in sorted(keyspaces) if name != "ringmaster" and not name.startswith("system")]
    asked = parameters.get("keyspaces") or own
    for name in asked:
        if name not in keyspaces:
            raise AgentRefused("unknown-keyspace", f"there is no keyspace {name}")
    return {
        "keyspaces": [
            {
                "name": name,
                "class": "NetworkTopologyStrategy",
                "replication": keyspaces[name],
                "statements": [
                    {"type": "keyspace", "name": name, "statement": f"CREATE KEYSPACE {name}"},
                    *(_statement(name, table) for table in tables.get(name, {}).values()),
                ],
                "tables": [_told(table) for table in tables.get(name, {}).values()],
            }
            for name in asked
        ]
    }


def _statement(keyspace: str, table: Mapping[str, Any]) -> dict[str, str]:
    columns = ", ".join(f"{c['name']} {c['type']} {c['kind']}" for c in table["columns"])
    return {
        "type": "table",
        "name": table["name"],
        "statement": f"CREATE TABLE {keyspace}.{table['name']} ({columns}) WITH ID = {table['id']}",
    }


def _create(tables: Tables, keyspaces: dict[str, dict[str, int]], parameters: Mapping[str, Any]) -> dict[str, Any]:
    created = existing = 0
    for keyspace in parameters["keyspaces"]:
        name = keyspace.get("as") or keyspace["name"]
        for statement in keyspace["statements"]:
            if statement["type"] == "keyspace":
                is_new = name not in keyspaces
                keyspaces.setdefault(name, dict(keyspace.get("replication") or {}))
            elif statement["type"] != "table":
                is_new = True
            else:
                table = keyspace.get("renamed_tables", {}).get(statement["name"], statement["name"])
                is_new = _create_table(tables.setdefault(name, {}), table, statement["statement"], keyspace)
            created, existing = created + is_new, existing + (not is_new)
    return {"created": created, "existing": existing}


def _create_table(tables: dict[str, dict[str, Any]], name: str, statement: str, keyspace: Mapping[str, Any]) -> bool:
    written, _, rest = statement.partition("(")[2].partition(")")
    columns = []
    for position, column in enumerate(written.split(", ")):
        column_name, column_type, *kinds = column.split()
        kind = "partition_key" if kinds == ["PRIMARY", "KEY"] else kinds[0] if kinds else "regular"
        place = position if kind == "partition_key" else -1
        columns.append({"name": column_name, "kind": kind, "position": place, "type": column_type, "order": "none"})
    if name in tables:
        if tables[name]["columns"] != columns:
            raise AgentRefused("schema-differs", f"{name} is there with other columns")
        return False
    tables[name] = new_table(name, tuple(columns))
    if keyspace.get("keep_ids"):
        tables[name]["id"] = rest.rpartition("= ")[2]
    return True
