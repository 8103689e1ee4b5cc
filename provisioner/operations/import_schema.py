"""Schemas of what is imported: compared with the tables that are there, and made where there are none. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.clusters.models import Node
from backend.imports.cql_schema import Made, same_type

_USUAL_COPIES = 3


def differences(name: tuple[str, str], told: Made | None, there: Sequence[Mapping[str, Any]] | None) -> list[str]:
    """What is against bringing files of a table `told` into the one that is `there`; None: there is none yet."""
    title = ".".join(name)
    if told is None:
        return [f"{title}: its columns are not known. Give its CREATE TABLE in schema_cql."]
    if any(column.type == "counter" for column in told.columns):
        return [f"{title}: counters are not imported; their shares are bound to the nodes that counted."]
    if there is None:
        return []
    here = {column["name"]: column for column in there}
    found = []
    for column in told.columns:
        one = here.get(column.name)
        if one is None:
            found.append(f"{title}: the table that is there has no column {column.name}.")
        elif one["kind"] != column.kind or not same_type(one["type"], column.type):
            found.append(
                f"{title}: the column {column.name} is {one['kind']} {one['type']} there, and {column.kind} "
                f"{column.type} in the files."
            )
    keys = {column.name for column in told.columns}
    found += [
        f"{title}: the table that is there has {other['name']} in its primary key."
        for other in here.values()
        if other["name"] not in keys and other["kind"] in ("partition_key", "clustering")
    ]
    return found


def keyspace_to_create(
    name: str, made: Sequence[Made], nodes: Sequence[Node], *, replication: Mapping[str, int]
) -> dict[str, Any]:
    """As create-schema takes it. `replication`: empty: as it was, where that fits."""
    own = next((one for one in made if one.type == "keyspace"), None)
    wanted = dict(replication) or _fitting(own.replication if own is not None else {}, nodes)
    statements = [
        {"type": one.type, "name": one.name, "statement": one.statement} for one in made if one.type != "keyspace"
    ]
    # Schemas of snapshots do not tell the keyspace. The agent writes the statement itself when it is given replicas.
    first = {"type": "keyspace", "name": name, "statement": f"CREATE KEYSPACE {name}"}
    return {"name": name, "statements": [first, *statements], "replication": wanted}


def _fitting(before: Mapping[str, int], nodes: Sequence[Node]) -> dict[str, int]:
    """The replicas that a keyspace had, where data centres of these names have so many nodes; else the usual three."""
    here: dict[str, int] = {}
    for node in nodes:
        here[node.datacenter.name] = here.get(node.datacenter.name, 0) + 1
    if before and all(name in here and copies <= here[name] for name, copies in before.items()):
        return dict(before)
    most = max(before.values(), default=_USUAL_COPIES)
    return {name: min(most, count) for name, count in here.items()}
