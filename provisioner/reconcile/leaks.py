"""Compares what each provider holds under our tags with what the rows say, both ways.

What has no living row is a leak: it is reported at once and deleted after a grace time, but only when it is provably
ours: its tag names a node, cluster or data centre of this database whose row says that it has ended, its name is the
one that this row has at the provider, and no operation is open on its cluster. What names ids that this database does
not know may belong to another installation in the same account: it is reported, and never touched.

Each cloud account is looked into for itself, the installation's own and those that organisations brought: what is in
one is explained, and deleted, by rows of clusters in that one only. Two of them may show the same things (two roles in
one AWS account), so what a cluster in another account explains is passed over in silence.

A living node whose machine is not there is reported too; healing.py sees to it. Secrets and enrolments of what has
ended are deleted here.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.utils import timezone

from backend.catalog.models import Region
from backend.cloud_accounts.models import CloudAccount
from backend.cloud_accounts.queries import living_accounts
from backend.clusters import vault
from backend.clusters.models import Cluster, Datacenter, Node, NodeEnrolment, Secret
from backend.clusters.states import SERVING, NodeState
from backend.findings import actions as findings
from backend.findings.models import Finding
from backend.findings.states import FindingState, Severity
from backend.operations.models import Operation
from backend.operations.states import OPEN
from provisioner.operations import names
from provisioner.operations.node_steps import provider_of
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import Provider, ProviderError
from provisioner.reconcile import signs
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

MACHINE_LEAKED = "machine-leaked"
NETWORK_LEAKED = "network-leaked"
NOT_OURS = "unknown-resource"
_LEAKS = (MACHINE_LEAKED, NETWORK_LEAKED, NOT_OURS)

# A machine that was just made may not be listed yet, and a row that was just written may not have its machine yet.
_SETTLING = timedelta(seconds=30)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A region as one account sees it. `account` None: the installation's own."""

    provider: str
    region: str
    account: CloudAccount | None = None

    @property
    def name(self) -> str:
        """Of no place are these the first letters of another's, with a slash."""
        return f"{self.provider if self.account is None else self.account.id}/{self.region}"

    def has(self, cluster: Cluster) -> bool:
        """Whether the cluster's machines are made with this account."""
        return cluster.cloud_account_id == (None if self.account is None else self.account.id)


@dataclass(frozen=True, kw_only=True)
class Thing:
    """A machine or network at a provider that no living row wants. `cluster`: whose it was, if this database knows."""

    code: str
    name: str
    words: str
    cluster: Cluster | None

    @property
    def is_machine(self) -> bool:
        return self.words.startswith("machine")


@dataclass(frozen=True)
class Swept:
    leaks: int = 0
    deleted: int = 0
    missing: int = 0


def sweep_providers() -> Swept:
    """Sweep every region that this installation offers, in every account, and what the database keeps too long."""
    found = Swept()
    with alone("reconcile-leaks") as mine:
        if not mine:
            return found
        for place in _places():
            try:
                one = _sweep(place)
            except ProviderError as error:
                log.warning("region not swept", place=place.name, code=error.code, reason=error.message)
                continue
            found = Swept(found.leaks + one.leaks, found.deleted + one.deleted, found.missing + one.missing)
        forget_the_ended()
    return found


def _places() -> list[Place]:
    regions = Region.objects.filter(enabled=True, provider__enabled=True)
    return [
        Place(provider=region.provider_id, region=region.name, account=account)
        for region in regions
        for account in (None, *living_accounts(region.provider_id))
    ]


def _sweep(place: Place) -> Swept:
    region = place.region
    provider = surroundings().provider(place.provider, place.account)
    # The rows are read before the provider is asked: what an operation makes in between is then not taken for a leak,
    # because its row, written first, is looked up again below.
    wanted = _living(place)
    machines = provider.list_machines(region=region)
    by_name = {machine.name: machine for machine in machines}
    unwanted = [
        _machine_thing(place, machine.name, machine.tags)
        for machine in machines
        if "ringmaster-cluster" in machine.tags and machine.name not in wanted
    ]
    unwanted += _networks(provider, place)
    leaks = [thing for thing in unwanted if thing is not None]
    deleted = _report(provider, place, leaks)
    missing = [node for name, node in wanted.items() if name not in by_name]
    return Swept(leaks=len(leaks), deleted=deleted, missing=_report_missing(missing))


def _living(place: Place) -> dict[str, tuple[str, str]]:
    """Node id and state of the living nodes by the name that their machine has. One query."""
    rows = Node.objects.filter(
        deleted_at=None,
        cluster__deleted_at=None,
        cluster__provider=place.provider,
        cluster__cloud_account=place.account,
        datacenter__region=place.region,
    )
    return {
        names.machine_of(node_id): (node_id, state) for node_id, state in rows.order_by().values_list("id", "state")
    }


def _machine_thing(place: Place, name: str, tags: dict[str, str]) -> Thing | None:
    """None: its row lives, or is of a cluster in another account. One query per unwanted machine; there are few."""
    node = Node.objects.select_related("cluster").filter(id=tags.get("ringmaster-node", "")).first()
    if node is None or names.machine(node) != name or tags.get("ringmaster-cluster") != node.cluster_id:
        return Thing(code=NOT_OURS, name=name, words=f"machine {name}", cluster=None)
    if not place.has(node.cluster):
        return None
    if node.deleted_at is None and node.cluster.deleted_at is None:
        return None
    return Thing(code=MACHINE_LEAKED, name=name, words=f"machine {name} of {node.name}", cluster=node.cluster)


def _networks(provider: Provider, place: Place) -> list[Thing | None]:
    region = place.region
    rows = Datacenter.objects.filter(
        cluster__provider=place.provider, cluster__cloud_account=place.account, region=region
    )
    living = {names.network(row) for row in rows.filter(deleted_at=None, cluster__deleted_at=None)}
    unwanted = [
        network
        for network in provider.list_networks(region=region)
        if "ringmaster-cluster" in network.tags and network.name not in living
    ]
    things: list[Thing | None] = []
    for network in unwanted:
        of_cluster = Datacenter.objects.select_related("cluster").filter(
            cluster_id=network.tags["ringmaster-cluster"], region=region
        )
        datacenter = next((row for row in of_cluster if names.network(row) == network.name), None)
        if datacenter is None:
            things.append(Thing(code=NOT_OURS, name=network.name, words=f"network {network.name}", cluster=None))
        elif not place.has(datacenter.cluster):
            continue
        elif datacenter.deleted_at is not None or datacenter.cluster.deleted_at is not None:
            words = f"network {network.name} of {datacenter.cluster.name}"
            things.append(Thing(code=NETWORK_LEAKED, name=network.name, words=words, cluster=datacenter.cluster))
    return things


def _report(provider: Provider, place: Place, leaks: Sequence[Thing]) -> int:
    """Open a finding for each leak, close those that are over, delete what has been one for long enough."""
    known = {
        finding.subject: finding
        for finding in Finding.objects.filter(
            state=FindingState.OPEN, code__in=_LEAKS, subject__startswith=f"{place.name}/"
        )
    }
    now, deleted = timezone.now(), 0
    busy = set(
        Operation.objects.filter(
            cluster_id__in={thing.cluster.id for thing in leaks if thing.cluster is not None}, state__in=OPEN
        ).values_list("cluster_id", flat=True)
    )
    # Networks after machines: one that holds machines cannot go.
    for thing in sorted(leaks, key=lambda thing: not thing.is_machine):
        subject = f"{place.name}/{thing.name}"
        finding = known.pop(subject, None) or _found(subject, thing)
        if thing.cluster is None:
            continue
        if thing.cluster.id in busy:
            findings.acted(finding.id, "It is not deleted: an operation on its cluster is open and may see to it.")
            continue
        deleted += _delete_when_old(provider, place.region, thing, finding, now)
    for subject in known:
        findings.over(subject=subject, codes=list(_LEAKS))
    return deleted


def _found(subject: str, thing: Thing) -> Finding:
    log.warning("leak found", code=thing.code, subject=subject)
    if thing.code == NOT_OURS:
        return findings.found(
            cluster=None,
            subject=subject,
            subject_name=thing.name,
            code=thing.code,
            severity=Severity.WARNING,
            sentence=f"The {thing.words} carries our tags, but this installation never made anything by these ids.",
            hint="Another installation may use the same account. If none does, delete it yourself.",
        )
    return findings.found(
        cluster=thing.cluster,
        subject=subject,
        subject_name=thing.name,
        code=thing.code,
        severity=Severity.WARNING,
        sentence=f"The {thing.words} is still there although nothing needs it any more; it may cost money.",
        hint="It is deleted by itself after a while; nothing has to be done.",
    )


def _delete_when_old(provider: Provider, region: str, thing: Thing, finding: Finding, now: datetime) -> int:
    grace = settings.ENV.ringmaster_leak_grace_seconds
    if (now - finding.first_seen_at).total_seconds() < grace:
        findings.acted(finding.id, f"It is deleted when it has been here for {grace} s.")
        return 0
    delete = provider.delete_machine if thing.is_machine else provider.delete_network
    try:
        gone = delete(region=region, name=thing.name)
    except ProviderError as error:
        findings.acted(finding.id, f"It could not be deleted: {error.message}")
        return 0
    if not gone:
        findings.acted(finding.id, "It is being deleted.")
        return 0
    log.warning("leak deleted", subject=finding.subject, code=thing.code)
    findings.acted(finding.id, "It was deleted.")
    findings.over(subject=finding.subject, codes=[thing.code])
    return 1


def _report_missing(nodes: Iterable[tuple[str, str]]) -> int:
    """Living nodes whose machine is not listed. Those that an operation brings in, or takes out, are left to it."""
    settled = {NodeState.UP, NodeState.DOWN, NodeState.UNOBSERVED, NodeState.STOPPED, NodeState.DATA_LOST}
    suspects = [node_id for node_id, state in nodes if state in settled]
    if not suspects:
        return 0
    rows = Node.objects.select_related("cluster__cloud_account", "datacenter").filter(
        id__in=suspects,
        deleted_at=None,
        cluster__state__in=SERVING,
        created_at__lt=timezone.now() - _SETTLING,
    )
    busy = set(
        Operation.objects.filter(
            cluster_id__in={row.cluster_id for row in rows}, exclusive=True, state__in=OPEN
        ).values_list("cluster_id", flat=True)
    )
    told: dict[str, set[str]] = defaultdict(set)
    opened = Finding.objects.filter(state=FindingState.OPEN, code__in=signs.DEATHS, subject__in=suspects)
    for subject, code in opened.values_list("subject", "code"):
        told[subject].add(code)
    missing = 0
    for node in rows:
        if node.cluster_id in busy or _is_there(node):
            continue
        missing += 1
        if told[node.id]:
            continue
        findings.found(
            cluster=node.cluster,
            subject=node.id,
            subject_name=node.name,
            code=signs.MACHINE_GONE,
            severity=Severity.CRITICAL,
            sentence=f"{node.name} is down. Its provider does not have its machine any more.",
            hint="It is replaced after the grace time of its cluster's healing settings.",
        )
    return missing


def _is_there(node: Node) -> bool:
    """Asked by name before it is called missing: a list may be some seconds old."""
    provider = provider_of(node.cluster)
    return provider.find_machine(region=node.datacenter.region, name=names.machine(node)) is not None


def forget_the_ended() -> int:
    """Destroy secrets and enrolments of clusters and nodes that have ended. How many there were."""
    ended = Cluster.objects.filter(deleted_at__isnull=False)
    owners = set(Secret.objects.filter(owner__in=ended.values("id")).values_list("owner", flat=True))
    owners -= set(Operation.objects.filter(cluster_id__in=owners, state__in=OPEN).values_list("cluster_id", flat=True))
    for owner in owners:
        log.warning("secrets of a deleted cluster destroyed", cluster_id=owner)
        vault.destroy(owner)
    enrolments, _ = NodeEnrolment.objects.filter(node__deleted_at__isnull=False).delete()
    return len(owners) + enrolments
