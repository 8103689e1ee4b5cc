"""The price book: what things cost, from when on, and who says so. Rows are added, never changed."""

from django.db import models

from backend.core import ids
from backend.prices.states import Item, Origin, Term


class Price(models.Model):
    """One price from a full hour on, until a later one of the same thing and origin takes its place.

    A price that has begun is neither changed nor deleted (a trigger of the database sees to it), so that what was
    worked out with it can be worked out again.
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_price_id)
    provider = models.CharField(max_length=32)
    region = models.CharField(max_length=64, blank=True, help_text="Empty: all regions of the provider")
    item = models.CharField(max_length=32)
    name = models.CharField(max_length=64, blank=True, help_text="Machine type or class of storage")
    term = models.CharField(max_length=16, blank=True, help_text="Of machines: on_demand, reserved_1y ...")
    origin = models.CharField(max_length=16, help_text="operator, published or list; states.Origin")
    micros = models.BigIntegerField(
        null=True, help_text="Millionths of a US dollar per unit of the item; null: taken back, the list's counts again"
    )
    includes_local_disk = models.BooleanField(null=True, help_text="Of machines: the price is with its local disks")
    valid_from = models.DateTimeField(help_text="A full hour")
    source = models.CharField(max_length=300, blank=True)
    source_date = models.DateField(null=True, help_text="Day of the price list")
    assumption = models.BooleanField(default=False, help_text="Nobody published it: a figure to begin with")
    note = models.CharField(max_length=300, blank=True)
    created_by = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "region", "item", "name", "term", "origin", "valid_from"], name="price_once"
            ),
            models.CheckConstraint(condition=models.Q(item__in=[item.value for item in Item]), name="price_item_known"),
            models.CheckConstraint(
                condition=models.Q(item=Item.MACHINE, term__in=[term.value for term in Term])
                | ~models.Q(item=Item.MACHINE) & models.Q(term=""),
                name="price_term_of_machines",
            ),
            models.CheckConstraint(
                condition=models.Q(origin=Origin.OPERATOR)
                | models.Q(origin__in=[Origin.PUBLISHED, Origin.LIST], micros__isnull=False),
                name="price_origin_known",
            ),
            models.CheckConstraint(
                condition=models.Q(micros=None) | models.Q(micros__gte=0), name="price_not_negative"
            ),
            models.CheckConstraint(
                condition=models.Q(valid_from__minute=0, valid_from__second=0), name="price_from_full_hour"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.region} {self.item} {self.name} {self.term}: {self.micros}"


class PriceList(models.Model):
    """The price list of a provider for a region: when it was last read, and what came of it."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_price_list_id)
    provider = models.CharField(max_length=32)
    region = models.CharField(max_length=64)
    tried_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, help_text="Null: it never was")
    prices = models.IntegerField(default=0, help_text="How many it told when it was last read")
    doubtful = models.JSONField(default=list, help_text="Those that were not believed, in words")
    error = models.CharField(max_length=500, blank=True, help_text="Why the last try failed; empty: it did not")
    hint = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "region"], name="price_list_once")]

    def __str__(self) -> str:
        return f"{self.provider} {self.region}"
