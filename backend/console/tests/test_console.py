from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from kombu.exceptions import OperationalError

from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant
from backend.console import outcomes
from backend.console.models import CqlAsking, CqlSession, CqlStatement, SealedText
from backend.console.states import ANSWER_KEPT, MOST_AT_ONCE_OF_USER, MOST_PER_MINUTE, SESSION_IDLE

PASSWORD = "sesame-4711"
RESULT: dict[str, Any] = {
    "has_rows": True,
    "columns": [{"keyspace": "shop", "table": "orders", "name": "id", "type": "int"}],
    "rows": [["1"], [None]],
    "cut": [],
    "next_page": "AAEC",
    "warnings": [],
    "outcome": "",
    "microseconds": 900,
    "trace": None,
}


def _open(api: ApiClient, cluster: Cluster, role: str = "ann") -> str:
    answer = api.post(f"/clusters/{cluster.id}/cql/sessions", {"role": role, "password": PASSWORD})
    assert answer.status_code == 201, answer.content
    return str(answer.json()["id"])


def _run(
    api: ApiClient, cluster: Cluster, session: str, statement: str = "SELECT * FROM shop.orders", **more: Any
) -> Any:
    return api.post(f"/clusters/{cluster.id}/cql/statements", {"session_id": session, "statement": statement} | more)


def _get(api: ApiClient, cluster: Cluster, statement_id: str) -> Any:
    return api.get(f"/clusters/{cluster.id}/cql/statements/{statement_id}").json()


def _next(api: ApiClient, cluster: Cluster, statement_id: str, **order: Any) -> Any:
    return api.post(f"/clusters/{cluster.id}/cql/statements/{statement_id}/next-page", order)


def _end(statement_id: str, **result: Any) -> outcomes.Work:
    work = outcomes.take(statement_id)
    assert work is not None
    outcomes.answered(statement_id, result=RESULT | result, tree=None)
    return work


def _code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def _everything_stored() -> str:
    """All that this test left in the database, as it is on the disk."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
        tables = [name for (name,) in cursor.fetchall()]
        parts = []
        for name in tables:
            cursor.execute(f'SELECT t::text FROM "{name}" t')
            parts += [text for (text,) in cursor.fetchall()]
    return "\n".join(parts)


def test_a_statement_is_run_as_the_role_and_answered(api: ApiClient, active: Cluster):
    session = _open(api, active)
    asked = _run(api, active, session, "SELECT * FROM orders;", keyspace="shop", tracing=True, page_size=7)
    assert asked.status_code == 202, asked.content
    statement = asked.json()
    assert (statement["state"], statement["role"], statement["verb"]) == ("waiting", "ann", "SELECT")
    work = outcomes.take(statement["id"])
    assert work is not None
    assert (work.role, work.password, work.statement, work.page_state) == (
        "ann",
        PASSWORD,
        "SELECT * FROM orders",
        None,
    )
    assert (work.keyspace, work.page_size, work.tracing, work.consistency) == ("shop", 7, True, "LOCAL_QUORUM")
    assert PASSWORD not in repr(work)
    assert outcomes.take(statement["id"]) is None
    assert _get(api, active, statement["id"])["state"] == "running"
    outcomes.answered(statement["id"], result=RESULT, tree=None)
    shown = _get(api, active, statement["id"])
    assert (shown["state"], shown["more"], shown["rows"], shown["microseconds"]) == ("answered", True, 2, 900)
    assert shown["answer"]["rows"] == [["1"], [None]]
    assert "next_page" not in shown["answer"]
    # The first end counts.
    outcomes.failed(statement["id"], code="late", message="Late.")
    assert _get(api, active, statement["id"]) == shown


def test_the_next_page_is_asked_for_where_the_last_one_ended(api: ApiClient, active: Cluster):
    statement = _run(api, active, _open(api, active)).json()["id"]
    _end(statement)
    asked = _next(api, active, statement, page_size=500)
    assert asked.status_code == 202, asked.content
    assert (asked.json()["page"], asked.json()["state"], asked.json()["more"]) == (2, "waiting", False)
    assert _code(_next(api, active, statement)) == (409, "no_next_page")
    work = _end(statement, next_page=None, rows=[["3"]])
    assert (work.page, work.page_size, work.page_state) == (2, 500, "AAEC")
    shown = _get(api, active, statement)
    assert (shown["more"], shown["rows"], shown["answer"]["rows"]) == (False, 3, [["3"]])
    assert _code(_next(api, active, statement)) == (409, "no_next_page")


@pytest.mark.parametrize(
    "text", ["INSERT INTO t (a) VALUES (1)", "/* SELECT */ TRUNCATE t", "select_ 1", "BEGIN BATCH APPLY BATCH"]
)
def test_only_reading_is_allowed_unless_said_otherwise(api: ApiClient, active: Cluster, text: str):
    session = _open(api, active)
    assert _code(_run(api, active, session, text)) == (409, "read_only")
    assert not CqlStatement.objects.exists()
    assert not AuditRecord.objects.filter(action="cql.run").exists()
    allowed = _run(api, active, session, text, allow_writes=True)
    assert allowed.status_code == 202
    assert allowed.json()["reads"] is False


@pytest.mark.parametrize(
    ("order", "code", "field"),
    [
        ({"statement": "SELECT 1; DROP TABLE t"}, "several_statements", "statement"),
        ({"statement": "SELECT 'open"}, "statement_unfinished", "statement"),
        ({"statement": ""}, "invalid_field", "statement"),
        ({"statement": "x" * 65_537}, "invalid_field", "statement"),
        ({"page_size": 1001}, "invalid_field", "page_size"),
        ({"page_size": "7"}, "invalid_field", "page_size"),
        ({"timeout_seconds": 61}, "invalid_field", "timeout_seconds"),
        ({"consistency": "SOME"}, "invalid_field", "consistency"),
        ({"keyspace": 'a"b'}, "invalid_field", "keyspace"),
        ({"page_state": "AA=="}, "invalid_field", "page_state"),
    ],
)
def test_what_makes_no_sense_is_refused(api: ApiClient, active: Cluster, order: dict[str, Any], code: str, field: str):
    answer = _run(api, active, _open(api, active), **order)
    assert _code(answer) == (422, code)
    assert answer.json()["error"]["field"] == field
    assert not CqlStatement.objects.exists()


def test_no_secret_is_stored_or_audited(api: ApiClient, active: Cluster):
    session = _open(api, active)
    text = f"ALTER ROLE ann WITH PASSWORD = '{PASSWORD}' -- {PASSWORD}x"
    own = "UPDATE shop.orders SET card = 'card-0815' WHERE id = 815"
    first = _run(api, active, session, text, allow_writes=True).json()
    assert first["statement"].startswith("ALTER ROLE ann WITH PASSWORD = '***'")
    second = _run(api, active, session, own, allow_writes=True).json()
    _end(first["id"])
    _end(second["id"], rows=[["secret-row"]], next_page=None)
    stored = _everything_stored()
    assert "secret-row" not in stored
    assert f"'{PASSWORD}'" not in stored
    assert PASSWORD.encode().hex() not in stored
    records = list(AuditRecord.objects.filter(action="cql.run").order_by("id"))
    assert [record.after["statement"] for record in records if record.after] == [
        "ALTER ROLE ann WITH PASSWORD = ?",
        "UPDATE shop.orders SET card = ? WHERE id = ?",
    ]
    assert [record.after["role"] for record in records if record.after] == ["ann", "ann"]
    audited = AuditRecord.objects.filter(action="cql.open_session").get()
    assert audited.after == {"session": session, "role": "ann"}


def test_a_session_ends_when_it_is_not_used(api: ApiClient, active: Cluster):
    session = _open(api, active)
    before = CqlSession.objects.get(id=session).expires_at
    statement = _run(api, active, session).json()["id"]
    assert CqlSession.objects.get(id=session).expires_at > before
    CqlSession.objects.update(expires_at=timezone.now())
    SealedText.objects.filter(owner=session).update(expires_at=timezone.now())
    assert outcomes.take(statement) is None
    assert _get(api, active, statement)["problem"]["code"] == "session-ended"
    assert _code(_run(api, active, session)) == (404, "session_not_found")
    assert api.get(f"/clusters/{active.id}/cql").json()["sessions"] == []
    outcomes.sweep()
    assert not CqlSession.objects.exists()
    assert not SealedText.objects.filter(owner=session).exists()


def test_a_session_never_lasts_longer_than_a_working_day(api: ApiClient, active: Cluster):
    session = _open(api, active)
    opened = timezone.now() - timedelta(hours=7, minutes=50)
    CqlSession.objects.update(opened_at=opened)
    _run(api, active, session)
    assert CqlSession.objects.get().expires_at == opened + timedelta(hours=8)
    assert timezone.now() + SESSION_IDLE > opened + timedelta(hours=8)


def test_closing_a_session_forgets_its_password(api: ApiClient, active: Cluster):
    session, other = _open(api, active), _open(api, active, "bob")
    again = _open(api, active)
    assert not SealedText.objects.filter(owner=session).exists()
    for _ in range(2):
        assert api.delete(f"/clusters/{active.id}/cql/sessions/{again}").status_code == 204
    assert [each["id"] for each in api.get(f"/clusters/{active.id}/cql").json()["sessions"]] == [other]
    assert list(SealedText.objects.values_list("owner", flat=True)) == [other]


def test_nobody_sees_anybody_elses(tenant: Tenant, api: ApiClient, foreign: ApiClient, active: Cluster):
    session = _open(api, active)
    statement = _run(api, active, session).json()["id"]
    _end(statement)
    colleague = tenant.api(tenant.member(Role.ADMIN))
    where = f"/clusters/{active.id}/cql"
    assert _code(_run(colleague, active, session)) == (404, "session_not_found")
    assert _code(colleague.get(f"{where}/statements/{statement}")) == (404, "statement_not_found")
    assert _code(_next(colleague, active, statement)) == (404, "statement_not_found")
    assert _code(colleague.post(f"{where}/statements/{statement}/cancel")) == (404, "statement_not_found")
    assert _code(colleague.delete(f"{where}/statements/{statement}")) == (404, "statement_not_found")
    assert colleague.delete(f"{where}/sessions/{session}").status_code == 204
    assert colleague.get(f"{where}/statements").json()["items"] == []
    assert CqlSession.objects.filter(id=session).exists()
    for method, path in [
        ("get", where),
        ("get", f"{where}/statements"),
        ("get", f"{where}/statements/{statement}"),
        ("delete", f"{where}/sessions/{session}"),
        ("delete", f"{where}/statements/{statement}"),
        ("post", f"{where}/statements/{statement}/cancel"),
    ]:
        assert _code(getattr(foreign, method)(path)) == (404, "cluster_not_found"), path
    assert _code(_run(foreign, active, session)) == (404, "cluster_not_found")
    assert _code(_next(foreign, active, statement)) == (404, "cluster_not_found")
    assert _code(foreign.post(f"{where}/schema", {"session_id": session})) == (404, "cluster_not_found")
    assert _code(foreign.post(f"{where}/sessions", {"role": "a", "password": "b"})) == (404, "cluster_not_found")
    assert CqlStatement.objects.filter(id=statement, state="answered").exists()


def test_reading_and_writing_have_permissions_of_their_own(tenant: Tenant, active: Cluster):
    viewer = tenant.api(tenant.member(Role.VIEWER))
    session = _open(viewer, active)
    assert _run(viewer, active, session).status_code == 202
    refused = _run(viewer, active, session, "TRUNCATE t", allow_writes=True)
    assert _code(refused) == (403, "forbidden")
    rules = {
        each["action"]: each["reason"] for each in viewer.get(f"/clusters/{active.id}/cql").json()["allowed_actions"]
    }
    assert rules == {
        "run_cql": None,
        "write_cql": "Your role or token may not run statements that change something.",
    }
    scoped = tenant.api(scopes=[Permission.CLUSTERS_READ, Permission.CLUSTERS_WRITE])
    where = f"/clusters/{active.id}/cql"
    for answer in (
        scoped.post(f"{where}/sessions", {"role": "a", "password": "b"}),
        _run(scoped, active, session),
        scoped.get(f"{where}/statements"),
        scoped.delete(f"{where}/sessions/{session}"),
    ):
        assert _code(answer) == (403, "missing_scope")
    assert scoped.get(where).json()["allowed_actions"][0]["reason"] == "Your role or token may not run CQL."


def test_only_so_many_run_at_once(tenant: Tenant, api: ApiClient, active: Cluster):
    session = _open(api, active)
    ids = [_run(api, active, session).json()["id"] for _ in range(MOST_AT_ONCE_OF_USER)]
    refused = _run(api, active, session)
    assert _code(refused) == (429, "too_many_at_once")
    assert refused["Retry-After"] == "5"
    assert api.post(f"/clusters/{active.id}/cql/statements/{ids[0]}/cancel").json()["state"] == "cancelled"
    assert outcomes.take(ids[0]) is None
    assert _run(api, active, session).status_code == 202
    CqlStatement.objects.filter(id=ids[1]).update(deadline=timezone.now())
    assert _get(api, active, ids[1])["problem"]["code"] == "lost"
    assert _run(api, active, session).status_code == 202


def test_an_organisation_asks_for_only_so_many_statements_and_pages_a_minute(api: ApiClient, active: Cluster):
    session = _open(api, active)
    statement = _run(api, active, session).json()["id"]
    _end(statement)
    CqlAsking.objects.bulk_create(CqlAsking(organisation_id=active.organisation_id) for _ in range(MOST_PER_MINUTE - 2))
    assert _next(api, active, statement).status_code == 202
    _end(statement)
    assert _code(_run(api, active, session)) == (429, "too_many_statements")
    assert _code(_next(api, active, statement)) == (429, "too_many_statements")
    assert api.delete(f"/clusters/{active.id}/cql/statements/{statement}").status_code == 204
    assert _code(_run(api, active, session)) == (429, "too_many_statements")
    CqlAsking.objects.update(asked_at=timezone.now() - timedelta(minutes=2))
    assert _run(api, active, session).status_code == 202
    assert CqlAsking.objects.count() == 1


def test_cancelling_ends_it_and_a_late_answer_is_not_kept(api: ApiClient, active: Cluster):
    statement = _run(api, active, _open(api, active)).json()["id"]
    assert outcomes.take(statement) is not None
    where = f"/clusters/{active.id}/cql/statements/{statement}"
    assert _code(api.delete(where)) == (409, "statement_in_progress")
    api.post(f"{where}/cancel")
    outcomes.answered(statement, result=RESULT, tree=None)
    shown = _get(api, active, statement)
    assert (shown["state"], shown["answer"]) == ("cancelled", None)
    assert _code(api.post(f"{where}/cancel")) == (409, "statement_ended")
    assert not SealedText.objects.filter(owner=statement).exists()
    assert api.delete(where).status_code == 204
    assert api.get(where).status_code == 404


def test_failures_are_told_in_the_engines_words(api: ApiClient, active: Cluster):
    statement = _run(api, active, _open(api, active)).json()["id"]
    assert outcomes.take(statement) is not None
    outcomes.failed(statement, code="syntax-error", message="line 1:9 no viable alternative", line=1, column=9)
    assert _get(api, active, statement)["problem"] == {
        "code": "syntax-error",
        "message": "line 1:9 no viable alternative",
        "line": 1,
        "column": 9,
    }


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"rows": [[1]]}, "answer-unreadable"),
        ({"columns": "x"}, "answer-unreadable"),
        ({"rows": [["x" * 5_000_000]]}, "answer-too-large"),
    ],
)
def test_a_bad_answer_is_not_kept(api: ApiClient, active: Cluster, change: dict[str, Any], code: str):
    statement = _run(api, active, _open(api, active)).json()["id"]
    _end(statement, **change)
    shown = _get(api, active, statement)
    assert (shown["state"], shown["problem"]["code"], shown["answer"]) == ("failed", code, None)


def test_answers_are_gone_after_a_while_and_the_history_is_not(api: ApiClient, active: Cluster):
    statement = _run(api, active, _open(api, active)).json()["id"]
    _end(statement)
    later = timezone.now() - ANSWER_KEPT
    SealedText.objects.filter(owner=statement).update(expires_at=later)
    assert _get(api, active, statement)["answer"] is None
    assert _code(_next(api, active, statement)) == (409, "no_next_page")
    assert outcomes.sweep() == 2
    listed = api.get(f"/clusters/{active.id}/cql/statements").json()
    assert [each["statement"] for each in listed["items"]] == ["SELECT * FROM shop.orders"]
    CqlStatement.objects.update(asked_at=timezone.now() - timedelta(days=31))
    outcomes.sweep()
    assert not CqlStatement.objects.exists()


def test_the_history_is_paged(api: ApiClient, active: Cluster):
    session = _open(api, active)
    ids = []
    for number in range(3):
        ids.append(_run(api, active, session, f"SELECT {number}").json()["id"])
        _end(ids[-1])
    first = api.get(f"/clusters/{active.id}/cql/statements?limit=2").json()
    second = api.get(f"/clusters/{active.id}/cql/statements?limit=2&cursor={first['next_cursor']}").json()
    assert [each["id"] for each in first["items"] + second["items"]] == ids[::-1]
    assert second["next_cursor"] is None


def test_the_schema_is_read_as_the_role(api: ApiClient, active: Cluster):
    session = _open(api, active)
    asked = api.post(f"/clusters/{active.id}/cql/schema", {"session_id": session})
    assert asked.status_code == 202, asked.content
    work = outcomes.take(asked.json()["id"])
    assert work is not None
    assert (work.schema, work.role) == (True, "ann")
    keyspace = {"name": "shop", "system": False, "replication": {}, "tables": [], "types": [], "functions": []}
    outcomes.answered(work.statement_id, result=None, tree={"keyspaces": [keyspace], "left": 0})
    shown = _get(api, active, work.statement_id)
    assert (shown["answer"], shown["tree"]["keyspaces"]) == (None, [keyspace])
    assert api.get(f"/clusters/{active.id}/cql/statements").json()["items"] == []


def test_a_broker_that_is_away_is_told(
    api: ApiClient, active: Cluster, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
):
    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError

    session = _open(api, active)
    monkeypatch.setattr("backend.console.actions.current_app.send_task", fail)
    with django_capture_on_commit_callbacks(execute=True):
        statement = _run(api, active, session).json()["id"]
    assert _get(api, active, statement)["problem"]["code"] == "no-worker"


def test_a_deleted_cluster_runs_nothing(api: ApiClient, deleted: Cluster):
    answer = api.post(f"/clusters/{deleted.id}/cql/sessions", {"role": "a", "password": "b"})
    assert _code(answer) == (409, "cannot_run_cql")
    assert not CqlSession.objects.exists()


@pytest.mark.parametrize("password", ["", "a\0b", "x" * 129])
def test_a_password_that_cannot_be_one_is_refused(api: ApiClient, active: Cluster, password: str):
    answer = api.post(f"/clusters/{active.id}/cql/sessions", {"role": "ann", "password": password})
    assert _code(answer) == (422, "invalid_field")
    assert answer.json()["error"]["field"] == "password"
    assert "a\\u0000b" not in answer.content.decode()
