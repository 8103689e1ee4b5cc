"""Answers that are remembered, so that a repeated request is not a second one."""

from django.db import models


class IdempotencyRecord(models.Model):
    """The answer to a write that carried an ``Idempotency-Key`` (core/idempotency.py).

    Written in the transaction of the write itself: either both are there or neither is. The answer is encrypted,
    because some answers hold a secret that is shown once.
    """

    id = models.BigAutoField(primary_key=True)
    # By id, not by foreign key: core knows no other app.
    organisation_id = models.CharField(max_length=40)
    user_id = models.CharField(max_length=40)
    key = models.CharField(max_length=255)
    request_hash = models.BinaryField(max_length=32, help_text="SHA-256 of method, path, query and body")
    status = models.PositiveSmallIntegerField()
    ciphertext = models.BinaryField()
    wrapped_key = models.BinaryField()
    master_key_id = models.CharField(max_length=16)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation_id", "user_id", "key"], name="idempotency_key_once"),
        ]
        indexes = [models.Index(fields=["expires_at"], name="idempotency_expiry")]

    def __str__(self) -> str:
        return f"{self.key} of {self.user_id}"
