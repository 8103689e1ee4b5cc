"""The event stream: one listening connection per process, fanned out to every client of the process.

Events carry ids only; clients fetch what they may see. After a gap (Postgres restarted, a client too slow) a client is
sent ``reset``: it must fetch anew what it shows.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
import structlog
from django.db import connection
from psycopg import sql

from backend.accounts.models import ApiToken, ConsoleSession
from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.core.errors import DomainError, TooManyRequests
from backend.operations.actions import EVENTS_CHANNEL

log = structlog.get_logger(__name__)

# Times in seconds.
KEEP_ALIVE = 15.0
CHECK_EVERY = 5.0  # a revoked token or a removed member stops hearing within this
RECONNECT_FIRST, RECONNECT_LAST = 0.2, 5.0
CLIENT_RETRY = 1.0

CLIENTS_LIMIT = 2000  # per process
CLIENTS_PER_USER_LIMIT = 20  # per process and user
BACKLOG_LIMIT = 200  # events a slow client may be behind before it is reset

RESET = b"event: reset\ndata: {}\n\n"
_COMMENT = b": still here\n\n"


class _End:
    """Put into a client's mailbox to end its stream."""


_END = _End()
_TYPES = frozenset({"operation", "cluster"})


@dataclass(eq=False)
class Client:
    """One open stream. The mailbox holds finished frames."""

    organisation_id: str
    user_id: str
    token_id: str | None
    session_id: str | None = None
    tags: Mapping[str, Sequence[str]] | None = None
    """They hear of clusters with these only; None: of all."""
    reached: frozenset[str] | None = None
    """Those clusters, as they were a moment ago; None: not looked up yet, so that nothing is heard."""
    mailbox: asyncio.Queue[bytes | _End] = field(default_factory=lambda: asyncio.Queue(BACKLOG_LIMIT))

    def hears(self, event: Mapping[str, str]) -> bool:
        if self.tags is None:
            return True
        return event.get("cluster_id", event["id"]) in (self.reached or ())

    def put(self, frame: bytes) -> None:
        """Never waits: who does not keep up loses the single events and is told to fetch anew."""
        if self.mailbox.full():
            self._empty()
            frame = RESET
        self.mailbox.put_nowait(frame)

    def end(self) -> None:
        self._empty()
        self.mailbox.put_nowait(_END)

    def _empty(self) -> None:
        while not self.mailbox.empty():
            self.mailbox.get_nowait()


class Hub:
    """The clients of this process and the task that listens for them. It listens only while there are clients."""

    def __init__(self) -> None:
        self._clients: dict[str, set[Client]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listening = False

    def count(self) -> int:
        return sum(len(clients) for clients in self._clients.values())

    def check_room(self, who: Identity) -> None:
        """Raises when this process or this user has too many streams open. A moment's overshoot does no harm."""
        if self.count() >= CLIENTS_LIMIT:
            raise DomainError(
                "too_many_streams",
                "This server has too many event streams open.",
                status=503,
                hint="Ask for the operation's state every few seconds instead, and try the stream again later.",
                retry_after=30,
            )
        own = sum(client.user_id == who.user_id for client in list(self._clients.get(who.organisation_id, ())))
        if own >= CLIENTS_PER_USER_LIMIT:
            raise TooManyRequests(
                "too_many_streams",
                f"You have {own} event streams open; {CLIENTS_PER_USER_LIMIT} are possible.",
                hint="Close some, for example console tabs.",
                retry_after=30,
            )

    async def stream(self, who: Identity) -> AsyncIterator[bytes]:
        """What one client is sent, until it goes away or may not listen any more."""
        client = Client(who.organisation_id, who.user_id, who.token_id, who.session_id, who.tags)
        # First there, then told: whatever changes after the first frame is heard.
        self._clients[client.organisation_id].add(client)
        try:
            self._ensure_listener()
            yield f"retry: {int(CLIENT_RETRY * 1000)}\n\n".encode()
            while True:
                try:
                    frame = await asyncio.wait_for(client.mailbox.get(), KEEP_ALIVE)
                except TimeoutError:
                    frame = _COMMENT
                if isinstance(frame, _End):
                    return
                yield frame
        finally:
            self._forget(client)

    def _forget(self, client: Client) -> None:
        clients = self._clients[client.organisation_id]
        clients.discard(client)
        if not clients:
            del self._clients[client.organisation_id]
        if not self._clients and self._listener is not None:
            self._listener.cancel()
            self._listener = None

    async def close(self) -> None:
        """Ends the listening. Streams that are still open hear nothing more."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)

    def _ensure_listener(self) -> None:
        loop = asyncio.get_running_loop()
        if self._listener is None or self._listener.done() or self._loop is not loop:
            self._loop = loop
            self._listener = loop.create_task(self._listen_always(), name="ringmaster-events")

    def _everyone(self) -> list[Client]:
        return [client for clients in self._clients.values() for client in clients]

    async def _listen_always(self) -> None:
        """Listens, and connects again when the connection breaks. A reset makes good what was missed in between."""
        wait = RECONNECT_FIRST
        while True:
            try:
                async with await _connect() as database:
                    await database.execute(sql.SQL("LISTEN {}").format(sql.Identifier(EVENTS_CHANNEL)))
                    wait = RECONNECT_FIRST
                    # Also the first time: between a client's first fetch and this moment something may have changed.
                    self._tell(self._everyone(), RESET)
                    await self._listen(database)
            except (psycopg.Error, OSError) as error:
                log.warning("event stream lost the database", error=str(error).strip(), again_in=wait)
            await asyncio.sleep(wait)
            wait = min(wait * 2, RECONNECT_LAST)

    async def _listen(self, database: psycopg.AsyncConnection[Any]) -> None:
        while True:
            # Ends after CHECK_EVERY seconds also when events keep coming.
            async for notice in database.notifies(timeout=CHECK_EVERY):
                self._pass_on(notice.payload)
            await self._drop_unwanted(database)

    def _pass_on(self, payload: str) -> None:
        event = json.loads(payload)
        if event["type"] not in _TYPES:
            return
        data = (
            {"id": event["id"]}
            if event["type"] == "cluster"
            else {"id": event["id"], "cluster_id": event["cluster_id"]}
        )
        frame = f"event: {event['type']}\ndata: {json.dumps(data)}\n\n".encode()
        hearing = [client for client in self._clients.get(event["org"], ()) if client.hears(data)]
        self._tell(hearing, frame)

    @staticmethod
    def _tell(clients: Iterable[Client], frame: bytes) -> None:
        for client in clients:
            client.put(frame)

    async def _drop_unwanted(self, database: psycopg.AsyncConnection[Any]) -> None:
        """Ends the streams of people who may not listen any more, and of what ended: tokens and sessions, also those
        that lack a second factor where one is required.

        Three statements for all. And one for each role that is limited by tags: of what its holders hear.
        """
        clients = self._everyone()
        members = await _roles(database, list({client.user_id for client in clients}))
        tokens = await _pairs(
            database,
            sql.SQL(
                "SELECT organisation_id, id FROM {} WHERE id = ANY(%s) AND revoked_at IS NULL"
                " AND (expires_at IS NULL OR expires_at > now())"
            ).format(sql.Identifier(ApiToken._meta.db_table)),
            list({client.token_id for client in clients if client.token_id}),
        )
        sessions = await _pairs(
            database,
            sql.SQL(
                # By organisation: one may require a second factor or a provider, and another one not.
                "SELECT member.organisation_id, seen.id FROM {} seen JOIN django_session USING (session_key)"
                " JOIN accounts_membership member ON member.user_id = seen.user_id"
                " JOIN accounts_organisation organisation ON organisation.id = member.organisation_id"
                " WHERE seen.id = ANY(%s) AND expire_date > now() AND"
                " (organisation.password_sign_in OR member.role = 'owner' OR seen.identity_provider_id IS NOT NULL)"
                " AND (seen.second_factor OR NOT organisation.second_factor_required)"
            ).format(sql.Identifier(ConsoleSession._meta.db_table)),
            list({client.session_id for client in clients if client.session_id}),
        )
        for client in clients:
            membership = (client.organisation_id, client.user_id)
            if (
                membership not in members
                or (client.token_id and (client.organisation_id, client.token_id) not in tokens)
                or (client.session_id and (client.organisation_id, client.session_id) not in sessions)
            ):
                client.end()
            else:
                client.tags = members[membership]
        await _look_up_reach(database, [client for client in clients if client.tags is not None])


async def _roles(
    database: psycopg.AsyncConnection[Any], user_ids: list[str]
) -> dict[tuple[str, str], Mapping[str, Sequence[str]] | None]:
    """By organisation and user, of those who may read clusters: the tags that their role is limited to."""
    rows = await (
        await database.execute(
            "SELECT holder.organisation_id, holder.id, custom.tags FROM"
            " (SELECT organisation_id, user_id AS id, custom_role_id FROM accounts_membership"
            " UNION ALL SELECT organisation_id, id, custom_role_id FROM accounts_serviceaccount"
            " WHERE disabled_at IS NULL) holder"
            " LEFT JOIN accounts_customrole custom ON custom.id = holder.custom_role_id"
            " WHERE holder.id = ANY(%s) AND (custom.id IS NULL OR custom.permissions @> %s::varchar[])",
            [user_ids, [Permission.CLUSTERS_READ.value]],
        )
    ).fetchall()
    return {(row[0], row[1]): row[2] for row in rows}


async def _look_up_reach(database: psycopg.AsyncConnection[Any], clients: Iterable[Client]) -> None:
    """Which clusters clients with limited roles hear of. Where that changed, they fetch anew what they show."""
    by_role: dict[tuple[str, str], list[Client]] = defaultdict(list)
    for client in clients:
        by_role[client.organisation_id, json.dumps(client.tags)].append(client)
    for (organisation_id, tags), holders in by_role.items():
        wanted = [[json.dumps({"tags": {key: value}}) for value in values] for key, values in json.loads(tags).items()]
        conditions = "".join(" AND options @> ANY(%s::jsonb[])" for _ in wanted)
        statement = f"SELECT id FROM clusters_cluster WHERE organisation_id = %s{conditions}"
        rows = await (await database.execute(statement, [organisation_id, *wanted])).fetchall()
        found = frozenset(row[0] for row in rows)
        for client in holders:
            if client.reached != found:
                client.reached = found
                client.put(RESET)


async def _pairs(
    database: psycopg.AsyncConnection[Any], statement: sql.Composed, wanted: list[str]
) -> frozenset[tuple[str, str]]:
    if not wanted:
        return frozenset()
    rows = await (await database.execute(statement, [wanted])).fetchall()
    return frozenset((row[0], row[1]) for row in rows)


async def _connect() -> psycopg.AsyncConnection[Any]:
    """A connection of our own, outside Django's pool: it is kept for as long as somebody listens."""
    parameters: dict[str, Any] = {
        name: value
        for name, value in connection.get_connection_params().items()
        if name not in {"cursor_factory", "context", "pool", "prepare_threshold"}
    }
    return await psycopg.AsyncConnection.connect(**parameters, autocommit=True)


hub = Hub()
