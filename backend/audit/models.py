"""What was done by whom: one row per mutation, written in the same transaction as the mutation.

Triggers (migration 0002) refuse to change or delete a row, but for linking it into its organisation's chain once.
"""

from django.db import models

from backend.accounts.models import Organisation
from backend.core import ids


class AuditRecord(models.Model):
    id = models.CharField(primary_key=True, max_length=40, default=ids.new_audit_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="audit_records")
    action = models.CharField(max_length=64, help_text="cluster.create, token.revoke, ...")
    target_type = models.CharField(max_length=32)
    target_id = models.CharField(max_length=64)
    target_name = models.CharField(max_length=200, blank=True)
    actor = models.CharField(
        max_length=200, help_text="E-mail of the user, with the token's name in brackets if one was used"
    )
    actor_user_id = models.CharField(max_length=40, blank=True)
    actor_token_id = models.CharField(max_length=40, blank=True)
    source_address = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=64, blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # Of the organisation's chain (chain.py). Empty until a reconciler has linked the record; written once.
    sequence = models.BigIntegerField(null=True, help_text="1 is the organisation's first")
    previous_hash = models.CharField(max_length=64, null=True)
    hash = models.CharField(max_length=64, null=True)

    class Meta:
        indexes = [
            models.Index(fields=["organisation", "-id"], name="audit_list"),
            models.Index(fields=["organisation", "target_id", "-id"], name="audit_of_target"),
            models.Index(fields=["organisation", "created_at"], name="audit_by_time"),
            models.Index(fields=["id"], condition=models.Q(sequence=None), name="audit_not_linked"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "sequence"], name="audit_sequence_once"),
            models.CheckConstraint(
                condition=models.Q(sequence=None, previous_hash=None, hash=None)
                | models.Q(sequence__gte=1, previous_hash__isnull=False, hash__isnull=False),
                name="audit_linked_or_not",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.target_id}"
