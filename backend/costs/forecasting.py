"""What the running month will come to: month so far + mean hour of the last seven days × hours left. docs/costs.md."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from django.db.models import F, Q, Sum
from django.utils import timezone

from backend.accounts.queries import Identity
from backend.clusters.models import Cluster
from backend.clusters.queries import require_cluster
from backend.costs.closing import GRACE
from backend.costs.metering import hour_of
from backend.costs.models import CostDay, UsageRecord
from backend.costs.ranges import Days, month_of
from backend.costs.sharing import PARTS
from backend.prices.money import rounded

_WEEK = timedelta(days=7)
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Micro-dollars, but for `trend`. As schemas.CostForecast."""

    month: str
    until: datetime
    spent: int
    hourly: int
    hours_left: int
    forecast: int
    last_seven_days: int
    seven_days_before: int
    trend: float | None


def get_forecast(who: Identity, cluster_id: str | None, now: datetime | None = None) -> dict[str, Any]:
    """Raises NotFound."""
    if cluster_id is not None:
        require_cluster(who, cluster_id)
    wanted = (
        Q(organisation_id=who.organisation_id) if cluster_id is None else of_cluster(who.organisation_id, cluster_id)
    )
    return asdict(forecast(wanted, now))


def of_cluster(organisation_id: str, cluster_id: str) -> Q:
    return Q(organisation_id=organisation_id, cluster_id=cluster_id)


def of_tag(organisation_id: str, key: str, value: str) -> Q:
    """Clusters that have the tag now, deleted ones too."""
    # As a whole, so that no key is taken for a path or a lookup.
    tagged = Cluster.objects.filter(organisation_id=organisation_id, options__contains={"tags": {key: value}})
    return Q(organisation_id=organisation_id, cluster_id__in=tagged.order_by().values("id"))


def forecast(wanted: Q, now: datetime | None = None) -> Forecast:
    """Of the rows that fit: those of an organisation, of a tag, of a cluster. Six statements."""
    until = hour_of((now or timezone.now()) - GRACE)
    # The hour before, so that the last hour of a month is of that month.
    day = (until - _HOUR).date()
    month = month_of(day)
    begin = _midnight(until.date()) - _WEEK
    used = UsageRecord.objects.filter(wanted, hour__gte=begin)
    first = used.order_by("hour").values_list("hour", flat=True).first()
    since = until if first is None else max(begin, first)
    hours = (until - since) // _HOUR
    spent = _sum(wanted, month)
    lately = _sum(wanted, Days(since.date(), until.date() + timedelta(days=1)))
    hourly = Fraction(lately, hours) if hours else Fraction(0)
    left = max(0, (_midnight(month.end) - until) // _HOUR)
    weeks = [_sum(wanted, Days(until.date() - back * _WEEK, until.date() - (back - 1) * _WEEK)) for back in (1, 2)]
    return Forecast(
        month=f"{month.begin:%Y-%m}",
        until=until,
        spent=spent,
        hourly=rounded(hourly),
        hours_left=left,
        forecast=spent + rounded(hourly * left),
        last_seven_days=weeks[0],
        seven_days_before=weeks[1],
        trend=round(weeks[0] / weeks[1] - 1, 4) if weeks[1] else None,
    )


def _sum(wanted: Q, span: Days) -> int:
    whole = sum((F(part) for part in PARTS[1:]), F(PARTS[0]))
    rows = CostDay.objects.filter(wanted, day__gte=span.begin, day__lt=span.end)
    return rows.aggregate(micros=Sum(whole))["micros"] or 0


def _midnight(day: Any) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
