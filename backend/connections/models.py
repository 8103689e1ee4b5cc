"""Ways between the network of a cluster's data centre and others."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower

from backend.clusters.models import Cluster, Datacenter
from backend.connections.states import ConnectionKind, ConnectionState
from backend.core import ids


class NetworkConnection(models.Model):
    """Its name at the provider is derived from its id."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_connection_id)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="network_connections")
    datacenter = models.ForeignKey(Datacenter, on_delete=models.PROTECT, related_name="network_connections")
    kind = models.CharField(max_length=16)
    name = models.CharField(max_length=48)
    peer_network = models.CharField(max_length=128, blank=True, help_text="AWS: id of the VPC, GCP: its name")
    peer_owner = models.CharField(max_length=64, blank=True, help_text="AWS account or GCP project; empty: ours")
    peer_region = models.CharField(max_length=64, blank=True, help_text="Empty: that of the data centre")
    cidrs = ArrayField(
        models.CharField(max_length=64), default=list, help_text="From where clients come through a peering"
    )
    service = models.CharField(max_length=256, blank=True, help_text="What an endpoint is for")
    state = models.CharField(max_length=16, default=ConnectionState.CREATING)
    message = models.TextField(blank=True, help_text="What somebody has to do, or what is wrong")
    provider_id = models.CharField(max_length=128, blank=True)
    addresses = ArrayField(
        models.CharField(max_length=256), default=list, help_text="Under which an endpoint is reached"
    )
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    checked_at = models.DateTimeField(null=True, help_text="When the provider was asked")
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "cluster", Lower("name"), condition=models.Q(deleted_at=None), name="connection_name_once"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in ConnectionState]), name="connection_state_known"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=[k.value for k in ConnectionKind]), name="connection_kind_known"
            ),
        ]
        indexes = [
            models.Index(fields=["checked_at"], condition=models.Q(deleted_at=None), name="connection_to_check"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
