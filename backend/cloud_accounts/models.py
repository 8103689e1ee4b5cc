"""Cloud accounts that organisations bring, for clusters in them. Nothing here is secret."""

from django.db import models
from django.db.models.functions import Lower

from backend.accounts.models import Organisation
from backend.catalog.models import Region
from backend.catalog.states import CLOUDS
from backend.cloud_accounts.states import CheckState
from backend.core import ids


class CloudAccount(models.Model):
    """An AWS account through a role in it, or a Google Cloud project through a service account in it.

    `external_id` is made here, for this row alone, and never changes: the role's trust policy names it, and the service
    account has it in its name. So nobody can register what somebody else has made for themselves.
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_cloud_account_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="cloud_accounts")
    name = models.CharField(max_length=63)
    provider = models.CharField(max_length=32, help_text="aws or gcp")
    external_id = models.CharField(max_length=64, unique=True)
    role_arn = models.CharField(max_length=200, blank=True, help_text="aws: the role to take on")
    project = models.CharField(max_length=63, blank=True, help_text="gcp: where machines are made")
    settings = models.JSONField(default=dict, help_text="public_addresses, networks, vpcs: see schemas.AccountSettings")
    check_state = models.CharField(max_length=16, default=CheckState.UNCHECKED)
    check_results = models.JSONField(default=list, help_text="Of each region: missing permissions, or the problem")
    checked_at = models.DateTimeField(null=True)
    check_operation_id = models.CharField(max_length=40, blank=True, help_text="Of the check that is open; empty: none")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "organisation", Lower("name"), condition=models.Q(deleted_at=None), name="cloud_account_name_once"
            ),
            models.CheckConstraint(
                condition=models.Q(check_state__in=[s.value for s in CheckState if s is not CheckState.CHECKING]),
                name="cloud_account_check_known",
            ),
            models.CheckConstraint(
                condition=models.Q(provider__in=sorted(CLOUDS)), name="cloud_account_provider_known"
            ),
        ]
        indexes = [
            models.Index(
                fields=["organisation", "-id"], condition=models.Q(deleted_at=None), name="cloud_account_list"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"

    @property
    def service_account(self) -> str:
        """gcp: whom to act as. Empty at AWS."""
        return f"ringmaster-{self.external_id}@{self.project}.iam.gserviceaccount.com" if self.project else ""

    @property
    def state(self) -> CheckState:
        return CheckState.CHECKING if self.check_operation_id else CheckState(self.check_state)

    @property
    def missing(self) -> list[str]:
        """Permissions that the last check found to be lacking, in any region."""
        return sorted({permission for result in self.check_results for permission in result["missing"]})


class RegionCapacity(models.Model):
    """What a cloud told last of an account's quotas in a region, and of what its zones offer."""

    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="capacities")
    cloud_account = models.ForeignKey(
        CloudAccount, on_delete=models.CASCADE, null=True, related_name="capacities", help_text="null: our own"
    )
    quotas = models.JSONField(default=list, help_text="name, limit, used, per_machine, hint: room.QuotaFacts")
    offered = models.JSONField(null=True, help_text="Machine types by zone; null: not known")
    asked_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True, help_text="Of what is written here; null: it never answered")
    problem = models.TextField(blank=True, help_text="Why it did not answer when it was asked last")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["region", "cloud_account"], name="region_capacity_once"),
            models.UniqueConstraint(
                fields=["region"], condition=models.Q(cloud_account=None), name="region_capacity_own_once"
            ),
        ]

    def __str__(self) -> str:
        return f"capacity of {self.region_id} for {self.cloud_account_id or 'us'}"
