"""A world with data to back up, and a folder as the operator's place for backups."""

import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from backend.backups import actions as backups
from backend.backups.models import Backup, BackupLocation, BackupNode, BackupObject, Restore
from backend.backups.schemas import BackupOrder
from backend.clusters import actions as clusters
from backend.clusters.models import Cluster, Node
from backend.clusters.schemas import ClusterOrder
from backend.operations.models import Operation
from provisioner import runner
from provisioner.agent.fake_backups import NodeBackups
from provisioner.agent.fake_schema import COLUMNS
from provisioner.operations import backup_store, registry
from provisioner.operations.base import OperationCode, Outcome, StepContext
from provisioner.operations.tests.cluster_world import ClusterWorld, without_waiting, world_of
from provisioner.stores.base import Store

_number = itertools.count(1)
ROWS = {-5: "minus five", 0: "zero", 7: "seven"}


@dataclass
class BackupWorld(ClusterWorld):
    folder: Path = Path()
    location_id: str = ""

    @property
    def cluster(self) -> Cluster:
        return Cluster.objects.get(id=self.cluster_id)

    @property
    def nodes(self) -> list[Node]:
        return [node for node in self._nodes() if node.deleted_at is None]

    @property
    def backup(self) -> Backup:
        """The one that was ordered last."""
        return Backup.objects.select_related("location", "cluster").filter(cluster_id=self.cluster_id).latest("id")

    @property
    def store(self) -> Store:
        return backup_store.open_store(BackupLocation.objects.get(id=self.location_id), self.who.organisation_id)

    def names(self, prefix: str = "") -> list[str]:
        return [found.name for found in self.store.list(prefix)]

    def path(self, name: str) -> Path:
        return self.folder / self.who.organisation_id / name

    def filled(self) -> None:
        """An active cluster with a table that has rows on every node."""
        self.created()
        self.agents.create_table(self.cluster.ring_name, "shop", "orders", replication={"fake-fake-1": 3})
        self.agents.create_table(self.cluster.ring_name, "shop", "empty", replication={"fake-fake-1": 3})
        self.write("orders", ROWS)
        self.note()

    def write(self, table: str, rows: Mapping[int, str]) -> None:
        for node in self.nodes:
            with self.agents.backups_of(node.id) as held:
                held.write("shop", table, {token: f"{value} on {node.zone}" for token, value in rows.items()})

    def rows(self, table: str = "orders") -> list[dict[int, str]]:
        found = []
        for node in self.nodes:
            with self.agents.backups_of(node.id) as held:
                found.append(held.rows("shop", table))
        return found

    def held(self, read: Callable[[NodeBackups], Any]) -> list[Any]:
        found = []
        for node in self.nodes:
            with self.agents.backups_of(node.id) as held:
                found.append(read(held))
        return found

    def lose_rows(self) -> None:
        for node in self.nodes:
            with self.agents.backups_of(node.id) as held:
                held.sstables = []

    def change_column(self, table: str, column: str, change: dict[str, str]) -> None:
        changed = tuple(one | change if one["name"] == column else one for one in COLUMNS)
        self.agents.create_table(self.cluster.ring_name, "shop", table, replication={"fake-fake-1": 3}, columns=changed)

    @contextmanager
    def another_cluster(self, *, nodes_per_zone: int) -> Iterator[str]:
        """Active, empty, and the one that this world is about as long as it lasts."""
        before, self.nodes_per_zone = self.cluster_id, nodes_per_zone
        order = ClusterOrder(
            name="other",
            engine=self.engine,
            provider="fake",
            region="fake-1",
            zones=list(self.zones),
            machine_type="fake.small",
            nodes_per_zone=nodes_per_zone,
        )
        started = clusters.create(self.who, order)
        self.cluster_id = started["cluster"]["id"]
        self.finish(Operation.objects.get(id=started["operation"]["id"]))
        yield self.cluster_id
        self.cluster_id = before

    def order_backup(self, **order: Any) -> Operation:
        started = backups.create_backup(self.who, self.cluster_id, BackupOrder(location_id=self.location_id, **order))
        return Operation.objects.get(id=started["operation"]["id"])

    def backed_up(self, **order: Any) -> Backup:
        operation = self.order_backup(**order)
        ended = self.ended(operation)
        assert ended == "succeeded", ended
        return self.backup

    def ended(self, operation: Operation, *, at_most: int = 300) -> str:
        """How it ended, in words; where it stands still, why. Nothing is waited for."""
        for _ in range(at_most):
            if runner.run(operation.id, find_code=registry.find).again_in is None:
                break
            without_waiting(operation)
        operation.refresh_from_db()
        return f"{operation.state} {operation.reason}".strip()

    def snapshot(self) -> object:
        parts = BackupNode.objects.filter(backup__cluster_id=self.cluster_id).order_by("id")
        kept = Backup.objects.filter(cluster_id=self.cluster_id).order_by("id")
        return {
            "world": super().snapshot(),
            "backups": list(kept.values_list("state", "reason", "missing", "bundles", "bytes", "new_bytes")),
            "parts": list(parts.values_list("rack", "state", "bundles", "bytes", "new_bytes", "uploaded_bytes")),
            "objects": sorted(
                BackupObject.objects.filter(location_id=self.location_id).values_list("bytes", "bad", "doomed_at")
            ),
            "stored": len(self.names("objects/")),
            "manifests": sorted(name.count("/") for name in self.names("manifests/")),
            "holds": self.held(lambda held: len(held.holds)),
            "snapshots": self.held(lambda held: len(held.snapshots)),
            "fetched": self.held(lambda held: len(held.restores)),
            "restores": list(
                Restore.objects.filter(cluster_id=self.cluster_id)
                .order_by("id")
                .values_list("state", "bytes", "fetched_bytes")
            ),
            "rows": self.rows(),
        }

    def _things(self) -> list[str]:
        if not self.location_id or not self.cluster_id:
            return super()._things()
        running = Backup.objects.filter(cluster_id=self.cluster_id, state="running")
        snapshots = self.held(lambda held: sorted(held.snapshots))
        fetched = self.held(lambda held: sorted(held.restores))
        holds = self.held(lambda held: sorted(held.holds))
        restoring = Restore.objects.filter(cluster_id=self.cluster_id, state="running")
        return [
            *super()._things(),
            *(f"running {backup.state}" for backup in running),
            *(f"snapshot {tag}" for tags in snapshots for tag in tags),
            *(f"tablets held for {tag}" for tags in holds for tag in tags),
            *(f"fetched {name}" for names in fetched for name in names),
            *(f"running {restore.mode}" for restore in restoring),
            *(name for name in self.names("manifests/")),
        ]


def killed_after(code: OperationCode, step: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Workers die when this step has done its work first, before that is written: its name, once they did."""
    do, killed = code.steps[step].do, []

    def once(context: StepContext) -> Outcome:
        outcome = do(context)
        if not killed:
            killed.append(step)
            raise RuntimeError("shot")
        return outcome

    dying = replace(code, steps={**code.steps, step: replace(code.steps[step], do=once)})
    find = registry.find
    monkeypatch.setattr(registry, "find", lambda kind: dying if kind == code.kind else find(kind))
    return killed


@contextmanager
def backup_world(
    order: Callable[[BackupWorld], Operation] = BackupWorld.order_backup, kind: type[BackupWorld] = BackupWorld
) -> Iterator[BackupWorld]:
    with tempfile.TemporaryDirectory(prefix="backups-") as folder, world_of(kind, order) as world:
        BackupLocation.objects.filter(organisation=None).update(deleted_at="2026-01-01T00:00:00Z")
        world.folder = Path(folder)
        world.location_id = BackupLocation.objects.create(
            organisation=None, name=f"Place {next(_number)}", kind="folder", folder=folder, created_by="test"
        ).id
        world.filled()
        yield world
