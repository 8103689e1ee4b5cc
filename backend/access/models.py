"""Who may sign in to a cluster's database from where, and the last reading of who may do what there."""

from django.db import models

from backend.clusters.models import Cluster


class Allowlist(models.Model):
    """From where drivers may sign in. Without a row, and without entries: from everywhere.

    An entry is `{"cidr", "description"}`. `applied_entries` are in force; the others are wanted.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="allowlist", primary_key=True)
    entries = models.JSONField(default=list)
    applied_entries = models.JSONField(default=list)
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=200)
    applied_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"allowlist of {self.cluster_id}"


class RoleReading(models.Model):
    """Roles and permissions as the database told them last. The database is the truth; this is what is shown."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="role_reading", primary_key=True)
    reading = models.JSONField(default=dict, help_text="`roles` and `permissions` as the agent's job roles tells them")
    read_at = models.DateTimeField(null=True)
    looked_at = models.DateTimeField(null=True, help_text="When somebody last wanted to see it")

    class Meta:
        indexes = [models.Index(fields=["looked_at"], name="role_reading_looked_at")]

    def __str__(self) -> str:
        return f"roles of {self.cluster_id}"


class RoleLifetime(models.Model):
    """A role that was made for a while. Without a row: it stays until somebody takes it away."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="role_lifetimes")
    role = models.CharField(max_length=63)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "role"], name="role_lifetime_once")]
        indexes = [models.Index(fields=["expires_at"], name="role_lifetime_expires_at")]

    def __str__(self) -> str:
        return f"end of {self.role} on {self.cluster_id}"


class RolePassword(models.Model):
    """A password that we made for a role. The password itself is in the vault (backend/access/passwords.py)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="role_passwords")
    role = models.CharField(max_length=63)
    set_at = models.DateTimeField(null=True, help_text="Since when the database has it; null: not yet")
    revealed_at = models.DateTimeField(null=True)
    next_operation_id = models.CharField(max_length=40, blank=True, help_text="Which sets the next one")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "role"], name="role_password_once")]

    def __str__(self) -> str:
        return f"password of {self.role} on {self.cluster_id}"
