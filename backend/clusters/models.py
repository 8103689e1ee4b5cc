"""Clusters, their nodes and their secrets."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower

from backend.accounts.models import Organisation
from backend.cloud_accounts.models import CloudAccount
from backend.clusters.states import ClusterState, HealingMode, NodeState
from backend.core import ids


class Cluster(models.Model):
    id = models.CharField(primary_key=True, max_length=40, default=ids.new_cluster_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="clusters")
    name = models.CharField(max_length=63)
    engine = models.CharField(max_length=32)
    engine_version = models.CharField(max_length=32)
    provider = models.CharField(max_length=32, help_text="All data centres of a cluster are at one provider")
    cloud_account = models.ForeignKey(
        CloudAccount,
        on_delete=models.PROTECT,
        null=True,
        related_name="clusters",
        help_text="Where all of it is made; null: in the installation's own account",
    )
    ring_name = models.CharField(max_length=100, help_text="What the engine calls it; stays when it is renamed")
    image_build = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="Build its machines are pinned to; empty: none"
    )
    options = models.JSONField(default=dict)
    settings = models.JSONField(
        default=dict, help_text="Engine settings that differ from the engine's own values, as the catalogue names them"
    )
    termination_protection = models.BooleanField(default=False, help_text="While on, it cannot be deleted")
    test_drive = models.JSONField(
        null=True, help_text="workload, rows, operations_per_second; null: it is none, and no workload runs any more"
    )
    expires_at = models.DateTimeField(null=True, help_text="When a test drive is deleted by itself; null: never")
    expiry_warning_at = models.DateTimeField(null=True, help_text="When receivers of alerts are told that it will be")
    expiry_told_at = models.DateTimeField(null=True, help_text="They were told, and not yet that this is over")
    healing_mode = models.CharField(max_length=8, default=HealingMode.ACT)
    healing_held = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Since the control plane's own database was restored, until somebody has compared it with the clouds",
    )
    healing_grace_seconds = models.PositiveIntegerField(
        default=300, help_text="Seconds a machine must be dead before its node is replaced"
    )
    healing_replacements_per_day = models.PositiveIntegerField(default=3)
    state = models.CharField(max_length=16, default=ClusterState.CREATING)
    admin_username = models.CharField(max_length=63)
    admin_revealed_at = models.DateTimeField(null=True, help_text="When the administrator's password was shown")
    ca_certificate = models.TextField(blank=True, help_text="PEM of the cluster's own CA; public")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    active_at = models.DateTimeField(null=True, help_text="When it was first proved")
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "organisation", Lower("name"), condition=models.Q(deleted_at=None), name="cluster_name_once"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in ClusterState]), name="cluster_state_known"
            ),
            models.CheckConstraint(
                condition=models.Q(healing_mode__in=[m.value for m in HealingMode]), name="healing_mode_known"
            ),
            models.CheckConstraint(
                condition=models.Q(expires_at=None)
                | models.Q(test_drive__isnull=False, expiry_warning_at__isnull=False, termination_protection=False),
                name="test_drive_can_end",
            ),
        ]
        indexes = [
            models.Index(fields=["organisation", "-id"], condition=models.Q(deleted_at=None), name="cluster_list"),
            models.Index(
                fields=["expires_at"],
                condition=models.Q(test_drive__isnull=False) | models.Q(expiry_told_at__isnull=False),
                name="cluster_test_drives",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"


class Datacenter(models.Model):
    """A region in which a cluster has racks: what drivers call a data centre, with its own replication."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_datacenter_id)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="datacenters")
    name = models.CharField(max_length=96, help_text="<provider>-<region>")
    region = models.CharField(max_length=64)
    zones = ArrayField(models.CharField(max_length=64), help_text="Each is a rack and holds one replica of every row")
    machine_type = models.CharField(max_length=64)
    nodes_per_zone = models.PositiveIntegerField()
    position = models.PositiveIntegerField(default=0, help_text="0: the first; never used again")
    network_id = models.CharField(max_length=128, blank=True, help_text="The provider's name for its network")
    network_cidr = models.CharField(max_length=64, blank=True, help_text="Addresses of its nodes")
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "position"], name="datacenter_position_once"),
            models.UniqueConstraint(
                fields=["cluster", "name"], condition=models.Q(deleted_at=None), name="datacenter_name_once"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Node(models.Model):
    """One member of a ring. Its names at the provider and on the wire are derived from its id."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_node_id)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="nodes")
    datacenter = models.ForeignKey(Datacenter, on_delete=models.PROTECT, related_name="nodes")
    name = models.CharField(max_length=80, help_text="<cluster name>-<zone>-<n>; never used again in its cluster")
    machine_type = models.CharField(max_length=64)
    zone = models.CharField(max_length=64, help_text="Also the rack")
    position = models.PositiveIntegerField(help_text="Never used again in its cluster")
    tokens = ArrayField(models.BigIntegerField(), default=list)
    is_seed = models.BooleanField(default=False)
    state = models.CharField(max_length=16, default=NodeState.PENDING)
    state_reason = models.TextField(blank=True)
    observed_at = models.DateTimeField(null=True)
    machine_id = models.CharField(max_length=128, blank=True, help_text="The provider's name for the machine")
    image = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="What its machine was made from"
    )
    address = models.GenericIPAddressField(null=True, help_text="Where drivers and other nodes reach it")
    agent_address = models.CharField(max_length=64, blank=True, help_text="host:port of the agent")
    host_id = models.CharField(max_length=36, blank=True, help_text="The engine's id of the node")
    engine_version = models.CharField(max_length=32, blank=True)
    agent_version = models.CharField(max_length=32, blank=True)
    generation = models.PositiveIntegerField(default=1, help_text="Counts the machines that the node has had")
    replaces_id = models.CharField(max_length=40, blank=True, help_text="Id of the node whose place it takes")
    stop_wanted = models.BooleanField(default=False, help_text="Someone stopped it: it is not started by itself")
    # Revisions of the configuration (backend/clusters/actions.py): what the agent was given, what the engine runs with.
    config_revision = models.CharField(max_length=64, blank=True)
    running_revision = models.CharField(max_length=64, blank=True)
    disk_total_bytes = models.BigIntegerField(null=True)
    disk_free_bytes = models.BigIntegerField(null=True)
    data_bytes = models.BigIntegerField(null=True, help_text="Live data the engine tells of, in bytes")
    clock_offset_ms = models.IntegerField(null=True, help_text="Its clock minus the control plane's, milliseconds")
    engine_certificate_expires_at = models.DateTimeField(null=True)
    drift = models.JSONField(
        default=list, help_text="Settings that the running engine has otherwise: setting, wanted, found"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "position"], name="node_position_once"),
            models.CheckConstraint(condition=models.Q(state__in=[s.value for s in NodeState]), name="node_state_known"),
        ]

    def __str__(self) -> str:
        return self.name


class MachineLife(models.Model):
    """From when to when a node had one machine, by the database's clock: what is paid for. Kept for good.

    It begins when the control plane learns that the machine runs and ends when it knows that it is gone
    (lifecycle.py). What it was is written down here, so that later changes of the node do not change the past.
    """

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="machine_lives")
    generation = models.PositiveIntegerField(help_text="Node.generation: counts the node's machines")
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="machine_lives")
    provider = models.CharField(max_length=32)
    region = models.CharField(max_length=64)
    zone = models.CharField(max_length=64)
    machine_type = models.CharField(max_length=64)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    disk_class = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="Of its boot disk, which is paid beside it"
    )
    disk_bytes = models.BigIntegerField(default=0, db_default=0, help_text="Of its boot disk; 0: none is paid")
    disk_began_at = models.DateTimeField(
        null=True, help_text="Since when its boot disk is metered, until the machine ends; null: it is not"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node", "generation"], name="machine_life_once"),
            models.CheckConstraint(
                condition=models.Q(ended_at=None) | models.Q(ended_at__gte=models.F("began_at")),
                name="machine_life_ends_after_it_began",
            ),
        ]

    def __str__(self) -> str:
        return f"machine {self.generation} of {self.node_id}"


class Ceiling(models.Model):
    """The most that an organisation, or one of its clusters, may have. What adds nodes is refused beyond it."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_ceiling_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="ceilings")
    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, null=True, related_name="ceilings", help_text="null: all of the organisation"
    )
    nodes = models.PositiveIntegerField(null=True, help_text="null: any number")
    micros_per_month = models.BigIntegerField(
        null=True, help_text="Of machines on demand with mark-up and fees, by 730 hours; null: any amount"
    )
    changed_by = models.CharField(max_length=200)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "cluster"], nulls_distinct=False, name="ceiling_once"),
            models.CheckConstraint(
                condition=models.Q(nodes__isnull=False) | models.Q(micros_per_month__isnull=False),
                name="ceiling_of_something",
            ),
            models.CheckConstraint(
                condition=models.Q(micros_per_month=None) | models.Q(micros_per_month__gte=0),
                name="ceiling_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"ceiling of {self.cluster_id or self.organisation_id}"


class MaintenanceWindow(models.Model):
    """When automatic work that can wait may be done. A cluster without one has no preference: always."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_window_id)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="maintenance_windows")
    weekdays = ArrayField(models.PositiveSmallIntegerField(), help_text="0 Monday to 6 Sunday, on which it begins")
    starts_at = models.TimeField(help_text="Wall-clock time in the time zone")
    minutes = models.PositiveIntegerField(help_text="How long, in elapsed minutes")
    time_zone = models.CharField(max_length=64, help_text="IANA name: Europe/Vienna")
    excluded_dates = ArrayField(models.DateField(), default=list, help_text="Local dates on which it does not begin")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.starts_at} {self.time_zone} for {self.minutes} min"


class NodeEnrolment(models.Model):
    """The one-time token with which a new machine's agent asks for its certificates."""

    node = models.OneToOneField(Node, on_delete=models.CASCADE, related_name="enrolment", primary_key=True)
    token_hash = models.BinaryField(max_length=32)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    # The request that used the token and what it was answered: the same request again gets the same answer,
    # so that a reply lost on the wire does not brick a machine; another one is refused.
    request_hash = models.BinaryField(max_length=32, null=True)
    agent_certificate = models.TextField(blank=True, help_text="PEM, public")
    engine_certificate = models.TextField(blank=True, help_text="PEM, public")
    agent_certificate_expires_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"enrolment of {self.node_id}"


class Secret(models.Model):
    """Envelope-encrypted bytes: a data key of its own per row, wrapped by the master key (backend/core/secrets.py)."""

    id = models.BigAutoField(primary_key=True)
    owner = models.CharField(max_length=40, help_text="Id of what it belongs to, or 'control-plane'")
    purpose = models.CharField(max_length=32)
    ciphertext = models.BinaryField()
    wrapped_key = models.BinaryField()
    master_key_id = models.CharField(max_length=16)
    certificate = models.TextField(blank=True, help_text="PEM that goes with a private key; public")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "purpose"], name="secret_once")]

    def __str__(self) -> str:
        return f"{self.purpose} of {self.owner}"
