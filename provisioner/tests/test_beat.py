"""Of several beats one rings, and when it goes another does."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from celery import Celery
from django.db import connection

from provisioner import alive
from provisioner.beat import LOOK_EVERY, Leadership, LeadingScheduler

pytestmark = pytest.mark.django_db(transaction=True)


def beat(folder: Path, name: str, sent: list[str]) -> LeadingScheduler:
    app = Celery(name, broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {"health": {"task": "provisioner.reconcile_health", "schedule": 3600.0}}
    scheduler = LeadingScheduler(app, schedule_filename=str(folder / name), max_interval=1)
    scheduler.apply_async = lambda entry, **_: sent.append(name)  # type: ignore[method-assign]
    entry = scheduler.schedule["health"]
    entry.last_run_at = entry.last_run_at.replace(year=2001)  # due
    return scheduler


def test_only_one_of_two_rings_until_it_ends(tmp_path: Path):
    sent: list[str] = []
    first, second = beat(tmp_path, "first", sent), beat(tmp_path, "second", sent)
    first.tick()
    assert second.tick() == LOOK_EVERY
    assert sent == ["first"]
    first.close()
    second.tick()
    assert sent == ["first", "second"]
    second.close()


def test_one_whose_session_was_ended_leads_again_only_after_it_has_taken_the_lock():
    first, second = Leadership(), Leadership()
    assert first.holds()
    assert not second.holds()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory'")
    assert not first.holds()  # it has noticed
    assert second.holds()
    assert not first.holds()
    second.give_up()
    assert first.holds()
    first.give_up()


def test_a_sign_of_life_is_a_file_that_is_touched(tmp_path: Path, settings: pytest.FixtureRequest):
    file = tmp_path / "alive"
    settings.ENV = SimpleNamespace(ringmaster_alive_file=file)  # type: ignore[attr-defined]
    alive.note()
    os.utime(file, (0, 0))
    alive.note()
    assert time.time() - file.stat().st_mtime < 60
    settings.ENV = SimpleNamespace(ringmaster_alive_file=tmp_path / "nowhere" / "alive")  # type: ignore[attr-defined]
    alive.note()  # and the process goes on
