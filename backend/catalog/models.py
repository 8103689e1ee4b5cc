"""What can be ordered, as data. Rows come from data/*.json through ``manage.py load_catalog``; nothing here is code."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from backend.catalog.states import IoSource, NumaSource, SettingType


class Provider(models.Model):
    id = models.CharField(primary_key=True, max_length=32, help_text="aws, gcp, local")
    name = models.CharField(max_length=100)
    enabled = models.BooleanField(default=True)
    connections = ArrayField(
        models.CharField(max_length=16), default=list, help_text="Of its networks with others: peering, endpoint"
    )
    firewall = models.BooleanField(
        default=False, help_text="Its networks have a firewall: without an allowlist nobody outside reaches an engine"
    )

    def __str__(self) -> str:
        return self.id


class Region(models.Model):
    id = models.CharField(primary_key=True, max_length=64, help_text="<provider>/<name>, for example local/local-1")
    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="regions")
    name = models.CharField(max_length=64)
    title = models.CharField(max_length=100)
    enabled = models.BooleanField(default=True)
    memory_budget_mib = models.PositiveIntegerField(
        null=True, help_text="MiB all nodes of the region may use together; null where the provider has its own limits"
    )
    memory_budget_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "name"], name="region_name_once")]

    def __str__(self) -> str:
        return self.id


class Zone(models.Model):
    id = models.CharField(primary_key=True, max_length=96, help_text="<region id>/<name>")
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="zones")
    name = models.CharField(max_length=64)
    enabled = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["region", "name"], name="zone_name_once")]

    def __str__(self) -> str:
        return self.id


class MachineType(models.Model):
    id = models.CharField(primary_key=True, max_length=96, help_text="<provider>/<name>")
    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="machine_types")
    name = models.CharField(max_length=64)
    description = models.CharField(max_length=200, blank=True)
    vcpus = models.PositiveIntegerField(null=True, help_text="null: shares the machine at hand")
    memory_mib = models.PositiveIntegerField(help_text="MiB a node of this type uses")
    heap_mib = models.PositiveIntegerField(help_text="MiB of JVM heap")
    storage_gib = models.PositiveIntegerField(null=True, help_text="GiB of local disk; null: shares a file system")
    family = models.CharField(max_length=32, blank=True, help_text="i4i, z3-highmem; empty: of none")
    architecture = models.CharField(max_length=16, blank=True, help_text="x86_64, arm64; empty: the machine at hand's")
    cores = models.PositiveIntegerField(null=True, help_text="Physical cores of all NUMA nodes")
    threads_per_core = models.PositiveIntegerField(null=True)
    numa_nodes = models.PositiveIntegerField(null=True)
    numa_source = models.CharField(max_length=16, blank=True, help_text="observed, expected; empty: numa_nodes is null")
    shards = models.PositiveIntegerField(null=True, help_text="CPUs left for the engine after pinning, default ratio")
    nvme_count = models.PositiveIntegerField(null=True, help_text="Local NVMe disks; null: shares a file system")
    nvme_size_gb = models.PositiveIntegerField(null=True, help_text="GB (10^9 bytes) of each local NVMe disk")
    io_read_iops = models.BigIntegerField(null=True, help_text="4 KiB reads per second of the whole RAID0")
    io_write_iops = models.BigIntegerField(null=True, help_text="4 KiB writes per second of the whole RAID0")
    io_read_bandwidth = models.BigIntegerField(null=True, help_text="Bytes per second of the whole RAID0")
    io_write_bandwidth = models.BigIntegerField(null=True, help_text="Bytes per second of the whole RAID0")
    io_source = models.CharField(max_length=16, blank=True, help_text="preset, gcp_ladder; empty: there are no figures")
    io_note = models.CharField(max_length=200, blank=True)
    network_baseline_gbps = models.FloatField(null=True, help_text="Gbit/s that a node can always use")
    network_peak_gbps = models.FloatField(null=True, help_text="Gbit/s that a node can use at most")
    price_micros_per_hour = models.BigIntegerField(null=True, help_text="On demand, millionths of price_currency")
    price_currency = models.CharField(max_length=3, blank=True, help_text="USD; empty: there is no price")
    price_region = models.CharField(max_length=64, blank=True, help_text="Region of the provider whose price it is")
    price_date = models.DateField(null=True, help_text="Day of the price list")
    position = models.PositiveIntegerField(default=0)
    enabled = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "name"], name="machine_type_name_once"),
            models.CheckConstraint(
                condition=models.Q(numa_source="", numa_nodes=None)
                | models.Q(numa_source__in=[source.value for source in NumaSource], numa_nodes__isnull=False),
                name="machine_type_numa_with_source",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    io_source="", io_read_iops=None, io_write_iops=None, io_read_bandwidth=None, io_write_bandwidth=None
                )
                | models.Q(
                    io_source__in=[source.value for source in IoSource],
                    io_read_iops__gt=0,
                    io_write_iops__gt=0,
                    io_read_bandwidth__gt=0,
                    io_write_bandwidth__gt=0,
                ),
                name="machine_type_io_with_source",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    price_micros_per_hour=None, price_currency="", price_region="", price_date__isnull=True
                )
                | models.Q(price_micros_per_hour__gt=0, price_date__isnull=False) & ~models.Q(price_currency=""),
                name="machine_type_price_with_date",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class EngineVersion(models.Model):
    id = models.CharField(primary_key=True, max_length=64, help_text="<engine>/<version>")
    engine = models.CharField(max_length=32, help_text="cassandra, scylla")
    engine_title = models.CharField(max_length=64)
    version = models.CharField(max_length=32)
    is_default = models.BooleanField(default=False)
    upgrades_from = ArrayField(
        models.CharField(max_length=32), default=list, help_text="Versions whose clusters may change to this one"
    )
    manages_access = models.BooleanField(default=True, help_text="Its roles and allowlist can be changed from here")
    makes_backups = models.BooleanField(
        default=True, db_default=True, help_text="Its data can be backed up and restored from here"
    )
    archives_logs = models.BooleanField(
        default=True, db_default=True, help_text="Its commit log can be archived, for restores to any moment"
    )
    imports_sstables = models.BooleanField(
        default=True, db_default=True, help_text="It takes SSTables that other clusters left"
    )
    places_by_itself = models.BooleanField(
        default=False,
        db_default=False,
        help_text="It moves data among its nodes by itself, and sends files that are loaded anywhere to their replicas",
    )
    answers_questions = models.BooleanField(
        default=True, db_default=True, help_text="Its nodes can be asked about themselves from here"
    )
    takes_commands = models.BooleanField(
        default=True, db_default=True, help_text="Its tables can be flushed, compacted and the like from here"
    )
    not_on = models.JSONField(default=dict, help_text="Providers that cannot run it, each with the reason")
    enabled = models.BooleanField(default=True)
    position = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["engine", "version"], name="engine_version_once"),
            models.UniqueConstraint(fields=["engine"], condition=models.Q(is_default=True), name="engine_default_once"),
        ]

    def __str__(self) -> str:
        return self.id


class EngineSetting(models.Model):
    """Something of an engine that the owner of a cluster may set. Names and limits are ours, not the engine's own."""

    id = models.CharField(primary_key=True, max_length=96, help_text="<engine>/<name>")
    engine = models.CharField(max_length=32)
    name = models.CharField(max_length=63)
    title = models.CharField(max_length=100)
    description = models.CharField(max_length=300)
    type = models.CharField(max_length=16)
    unit = models.CharField(max_length=16, blank=True)
    minimum = models.FloatField(null=True)
    maximum = models.FloatField(null=True)
    choices = ArrayField(models.CharField(max_length=32), default=list)
    not_above = models.CharField(max_length=63, blank=True, help_text="Name of the setting that it may not exceed")
    default = models.JSONField(null=True, help_text="The engine's own value; null: it depends on the machine")
    live = models.BooleanField(help_text="A running engine takes it; false: needs a restart")
    position = models.PositiveIntegerField(default=0)
    enabled = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["engine", "name"], name="engine_setting_once"),
            models.CheckConstraint(
                condition=models.Q(type__in=[t.value for t in SettingType]), name="engine_setting_type_known"
            ),
        ]

    def __str__(self) -> str:
        return self.id
