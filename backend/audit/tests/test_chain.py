"""Records are tied together once they are committed, and what was changed afterwards is found."""

import csv
import io
import json
import re
import runpy
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from backend.accounts.states import Role
from backend.audit.actions import link
from backend.audit.models import AuditRecord
from backend.audit.tests.test_list_audit_records import note
from backend.conftest import Tenant

DOCS = Path(__file__).resolve().parents[3] / "docs" / "audit.md"


def tamper(sql: str) -> None:
    """As somebody who owns the database could."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql)
        cursor.execute("SET LOCAL session_replication_role = origin")


def linked(tenant: Tenant, count: int = 3) -> list[AuditRecord]:
    for number in range(count):
        note(tenant, "cluster.update", f"clu_{number}")
    link()
    return list(AuditRecord.objects.filter(organisation=tenant.organisation).order_by("sequence"))


def verified(*expected: str) -> str:
    out = io.StringIO()
    call_command("verify_audit", expect=list(expected), stdout=out)
    return out.getvalue()


def misfit(*expected: str) -> str:
    out = io.StringIO()
    with pytest.raises(CommandError, match="not as it was written"):
        call_command("verify_audit", expect=list(expected), stdout=out)
    return out.getvalue()


def test_each_organisation_has_a_chain_of_its_own(tenant: Tenant, stranger: Tenant):
    note(stranger, "cluster.create")
    rows = linked(tenant)
    assert [row.sequence for row in rows] == [1, 2, 3]
    assert rows[0].previous_hash == "0" * 64
    assert [row.previous_hash for row in rows[1:]] == [row.hash for row in rows[:-1]]
    assert AuditRecord.objects.get(organisation=stranger.organisation).sequence == 1
    note(tenant, "cluster.delete")
    assert [record["sequence"] for record in link()] == [4]
    assert link() == []


def test_a_record_that_is_seen_later_is_linked_later_though_it_is_older(tenant: Tenant):
    rows = linked(tenant)
    note(tenant, "cluster.delete", "clu_late")
    AuditRecord.objects.create(id="aud_00000000000000000000000000", organisation=tenant.organisation, action="x.y")
    assert [(record["action"], record["sequence"]) for record in link()] == [("x.y", 4), ("cluster.delete", 5)]
    assert verified().startswith(f"{tenant.organisation.id}:5:")
    assert len(rows) == 3


def test_it_fits_and_tells_its_end_and_what_waits(tenant: Tenant):
    last = linked(tenant)[-1]
    note(tenant, "cluster.delete")
    end = f"{tenant.organisation.id}:3:{last.hash}"
    assert verified(end) == f"{end} fits, 1 not linked yet\n"
    chain = tenant.api().get("/audit/chain").json()
    assert (chain["sequence"], chain["hash"], chain["waiting"]) == (3, last.hash, 1)
    assert chain["waiting_since"] is not None
    assert chain["last_record_at"] is not None


def test_an_empty_chain_has_an_end_too(tenant: Tenant):
    chain = tenant.api().get("/audit/chain").json()
    assert (chain["sequence"], chain["hash"], chain["last_record_at"]) == (0, "0" * 64, None)


@pytest.mark.parametrize(
    "column", ["action", "target_id", "target_name", "actor", "actor_user_id", "actor_token_id", "request_id"]
)
def test_a_changed_word_is_found(tenant: Tenant, column: str):
    rows = linked(tenant)
    tamper(f"UPDATE audit_auditrecord SET {column} = 'other' WHERE sequence = 2")
    assert f"record {rows[1].id}, number 2: Its hash is not that of what it says" in misfit()


@pytest.mark.parametrize(
    "change",
    [
        "before = '{\"a\": 2}'",
        "after = '{}'",
        "source_address = '10.0.0.1'",
        "created_at = created_at + interval '1 microsecond'",
    ],
)
def test_other_facts_another_place_or_moment_are_found(tenant: Tenant, change: str):
    linked(tenant)
    tamper(f"UPDATE audit_auditrecord SET {change} WHERE sequence = 2")
    assert "number 2: Its hash" in misfit()


def test_a_record_that_was_taken_out_is_found(tenant: Tenant):
    linked(tenant)
    tamper("DELETE FROM audit_auditrecord WHERE sequence = 2")
    assert "number 3: After number 1 comes 3" in misfit()


def test_a_cut_end_is_found_by_who_kept_it(tenant: Tenant):
    end = f"{tenant.organisation.id}:3:{linked(tenant)[-1].hash}"
    tamper("DELETE FROM audit_auditrecord WHERE sequence = 3")
    assert "fits" in verified()
    assert "number 3 was expected with hash" in misfit(end)
    linked(tenant, 1)
    assert "but it has hash" in misfit(end)


def test_a_chain_that_was_made_anew_is_found_by_who_kept_its_end(tenant: Tenant):
    end = f"{tenant.organisation.id}:3:{linked(tenant)[-1].hash}"
    tamper("UPDATE audit_auditrecord SET actor = 'other', sequence = NULL, previous_hash = NULL, hash = NULL")
    link()
    assert "fits" in verified()
    assert "but it has hash" in misfit(end)


def test_what_is_no_end_is_said_to_be_none(tenant: Tenant):
    with pytest.raises(CommandError, match="is no ORGANISATION:SEQUENCE:HASH"):
        verified("last tuesday's")
    assert "there is no such organisation" in misfit(f"org_gone:1:{'0' * 64}")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_auditrecord SET actor = 'other'",
        "UPDATE audit_auditrecord SET sequence = 7",
        "UPDATE audit_auditrecord SET sequence = NULL, previous_hash = NULL, hash = NULL",
        "DELETE FROM audit_auditrecord",
        "TRUNCATE audit_auditrecord",
    ],
)
def test_the_database_refuses_to_change_or_delete_records(tenant: Tenant, statement: str):
    linked(tenant, 1)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        with pytest.raises(DatabaseError, match="never"), transaction.atomic():
            cursor.execute(statement)


def test_it_refuses_to_change_one_that_is_not_linked_yet_and_to_write_one_that_is(tenant: Tenant):
    note(tenant, "cluster.create")
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        AuditRecord.objects.update(actor="other", sequence=1, previous_hash="0" * 64, hash="0" * 64)
    with pytest.raises(DatabaseError, match="after it was written"), transaction.atomic():
        AuditRecord.objects.create(
            organisation=tenant.organisation, action="x", sequence=1, previous_hash="0" * 64, hash="0" * 64
        )


def test_an_export_has_all_that_matches_in_the_order_of_the_chain(tenant: Tenant, stranger: Tenant, monkeypatch):
    monkeypatch.setattr("backend.audit.queries._PIECE", 2)
    linked(stranger)
    rows = linked(tenant, 5)
    note(tenant, "cluster.update", "clu_waits")
    answer = tenant.api().get("/audit/export")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="audit.jsonl"'
    lines = [json.loads(line) for line in text_of(answer).splitlines()]
    assert [line["hash"] for line in lines] == [row.hash for row in rows]
    some = text_of(tenant.api().get("/audit/export?target_id=clu_3"))
    assert [json.loads(line)["sequence"] for line in some.splitlines()] == [4]


def test_a_table_of_them_holds_no_formula(tenant: Tenant):
    note(tenant, "cluster.update", email="=1+1@acme.example")
    link()
    first, row = csv.reader(io.StringIO(text_of(tenant.api().get("/audit/export?format=csv"))))
    told = dict(zip(first, row, strict=True))
    assert (told["actor"], told["before"], told["sequence"]) == ("'=1+1@acme.example", '{"a": 1}', "1")


def text_of(answer) -> str:
    assert answer.status_code == 200

    async def read() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    from asgiref.sync import async_to_sync

    return async_to_sync(read)().decode()


def test_an_export_is_verified_by_the_lines_in_the_docs(tenant: Tenant, tmp_path: Path, monkeypatch):
    note(tenant, "cluster.update", "clu_ü", email="jürgen@acme.example")
    last = linked(tenant)[-1]
    (tmp_path / "audit.jsonl").write_text(text_of(tenant.api().get("/audit/export")))
    code = re.search(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert code is not None
    monkeypatch.chdir(tmp_path)
    (tmp_path / "verify.py").write_text(code[1])
    assert runpy.run_path("verify.py")["previous"] == last.hash


@pytest.mark.parametrize("path", ["/audit/chain", "/audit/export"])
@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_only_admins_and_owners_see_it(tenant: Tenant, role: Role, path: str):
    assert tenant.api(tenant.member(role)).get(path).status_code == 403
