"""Lists, filters, figures and the event stream hold what is one's own. Single things: test_hostile_tenants.py."""

import json
import re
from pathlib import Path
from typing import Any

import httpx

from e2e.contract.server import Api
from e2e.contract.tenants import MARK

DESCRIPTION = Path(__file__).resolve().parents[2] / "backend" / "openapi.json"
NEW_CLUSTER = {
    "name": "intruder",
    "engine": "cassandra",
    "provider": "local",
    "region": "local-1",
    "zones": ["local-1a"],
    "machine_type": "local.small",
    "nodes_per_zone": 1,
}
# Of the product, the same for everybody.
NOBODYS = {"rule": "node-down"}
# Bodies of the writes that need one; the others take none.
BODIES: dict[str, dict[str, Any]] = {
    "change_member_role": {"role": "viewer"},
    "update_organisation_role": {"name": "taken over"},
    "update_group_role": {"rank": 1},
    "update_service_account": {"name": "taken over"},
    "update_cloud_account": {"name": "taken over"},
    "update_cluster": {"name": "taken-over"},
    "extend_test_drive": {"hours": 24},
    "set_maintenance_windows": {"windows": []},
    "plan_change": {"kind": "rolling_restart"},
    "change_cluster": {"kind": "rolling_restart"},
    "replace_allowlist": {"entries": []},
    "create_network_connection": {"kind": "endpoint", "name": "way-in", "service": "s"},
    "create_role": {"name": "intruder"},
    "update_role": {"can_login": False},
    "grant_role": {"resource": "data", "permissions": ["SELECT"]},
    "update_backup_location": {"name": "taken over"},
    "create_backup": {},
    "create_backup_schedule": {"name": "nightly", "cron": "0 3 * * *", "keep_count": 1},
    "replace_backup_schedule": {"name": "nightly", "cron": "0 3 * * *", "keep_count": 1},
    "restore_backup": {"mode": "replace"},
    "set_log_archive": {"enabled": True},
    "download_backup": {},
    "plan_restore": {"mode": "replace"},
    "plan_import": {},
    "create_import": {},
    "take_over": {},
    "plan_clone": {"new_cluster": NEW_CLUSTER},
    "clone_cluster": {"new_cluster": NEW_CLUSTER},
    "start_drill": {},
    "plan_drill": {},
    "set_drill_schedule": {"interval_minutes": 60},
    "plan_repair": {},
    "run_repair": {},
    "ask_node": {"question": "status"},
    "open_cql_session": {"role": "intruder", "password": "sesame"},
    "run_cql": {"session_id": "cqs_1", "statement": "SELECT 1"},
    "read_cql_schema": {"session_id": "cqs_1"},
    "next_cql_page": {},
    "update_alert_rule": {"enabled": False},
    "create_alert_silence": {"ends_at": "2999-01-01T00:00:00Z", "comment": "quiet"},
    "update_alert_receiver": {"enabled": False},
    "update_budget": {"micros": 1},
    "dismiss_advice": {"reason": "not ours"},
    "plan_advice": {},
    "apply_advice": {},
    "plan_table_change_undo": {},
    "undo_table_change": {},
    "set_repair_schedule": {"enabled": False},
    "set_repair_policy": {"mode": "skip"},
}


def operations_with_ids() -> list[tuple[str, str, str]]:
    """Method, path and name of every documented operation whose path names one thing of an organisation."""
    paths: dict[str, dict[str, Any]] = json.loads(DESCRIPTION.read_text())["paths"]
    return [
        (method, path, operation["operationId"])
        for path, item in paths.items()
        for method, operation in item.items()
        # Images and prices are the installation's, and everybody sees them.
        if method in {"get", "post", "put", "patch", "delete"} and "_id}" in re.sub("{(image|price)_id}", "", path)
    ]


def test_lists_hold_only_what_is_ones_own(api: Api) -> None:
    for path in (
        "clusters",
        "cloud-accounts",
        "operations",
        "findings",
        "members",
        "invitations",
        "tokens",
        "audit",
        "backups",
        "backup-locations",
        "budgets",
        "ceilings",
        "deletion-requests",
    ):
        answer = httpx.get(f"{api.url}/api/v1/{path}", headers=api.headers(api.tenants.stranger_token), timeout=30)
        assert answer.status_code == 200, answer.text
        assert answer.json()["items"], f"the stranger's own {path} are missing"
        assert MARK not in answer.text


def test_an_export_of_the_audit_log_is_ones_own(api: Api) -> None:
    headers = api.headers(api.tenants.stranger_token)
    for words in ("", f"?q={MARK}", f"?target_id={api.tenants.ids['cluster_id']}", "?format=csv"):
        answer = httpx.get(f"{api.url}/api/v1/audit/export{words}", headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        assert f"{MARK}-" not in answer.text
        assert ("elsewhere-0" in answer.text) == (words in ("", "?format=csv"))
    chain = httpx.get(f"{api.url}/api/v1/audit/chain", headers=headers, timeout=30).json()
    assert chain["organisation_id"] == api.tenants.stranger_ids["organisation_id"]


def test_filters_and_cursors_do_not_reach_over_the_fence(api: Api) -> None:
    for query in (
        f"clusters?cursor={api.tenants.ids['cluster_id']}",
        f"clusters?q={MARK}",
        f"operations?cluster_id={api.tenants.ids['cluster_id']}",
        "findings?state=open",
        f"audit?target_id={api.tenants.ids['cluster_id']}",
    ):
        answer = httpx.get(f"{api.url}/api/v1/{query}", headers=api.headers(api.tenants.stranger_token), timeout=30)
        assert answer.status_code in {200, 404, 422}, answer.text
        assert f"{MARK}-" not in answer.text


def test_numbers_of_tables_are_ones_own(api: Api) -> None:
    for token, ids in (
        (api.tenants.owner_token, api.tenants.ids),
        (api.tenants.stranger_token, api.tenants.stranger_ids),
    ):
        url = f"{api.url}/api/v1/clusters/{ids['cluster_id']}/tables/metrics"
        items = httpx.get(url, headers=api.headers(token), timeout=30).json()["items"]
        assert [(item["keyspace"], item["table"]) for item in items] == [(ids["keyspace"], ids["table"])]


def test_a_token_cannot_choose_another_organisation(api: Api) -> None:
    headers = api.headers(api.tenants.stranger_token) | {"Ringmaster-Organisation": api.tenants.ids["organisation_id"]}
    answer = httpx.get(f"{api.url}/api/v1/clusters", headers=headers, timeout=30)
    assert answer.status_code == 404
    assert MARK not in answer.text


def test_the_event_stream_opens_for_members_only(api: Api) -> None:
    url = f"{api.url}/api/v1/events"
    assert httpx.get(url, timeout=30).status_code == 401
    with httpx.stream("GET", url, headers=api.headers(api.tenants.viewer_token), timeout=30) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
