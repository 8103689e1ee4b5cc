"""The event stream: who hears what, and what happens when something breaks; at the end a real server."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections
from django.utils import timezone

from backend.accounts.models import ApiToken, ConsoleSession, CustomRole, Membership, Organisation
from backend.accounts.queries import Identity
from backend.accounts.session_actions import end_session
from backend.accounts.states import PERMISSIONS, Held, Role
from backend.accounts.tests.test_get_session import sign_in
from backend.budgets.tests.conftest import cluster
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant
from backend.operations import actions, events
from backend.operations.events import Hub
from backend.operations.tests.conftest import Start

pytestmark = pytest.mark.django_db(transaction=True)


def somebody(tenant: Tenant, *, token_id: str | None = None, tags: dict[str, list[str]] | None = None) -> Identity:
    custom = None if tags is None else Held(id="rol_1", name="Some", permissions=frozenset(), tags=tags)
    return Identity(
        organisation_id=tenant.organisation.id,
        user_id=tenant.owner.id,
        user_email=tenant.owner.email,
        role=Role.OWNER,
        permissions=PERMISSIONS[Role.OWNER],
        custom_role=custom,
        token_id=token_id,
    )


@sync_to_async
def run(action: Callable[..., Any], *arguments: Any) -> None:
    try:
        action(*arguments)
    finally:
        connections.close_all()


def notify(tenant: Tenant, about: str, changed_id: str) -> None:
    actions.notify(tenant.organisation.id, about, changed_id, "clu_1")


Ear = asyncio.Queue[str]


@asynccontextmanager
async def ears(hub: Hub, *listeners: Identity) -> AsyncIterator[list[Ear]]:
    """Open streams. Each gives its frames to a queue, "end" when it is over; all are listening when this begins."""
    heard: list[Ear] = [asyncio.Queue() for _ in listeners]

    async def listen(who: Identity, ear: Ear) -> None:
        async for frame in hub.stream(who):
            if not frame.startswith(b"retry"):
                ear.put_nowait(frame.decode().strip())
        ear.put_nowait("end")

    tasks = [asyncio.create_task(listen(who, ear)) for who, ear in zip(listeners, heard, strict=True)]
    for ear in heard:
        while (first := await next_of(ear)) == ": still here":
            pass
        assert first == "event: reset\ndata: {}"
    try:
        yield heard
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await hub.close()


async def next_of(ear: Ear) -> str:
    return await asyncio.wait_for(ear.get(), 10)


@sync_to_async
def two_tenants(make_tenant: Callable[[str], Tenant]) -> tuple[Tenant, Tenant]:
    try:
        return make_tenant("acme"), make_tenant("stranger")
    finally:
        connections.close_all()


async def test_everybody_hears_their_own_and_nobody_else(make_tenant: Callable[[str], Tenant]):
    acme, stranger = await two_tenants(make_tenant)
    async with ears(Hub(), somebody(acme), somebody(acme), somebody(stranger)) as (first, second, other):
        await run(notify, acme, "operation", "op_1")
        await run(notify, acme, "cluster", "clu_1")
        await run(notify, stranger, "cluster", "clu_9")
        for ear in (first, second):
            assert await next_of(ear) == 'event: operation\ndata: {"id": "op_1", "cluster_id": "clu_1"}'
            assert await next_of(ear) == 'event: cluster\ndata: {"id": "clu_1"}'
            assert ear.empty()
        assert await next_of(other) == 'event: cluster\ndata: {"id": "clu_9"}'
        assert other.empty()


async def test_who_is_limited_by_tags_hears_of_clusters_with_them_and_is_told_when_those_change(
    make_tenant: Callable[[str], Tenant], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(events, "CHECK_EVERY", 0.1)
    acme, _ = await two_tenants(make_tenant)
    tags = {"env": ["dev", "test"], "contains": ["x"]}

    def limit() -> None:
        role = CustomRole.objects.create(
            organisation=acme.organisation, name="Some", permissions=["clusters:read"], tags=tags, created_by="x"
        )
        Membership.objects.filter(user=acme.owner).update(role=Role.CUSTOM, custom_role=role)
        cluster(acme, "orders", env="prod", contains="x")

    def tag(env: str) -> None:
        Cluster.objects.update(options={"tags": {"env": env, "contains": "x"}})

    def forbid() -> None:
        CustomRole.objects.update(permissions=["cql:read"])

    await run(limit)
    mine = await sync_to_async(Cluster.objects.get)()
    async with ears(Hub(), somebody(acme, tags=tags)) as (ear,):
        await asyncio.sleep(0.3)
        await run(notify, acme, "cluster", mine.id)
        while not ear.empty():
            assert await next_of(ear) == "event: reset\ndata: {}"
        await run(tag, "dev")
        assert await next_of(ear) == "event: reset\ndata: {}"
        await run(notify, acme, "cluster", mine.id)
        assert await next_of(ear) == f'event: cluster\ndata: {{"id": "{mine.id}"}}'
        await run(forbid)
        assert await next_of(ear) == "end"


async def test_when_the_database_comes_back_everybody_is_told_to_fetch_anew(make_tenant: Callable[[str], Tenant]):
    acme, _ = await two_tenants(make_tenant)

    def cut() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE datname = current_database() AND query LIKE 'LISTEN%%'"
            )
            assert cursor.fetchone()[0] == 1

    async with ears(Hub(), somebody(acme)) as (ear,):
        await run(cut)
        assert await next_of(ear) == "event: reset\ndata: {}"
        await run(notify, acme, "cluster", "clu_1")
        assert await next_of(ear) == 'event: cluster\ndata: {"id": "clu_1"}'


async def test_who_does_not_keep_up_is_told_to_fetch_anew(make_tenant: Callable[[str], Tenant]):
    acme, _ = await two_tenants(make_tenant)
    client = events.Client(acme.organisation.id, acme.owner.id, None)
    for number in range(events.BACKLOG_LIMIT + 3):
        client.put(f"{number}".encode())
    heard = [client.mailbox.get_nowait() for _ in range(client.mailbox.qsize())]
    assert heard == [events.RESET, b"201", b"202"]


@pytest.mark.parametrize("by", ["revoking", "expiry", "removal"])
async def test_who_may_not_listen_any_more_is_cut_off(
    make_tenant: Callable[[str], Tenant], monkeypatch: pytest.MonkeyPatch, by: str
):
    monkeypatch.setattr(events, "CHECK_EVERY", 0.1)
    acme, _ = await two_tenants(make_tenant)
    await run(acme.token)
    token = await sync_to_async(ApiToken.objects.get)()

    def end() -> None:
        match by:
            case "revoking":
                ApiToken.objects.update(revoked_at=timezone.now())
            case "expiry":
                ApiToken.objects.update(expires_at=timezone.now())
            case "removal":
                Membership.objects.filter(user=acme.owner).delete()

    async with ears(Hub(), somebody(acme, token_id=token.id), somebody(acme)) as (by_token, by_session):
        await asyncio.sleep(0.3)
        assert by_token.empty()
        await run(end)
        assert await next_of(by_token) == "end"
        if by == "removal":
            assert await next_of(by_session) == "end"
        else:
            await asyncio.sleep(0.3)
            assert by_session.empty()


async def test_a_stream_ends_with_its_console_session(
    make_tenant: Callable[[str], Tenant], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(events, "CHECK_EVERY", 0.1)
    acme, _ = await two_tenants(make_tenant)
    for _ in range(2):
        await run(sign_in, acme.owner.email)
    ended, goes_on = await sync_to_async(lambda: list(ConsoleSession.objects.values_list("id", flat=True)))()
    listeners = [replace(somebody(acme), session_id=each) for each in (ended, goes_on)]
    async with ears(Hub(), *listeners) as (by_ended, by_other):
        await asyncio.sleep(0.3)
        assert by_ended.empty()
        await run(end_session, listeners[1], ended)
        assert await next_of(by_ended) == "end"
        await asyncio.sleep(0.3)
        assert by_other.empty()


async def test_a_stream_ends_that_lacks_the_second_factor_which_is_required_now(
    make_tenant: Callable[[str], Tenant], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(events, "CHECK_EVERY", 0.1)
    acme, _ = await two_tenants(make_tenant)
    for _ in range(2):
        await run(sign_in, acme.owner.email)
    one, two = await sync_to_async(lambda: list(ConsoleSession.objects.values_list("id", flat=True)))()
    await run(lambda: ConsoleSession.objects.filter(id=two).update(second_factor=True))
    listeners = [replace(somebody(acme), session_id=each) for each in (one, two)]
    async with ears(Hub(), *listeners) as (without, proved):
        await asyncio.sleep(0.3)
        assert without.empty()
        await run(lambda: Organisation.objects.update(second_factor_required=True))
        assert await next_of(without) == "end"
        await asyncio.sleep(0.3)
        assert proved.empty()


async def test_a_silent_stream_is_kept_open(make_tenant: Callable[[str], Tenant], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "KEEP_ALIVE", 0.05)
    acme, _ = await two_tenants(make_tenant)
    async with ears(Hub(), somebody(acme)) as (ear,):
        assert await next_of(ear) == ": still here"


async def test_nobody_is_left_behind_when_clients_go(make_tenant: Callable[[str], Tenant]):
    acme, _ = await two_tenants(make_tenant)
    hub = Hub()
    async with ears(hub, somebody(acme), somebody(acme)):
        assert hub.count() == 2
    assert hub.count() == 0


def test_one_person_has_so_many_streams_and_no_more(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "CLIENTS_PER_USER_LIMIT", 0)
    answer = tenant.api().get("/events")
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_streams")


def test_a_full_server_says_so(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "CLIENTS_LIMIT", 0)
    answer = tenant.api().get("/events")
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")


def test_nobody_listens_without_signing_in(db: None):
    assert ApiClient().get("/events").status_code == 401


def test_a_foreign_organisation_cannot_be_listened_to(tenant: Tenant, stranger: Tenant):
    _, api = sign_in(tenant.owner.email)
    for client in (api, tenant.api()):
        assert client.get(f"/events?organisation={stranger.organisation.id}").status_code == 404


def test_every_change_of_an_operation_is_told(start: Start, tenant: Tenant):
    with connection.cursor() as cursor:
        cursor.execute(f"LISTEN {actions.EVENTS_CHANNEL}")
    operation = start()
    tenant.api().post(f"/operations/{operation.id}/cancel")
    told = [json.loads(notice.payload) for notice in connection.connection.notifies(timeout=2, stop_after=2)]
    assert told == [{"org": tenant.organisation.id, "type": "operation", "id": operation.id, "cluster_id": "clu_1"}] * 2


# A real server


@contextmanager
def serving() -> Iterator[int]:
    """The API in one uvicorn process on the test database; yields its port."""
    settings = connection.settings_dict
    environment = os.environ | {
        "DATABASE_URL": f"postgresql:///{settings['NAME']}?host={settings['HOST']}&user={settings['USER']}",
        "DJANGO_SETTINGS_MODULE": "backend.config.offline_settings",
        "RINGMASTER_LOG_LEVEL": "ERROR",
    }
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        command = [sys.executable, "-m", "uvicorn", "backend.config.asgi:application", "--log-level", "error"]
        process = subprocess.Popen(
            [*command, "--fd", str(listener.fileno())], pass_fds=[listener.fileno()], env=environment
        )
        try:
            yield listener.getsockname()[1]
        finally:
            process.kill()
            process.wait()


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def open_stream(port: int, token: str) -> Stream:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    status = await asyncio.wait_for(reader.readline(), 60)
    assert b"200" in status, status
    await asyncio.wait_for(reader.readuntil(b"retry:"), 60)
    return reader, writer  # the writer too: a forgotten one closes the connection


CLIENTS, USERS, EVENTS = 200, 10, 5


async def test_hundreds_of_clients_hear_every_event_from_one_process(make_tenant: Callable[[str], Tenant]):
    acme, _ = await two_tenants(make_tenant)
    tokens: list[str] = []
    await run(
        lambda: tokens.extend(
            acme.token(acme.member(Role.VIEWER, email=f"viewer{number}@acme.example")) for number in range(USERS)
        )
    )

    async def hear(stream: Stream, sent: dict[str, float]) -> list[float]:
        delays = []
        for number in range(EVENTS):
            await asyncio.wait_for(stream[0].readuntil(f'"id": "clu_{number}"'.encode()), 60)
            delays.append(time.monotonic() - sent[f"clu_{number}"])
        return delays

    sent: dict[str, float] = {}

    def tell(changed_id: str) -> None:
        sent[changed_id] = time.monotonic()
        notify(acme, "cluster", changed_id)

    with serving() as port:
        streams = [await open_stream(port, tokens[number % USERS]) for number in range(CLIENTS)]
        hearing = [asyncio.create_task(hear(stream, sent)) for stream in streams]
        for number in range(EVENTS):
            await run(tell, f"clu_{number}")
        delays = [delay for client in await asyncio.gather(*hearing) for delay in client]
        # Streams hold no database connection: there is still room for everybody else.
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"200" in await asyncio.wait_for(reader.readline(), 30)
        writer.close()
    print(f"{CLIENTS} clients: slowest of {len(delays)} events after {max(delays) * 1000:.0f} ms")  # noqa: T201
    assert len(delays) == CLIENTS * EVENTS
