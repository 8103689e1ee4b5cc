import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from celery import current_app
from kombu.exceptions import OperationalError

from backend.config.celery import make_producer


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "redis+socket:///nowhere/redis.sock"])
def test_a_broker_that_is_away_costs_less_than_a_second_and_a_half(url: str):
    producer = make_producer(url)
    assert producer.conf.broker_url == url
    started = time.monotonic()
    with pytest.raises(OperationalError):
        producer.send_task("provisioner.run_operation", ["op_1"])
    assert time.monotonic() - started < 1.5


def test_every_thread_rings_with_it():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: current_app.main).result() == "ringmaster"
