"""A worker that hears nothing any more ends itself, and no other does."""

from typing import Any

import pytest
from celery import Celery
from kombu.exceptions import OperationalError

from provisioner.watchdog import DEAF_EXIT_CODE, Watchdog


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """A watchdog on a broker that takes every ping, or none."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.pings: list[str] = []
        self.exits: list[int] = []
        self.broker_away = False
        self.busy = False
        self.lives: list[str] = []
        # Not as the current one: other tests of this process ring through that.
        app = Celery("test", broker="memory://", set_as_current=False)
        app.send_task = self.send  # type: ignore[method-assign]
        self.watchdog = Watchdog(app, lives=self.lives.append, end_process=self.exits.append, now=self.clock)
        self.watchdog.queue = "ringmaster.worker@test"
        self.watchdog.busy = lambda: self.busy

    def send(self, name: str, **options: Any) -> None:
        if self.broker_away:
            raise OperationalError("connection refused")
        self.pings.append(options["queue"])

    def pass_time(self, seconds: int, *, hears: bool) -> None:
        for _ in range(0, seconds, 5):
            self.watchdog.check()
            if hears:
                self.watchdog.heard()
            self.clock.now += 5


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_worker_that_hears_its_pings_lives(bench: Bench) -> None:
    bench.pass_time(600, hears=True)
    assert bench.exits == []
    assert bench.pings == ["ringmaster.worker@test"] * 120


def test_a_worker_that_hears_nothing_for_half_a_minute_ends(bench: Bench) -> None:
    bench.pass_time(30, hears=False)
    assert bench.exits == []
    bench.pass_time(10, hears=False)
    assert DEAF_EXIT_CODE in bench.exits


def test_a_broker_that_is_away_is_no_reason_to_end(bench: Bench) -> None:
    bench.pass_time(20, hears=False)
    bench.broker_away = True
    bench.pass_time(600, hears=False)
    bench.broker_away = False
    bench.pass_time(30, hears=False)
    assert bench.exits == []


def test_pings_lost_with_the_broker_are_forgiven_when_later_ones_come_in(bench: Bench) -> None:
    bench.pass_time(25, hears=False)
    bench.pass_time(5, hears=True)
    bench.pass_time(30, hears=False)
    assert bench.exits == []


def test_a_worker_that_has_its_hands_full_is_not_deaf_and_lives(bench: Bench) -> None:
    bench.pass_time(25, hears=False)
    bench.busy = True
    bench.pass_time(600, hears=False)
    assert len(bench.pings) == 5
    assert len(bench.lives) == 120
    bench.busy = False
    bench.pass_time(30, hears=False)
    assert bench.exits == []
    bench.pass_time(10, hears=False)
    assert DEAF_EXIT_CODE in bench.exits
