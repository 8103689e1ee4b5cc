"""The least that is durable: for every step renew the lease and advance the row, with one commit.

What the runner is measured against. No plan, no groups, no messages, no undo, no reasons, no progress: one table.

    python -m e2e.bench.bare_loop machines|nothing|ticks
"""

import os
import sys
import time
import uuid
from pathlib import Path

import psycopg

from provisioner.providers.base import MachineSpec, NetworkSpec
from provisioner.providers.fake import FakeProvider, FakeSettings

NETWORK = "bench"
LEASE_SECONDS = 8
BUDGET_SECONDS = 3.0
POLL_SECONDS = 1.0

SCHEMA = """
CREATE TABLE IF NOT EXISTS bare (
    id text PRIMARY KEY, position int NOT NULL, steps int NOT NULL,
    lease_token uuid, lease_until timestamptz, due_at timestamptz
);
CREATE INDEX IF NOT EXISTS bare_due ON bare (due_at) WHERE due_at IS NOT NULL;
"""

_LEASE = """
UPDATE bare
   SET lease_token = %s, lease_until = now() + %s * interval '1 second', due_at = now() + %s * interval '1 second'
 WHERE id = (SELECT id FROM bare WHERE due_at <= now() AND (lease_until IS NULL OR lease_until <= now())
             ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, position, steps
"""

_RENEW = """
UPDATE bare
   SET lease_until = now() + %s * interval '1 second', due_at = now() + %s * interval '1 second'
 WHERE id = %s AND lease_token = %s
"""

_ADVANCE = """
UPDATE bare SET position = %s, due_at = CASE WHEN %s < steps THEN due_at END WHERE id = %s AND lease_token = %s
"""

_HAND_BACK = "UPDATE bare SET lease_token = NULL, lease_until = NULL, due_at = now() WHERE id = %s AND lease_token = %s"


def network_spec() -> NetworkSpec:
    return NetworkSpec(name=NETWORK, region="fake-1", zones=("fake-1a",))


def machine_spec(operation: str, position: int) -> MachineSpec:
    """The machine that a step makes; its name is derived, so that making it twice makes it once."""
    return MachineSpec(
        name=f"{operation}-{position}",
        network=NETWORK,
        region="fake-1",
        zone="fake-1a",
        machine_type="fake.small",
        memory_mib=512,
        image="cassandra-5.0.5",
        user_data="{}",
    )


def main() -> None:
    what, folder = sys.argv[1], Path(os.environ["RINGMASTER_BENCH_FOLDER"])
    provider = FakeProvider(FakeSettings(path=folder / "provider.sqlite"))
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
        while True:
            token = uuid.uuid4()
            leased = database.execute(_LEASE, (token, LEASE_SECONDS, LEASE_SECONDS)).fetchone()
            if leased is None:
                time.sleep(POLL_SECONDS if what == "ticks" else 0.01)
                continue
            operation, position, steps = leased
            began = time.monotonic()
            while position < steps and time.monotonic() - began < BUDGET_SECONDS:
                if what == "machines":
                    provider.ensure_machine(machine_spec(operation, position))
                elif what == "ticks":
                    from e2e.bench.bench_worker import TICK_SECONDS, write_tick

                    write_tick(folder / "bare.journal", operation, str(token))
                    time.sleep(TICK_SECONDS)
                position += 1
                with database.transaction():
                    database.execute(_RENEW, (LEASE_SECONDS, LEASE_SECONDS, operation, token))
                    ours = database.execute(_ADVANCE, (position, position, operation, token)).rowcount == 1
                if not ours:
                    break
            if position < steps:
                database.execute(_HAND_BACK, (operation, token))


if __name__ == "__main__":
    main()
