"""What could cost less without other machines: clusters and tables that nobody uses, backups, reservations.

Formulas and thresholds are told in docs/costs.md, "Savings".
"""

from collections.abc import Iterator

from backend.advisor.rules.facts import GIB, Advice, AdviceSeverity, AdviceUnit, ClusterFacts, Evidence, Table, in_words
from backend.advisor.rules.spending import Overdue, Place, Spending, monthly, usd
from backend.prices.states import Term

IDLE_DAYS = 14
IDLE_REQUESTS_A_DAY = 1000
"""Reads and writes on all replicas: one in a minute and a half."""
COLD_DAYS = 30
COLD_BYTES = GIB
"""Live data of all replicas."""
SETTLED_DAYS = 30
"""A cluster that is younger may not stay: nothing is said of reservations."""
TERM_MONTHS = {Term.RESERVED_1Y: 12, Term.RESERVED_3Y: 36}
_FOR = {Term.RESERVED_1Y: "one year", Term.RESERVED_3Y: "three years"}


def idle(cluster: ClusterFacts) -> Advice | None:
    """A cluster that hardly anybody asked for two weeks."""
    spending = cluster.spending
    used = spending and spending.lately
    if not used or used.days < IDLE_DAYS or used.requests >= used.days * IDLE_REQUESTS_A_DAY or used.micros <= 0:
        return None
    month = monthly(used.micros, used.days)
    asked = f"{used.requests:,} times" if used.requests else "not once"
    return Advice(
        rule="idle-cluster",
        severity=AdviceSeverity.WARNING,
        finding=f"In {used.days} days its tables were read or written {asked}. It costs {usd(month)} a month.",
        evidence=(
            Evidence("Reads and writes, all replicas", used.requests, AdviceUnit.COUNT, "requests"),
            Evidence("Whole days", used.days, AdviceUnit.COUNT),
            Evidence("Cost of these days, without backups", used.micros, AdviceUnit.MONEY),
        ),
        saving_micros=month,
        formula=f"{usd(used.micros)} ÷ {used.days} days ÷ 24 h × 730 h",
        gain=f"All of it: {usd(month)} a month.",
        cost="The cluster. Its backups stay, and cost, until their policy lets them go.",
        statement="Make a last backup (Backups), then delete the cluster. If it is to stay for tests: fewer nodes or a"
        " smaller machine type (Overview).",
        why_by_hand="Only you know whether somebody will need it.",
    )


def cold(table: Table, cluster: ClusterFacts) -> Advice | None:
    """A table with data that nobody read for a month."""
    used, size = table.lately, table.numbers.live_bytes
    if used is None or size is None or used.days < COLD_DAYS or used.reads or size < COLD_BYTES:
        return None
    month = monthly(used.storage_micros, used.days)
    if month <= 0:
        return None
    written = f"It was written {used.writes:,} times." if used.writes else "It was not written either."
    return Advice(
        rule="cold-table",
        keyspace=table.keyspace,
        table=table.name,
        severity=AdviceSeverity.HINT,
        finding=f"Nobody read it for {used.days} days, and it holds {in_words(size)}. {written}",
        evidence=(
            Evidence("Reads, all replicas", used.reads, AdviceUnit.COUNT, "table-operations"),
            Evidence("Writes, all replicas", used.writes, AdviceUnit.COUNT, "table-operations"),
            Evidence("Live data, all replicas", size, AdviceUnit.BYTES, "table-size"),
            Evidence("Its storage in these days", used.storage_micros, AdviceUnit.MONEY),
        ),
        saving_micros=month,
        formula=f"its share of storage, {usd(used.storage_micros)} ÷ {used.days} days ÷ 24 h × 730 h",
        gain=f"Its share of the disks costs {usd(month)} a month. With disks that come with the machines it is saved"
        " when fewer or smaller machines hold the rest.",
        cost="The data in the cluster: they are in backups only, or elsewhere.",
        statement=f"-- After a backup, or an export:\nDROP TABLE {table.quoted};",
        why_by_hand="It drops data.",
    )


def overdue(cluster: ClusterFacts) -> Iterator[Advice]:
    """Backups that are there longer than their policy asks for, by the place where they are."""
    spending = cluster.spending
    for each in spending.overdue if spending is not None else ():
        month = spending.storage_month(each) if spending is not None else None
        if month:
            yield _overdue(each, month)


def _overdue(found: Overdue, month: int) -> Advice:
    count = found.expired + found.endless
    told = []
    if found.expired:
        told.append(f"{_backups(found.expired)} whose time is over")
    if found.endless:
        told.append(f"{_backups(found.endless)} made by hand without an end, older than schedules keep theirs")
    return Advice(
        rule="overdue-backups",
        subject=found.location,
        severity=AdviceSeverity.HINT,
        finding=f"In {found.location}: {', and '.join(told)}. They alone hold {in_words(found.bytes)}.",
        evidence=(
            Evidence("Backups", count, AdviceUnit.COUNT),
            Evidence("The oldest is of", f"{found.oldest:%Y-%m-%d}", AdviceUnit.TEXT),
            Evidence("Stored for them alone", found.bytes, AdviceUnit.BYTES),
        ),
        saving_micros=month,
        formula=f"{in_words(found.bytes)} × the price of a GiB and month, with mark-up",
        gain=f"{usd(month)} a month.",
        cost="Nobody can go back to them any more.",
        statement="Delete them (Backups), or look the place through (Backups, Locations, Purge).",
        why_by_hand="A backup that is deleted does not come back.",
    )


def _backups(count: int) -> str:
    return "one backup" if count == 1 else f"{count:,} backups"


def reservation(spending: Spending, place: Place) -> Advice | None:
    """Machines that were paid by the hour for a month, and would cost less with a reservation."""
    if spending.served_days < SETTLED_DAYS:
        return None
    now = spending.month(place, place.machine_type, place.nodes)
    found = {
        term: month
        for term in TERM_MONTHS
        if (month := spending.month(place, place.machine_type, place.nodes, term)) is not None
        and now is not None
        and month < now
    }
    if now is None or not found:
        return None
    # The shortest: who binds themselves for longer knows why.
    term = next(iter(found))
    saved = now - found[term]
    months = pays_back(now, found[term], TERM_MONTHS[term])
    return Advice(
        rule="reservation",
        subject=place.name,
        severity=AdviceSeverity.HINT,
        finding=f"{place.name}: {place.nodes} × {place.machine_type} on demand cost {usd(now)} a month, reserved for "
        f"{_FOR[term]} {usd(found[term])}. It pays back when they run {months} months or more.",
        evidence=(
            Evidence("On demand, a month", now, AdviceUnit.MONEY),
            *(
                Evidence(f"Reserved for {_FOR[each]}, a month", month, AdviceUnit.MONEY)
                for each, month in found.items()
            ),
            *(
                Evidence(
                    f"Pays back after months, {_FOR[each]}", pays_back(now, month, TERM_MONTHS[each]), AdviceUnit.COUNT
                )
                for each, month in found.items()
            ),
            Evidence("The cluster serves for days", int(spending.served_days), AdviceUnit.COUNT),
        ),
        saving_micros=saved,
        formula=f"{usd(now)} − {usd(found[term])}; pays back after ⌈{TERM_MONTHS[term]} × {usd(found[term])} ÷ "
        f"{usd(now)}⌉ months",
        gain=f"{usd(saved)} a month for {_FOR[term]}.",
        cost=f"{TERM_MONTHS[term]} months are paid for, also when the machines go earlier.",
        statement="Reserve them at the provider, then upload what you pay as the price of the machine (docs/costs.md).",
        why_by_hand="It binds you for the whole time.",
    )


def pays_back(on_demand: int, reserved: int, months: int) -> int:
    """After how many whole months on demand has cost as much as all of the reservation."""
    return -(-months * reserved // on_demand)
