"""What holds for every operation of the API, said once and added to its description."""

from typing import Any

from pydantic import TypeAdapter

from backend.config import conditions, error_codes, rate_limits, rehearsal, sparse
from backend.core.errors import Error
from backend.core.idempotency import HEADER, KEY_PATTERN, REPLAYED_HEADER

DESCRIPTION = """\
Order CQL database clusters and run them.

Times are ISO 8601 in UTC. Sizes say their unit in their name. Lists answer `items` and `next_cursor`; send it as
`cursor` for the next page. Slow things answer 202 with an operation: follow it with `get_operation` or `stream_events`.

Every answer carries `X-Request-Id`; send one of your own (8 to 64 letters, digits, `.`, `_`, `-`) and it is used.
Every error has the same body; its `code` is stable. What belongs to another organisation answers 404.
People who belong to several organisations choose one with the header `Ringmaster-Organisation: org_...`.

Every token, every person and every organisation may send so many requests per second. `RateLimit-Policy` and
`RateLimit` say how many and what is left; who sends more gets 429 `rate_limited` and `Retry-After`, and nothing was
done.

A thing that is read alone has an `ETag`. Send it as `If-Match` with a change, and the change is refused (412) when
somebody else changed the thing meanwhile; send it as `If-None-Match` with a GET, and 304 says that nothing changed.
Every GET takes `fields`: names of fields, with commas between, and only those are answered.
"""

_TAGS = {
    "session": "Who is signed in",
    "organisation": "The tenant that everything belongs to",
    "members": "People and their roles",
    "roles": "Roles that an organisation made: permissions, for all clusters or those with certain tags",
    "service accounts": "Identities that are no person, for programs",
    "invitations": "How people join",
    "tokens": "Keys for programs",
    "catalog": "What can be ordered",
    "cloud accounts": "Accounts at AWS and Google Cloud that an organisation brings, for clusters in them",
    "images": "What machines are made from",
    "costs": "What things cost, and what a cluster will cost and did",
    "budgets": "What may be spent in a month, who is told, and how much an organisation may have at most",
    "clusters": "Database clusters, their nodes and how to connect to them",
    "deletion requests": "Deletes that take two people, where the organisation wants it",
    "repairs": "When and how a cluster's replicas are compared, how well tables are protected, and runs",
    "metrics": "What clusters, nodes and tables do and did: charts, and every table with its numbers",
    "network": "A cluster's network, who reaches it, and its connections with other networks",
    "backups": "Copies of clusters' data: where they are kept, when they are made, and what was restored from them",
    "imports": "SSTables of other clusters, brought into one of ours",
    "access": "Who may sign in to a database, from where, and what they may do there",
    "findings": "What the control plane found to be wrong by itself, and what it did about it",
    "advice": "What could be better about a cluster and its tables, why, and doing it",
    "diagnostics": "What nodes tell about themselves when they are asked",
    "alerts": "What fires and has fired, its thresholds, silences, and who is told",
    "cql": "Statements of people, run as a role of theirs on a cluster",
    "operations": "Slow things: progress, cancel, retry",
    "events": "Live notice of what changed",
    "audit": "Who did what",
}

_ERRORS = {
    400: "The request cannot be understood: malformed JSON, address or headers",
    401: "Not signed in, or the API token is wrong, expired or revoked",
    403: "Role or scope do not allow it, or the session's CSRF token is missing",
    404: "It does not exist, or not in this organisation",
    409: "Not possible in the present state, or the request with this Idempotency-Key is still running",
    412: "The ETag in If-Match does not fit any more; nothing was changed",
    413: "The body is larger than 1 MiB",
    422: "A field is wrong, or the Idempotency-Key was used for another request",
    429: "Too many tries; Retry-After says when to come back, in seconds",
    500: "A bug on our side; report it with the request id",
    503: "The database does not answer right now; Retry-After says when to try again, in seconds",
}

_IDEMPOTENCY_PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": (
        "A name for this request, unique per thing you want to do (a UUID). Sent again with the same body within "
        f"24 hours it gets the same answer, with the header {REPLAYED_HEADER}: true, and changes nothing."
    ),
    "schema": {"type": "string", "pattern": KEY_PATTERN, "minLength": 1, "maxLength": 255},
}
_RETRY_AFTER = {
    "description": "Seconds after which to send the request again",
    "schema": {"type": "integer", "minimum": 0, "example": 1},
}
_METHODS = ("get", "post", "put", "patch", "delete")
_PATH_PARAMETERS = {
    "account_id": "Id of a cloud account: acc_…, from list_cloud_accounts",
    "advice_id": "Id of a piece of advice: adv_…, from list_advice",
    "backup_id": "Id of a backup: bkp_…, from list_backups",
    "budget_id": "Id of a budget: bud_…, from list_budgets",
    "ceiling_id": "Id of a ceiling: cei_…, from list_ceilings",
    "change_id": "Id of a change of a table's options: tch_…, from list_table_changes",
    "cluster_id": "Id of a cluster: clu_…, from list_clusters",
    "connection_id": "Id of a connection of the cluster's network: con_…, from list_network_connections",
    "console_session_id": "Id of somebody's session in the console: ses_…, from list_sessions or list_member_sessions",
    "delivery_id": "Id of a message to the receiver: dlv_…, from list_alert_deliveries",
    "deletion_request_id": "Id of a deletion request: dlr_…, from list_deletion_requests",
    "diagnosis_id": "Id of what a node was asked: dgn_…, from the answer of ask_node or from get_diagnostics",
    "drill_id": "Id of a restore drill: drl_…, from list_drills",
    "group_role_id": "Id of a group's role: grl_…, from list_group_roles",
    "image_id": "Id of a machine image: img_…, from list_images; not what its cloud calls it",
    "import_id": "Id of an import: imp_…, from list_imports",
    "invitation_id": "Id of an invitation: inv_…, from list_invitations",
    "keyspace": "Name of a keyspace as the engine has it: without quotes, upper and lower case count",
    "location_id": "Id of a place where backups are kept: loc_…, from list_backup_locations",
    "member_id": "Id of somebody's membership in the organisation: mem_…, from list_members",
    "month": "A month of UTC, for example 2026-01",
    "node_id": "Id of a node of the cluster: nod_…, from list_cluster_nodes",
    "operation_id": "Id of an operation: op_…, from list_operations or from the answer that began it",
    "price_id": "Id of a price: prc_…, from list_prices",
    "receiver_id": "Id of a receiver of alerts: rcv_…, from list_alert_receivers",
    "restore_id": "Id of a restore: rst_…, from list_restores",
    "role": "Name of a role in the cluster's database, from list_roles; upper and lower case count",
    "role_id": "Id of a role that the organisation made: rol_…, from list_organisation_roles",
    "rule": "Name of an alert rule, for example node-down, from list_alert_rules",
    "run_id": "Id of a run of repairs: rep_…, from list_repair_runs",
    "schedule_id": "Id of a schedule of backups of the cluster: bsc_…, from list_backup_schedules",
    "secret": "The part of an invitation's link after #",
    "service_account_id": "Id of a service account: sva_…, from list_service_accounts",
    "session_id": "Id of a session of CQL on the cluster: cqs_…, from the answer of open_cql_session",
    "silence_id": "Id of a silence, a UUID, from list_alert_silences",
    "statement_id": "Id of a CQL statement: cql_…, from list_cql_statements or the answer of run_cql",
    "table": "Name of a table of the keyspace as the engine has it: without quotes, upper and lower case count",
    "token_id": "Id of an API token: tok_…, from list_tokens",
}
"""By name, wherever it is in an address: what it names has the same words everywhere."""


def complete(schema: dict[str, Any]) -> dict[str, Any]:
    """Adds error answers, the idempotency header, and words for tags and for what addresses hold; sorts what has no
    order of its own. Raises LookupError for a path parameter without words.
    """
    components = schema["components"]
    error = TypeAdapter(Error).json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    components["schemas"].update(error.pop("$defs"))
    components["schemas"]["Error"] = error
    error_codes.describe(schema)
    components["schemas"] = dict(sorted(components["schemas"].items()))
    components["responses"] = {f"Error{status}": _error_response(text) for status, text in _ERRORS.items()}
    components["responses"]["Error429"]["headers"] = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}}
    components["headers"] = {**rate_limits.PARAMETERS, **conditions.HEADERS, "Retry-After": _RETRY_AFTER}
    components["parameters"] = {
        "DryRun": rehearsal.DESCRIBED,
        "IdempotencyKey": _IDEMPOTENCY_PARAMETER,
        **conditions.PARAMETERS,
        "Fields": sparse.DESCRIBED,
    }
    schema["paths"] = dict(sorted(schema["paths"].items()))
    for path, methods in schema["paths"].items():
        for method in _METHODS:
            if method in methods:
                _complete_operation(path, method, methods[method])
        if conditions.has_tag(path.removeprefix("/api/v1")):
            writes = [methods[method] for method in ("put", "patch", "delete") if method in methods]
            conditions.describe(methods["get"], writes)
        for method in _METHODS:
            if method in methods:
                methods[method]["responses"] = dict(sorted(methods[method]["responses"].items()))
    schema["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items()]
    return schema


def _error_response(text: str) -> dict[str, Any]:
    return {
        "description": text,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


def describe_path_parameters(path: str, operation: dict[str, Any]) -> None:
    """Raises LookupError for one that has no words."""
    for parameter in operation["parameters"]:
        if parameter["in"] == "path" and "description" not in parameter:
            name = parameter["name"]
            if name not in _PATH_PARAMETERS:
                raise LookupError(f"{path}: say in _PATH_PARAMETERS of {__name__} what {name} is.")
            parameter["description"] = _PATH_PARAMETERS[name]


def _complete_operation(path: str, method: str, operation: dict[str, Any]) -> None:
    describe_path_parameters(path, operation)
    writes = method != "get"
    public = "security" not in operation
    statuses = {400, 500, 503}
    if not public:
        statuses |= {401, 403, 404, 429}
    if "{" in path:
        statuses.add(404)
    if writes:
        statuses |= {404, 409, 422}
    if writes and public:
        statuses |= {401, 429}
    if operation["parameters"]:
        statuses.add(422)
    if "requestBody" in operation:
        statuses |= {413, 422}
    responses = operation["responses"]
    responses.update(
        {status: {"$ref": f"#/components/responses/Error{status}"} for status in statuses if status not in responses}
    )
    operation["responses"] = {str(status): responses[status] for status in sorted(responses)}
    if not public:
        for status, answer in operation["responses"].items():
            if int(status) < 400:
                answer.setdefault("headers", {}).update(
                    {name: {"$ref": f"#/components/headers/{name}"} for name in rate_limits.PARAMETERS}
                )
    if not writes:
        sparse.describe(operation)
    if writes and not public:
        operation["parameters"] = [*operation["parameters"], {"$ref": "#/components/parameters/IdempotencyKey"}]
        rehearsal.describe(operation)
