"""The token with which users' own Prometheus fetches the numbers of a cluster."""

from django.db import models

from backend.clusters.models import Cluster


class MetricsToken(models.Model):
    """At most one per cluster. The secret is shown once; the row keeps its SHA-256. It opens nothing but numbers."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="metrics_token", primary_key=True)
    secret_hash = models.BinaryField(max_length=32, unique=True)
    hint = models.CharField(max_length=8, help_text="Last characters of the token, to recognise it by")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"metrics token of {self.cluster_id}"
