"""Celery as the backend sees it: a doorbell that is rung after a commit. The rows are the truth, never the message.

Every Django process makes the producer its default application (apps.py). The worker's own application is made in
provisioner/worker.py from the same settings.
"""

from typing import Any

from celery import Celery


def celery_settings(broker_url: str) -> dict[str, Any]:
    """What producer and worker share. Times in seconds."""
    return {
        "broker_url": broker_url,
        "task_default_queue": "ringmaster",
        "task_ignore_result": True,
        "task_store_errors_even_if_ignored": False,
        "worker_prefetch_multiplier": 1,
        "worker_enable_remote_control": False,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {
            "socket_timeout": 5,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
            # Longer than any task may run, so that nothing is delivered twice by the clock.
            "visibility_timeout": 3600,
        },
        "task_serializer": "json",
        "accept_content": ["json"],
        "timezone": "UTC",
    }


def make_producer(broker_url: str) -> Celery:
    """An application that only sends. Without a broker it gives up within a second instead of holding the request."""
    producer = Celery("ringmaster", set_as_current=False)  # a worker has an application of its own
    producer.conf.update(celery_settings(broker_url))
    producer.conf.update(
        broker_transport_options={"socket_timeout": 1, "socket_connect_timeout": 1, "max_retries": 0},
        broker_connection_timeout=1,
        task_publish_retry=False,
        broker_pool_limit=4,
    )
    return producer
