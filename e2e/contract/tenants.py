"""Two organisations with everything in them, for tests that ask for the one with the other's token.

Run as `python -m e2e.contract.tenants` against a migrated database: prints one JSON object, see `Tenants`.
"""

import json
import os
import sys
from dataclasses import asdict, dataclass
from datetime import time, timedelta

# Every name of the first organisation holds this word, and nothing else does: it must never show up elsewhere.
MARK = "quartzfalcon"
# Of the installation: both may name it.
PROVIDER = "idp_00000000000000000000000000"


@dataclass(frozen=True)
class Tenants:
    """Tokens of three people, and ids by the name of the path parameter that takes them."""

    owner_token: str
    viewer_token: str
    stranger_token: str
    ids: dict[str, str]
    """Things of the owner's organisation."""
    stranger_ids: dict[str, str]
    """Things of the stranger's organisation."""
    stranger_roles: dict[str, str]
    """Tokens of the stranger's organisation, one for each kind of role."""


def make() -> Tenants:
    """Fill the database that Django is set up for."""
    from django.core.management import call_command

    from backend.accounts.states import Role

    call_command("load_catalog", verbosity=0)
    owner, owner_ids = _organisation(MARK, Role.OWNER)
    viewer = _person(owner_ids["organisation_id"], f"viewer@{MARK}.example", Role.VIEWER)
    stranger, stranger_ids = _organisation("elsewhere", Role.OWNER)
    roles = {"owner": stranger} | _roles(stranger_ids["organisation_id"], "elsewhere")
    return Tenants(owner, viewer, stranger, owner_ids, stranger_ids, roles)


def _roles(organisation_id: str, name: str) -> dict[str, str]:
    """A token for each other role that there is: the built-in ones, own ones with all permissions, and a program's."""
    from backend.accounts.models import ApiToken, CustomRole, ServiceAccount
    from backend.accounts.queries import TOKEN_PREFIX, hash_secret
    from backend.accounts.states import NOT_BY_TAGS, PERMISSIONS, Role

    everything = PERMISSIONS[Role.OWNER]
    made = {
        str(role): _person(organisation_id, f"{role}@{name}.example", role)
        for role in (Role.ADMIN, Role.OPERATOR, Role.VIEWER)
    }
    for word, permissions, tags in (
        ("custom", everything, None),
        ("by-tags", everything - set(NOT_BY_TAGS), {"team": [name]}),
    ):
        custom = CustomRole.objects.create(
            organisation_id=organisation_id, name=word, permissions=sorted(permissions), tags=tags, created_by="owner"
        )
        made[word] = _person(organisation_id, f"{word}@{name}.example", Role.CUSTOM, custom_role_id=custom.id)
    program = ServiceAccount.objects.create(
        organisation_id=organisation_id, name="program", contact=f"ops@{name}.example", role=Role.ADMIN
    )
    made["service-account"] = f"{TOKEN_PREFIX}program@{name}"
    ApiToken.objects.create(
        organisation_id=organisation_id,
        service_account=program,
        name="program",
        secret_hash=hash_secret(made["service-account"]),
        hint="gram",
        scopes=sorted(everything),
    )
    return made


def _organisation(name: str, role: str) -> tuple[str, dict[str, str]]:
    from django.contrib.sessions.models import Session
    from django.utils import timezone

    from backend.accounts.models import (
        ApiToken,
        ConsoleSession,
        CustomRole,
        DeletionRequest,
        GroupRole,
        IdentityProvider,
        Invitation,
        Membership,
        Organisation,
        ServiceAccount,
        User,
    )
    from backend.accounts.queries import hash_secret
    from backend.advisor.models import AdviceItem, TableChange, TableSchema
    from backend.alerts.models import AlertDelivery, AlertReceiver
    from backend.audit.actions import link
    from backend.audit.models import AuditRecord
    from backend.backups.models import Backup, BackupLocation, BackupSchedule, Drill, Restore
    from backend.backups.states import BackupState, DrillState, RestoreMode, RestoreState
    from backend.budgets.models import Budget
    from backend.cloud_accounts.models import CloudAccount
    from backend.clusters import pki, vault
    from backend.clusters.models import Ceiling, Cluster, Datacenter, MaintenanceWindow, Node
    from backend.clusters.states import ClusterState, NodeState, SecretPurpose
    from backend.connections.models import NetworkConnection
    from backend.connections.states import ConnectionKind, ConnectionState
    from backend.console.models import CqlSession, CqlStatement
    from backend.diagnostics.models import Diagnosis
    from backend.findings.models import Finding
    from backend.findings.states import Severity
    from backend.imports.models import Import
    from backend.operations.models import Operation, OperationStep
    from backend.operations.states import OperationState, StepState
    from backend.repairs.models import RepairRun
    from backend.repairs.states import RepairRunReason, RepairRunState

    organisation = Organisation.objects.create(name=name, slug=name)
    token = _person(organisation.id, f"owner@{name}.example", role)
    owner = User.objects.get(email=f"owner@{name}.example")
    colleague = User.objects.create(email=f"colleague@{name}.example", name=f"{name} colleague", password="!")
    member = Membership.objects.create(organisation=organisation, user=colleague, role="operator")
    spare = ApiToken.objects.create(
        organisation=organisation,
        user=owner,
        name=f"{name} spare",
        secret_hash=hash_secret(name),
        hint="pare",
        scopes=[],
    )
    now = timezone.now()
    Session.objects.create(session_key=f"{name} key", session_data="", expire_date=now + timedelta(days=1))
    browser = ConsoleSession.objects.create(
        user=colleague, session_key=f"{name} key", user_agent=f"{name} browser", last_used_at=now
    )
    invitation = Invitation.objects.create(
        organisation=organisation,
        email=f"invited@{name}.example",
        role="viewer",
        secret_hash=hash_secret(f"invitation {name}"),
        created_by=owner,
        expires_at=now + timedelta(days=7),
    )
    custom_role = CustomRole.objects.create(
        organisation=organisation, name=f"{name} readers", permissions=["clusters:read"], created_by=owner.email
    )
    service_account = ServiceAccount.objects.create(
        organisation=organisation,
        name=f"{name} pipeline",
        contact=f"ops@{name}.example",
        role="operator",
        created_by=owner.email,
    )
    account = CloudAccount.objects.create(
        organisation=organisation,
        name=f"{name} shop",
        provider="aws",
        role_arn=f"arn:aws:iam::123456789012:role/ringmaster-{name}",
        external_id=f"{name} external",
        settings={"public_addresses": False, "networks": None, "vpcs": {}},
        created_by=owner.email,
    )
    clusters = [
        Cluster.objects.create(
            organisation=organisation,
            name=f"{name}-{number}",
            engine="cassandra",
            engine_version="5.0.5",
            provider="local",
            ring_name=f"{name}-{number}",
            state=ClusterState.ACTIVE,
            options={"tags": {"team": name}},
            admin_username=f"{name}-admin",
            ca_certificate=pki.new_ca(f"{name} CA").certificate_pem,
            created_by=owner.email,
            active_at=now,
        )
        for number in range(3)
    ]
    for number, cluster in enumerate(clusters):
        datacenter = Datacenter.objects.create(
            cluster=cluster,
            name="local-local-1",
            region="local-1",
            zones=["local-1a", "local-1b", "local-1c"],
            machine_type="local.small",
            nodes_per_zone=1,
        )
        for position, zone in enumerate(datacenter.zones):
            Node.objects.create(
                cluster=cluster,
                datacenter=datacenter,
                machine_type=datacenter.machine_type,
                name=f"{cluster.name}-{zone}-1",
                zone=zone,
                position=position,
                state=NodeState.UP,
                tokens=[position + 1],
                address=f"127.{position + 1}.0.{number + 2}",
                # Nothing listens there: who asks such a node waits for an answer that does not come.
                agent_address=f"127.{position + 1}.0.{number + 2}:1",
            )
    cluster = clusters[0]
    vault.keep(cluster.id, SecretPurpose.ADMIN_PASSWORD, f"{name} password".encode())
    operation = Operation.objects.create(
        organisation=organisation,
        kind="create_cluster",
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        actor=owner.email,
        state=OperationState.SUCCEEDED,
        progress=1,
        expected_seconds=20,
        started_at=now,
        finished_at=now,
    )
    OperationStep.objects.create(
        operation=operation,
        position=0,
        group=0,
        name="find_image",
        title="Find the machine image",
        state=StepState.DONE,
        deadline_seconds=60,
        message=f"{name} image",
        started_at=now,
        finished_at=now,
    )
    Finding.objects.create(
        organisation=organisation,
        cluster=cluster,
        subject=cluster.nodes.all()[0].id,
        subject_name=f"{cluster.name}-local-1a-1",
        code="disk-filling",
        severity=Severity.WARNING,
        sentence=f"The disk of a node of {name} is 80 % full.",
    )
    MaintenanceWindow.objects.create(
        cluster=cluster, weekdays=[6], starts_at=time(2, 30), minutes=120, time_zone="Europe/Vienna"
    )
    connection = NetworkConnection.objects.create(
        cluster=cluster,
        datacenter=cluster.datacenters.all()[0],
        kind=ConnectionKind.PEERING,
        name=name,
        peer_network=f"vpc-{name}",
        cidrs=["172.20.0.0/16"],
        state=ConnectionState.ACTIVE,
        created_by=owner.email,
        checked_at=now,
    )
    location = BackupLocation.objects.create(
        organisation=organisation, name=name, kind="s3", bucket=f"{name}-backups", created_by=owner.email
    )
    schedule = BackupSchedule.objects.create(
        cluster=cluster, location=location, name=name, cron="0 3 * * *", keep_count=7, created_by=owner.email
    )
    imported = Import.objects.create(
        organisation=organisation,
        cluster=cluster,
        location=location,
        path=f"{name}/old",
        layout="files",
        state="succeeded",
        created_by=owner.email,
    )
    backup = Backup.objects.create(
        organisation=organisation,
        cluster=cluster,
        cluster_name=cluster.name,
        location=location,
        schedule=schedule,
        state=BackupState.COMPLETE,
        engine=cluster.engine,
        engine_version=cluster.engine_version,
        created_by=owner.email,
        taken_at=now,
        finished_at=now,
    )
    restore = Restore.objects.create(
        organisation=organisation,
        backup=backup,
        cluster=cluster,
        mode=RestoreMode.COPY,
        tables=[{"keyspace": name, "table": name, "as_keyspace": name, "as_table": f"{name}_then"}],
        state=RestoreState.SUCCEEDED,
        created_by=owner.email,
        finished_at=now,
    )
    drill = Drill.objects.create(
        organisation=organisation,
        cluster=cluster,
        backup=backup,
        order={},
        state=DrillState.PROVED,
        actor=owner.email,
        finished_at=now,
    )
    run = RepairRun.objects.create(
        cluster=cluster,
        reason=RepairRunReason.ORDER,
        state=RepairRunState.DONE,
        note=f"{name} is repaired",
        started_at=now,
        finished_at=now,
    )
    diagnosis = Diagnosis.objects.create(
        organisation=organisation,
        cluster=cluster,
        node=cluster.nodes.all()[0],
        question="slow-queries",
        parameters={"keyspace": f"{name}_shop"},
        asked_by=owner.email,
        state="answered",
        answered_at=now,
        answer={"taken_at": now.isoformat(), "notes": [f"{name} is slow"]},
    )
    session = CqlSession.objects.create(
        organisation=organisation,
        cluster=cluster,
        user_id=owner.id,
        role=f"{name}_reader",
        expires_at=now + timedelta(hours=1),
    )
    statement = CqlStatement.objects.create(
        organisation=organisation,
        cluster=cluster,
        user_id=owner.id,
        session_id=session.id,
        role=session.role,
        verb="SELECT",
        text=f"SELECT * FROM {name}_orders",
        consistency="ONE",
        page_size=100,
        timeout_seconds=10,
        state="answered",
        deadline=now,
        ended_at=now,
    )
    TableSchema.objects.create(
        cluster=cluster, keyspace=f"{name}_shop", name=f"{name}_orders", statement=f"CREATE {name}", read_at=now
    )
    options = {"before": {"gc_grace_seconds": 60}, "after": {"gc_grace_seconds": 864000}}
    advice = AdviceItem.objects.create(
        cluster=cluster,
        rule="gc-grace",
        keyspace=f"{name}_shop",
        table=f"{name}_orders",
        severity="critical",
        words={
            "finding": f"{name} forgets",
            "evidence": [{"label": "Kept for", "value": 60.0, "unit": "seconds", "chart": ""}],
            "gain": "",
            "figure": "gc-grace",
            "cost": "",
            "statement": "",
            "change": options | {"rewrite": False},
            "why_by_hand": "",
        },
        first_seen_at=now,
        last_seen_at=now,
    )
    change = TableChange.objects.create(
        cluster=cluster,
        rule="gc-grace",
        keyspace=f"{name}_shop",
        table=f"{name}_orders",
        state="applied",
        ordered_by=owner.email,
        **options,
    )
    receiver = AlertReceiver.objects.create(
        organisation=organisation,
        name=f"{name} ops",
        kind="email",
        target=f"ops@{name}.example",
        addresses=[f"ops@{name}.example"],
        created_by=owner.email,
    )
    delivery = AlertDelivery.objects.create(
        receiver=receiver, kind="test", content={"summary": f"{name} secret"}, state="sent"
    )
    budget = Budget.objects.create(
        organisation=organisation,
        name=f"{name} budget",
        scope="tag",
        tag_key="team",
        tag_value=f"{name} shop",
        micros=5_000_000,
        spent_percents=[50, 100],
        forecast_percents=[100],
        month=timezone.now().date().replace(day=1),
        checked_at=timezone.now(),
        created_by=owner.email,
    )
    ceiling = Ceiling.objects.create(organisation=organisation, cluster=cluster, nodes=1_000, changed_by=owner.email)
    deletion = DeletionRequest.objects.create(
        organisation=organisation,
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        cluster_id=cluster.id,
        requested_by=f"colleague@{name}.example",
        requested_by_user_id=colleague.id,
        expires_at=now + timedelta(hours=24),
    )
    provider, _ = IdentityProvider.objects.get_or_create(
        id=PROVIDER,
        defaults={
            "name": "Corp",
            "issuer": "https://sso.corp.example",
            "client_id": "ringmaster",
            "scopes": "openid",
            "groups_claim": "groups",
            "email_domains": ["corp.example"],
            "session_hours": 12,
            "second_factor": False,
            "ciphertext": b"",
            "wrapped_key": b"",
        },
    )
    group_role = GroupRole.objects.create(
        organisation=organisation,
        provider=provider,
        group=f"{name}-people",
        role="viewer",
        rank=100,
        created_by=owner.email,
    )
    AuditRecord.objects.create(
        organisation=organisation,
        action="cluster.create",
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        actor=owner.email,
        actor_user_id=owner.id,
        after={"name": cluster.name},
    )
    link()
    return token, {
        "organisation_id": organisation.id,
        "role_id": custom_role.id,
        "group_role_id": group_role.id,
        "service_account_id": service_account.id,
        "account_id": account.id,
        "cluster_id": cluster.id,
        "doomed_cluster_id": clusters[1].id,
        "changed_cluster_id": clusters[2].id,
        "node_id": cluster.nodes.all()[0].id,
        "changed_node_id": clusters[2].nodes.all()[0].id,
        "role": f"{name}_reader",
        "operation_id": operation.id,
        "member_id": member.id,
        "membership_id": member.id,
        "invitation_id": invitation.id,
        "connection_id": connection.id,
        "token_id": spare.id,
        "location_id": location.id,
        "schedule_id": schedule.id,
        "backup_id": backup.id,
        "import_id": imported.id,
        "restore_id": restore.id,
        "drill_id": drill.id,
        "run_id": run.id,
        "diagnosis_id": diagnosis.id,
        "session_id": session.id,
        "console_session_id": browser.id,
        "deletion_request_id": deletion.id,
        "statement_id": statement.id,
        "advice_id": advice.id,
        "change_id": change.id,
        "receiver_id": receiver.id,
        "delivery_id": delivery.id,
        "budget_id": budget.id,
        "ceiling_id": ceiling.id,
        # Alertmanager's own: it knows none of this id.
        "silence_id": "00000000-0000-4000-8000-000000000000",
        "keyspace": f"{name}_shop",
        "table": f"{name}_orders",
    }


def _person(organisation_id: str, email: str, role: str, *, custom_role_id: str | None = None) -> str:
    """A member with a token that may do all their role may. Returns the token's secret."""
    from backend.accounts.models import ApiToken, Membership, User
    from backend.accounts.queries import TOKEN_PREFIX, hash_secret
    from backend.accounts.states import PERMISSIONS, Role

    user = User.objects.create(email=email, name=email.partition("@")[0], password="!")
    Membership.objects.create(organisation_id=organisation_id, user=user, role=role, custom_role_id=custom_role_id)
    secret = f"{TOKEN_PREFIX}{email}"
    ApiToken.objects.create(
        organisation_id=organisation_id,
        user=user,
        name=f"token of {email}",
        secret_hash=hash_secret(secret),
        hint=secret[-4:],
        scopes=sorted(PERMISSIONS[Role.OWNER if role == Role.CUSTOM else Role(role)]),
    )
    return secret


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
    import django

    django.setup()
    json.dump(asdict(make()), sys.stdout)
