"""Sessions and statements of the console. What is secret in them is sealed, and gone when its time is over."""

from django.db import models

from backend.accounts.models import Organisation
from backend.clusters.models import Cluster
from backend.console.states import SecretPurpose, StatementKind, StatementState
from backend.core import ids


class CqlSession(models.Model):
    """A user may run statements as a role of the database for a while. The password is a SealedText."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_cql_session_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="cql_sessions")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="cql_sessions")
    user_id = models.CharField(max_length=40)
    role = models.CharField(max_length=255)
    opened_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "user_id", "role"], name="cql_session_once")]
        indexes = [models.Index(fields=["expires_at"], name="cql_session_expiry")]

    def __str__(self) -> str:
        return f"{self.user_id} as {self.role} on {self.cluster_id}"


class CqlStatement(models.Model):
    """A statement that was run, in the history of who ran it. `text` is as it was written, without passwords."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_cql_statement_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="cql_statements")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="cql_statements")
    user_id = models.CharField(max_length=40)
    session_id = models.CharField(max_length=40)
    role = models.CharField(max_length=255)
    kind = models.CharField(max_length=16, default=StatementKind.STATEMENT)
    verb = models.CharField(max_length=64, blank=True, help_text="SELECT, INSERT, BATCH ...; of a schema empty")
    reads = models.BooleanField(default=True)
    text = models.TextField(blank=True)
    keyspace = models.CharField(max_length=48, blank=True)
    consistency = models.CharField(max_length=16)
    page_size = models.PositiveSmallIntegerField()
    timeout_seconds = models.PositiveSmallIntegerField()
    tracing = models.BooleanField(default=False)
    state = models.CharField(max_length=16, default=StatementState.WAITING)
    page = models.PositiveIntegerField(default=1, help_text="Which one is asked for, or is there")
    more = models.BooleanField(default=False, help_text="There is a page after this one")
    node_id = models.CharField(max_length=40, blank=True, help_text="Which node runs or ran it")
    asked_at = models.DateTimeField(auto_now_add=True)
    deadline = models.DateTimeField(help_text="When nothing can be heard of it any more")
    ended_at = models.DateTimeField(null=True)
    microseconds = models.BigIntegerField(null=True, help_text="Until the engine's answer, as the node saw it")
    rows = models.PositiveIntegerField(default=0, help_text="Of all pages fetched so far")
    code = models.CharField(max_length=64, blank=True)
    message = models.TextField(blank=True)
    line = models.PositiveIntegerField(null=True, help_text="From 1")
    column = models.PositiveIntegerField(null=True, help_text="From 0")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in StatementState]), name="cql_statement_state_known"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "user_id", "-id"], name="cql_statement_history"),
            models.Index(fields=["asked_at"], name="cql_statement_age"),
        ]

    def __str__(self) -> str:
        return f"{self.verb or self.kind} by {self.user_id} on {self.cluster_id}"


class CqlAsking(models.Model):
    """A statement or one of its further pages was asked for, a minute ago at most: the limit counts these rows. It is
    not the statements that are counted, which may be forgotten meanwhile and of which each has many pages."""

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="cql_askings")
    asked_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["organisation", "asked_at"], name="cql_asking_rate")]

    def __str__(self) -> str:
        return f"of {self.organisation_id} at {self.asked_at}"


class SealedText(models.Model):
    """A password, a statement with its literals, or an answer: encrypted (core/secrets.py) and kept for minutes."""

    id = models.BigAutoField(primary_key=True)
    owner = models.CharField(max_length=40, help_text="Id of the session or statement")
    purpose = models.CharField(max_length=16)
    ciphertext = models.BinaryField()
    wrapped_key = models.BinaryField()
    master_key_id = models.CharField(max_length=16)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "purpose"], name="cql_sealed_once"),
            models.CheckConstraint(
                condition=models.Q(purpose__in=[p.value for p in SecretPurpose]), name="cql_sealed_purpose_known"
            ),
        ]
        indexes = [models.Index(fields=["expires_at"], name="cql_sealed_expiry")]

    def __str__(self) -> str:
        return f"{self.purpose} of {self.owner}"
