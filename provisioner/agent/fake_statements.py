"""Statements of people on a pretended node: a few answers, enough to see them asked for and arrive."""

from collections.abc import Mapping
from typing import Any

from provisioner.agent.base import AgentRefused, StatementState

PASSWORD = "sesame"
"""The one that every role has."""

TREE = {
    "keyspaces": [
        {
            "name": "shop",
            "system": False,
            "replication": {"class": "SimpleStrategy", "replication_factor": "1"},
            "tables": [
                {
                    "name": "orders",
                    "view_of": "",
                    "comment": "",
                    "columns": [
                        {"name": "id", "type": "int", "kind": "partition_key", "position": 0, "order": "none"},
                    ],
                    "indexes": [],
                }
            ],
            "types": [],
            "functions": [],
        }
    ],
    "left": 0,
}


def run(request: Mapping[str, Any]) -> StatementState:
    """`SELECT SLOW` never ends; what has FORM in it is wrong; all else is answered with a row that tells the role."""
    if request["password"] != PASSWORD:
        return StatementState(state="failed", code="bad-credentials", message="Username and/or password are incorrect")
    if request.get("schema"):
        return StatementState(state="succeeded", tree=TREE)
    statement = str(request["statement"])
    if "SLOW" in statement:
        return StatementState(state="running")
    if "FORM" in statement:
        return StatementState(state="failed", code="syntax-error", message="line 1:9 no", line=1, column=9)
    result: dict[str, Any] = {
        "has_rows": True,
        "columns": [{"keyspace": "shop", "table": "orders", "name": "role", "type": "text"}],
        "rows": [[str(request["role"])], [None]],
        "cut": [],
        "warnings": [],
        "outcome": "",
        "microseconds": 1200,
        "trace": _TRACE if request.get("tracing") else None,
    }
    # Two pages.
    more = {} if request.get("page_state") else {"next_page": "AA=="}
    return StatementState(state="succeeded", result=result | more)


_TRACE = {
    "id": "50554d6e-29bb-11e5-b345-feff819cdc9f",
    "coordinator": "10.1.0.2",
    "started_at": "2026-01-01T00:00:00Z",
    "microseconds": 900,
    "events": [
        {
            "source": "10.1.0.2",
            "activity": "Parsing",
            "thread": "Native-Transport-Requests-1",
            "offset_microseconds": 0,
            "elapsed_microseconds": 50,
        }
    ],
}


class Statements:
    """Those of all nodes of a world, in the memory of this process: no node keeps them either."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], StatementState] = {}
        self.asked: list[Mapping[str, Any]] = []

    def put(self, node_id: str, name: str, request: Mapping[str, Any]) -> StatementState:
        if (node_id, name) not in self._known:
            self.asked.append(request)
            self._known[node_id, name] = run(request)
        return self._known[node_id, name]

    def get(self, node_id: str, name: str) -> StatementState:
        if (node_id, name) not in self._known:
            raise AgentRefused("statement-not-found", f"there is no statement {name}")
        return self._known[node_id, name]

    def forget(self, node_id: str, name: str) -> None:
        self._known.pop((node_id, name), None)

    def kept(self) -> int:
        return len(self._known)
