"""Records of concurrent changes are linked in the order in which they are committed, and writers wait for nobody."""

import threading

import pytest
from django.db import close_old_connections, connection, transaction

from backend.accounts.models import Organisation
from backend.audit.chain import End, verify
from backend.audit.models import AuditRecord
from backend.audit.queries import chain_of
from provisioner.reconcile import audit
from provisioner.reconcile.alone import alone


def note(organisation: Organisation, action: str) -> None:
    AuditRecord.objects.create(organisation=organisation, action=action, target_type="x", target_id="x", actor="x")


@pytest.mark.django_db(transaction=True)
def test_a_change_that_is_not_committed_holds_up_nobody_and_is_linked_afterwards():
    organisation = Organisation.objects.create(name="Acme", slug="acme")
    written, commit = threading.Event(), threading.Event()

    def slow() -> None:
        with transaction.atomic():
            note(organisation, "slow.first")
            written.set()
            commit.wait(10)
        connection.close()

    other = threading.Thread(target=slow)
    other.start()
    assert written.wait(10)
    for number in range(3):
        note(organisation, f"fast.{number}")
    assert audit.link_records() == 3
    commit.set()
    other.join()
    note(organisation, "fast.3")
    assert audit.link_records() == 2
    actions = AuditRecord.objects.order_by("sequence").values_list("action", flat=True)
    assert list(actions) == ["fast.0", "fast.1", "fast.2", "slow.first", "fast.3"]
    assert verify(chain_of(organisation.id)) == End(5, AuditRecord.objects.get(sequence=5).hash)


@pytest.mark.django_db(transaction=True)
def test_many_are_linked_in_one_run_and_by_one_at_a_time(monkeypatch):
    monkeypatch.setattr("backend.audit.actions.LINKED_AT_ONCE", 10)
    organisations = [Organisation.objects.create(name=slug, slug=slug) for slug in ("acme", "other")]
    for number in range(25):
        note(organisations[number % 2], "x.y")
    counts = []

    def meanwhile() -> None:
        close_old_connections()
        counts.append(audit.link_records())
        connection.close()

    with alone("reconcile-audit"):
        other = threading.Thread(target=meanwhile)
        other.start()
        other.join()
    assert counts == [0]
    assert audit.link_records() == 25
    for organisation, count in zip(organisations, (13, 12), strict=True):
        end = verify(chain_of(organisation.id))
        assert isinstance(end, End)
        assert end.sequence == count
