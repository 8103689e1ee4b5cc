"""Identifiers: a short noun, an underscore and a ULID, for example ``clu_01jd3k...``.

They sort by creation time, so a list ordered by id is a list ordered by age and an id is its own cursor.
"""

from collections.abc import Callable

from ulid import ULID


def new_id(prefix: str) -> str:
    return f"{prefix}_{str(ULID()).lower()}"


def new_organisation_id() -> str:
    return new_id("org")


def new_user_id() -> str:
    return new_id("usr")


def new_membership_id() -> str:
    return new_id("mem")


def new_invitation_id() -> str:
    return new_id("inv")


def new_token_id() -> str:
    return new_id("tok")


def new_console_session_id() -> str:
    return new_id("ses")


def new_service_account_id() -> str:
    return new_id("sva")


def new_role_id() -> str:
    return new_id("rol")


def new_identity_provider_id() -> str:
    return new_id("idp")


def new_directory_user_id() -> str:
    return new_id("dus")


def new_directory_group_id() -> str:
    return new_id("dgr")


def new_external_identity_id() -> str:
    return new_id("xid")


def new_group_role_id() -> str:
    return new_id("grl")


def new_operation_id() -> str:
    return new_id("op")


def new_step_id() -> str:
    return new_id("stp")


def new_cluster_id() -> str:
    return new_id("clu")


def new_datacenter_id() -> str:
    return new_id("dc")


def new_window_id() -> str:
    return new_id("win")


def new_finding_id() -> str:
    return new_id("fnd")


def new_cloud_account_id() -> str:
    return new_id("acc")


def new_image_id() -> str:
    return new_id("img")


def new_allowlist_entry_id() -> str:
    return new_id("alw")


def new_node_id() -> str:
    return new_id("nod")


def new_connection_id() -> str:
    return new_id("con")


def new_backup_location_id() -> str:
    return new_id("loc")


def new_backup_schedule_id() -> str:
    return new_id("bsc")


def new_backup_id() -> str:
    return new_id("bkp")


def new_import_id() -> str:
    return new_id("imp")


def new_restore_id() -> str:
    return new_id("rst")


def new_repair_id() -> str:
    return new_id("rep")


def new_restore_drill_id() -> str:
    return new_id("drl")


def new_diagnosis_id() -> str:
    return new_id("dgn")


def new_alert_id() -> str:
    return new_id("alr")


def new_alert_receiver_id() -> str:
    return new_id("rcv")


def new_alert_delivery_id() -> str:
    return new_id("dlv")


def new_cql_session_id() -> str:
    return new_id("cqs")


def new_cql_statement_id() -> str:
    return new_id("cql")


def new_advice_id() -> str:
    return new_id("adv")


def new_table_change_id() -> str:
    return new_id("tch")


def new_price_list_id() -> str:
    return new_id("pls")


def new_price_id() -> str:
    return new_id("prc")


def new_usage_id() -> str:
    return new_id("usg")


def new_cost_line_id() -> str:
    return new_id("csl")


def new_budget_id() -> str:
    return new_id("bud")


def new_budget_crossing_id() -> str:
    return new_id("bcr")


def new_ceiling_id() -> str:
    return new_id("cei")


def new_deletion_request_id() -> str:
    return new_id("dlr")


def new_audit_id() -> str:
    return new_id("aud")


IdMaker = Callable[[], str]
